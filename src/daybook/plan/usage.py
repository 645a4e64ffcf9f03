"""Which columns of which datasets each operation of a project uses."""

from collections.abc import Iterable
from dataclasses import dataclass

from daybook.expression import Compiled


@dataclass(frozen=True, slots=True, order=True)
class ColumnUsage:
    operation_seq: int
    dataset_id: str
    column: str


class UsageLog:
    """Collects what operations read; a column that the project made itself belongs to no dataset."""

    def __init__(self) -> None:
        self._found: set[ColumnUsage] = set()

    def add(self, seq: int, dataset_id: str, declared: Iterable[str], names: Iterable[str]) -> None:
        known = frozenset(declared)
        self._found.update(ColumnUsage(seq, dataset_id, name) for name in names if name in known)

    def frozen(self) -> tuple[ColumnUsage, ...]:
        return tuple(sorted(self._found))


def working_columns(*expressions: Compiled | None) -> set[str]:
    """The working columns that expressions read."""
    return {use.name for each in expressions if each for use in each.uses if use.qualifier is None}


def alias_columns(alias: str, *expressions: Compiled | None) -> set[str]:
    """The columns of a join that expressions read."""
    return {use.name for each in expressions if each for use in each.uses if use.qualifier == alias}
