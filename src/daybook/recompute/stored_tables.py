"""Stored rows as a run sees them: time filter, checks, system columns."""

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from daybook.errors import DaybookError
from daybook.model.calendar import Period
from daybook.model.dataset import AsOfRule, TemporalMode
from daybook.model.types import RUN_PERIOD_COLUMN, SYSTEM_COLUMNS, ColumnType
from daybook.recompute.identity import ROW_ID, RowIds, content_place
from daybook.recompute.tree import Layout, Row, Value

# The system columns stand first in every row, at the same positions.
SYSTEM: Mapping[str, int] = {name: position for position, name in enumerate(SYSTEM_COLUMNS)}


@dataclass(frozen=True)
class RunFacts:
    """What a run knows beside its data."""

    project_id: str
    period: Period
    as_of: datetime.date
    timestamp: datetime.datetime
    parameters: Mapping[str, Value]


@dataclass(frozen=True)
class StoredTable:
    """The rows of one dataset version as they are stored.

    A stored row is a tuple of the `columns`, of the `carried` system columns in their order, of where the row stands
    and of its number there.
    """

    dataset_id: str
    name: str
    columns: Mapping[str, ColumnType]
    carried: tuple[str, ...]
    rows: Callable[[], Iterator[Row]]
    required: tuple[str, ...] = ()
    temporal_mode: TemporalMode | None = None
    natural_key: tuple[str, ...] = ()
    # Whether a timeless table that collects slices is read by its slices, and whether rows get their slice's period.
    reads_slices: bool = False
    has_period_of_slice: bool = False
    # The periods that are read; none given, the run's own.
    periods: tuple[str, ...] = ()
    # The day at which bitemporal rows must be valid; none given, the run's own.
    as_of: datetime.date | None = None
    as_of_rule: AsOfRule | None = None
    # The period that all rows get, instead of the one they carry.
    row_period: str | None = None
    # Whether more than one commit or location may have filled a slice.
    may_repeat_ids: bool = False
    # The positions of the values whose hash is the place of a row, for rows that were landed.
    identity: tuple[int, ...] | None = None

    def place(self, row: Row) -> Row:
        """Where a row stands in its source, and its number there."""
        if self.identity is None:
            return row[-2:]
        return content_place(row[position] for position in self.identity), row[-1]


def layout_of(columns: Iterable[str]) -> Layout:
    """Where the columns of a row stand: system columns first, then these."""
    return {name: position for position, name in enumerate((*SYSTEM, *columns))}


@dataclass(frozen=True)
class LoadedTable:
    """The rows that a run sees, with their system columns first."""

    table: StoredTable
    rows: list[Row]

    @property
    def layout(self) -> Layout:
        return layout_of(self.table.columns)


def load(table: StoredTable, facts: RunFacts, *, with_deleted: bool, with_ids: bool) -> LoadedTable:
    """The rows of the run's period or as-of date; rows that are deleted are read of the input alone."""
    stored = {name: position for position, name in enumerate((*table.columns, *table.carried))}
    is_visible = _time_filter(table, stored, facts)
    system = _system_columns(table, stored, facts, with_ids=with_ids)
    check = _row_check(table, stored)
    deleted = None if with_deleted else stored.get("_deleted")
    count = len(table.columns)
    rows: list[Row] = []
    for row in table.rows():
        if not is_visible(row) or (deleted is not None and row[deleted]):
            continue
        check(row)
        rows.append((*system(row), *row[:count]))
    return LoadedTable(table, rows)


def _time_filter(table: StoredTable, stored: Mapping[str, int], facts: RunFacts) -> Callable[[Row], bool]:
    """`period` by the slice or the period, `bitemporal` by the as-of date, everything else whole."""
    periods = frozenset(table.periods or (facts.period.identifier,))
    run_period = stored.get(RUN_PERIOD_COLUMN)
    match table.temporal_mode:
        case "period":
            _require_columns(table, stored, RUN_PERIOD_COLUMN if run_period is not None else "_period")
            position = stored[RUN_PERIOD_COLUMN] if run_period is not None else stored["_period"]
            return lambda row: row[position] in periods
        case "bitemporal":
            _require_columns(table, stored, "_valid_from", "_valid_to")
            start, end = stored["_valid_from"], stored["_valid_to"]
            is_valid = _validity(table, facts)
            if run_period is None:
                return lambda row: is_valid(row[start], row[end])
            # Summary rows are valid for the slice that contains them.
            return lambda row: (
                row[run_period] in periods
                and ((row[start] is None and row[end] is None) or is_valid(row[start], row[end]))
            )
        case _:
            return lambda row: True


def _validity(table: StoredTable, facts: RunFacts) -> Callable[[Value, Value], bool]:
    """Valid at the start of the as-of day, or at its end where the dataset says so."""
    midnight = _midnight(table.as_of or facts.as_of)
    if table.as_of is not None and table.as_of_rule == "end":
        end_of_day = midnight + datetime.timedelta(days=1)
        return lambda start, end: (
            start is not None and _midnight(start) < end_of_day and (end is None or _midnight(end) >= end_of_day)
        )
    return lambda start, end: (
        start is not None and _midnight(start) <= midnight and (end is None or _midnight(end) > midnight)
    )


