"""The five operations over lists of dicts."""

import datetime
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from daybook.model.types import ColumnType
from tests.reference.grouping import Group, groups_of
from tests.reference.numbers import FailedRunError
from tests.reference.tree import Column, Expression, Row, Value
from tests.reference.widening import widen
from tests.reference.windows import NewId, PickedRow

SYSTEM = (
    "_row_id",
    "_deleted",
    "_period",
    "_valid_from",
    "_valid_to",
    "_source_dataset_id",
    "_source_table",
    "_operation_seq",
    "_origin_seq",
    "_created_at",
    "_updated_at",
    "_labels",
)
Record = dict[str, Value]


class FanOutError(FailedRunError):
    """A picked row that matches more than one row of a join."""


class NullValueError(FailedRunError):
    """NULL in a column declared not to hold it."""


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
    on: Expression


@dataclass(frozen=True)
class Update:
    seq: int
    assignments: Sequence[tuple[str, Expression]]
    selector: Expression | None = None
    joins: Sequence[Join] = ()


@dataclass(frozen=True)
class Summarise:
    """The `aggregate` operation."""

    seq: int
    group_by: Sequence[str]
    aggregations: Sequence[tuple[str, Expression]]
    selector: Expression | None = None


@dataclass(frozen=True)
class Append:
    seq: int
    source: Table
    source_selector: Expression | None = None
    group_by: Sequence[str] = ()
    aggregations: Sequence[tuple[str, Expression]] = ()
    # What working columns become of the source's, instead of all columns under their own names.
    columns: Sequence[tuple[str, Expression]] = ()


@dataclass(frozen=True)
class Delete:
    seq: int
    selector: Expression | None = None


@dataclass(frozen=True)
class Output:
    seq: int
    selector: Expression | None = None
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


def with_slice_period(row: Row) -> Row:
    """A row that has no period of its own belongs to that of the slice it was written in."""
    return {**row, "_period": row["_run_period"]} if "_run_period" in row and row.get("_period") is None else row


def stored_rows(table: Table, run: Run) -> list[Row]:
    rows = [with_slice_period(row) for row in table.rows if in_time(table, row, run)]
    for row, column in itertools.product(rows, sorted(table.required)):
        if row[column] is None:
            raise NullValueError(f"{table.dataset_id}.{column}")
    return rows


def live_rows(table: Table, run: Run) -> list[Row]:
    return [row for row in stored_rows(table, run) if not row.get("_deleted")]


def picks(selector: Expression | None, row: Row) -> bool:
    """A selector that is NULL does not pick."""
    return selector is None or selector.value(row) is True


