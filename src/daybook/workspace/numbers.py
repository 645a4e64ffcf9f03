"""The numbers of a run: pages of rows with totals, CSV, and the comparison with another run, also as a picture."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

import pyarrow as pa
from pydantic import computed_field

from daybook.compare.bridge import BridgeRequest, bridge
from daybook.compare.bridge_result import BridgeResult, Cause
from daybook.compare.diff import DiffRequest, diff
from daybook.compare.diff_result import DiffResult
from daybook.engine.java.classic import activate_session
from daybook.errors import DaybookError
from daybook.io.row_page import MOST_SORTED_ROWS, PageRequest, Total, csv_texts, is_summed
from daybook.io.stored_rows import (
    COMPARISONS,
    Comparison,
    RowCondition,
    RowOrder,
    check_order,
    comparisons_of,
    type_conditions,
)
from daybook.model.json_fields import ExactRows, Hidden, ShownAs
from daybook.model.types import SYSTEM_COLUMNS, ColumnType, DecimalType, FloatType, IntegerType, Value
from daybook.pictures.shown_values import Negatives
from daybook.pictures.waterfall import Share, draw_waterfall
from daybook.runs.environment import stored_storage
from daybook.runs.run_listener import RunListener
from daybook.runs.run_result import OutputResult
from daybook.runs.slices import CommittedOutput, find_committed_output
from daybook.workspace.open_workspace import OpenedWorkspace

__all__ = [
    "COMPARISONS",
    "MOST_PAGE_ROWS",
    "CsvDownload",
    "NumberColumn",
    "NumbersPage",
    "NumbersRequest",
    "RowCondition",
    "RowOrder",
    "list_outputs",
    "read_numbers",
    "stream_csv",
]

MOST_PAGE_ROWS = 1000
# Totals of this many rows are there in a moment.
_MOST_SUMMED_ROWS = 2_000_000
_MOST_KEYS = 3


@dataclass(frozen=True, slots=True)
class NumbersRequest:
    """Which rows of which output of a run; without `output` its last one.

    Without an order the rows come as they are stored, which is fast at any size; with `has_reading_order` those of
    small outputs are sorted by what people look them up by, unless the project says how they are sorted. Totals read
    all rows: with `has_totals` of None they are there for outputs of up to two million rows.
    """

    run_id: str
    output: str | None = None
    where: tuple[RowCondition, ...] = ()
    sort: tuple[RowOrder, ...] = ()
    offset: int = 0
    limit: int = 50
    has_totals: bool | None = None
    has_reading_order: bool = False
    # Whether a session starts where the rows need one; else SessionNeededError.
    starts_session: bool = True


class SessionNeededError(Exception):
    """The rows are read through a session of Spark, which the request does not start."""


@dataclass(frozen=True, slots=True)
class NumberColumn:
    name: str
    type: Annotated[ColumnType, ShownAs(str, str)]

    @property
    def is_number(self) -> bool:
        return isinstance(self.type, IntegerType | DecimalType | FloatType)

    @property
    def is_system(self) -> bool:
        return self.name in SYSTEM_COLUMNS

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        return comparisons_of(self.type)


def _show_totals(totals: Mapping[str, Total | None] | None) -> dict[str, Any] | None:
    return None if totals is None else dict(totals)


@dataclass(frozen=True, slots=True)
class NumbersPage:
    """One page of an output: `count` of its `rows_written` rows fulfil the conditions; totals are exact sums of those.

    `totals` is None where they were not asked for; a column whose values are all NULL has the total None.
    """

    run_id: str
    project_id: str
    period: str
    output: OutputResult
    columns: tuple[NumberColumn, ...]
    where: tuple[RowCondition, ...]
    sort: tuple[RowOrder, ...]
    offset: int
    limit: int
    count: int
    totals: Annotated[Mapping[str, Total | None] | None, ShownAs(_show_totals, dict[str, Any] | None)]
    rows: Hidden[tuple[tuple[Value, ...], ...]]

    @computed_field(alias="rows")  # type: ignore[prop-decorator]
    @property
    def rows_by_column(self) -> ExactRows:
        names = [column.name for column in self.columns]
        return tuple(dict(zip(names, row, strict=True)) for row in self.rows)

    @property
    def next_offset(self) -> int | None:
        end = self.offset + len(self.rows)
        return end if end < self.count and self.rows else None


@dataclass(frozen=True, slots=True)
class CsvDownload:
    """A name for the file, and its text in pieces; errors of the request are raised before the first piece."""

    file_name: str
    pieces: Iterator[bytes]


def list_outputs(workspace: OpenedWorkspace, run_id: str) -> tuple[OutputResult, ...]:
    """What a run has committed, in the order of its operations; from the store alone, so that many can be listed."""
    with workspace.open_store_or_empty() as store, store.read() as transaction:
        project = json.loads(transaction.runs.snapshot(run_id))["project"]
        names = {operation["seq"]: operation["name"] for operation in project["operations"]}
        written = {
            operation.seq: operation.details.get("columns", ()) for operation in transaction.outcomes.operations(run_id)
        }
        commits = transaction.outcomes.commits(run_id)
    return tuple(
        OutputResult(
            operation_seq=commit.operation_seq,
            operation_id=commit.operation_id,
            name=names.get(commit.operation_seq, commit.operation_id),
            destination=commit.details.get("label", commit.destination),
            place=commit.destination,
            format=commit.details.get("format", ""),
            rows_written=commit.rows or 0,
            columns_written=tuple(written.get(commit.operation_seq, ())),
            write_duration_ms=commit.details.get("duration_ms", 0),
            dataset_id=commit.details.get("dataset_id"),
            dataset_version=commit.details.get("dataset_version"),
            table_version=commit.table_version,
            is_repeat=True,
        )
        for commit in commits
    )


def read_numbers(workspace: OpenedWorkspace, request: NumbersRequest) -> NumbersPage:
    """One page; of Parquet and Delta only the columns and row groups that it needs are read.

    Tables by name are filtered and sorted by the session.
    """
    _check_page(request)
    committed = _find_output(workspace, request)
    page_request = _page_request(committed, request)
    page = committed.page(page_request)
    columns = tuple(NumberColumn(column.name, column.type) for column in committed.planned.target.columns)
    values = [page.rows.column(column.name).to_pylist() for column in columns]
    return NumbersPage(
        run_id=committed.record.id,
        project_id=committed.record.project_id,
        period=committed.record.period,
        output=committed.result,
        columns=columns,
        rows=tuple(zip(*values, strict=True)),
        offset=request.offset,
        limit=request.limit,
        count=page.count,
        totals=page.totals if _has_totals(committed, request) else None,
        where=request.where,
        sort=request.sort,
    )


def stream_csv(workspace: OpenedWorkspace, request: NumbersRequest) -> CsvDownload:
    """All rows that fulfil the conditions, read while they are sent; offset and limit do not count."""
    committed = _find_output(workspace, request)
    page_request = _page_request(committed, request)
    record = committed.record
    name = f"{record.project_id}-{record.period}-{committed.result.operation_seq}.csv"
    batches = committed.batches(page_request)
    return CsvDownload(name, csv_texts(committed.planned.target.columns, batches))


def _find_output(workspace: OpenedWorkspace, request: NumbersRequest) -> CommittedOutput:
    with workspace.open_store_or_empty() as store, store.read() as transaction:
        storage = stored_storage(workspace, store)
        committed = find_committed_output(
            transaction, workspace.root.resolve(), request.run_id, request.output, storage
        )
    if committed.needs_session and not request.starts_session:
        raise SessionNeededError
    if committed.needs_session:
        activate_session(workspace.session())
    return committed


def _page_request(committed: CommittedOutput, request: NumbersRequest) -> PageRequest:
    columns, name = committed.planned.target.columns, committed.result.destination
    check_order(request.sort, columns, name)
    totals = (column.name for column in columns if is_summed(column) and column.name not in SYSTEM_COLUMNS)
    return PageRequest(
        type_conditions(request.where, columns, name),
        request.sort or (_reading_order(committed) if request.has_reading_order else ()),
        request.offset,
        request.limit,
        tuple(totals) if _has_totals(committed, request) else (),
    )


def _reading_order(committed: CommittedOutput) -> tuple[RowOrder, ...]:
    """The columns that people look rows up by, where the project does not say how its rows are sorted."""
    if committed.planned.step.arguments.order_by or committed.result.rows_written > MOST_SORTED_ROWS:
        return ()
    columns = committed.planned.target.columns
    keys = (column.name for column in columns if column.name not in SYSTEM_COLUMNS and not is_summed(column))
    return tuple(map(RowOrder, tuple(keys)[:_MOST_KEYS]))


def _has_totals(committed: CommittedOutput, request: NumbersRequest) -> bool:
    if request.has_totals is None:
        return committed.result.rows_written <= _MOST_SUMMED_ROWS
    return request.has_totals


def _check_page(request: NumbersRequest) -> None:
    if request.offset < 0:
        raise DaybookError("RUN_031", argument="offset", expected="a whole number from 0", value=request.offset)
    if not 0 <= request.limit <= MOST_PAGE_ROWS:
        expected = f"a whole number from 0 to {MOST_PAGE_ROWS}"
        raise DaybookError("RUN_031", argument="limit", expected=expected, value=request.limit)


def diff_runs(workspace: OpenedWorkspace, request: DiffRequest) -> DiffResult:
    """Rows added, removed and changed between two runs, totals, and the largest changes."""
    with workspace.open_run_environment() as environment:
        return diff(environment, request)


def bridge_runs(
    workspace: OpenedWorkspace, request: BridgeRequest, *, listener: RunListener | None = None
) -> BridgeResult:
    """The causes that moved a total from one run to another, with their shares; the listener hears what is computed."""
    with workspace.open_run_environment(listener) as environment:
        return bridge(environment, request)


def parse_tolerance(value: str | int | float | Decimal | None) -> Decimal:
    """A number from 0, exactly as it is written."""
    try:
        tolerance = Decimal(str(0 if value is None else value))
    except InvalidOperation:
        tolerance = Decimal(-1)
    if not tolerance.is_finite() or tolerance < 0:
        raise DaybookError("RUN_031", argument="tolerance", expected="a number from 0", value=repr(value))
    return tolerance


def changes_table(result: DiffResult) -> pa.Table:
    """One row for each change that is shown: what happened, its key, and every column before and after."""
    changes = result.changes
    columns: dict[str, list[Any]] = {"change": [_change_word(change.before, change.after) for change in changes]}
    columns |= {name: [change.key[name] for change in changes] for name in result.key}
    shown = next((change.before or change.after or {} for change in changes), {})
    for name in shown:
        columns[f"{name} before"] = [(change.before or {}).get(name) for change in changes]
        columns[f"{name} after"] = [(change.after or {}).get(name) for change in changes]
    return to_table(columns)


def _change_word(before: object, after: object) -> str:
    return "added" if before is None else "removed" if after is None else "changed"


def to_table(columns: dict[str, list[Any]]) -> pa.Table:
    """Values by column in the types they have; a column without any value is a string."""
    arrays = {name: pa.array(values) for name, values in columns.items()}
    return pa.table(
        {name: array.cast(pa.string()) if pa.types.is_null(array.type) else array for name, array in arrays.items()}
    )


def causes_table(result: BridgeResult) -> pa.Table:
    """One row for each cause: its kind, its name, its share, and how many rows changed."""
    causes = result.causes
    return to_table(
        {
            "kind": [cause.kind for cause in causes],
            "name": [cause.name for cause in causes],
            "label": [cause.label for cause in causes],
            "share": [cause.share for cause in causes],
            "added": [cause.rows.added if cause.rows else None for cause in causes],
            "removed": [cause.rows.removed if cause.rows else None for cause in causes],
            "changed": [cause.rows.changed if cause.rows else None for cause in causes],
        }
    )


def groups_table(result: BridgeResult) -> pa.Table:
    """One row for each group and cause: the group, its totals before and after, and the share of the cause."""
    pairs = [
        (group, cause, share)
        for group in result.by or ()
        for cause, share in zip(result.causes, group.shares, strict=True)
    ]
    names = tuple(result.by[0].key) if result.by else ()
    columns: dict[str, list[Any]] = {name: [group.key[name] for group, _, _ in pairs] for name in names}
    return to_table(
        {
            **columns,
            "before": [group.before for group, _, _ in pairs],
            "after": [group.after for group, _, _ in pairs],
            "cause": [cause.name for _, cause, _ in pairs],
            "share": [share for _, _, share in pairs],
        }
    )


def draw_bridge(bridge: BridgeResult, *, negatives: Negatives = "minus", name: str = "bridge") -> str:
    """The total of A, the share of every cause in the order of swapping, and the total of B, as SVG."""
    shares = [Share(label, share, "" if cause is None else _rows_text(cause)) for label, share, cause in bridge.bars]
    if bridge.residual:
        shares.append(Share("not explained", bridge.residual))
    return draw_waterfall(
        (f"A: {bridge.a.period}", bridge.before),
        shares,
        (f"B: {bridge.b.period}", bridge.after),
        title=f"Why {bridge.measure} of {bridge.output} moved",
        name=name,
        negatives=negatives,
    )


def _rows_text(cause: Cause) -> str:
    if cause.rows is None:
        return ""
    rows = cause.rows
    counts = (("+", rows.added), ("\N{MINUS SIGN}", rows.removed), ("~", rows.changed))
    return " ".join(f"{sign}{count:,}" for sign, count in counts if count) + " rows"