def _midnight(value: Value) -> datetime.datetime:
    if isinstance(value, datetime.datetime):
        return value
    assert isinstance(value, datetime.date)
    return datetime.datetime.combine(value, datetime.time(), datetime.UTC)


def _require_columns(table: StoredTable, stored: Mapping[str, int], *names: str) -> None:
    for name in names:
        if name not in stored:
            raise DaybookError("PROJECT_032", dataset_id=table.dataset_id, column=name)


def _row_check(table: StoredTable, stored: Mapping[str, int]) -> Callable[[Row], None]:
    """No NULL where none may be, and no carried id that is none."""
    required = [(stored[name], name) for name in table.required]
    row_id = stored.get("_row_id")

    def check(row: Row) -> None:
        for position, name in required:
            if row[position] is None:
                raise DaybookError(
                    "PROJECT_030", dataset_id=table.dataset_id, column=name, place=row[-2], ordinal=str(row[-1])
                )
        if row_id is not None and (row[row_id] is None or not ROW_ID.fullmatch(row[row_id])):
            value = row[row_id] if row[row_id] is not None else "NULL"
            raise DaybookError(
                "PROJECT_031", dataset_id=table.dataset_id, value=value, place=row[-2], ordinal=str(row[-1])
            )

    return check


def _system_columns(
    table: StoredTable, stored: Mapping[str, int], facts: RunFacts, *, with_ids: bool
) -> Callable[[Row], Row]:
    """What a row that is read has of the system columns, over what its source carries."""
    row_id = _loaded_ids(table, stored, facts) if with_ids else lambda row: None
    period = _period_of_row(table, stored)
    valid_from, valid_to = _validity_day(table, stored, "_valid_from"), _validity_day(table, stored, "_valid_to")
    origin = stored.get("_operation_seq")
    deleted, labels = _carried(stored, "_deleted", False), _carried(stored, "_labels", "")
    created, updated = (_carried(stored, name, facts.timestamp) for name in ("_created_at", "_updated_at"))
    dataset_id, name = table.dataset_id, table.name

    def compute(row: Row) -> Row:
        return (
            row_id(row),
            deleted(row),
            period(row),
            valid_from(row),
            valid_to(row),
            dataset_id,
            name,
            0,
            None if origin is None else row[origin],
            created(row),
            updated(row),
            labels(row),
        )

    return compute


def _carried(stored: Mapping[str, int], name: str, otherwise: Value) -> Callable[[Row], Value]:
    position = stored.get(name)
    if position is None:
        return lambda row: otherwise
    return lambda row: otherwise if row[position] is None else row[position]


def _period_of_row(table: StoredTable, stored: Mapping[str, int]) -> Callable[[Row], Value]:
    """The row's own; of a row that has none, such as a total, that of the slice it was written in."""
    if table.row_period is not None:
        return lambda row: table.row_period
    own, run_period = stored.get("_period"), stored.get(RUN_PERIOD_COLUMN)
    if (table.temporal_mode != "period" and not table.has_period_of_slice) or run_period is None:
        return lambda row: None if own is None else row[own]
    return lambda row: row[run_period] if own is None or row[own] is None else row[own]


def _validity_day(table: StoredTable, stored: Mapping[str, int], name: str) -> Callable[[Row], Value]:
    """A validity that begins or ends in the middle of a day does so with the next day."""
    position = stored.get(name)
    if position is None:
        return lambda row: None

    def compute(row: Row) -> Value:
        value = row[position]
        if not isinstance(value, datetime.datetime):
            return value
        day = value.date()
        return (
            day + datetime.timedelta(days=1) if table.temporal_mode == "bitemporal" and value > _midnight(day) else day
        )

    return compute


def _loaded_ids(table: StoredTable, stored: Mapping[str, int], facts: RunFacts) -> Callable[[Row], str]:
    """The carried id where it is unique in what is read, else an id of it and the slice or place; else of the place."""
    carried = stored.get("_row_id")
    if carried is None:
        ids = RowIds(facts.period.start_date, "loaded", (table.dataset_id,))
        return lambda row: ids.of(table.place(row))
    run_period = stored.get(RUN_PERIOD_COLUMN)
    is_by_slice = table.temporal_mode in ("period", "bitemporal") or table.reads_slices
    is_one_slice = is_by_slice and len(table.periods) <= 1
    by_slice = run_period is not None and (table.may_repeat_ids or not is_one_slice)
    if not by_slice and not table.may_repeat_ids:
        return lambda row: row[carried]
    ids = RowIds(facts.period.start_date, "carried", (table.dataset_id,))
    positions = (carried, *((run_period,) if by_slice and run_period is not None else ()))

    def carried_id(row: Row) -> str:
        place = table.place(row) if table.may_repeat_ids else ()
        return ids.of((*(row[position] for position in positions), *place))

    return carried_id
