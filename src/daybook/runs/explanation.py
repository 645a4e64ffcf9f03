"""What explaining an operation of a run gives."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ShownRows:
    """The first of `count` rows, by column."""

    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    count: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """The rows that one operation picked, and the summary rows it made of them where it groups.

    `leads` are the operations that made some of the picked rows, each with those of the question's texts by column
    that name rows there as well.
    """

    run_id: str
    project_id: str
    period: str
    seq: int
    operation_id: str
    name: str
    type: str
    keys: Mapping[str, Any]
    rows: ShownRows
    summary_rows: ShownRows | None
    leads: Mapping[int, Mapping[str, str | None]] = field(default_factory=dict)
