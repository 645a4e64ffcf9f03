"""The declarations of generated projects: tables with their rows, and operations over trees."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from daybook.model.types import ColumnType
from daybook.recompute.tree import Node, Value

Row = Mapping[str, Value]
Record = dict[str, Value]


@dataclass(frozen=True)
class Table:
    """A dataset with its physical rows, which have the columns and the `carried` system columns."""

    dataset_id: str
    name: str
    columns: Mapping[str, ColumnType]
    rows: Sequence[Row]
    temporal_mode: str | None = None
    required: frozenset[str] = frozenset()
    carried: tuple[str, ...] = ()
    natural_key: tuple[str, ...] = ()


@dataclass(frozen=True)
class Run:
    period: str
    as_of: datetime.date
    timestamp: datetime.datetime


@dataclass(frozen=True)
class Join:
    alias: str
    table: Table
    on: Node


@dataclass(frozen=True)
class Update:
    seq: int
    assignments: Sequence[tuple[str, Node]]
    selector: Node | None = None
    joins: Sequence[Join] = ()


@dataclass(frozen=True)
class Summarise:
    """The `aggregate` operation."""

    seq: int
    group_by: Sequence[str]
    aggregations: Sequence[tuple[str, Node]]
    selector: Node | None = None


@dataclass(frozen=True)
class Append:
    seq: int
    source: Table
    source_selector: Node | None = None
    group_by: Sequence[str] = ()
    aggregations: Sequence[tuple[str, Node]] = ()
    # What working columns become of the source's, instead of all columns under their own names.
    columns: Sequence[tuple[str, Node]] = ()


@dataclass(frozen=True)
class Delete:
    seq: int
    selector: Node | None = None


@dataclass(frozen=True)
class Output:
    seq: int
    selector: Node | None = None
    columns: Sequence[str] | None = None
    include_deleted: bool = False
    system_columns: bool = True


Operation = Update | Summarise | Append | Delete | Output


def in_time(table: Table, row: Row, run: Run) -> bool:
    """Whether the run's period, or its as-of date, sees a stored row."""
    match table.temporal_mode:
        case "period":
            return bool(row["_run_period"] == run.period if "_run_period" in row else row["_period"] == run.period)
        case "bitemporal":
            start, end = row["_valid_from"], row["_valid_to"]
            return start is not None and start <= run.as_of and (end is None or end > run.as_of)
        case _:
            return True
