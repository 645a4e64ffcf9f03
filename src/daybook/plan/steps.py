"""What a project becomes once everything about it is checked: frozen steps in the order they execute."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from daybook.expression import Compiled
from daybook.model.catalog import DatasetVersion
from daybook.model.dataset import TemporalMode
from daybook.model.operation import OutputArguments
from daybook.model.types import ColumnType

INPUT = "input"


def join_key(seq: int, alias: str) -> str:
    """The key under which a plan loads what an update joins."""
    return f"{seq}.{alias}"


def append_key(seq: int) -> str:
    return f"{seq}.source"


# The business columns of the working dataset, in order; system columns are always there.
Schema: TypeAlias = Mapping[str, ColumnType]


@dataclass(frozen=True, slots=True)
class LoadStep:
    """Data a run reads; `key` names it towards whoever brings the data."""

    key: str
    role: Literal["input", "join", "append"]
    operation_seq: int
    version: DatasetVersion
    alias: str | None = None

    @property
    def dataset_id(self) -> str:
        return self.version.dataset.id

    @property
    def table(self) -> str:
        return self.version.dataset.main_table.name

    @property
    def temporal_mode(self) -> TemporalMode | None:
        return self.version.dataset.main_table.temporal_mode

    @property
    def types(self) -> dict[str, ColumnType]:
        return {column.name: column.type for column in self.version.dataset.main_table.columns}


@dataclass(frozen=True, slots=True)
class JoinStep:
    """`columns` are those of the joined table that the operation reads."""

    alias: str
    load_key: str
    on: Compiled
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """What a column becomes: an expression and the type it is fitted to."""

    column: str
    expression: Compiled
    type: ColumnType


@dataclass(frozen=True, slots=True)
class UpdateStep:
    seq: int
    operation_id: str
    name: str
    selector: Compiled | None
    joins: tuple[JoinStep, ...]
    assignments: tuple[Value, ...]
    schema: Schema

    @property
    def expressions(self) -> tuple[Compiled | None, ...]:
        """The selector and the values."""
        return (self.selector, *(value.expression for value in self.assignments))


@dataclass(frozen=True, slots=True)
class AggregateStep:
    seq: int
    operation_id: str
    name: str
    selector: Compiled | None
    group_by: tuple[str, ...]
    aggregations: tuple[Value, ...]
    schema: Schema


@dataclass(frozen=True, slots=True)
class AppendStep:
    """Without `aggregations` the source's rows are appended; `columns` are the source columns that arrive."""

    seq: int
    operation_id: str
    name: str
    load_key: str
    source_selector: Compiled | None
    group_by: tuple[str, ...]
    aggregations: tuple[Value, ...]
    columns: tuple[str, ...]
    schema: Schema


@dataclass(frozen=True, slots=True)
class DeleteStep:
    seq: int
    operation_id: str
    name: str
    selector: Compiled | None
    schema: Schema

    @property
    def expressions(self) -> tuple[Compiled | None, ...]:
        return (self.selector,)


@dataclass(frozen=True, slots=True)
class CheckStep:
    """`columns` tell a row that fails."""

    seq: int
    operation_id: str
    name: str
    selector: Compiled | None
    condition: Compiled
    columns: tuple[str, ...]
    schema: Schema

    @property
    def expressions(self) -> tuple[Compiled | None, ...]:
        return (self.selector, self.condition)


@dataclass(frozen=True, slots=True)
class OutputStep:
    """`columns` are what is written, in order, with the types they are written in."""

    seq: int
    operation_id: str
    name: str
    selector: Compiled | None
    columns: Schema
    order_by: tuple[str, ...]
    arguments: OutputArguments
    schema: Schema


Step: TypeAlias = UpdateStep | AggregateStep | AppendStep | DeleteStep | CheckStep | OutputStep

# Steps that pick rows of the working dataset where they stand.
RowStep: TypeAlias = UpdateStep | DeleteStep | CheckStep


def until_last_output(steps: Sequence[Step]) -> int:
    """How many steps there are up to the last output and with it; what follows is never seen."""
    return max((index + 1 for index, step in enumerate(steps) if isinstance(step, OutputStep)), default=0)