@dataclass
class WorkingDataset:
    """All rows of a run; `types` are those of the business columns, created ones included, over the whole project.

    `counts` are the rows that each operation picked and added, by seq.
    """

    input: Table
    types: Mapping[str, ColumnType]
    run: Run
    rows: list[Record] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    ids: Iterator[int] = field(default_factory=itertools.count)
    counts: dict[int, tuple[int, int]] = field(default_factory=dict)

    def load(self) -> None:
        self.columns = list(self.input.columns)
        for row in stored_rows(self.input, self.run):
            record = {column: row[column] for column in self.columns}
            self.rows.append(record | self._loaded_system_columns(row))

    def _loaded_system_columns(self, row: Row) -> Record:
        def carried(column: str, otherwise: Value) -> Value:
            value = row.get(column)
            return otherwise if value is None else value

        return self._new_system_columns(0) | {
            "_row_id": row.get("_row_id") or NewId(next(self.ids)),
            "_deleted": carried("_deleted", False),
            "_period": row.get("_period"),
            "_valid_from": row.get("_valid_from"),
            "_valid_to": row.get("_valid_to"),
            "_origin_seq": row.get("_operation_seq"),
            "_created_at": carried("_created_at", self.run.timestamp),
            "_updated_at": carried("_updated_at", self.run.timestamp),
            "_labels": carried("_labels", ""),
        }

    def _new_system_columns(self, seq: int, source: Table | None = None) -> Record:
        table = source or self.input
        return {
            "_row_id": NewId(next(self.ids)),
            "_deleted": False,
            "_period": None,
            "_valid_from": None,
            "_valid_to": None,
            "_source_dataset_id": table.dataset_id,
            "_source_table": table.name,
            "_operation_seq": seq,
            "_origin_seq": None,
            "_created_at": self.run.timestamp,
            "_updated_at": self.run.timestamp,
            "_labels": "",
        }

    def live(self) -> list[Record]:
        return [row for row in self.rows if not row["_deleted"]]

    def apply(self, operation: Operation) -> list[Record] | None:
        """The rows written, when the operation is an output."""
        match operation:
            case Update():
                self._update(operation)
            case Summarise():
                self._summarise(operation)
            case Append():
                self._append(operation)
            case Delete():
                picked = [row for row in self.live() if picks(operation.selector, row)]
                for row in picked:
                    row["_deleted"] = True
                    row["_updated_at"] = self.run.timestamp
                self.counts[operation.seq] = len(picked), 0
            case Output():
                return self._output(operation)
        return None

    def _add_columns(self, names: Sequence[str]) -> None:
        for name in names:
            if name not in self.columns and name not in SYSTEM:
                self.columns.append(name)
                for row in self.rows:
                    row[name] = None

    def _fit(self, column: str, value: Value) -> Value:
        return widen(value, self.types[column]) if column in self.types else value

    def _update(self, operation: Update) -> None:
        picked: list[tuple[Record, Row]] = []
        loaded = {join.alias: live_rows(join.table, self.run) for join in operation.joins}
        for row in self.live():
            matches = list(joined(row, operation.joins, loaded))
            if not any(picks(operation.selector, match) for match in matches):
                continue
            if len(matches) > 1:
                raise FanOutError(str(operation.seq))
            picked.append((row, matches[0]))
        seen = [match for _, match in picked]
        changes = [
            (
                row,
                {
                    target: self._fit(target, value.value(PickedRow(match, seen, self.input.natural_key)))
                    for target, value in operation.assignments
                },
            )
            for row, match in picked
        ]
        self._add_columns([column for column, _ in operation.assignments])
        for row, values in changes:
            row.update(values | {"_updated_at": self.run.timestamp})
        self.counts[operation.seq] = len(changes), 0

    def _summary(self, group: Group, aggregations: Sequence[tuple[str, Expression]]) -> Record:
        values = {column: self._fit(column, expression.value(group)) for column, expression in aggregations}
        keys = {column: self._fit(column, value) for column, value in group.key.items()}
        return keys | values

    def _summarise(self, operation: Summarise) -> None:
        picked = [row for row in self.live() if picks(operation.selector, row)]
        summaries = [self._summary(group, operation.aggregations) for group in groups_of(picked, operation.group_by)]
        self._add_columns([column for column, _ in operation.aggregations])
        for summary in summaries:
            self._add_row(self._new_system_columns(operation.seq) | summary)
        self.counts[operation.seq] = len(picked), len(summaries)

    def _append(self, operation: Append) -> None:
        source = operation.source
        rows = [row for row in live_rows(source, self.run) if picks(operation.source_selector, row)]
        if operation.aggregations:
            groups = list(groups_of(rows, operation.group_by))
            for group in groups:
                system = self._new_system_columns(operation.seq, source)
                self._add_row(system | self._summary(group, operation.aggregations))
            self.counts[operation.seq] = len(rows), len(groups)
            return
        self.counts[operation.seq] = len(rows), len(rows)
        for row in rows:
            system = self._new_system_columns(operation.seq, source)
            kept = {column: row[column] for column in APPEND_KEEPS if row.get(column) is not None}
            mapped = operation.columns or [(column, Column(column, kind)) for column, kind in source.columns.items()]
            values = {column: self._fit(column, expression.value(row)) for column, expression in mapped}
            self._add_row(system | kept | {"_origin_seq": row.get("_operation_seq")} | values)

    def _add_row(self, row: Record) -> None:
        self.rows.append(dict.fromkeys(self.columns) | row)

    def _output(self, operation: Output) -> list[Record]:
        seen = self.rows if operation.include_deleted else self.live()
        columns = operation.columns
        if columns is None:
            columns = [*self.columns, *(SYSTEM if operation.system_columns else ())]
        return [{column: row[column] for column in columns} for row in seen if picks(operation.selector, row)]


# What a raw appended row brings along of the system columns its source carries.
APPEND_KEEPS = ("_period", "_valid_from", "_valid_to", "_created_at", "_updated_at", "_labels")


def joined(row: Row, joins: Sequence[Join], loaded: Mapping[str, Sequence[Row]]) -> Iterator[Row]:
    """The row with its matches beside it: left joins, one after the other."""
    matches: list[Row] = [row]
    for join in joins:
        nothing = {f"{join.alias}.{column}": None for column in join.table.columns}
        sides = [{f"{join.alias}.{name}": other[name] for name in join.table.columns} for other in loaded[join.alias]]
        following: list[Row] = []
        for match in matches:
            found = [{**match, **side} for side in sides if picks(join.on, {**match, **side})]
            following.extend(found or [{**match, **nothing}])
        matches = following
    return iter(matches)
