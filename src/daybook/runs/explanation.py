"""What explaining an operation of a run gives."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ShownRows:
    """The first of `count` rows, by column."""

    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    count: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """The rows that one operation picked, and the summary rows it made of them where it groups."""

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
