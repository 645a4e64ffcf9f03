"""Writes a run as one self-contained HTML file."""

import datetime
import os
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from daybook.compare.bridge import BridgeRequest
from daybook.compare.bridge_result import BridgeResult
from daybook.compare.diff import DiffRequest
from daybook.compare.diff_result import DiffResult
from daybook.errors import DaybookError
from daybook.io.pins import Pin
from daybook.io.row_page import Total
from daybook.io.stored_rows import RowCondition
from daybook.model.types import SYSTEM_COLUMNS
from daybook.plan.lineage import PlanLineage, plan_lineage
from daybook.runs.attempt.prepare import PreparedRun, restore_run
from daybook.runs.attempt.recorder import recorded_pins
from daybook.runs.environment import stored_storage
from daybook.runs.run_result import OutputResult
from daybook.runs.snapshot import RunSnapshot, SourceSnapshot, snapshot_from_json
from daybook.store.records import RunFilter, RunRecord
from daybook.store.store import Transaction
from daybook.workspace.certificates import PeriodSeal, list_seals
from daybook.workspace.numbers import (
    MOST_PAGE_ROWS,
    NumbersPage,
    NumbersRequest,
    bridge_runs,
    diff_runs,
    list_outputs,
    read_numbers,
)
from daybook.workspace.open_workspace import OpenedWorkspace
from daybook.workspace.runs import RunDetails, show_run
from daybook.workspace.totals import TotalsOfRun, totals_of

REPORT_MARK = "<!-- daybook report of run "
_MARK_BYTES = 200
_SEQ_COLUMN = "_operation_seq"
_LOADED_ROWS = "loaded rows"
_MOST_COMPARED = 5
_MOST_LOOKED_AT = 200
# What these say of the runs stays true, so the report says it in its place: rows that are gone, outputs that cannot be
# compared. Anything else that fails, such as Spark or the store, fails the report.
_FACTS = frozenset(f"RUN_{number:03}" for number in (12, *range(62, 67), 68, 69, 73, 75, 77, 79, 84, 85, 89))


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """Which run, by its id or as PROJECT@PERIOD; `against` is the run to compare with instead of the one before it."""

    run: str
    against: str | None = None
    has_differences: bool = True
    # The most rows of each output that the file shows; totals are of all rows.
    rows: int = 200
    # Columns whose totals are explained by a bridge from the other run.
    measures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TotalLine:
    """Rows that one operation made, and their sums; details and summaries are never added up together."""

    made_by: str | None
    count: int
    totals: Mapping[str, Total | None]


@dataclass(frozen=True, slots=True)
class OutputNumbers:
    """The first rows of an output and its totals; `problem` is why they cannot be shown."""

    output: OutputResult
    page: NumbersPage | None
    totals: tuple[TotalLine, ...] = ()
    problem: DaybookError | None = None


@dataclass(frozen=True, slots=True)
class OutputDifference:
    """One output compared with that of another run; `problem` is why it cannot be compared."""

    output: OutputResult
    result: DiffResult | None
    problem: DaybookError | None = None


@dataclass(frozen=True, slots=True)
class MeasureBridge:
    """Why the total of a column moved; `problem` is why that cannot be said."""

    measure: str
    result: BridgeResult | None
    problem: DaybookError | None = None


@dataclass(frozen=True, slots=True)
class RunReport:
    """Everything that the file shows; `before` is the run it was compared with, None where there is none."""

    workspace_name: str
    made_at: datetime.datetime
    run: RunDetails
    snapshot: RunSnapshot
    pins: Mapping[str, tuple[Pin, ...]]
    numbers: tuple[OutputNumbers, ...]
    lineage: PlanLineage
    before: RunRecord | None
    differences: tuple[OutputDifference, ...]
    bridges: tuple[MeasureBridge, ...]
    has_differences: bool
    totals: TotalsOfRun | None = None
    # The certificates that cover the run.
    seals: tuple[PeriodSeal, ...] = ()

    @property
    def record(self) -> RunRecord:
        return self.run.record

    @property
    def sources(self) -> Iterator[tuple[SourceSnapshot, tuple[Pin, ...]]]:
        """What was read and as what; datasets that several operations read are there once."""
        seen = set()
        for source in self.snapshot.sources:
            labels = tuple(location.label for location in source.resolution.locations)
            key = (source.dataset_id, source.dataset_version, labels)
            if key not in seen:
                seen.add(key)
                yield source, self.pins.get(source.key, ())


@dataclass(frozen=True, slots=True)
class WrittenReport:
    path: Path
    size: int
    run_id: str
    project_id: str
    period: str
    compared_with: str | None


def _gather_report(workspace: OpenedWorkspace, request: ReportRequest) -> RunReport:
    """Read everything that the report of a run shows; Spark is needed for differences to another run only."""
    root = workspace.root.resolve()
    with workspace.open_store_or_empty() as store, store.read() as transaction:
        run_id = transaction.runs.id_of(request.run)
        record = transaction.runs.shown(run_id)
        snapshot = snapshot_from_json(transaction.runs.snapshot(run_id))
        prepared = restore_run(snapshot, root, stored_storage(workspace, store))
        pins = recorded_pins(transaction, run_id)
        before = _other_run(transaction, record, request)
    run = show_run(workspace, run_id)
    outputs = list_outputs(workspace, run_id)
    numbers = tuple(_read_output(workspace, run_id, output, prepared, request.rows) for output in outputs)
    differences: tuple[OutputDifference, ...] = ()
    bridges: tuple[MeasureBridge, ...] = ()
    if before is not None:
        differences = tuple(_compare(workspace, before, record, output) for output in outputs[:_MOST_COMPARED])
        bridges = tuple(_explain_total(workspace, before, record, measure) for measure in request.measures)
    return RunReport(
        workspace_name=workspace.settings.name,
        made_at=workspace.clock(),
        run=run,
        snapshot=snapshot,
        pins=pins,
        numbers=numbers,
        lineage=plan_lineage(prepared.plan),
        before=before,
        differences=differences,
        bridges=bridges,
        has_differences=request.has_differences,
        totals=totals_of(run),
        seals=list_seals(workspace, run=run_id),
    )


def write_report(workspace: OpenedWorkspace, request: ReportRequest, path: Path) -> WrittenReport:
    """Write the report of a run to a file; nothing but an earlier report is ever replaced."""
    from daybook.workspace.report_page import render_report

    check_report_path(path)
    report = _gather_report(workspace, request)
    content = render_report(report).encode()
    check_report_path(path)
    _replace_file(path, content)
    record = report.record
    before = report.before.id if report.before and report.differences else None
    return WrittenReport(path.resolve(), len(content), record.id, record.project_id, record.period, before)


def check_report_path(path: Path) -> None:
    """RUN_086 for anything there but an earlier report, RUN_087 where there is no folder for it."""
    if path.is_dir():
        raise DaybookError("RUN_086", path=path.as_posix())
    if not path.parent.is_dir():
        raise DaybookError("RUN_087", folder=path.parent.as_posix())
    try:
        with path.open("rb") as stream:
            begin = stream.read(_MARK_BYTES)
    except FileNotFoundError:
        return
    if REPORT_MARK.encode() not in begin:
        raise DaybookError("RUN_086", path=path.as_posix())


def _replace_file(path: Path, content: bytes) -> None:
    """All of it or nothing, also when the disk is full."""
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with fresh.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def _other_run(transaction: Transaction, record: RunRecord, request: ReportRequest) -> RunRecord | None:
    """The run that was named, else the last one before it, of the same period where there is one."""
    if not request.has_differences:
        return None
    if request.against is not None:
        return transaction.runs.shown(transaction.runs.id_of(request.against))
    page = transaction.runs.page(RunFilter(record.project_id, status="completed"), limit=_MOST_LOOKED_AT)
    earlier = [run for run in page.runs if run.created_at < record.created_at and not run.is_sandboxed]
    same_period = (run for run in earlier if run.period == record.period)
    return next(same_period, None) or next(iter(earlier), None)


def _read_output(
    workspace: OpenedWorkspace, run_id: str, output: OutputResult, prepared: PreparedRun, rows: int
) -> OutputNumbers:
    request = NumbersRequest(
        run_id, str(output.operation_seq), limit=min(rows, MOST_PAGE_ROWS), has_totals=True, has_reading_order=True
    )
    try:
        page = read_numbers(workspace, request)
        return OutputNumbers(output, page, tuple(_total_lines(workspace, request, page, prepared)))
    except DaybookError as problem:
        return OutputNumbers(output, None, problem=_fact(problem))


def _total_lines(
    workspace: OpenedWorkspace, request: NumbersRequest, page: NumbersPage, prepared: PreparedRun
) -> Iterator[TotalLine]:
    """One line, or one for each operation that made rows where the output distinguishes them."""
    if _SEQ_COLUMN not in (column.name for column in page.columns):
        yield TotalLine(None, page.count, page.totals or {})
        return
    names = {0: _LOADED_ROWS}
    names |= {
        operation.seq: operation.name
        for operation in prepared.snapshot.project.operations
        if operation.type in _MAKES_ROWS
    }
    for seq, name in names.items():
        line_request = replace(request, where=(RowCondition(_SEQ_COLUMN, "=", seq),), limit=0)
        line_page = read_numbers(workspace, line_request)
        if line_page.count:
            yield TotalLine(name, line_page.count, line_page.totals or {})


_MAKES_ROWS = ("aggregate", "append")


def _compare(workspace: OpenedWorkspace, before: RunRecord, after: RunRecord, output: OutputResult) -> OutputDifference:
    has_id = output.operation_id != f"op-{output.operation_seq}"
    output_name = output.operation_id if has_id else str(output.operation_seq)
    try:
        return OutputDifference(output, diff_runs(workspace, DiffRequest(before.id, after.id, output_name, limit=20)))
    except DaybookError as problem:
        return OutputDifference(output, None, _fact(problem))


def _explain_total(workspace: OpenedWorkspace, before: RunRecord, after: RunRecord, measure: str) -> MeasureBridge:
    try:
        return MeasureBridge(measure, bridge_runs(workspace, BridgeRequest(before.id, after.id, measure)))
    except DaybookError as problem:
        return MeasureBridge(measure, None, _fact(problem))


def _fact(problem: DaybookError) -> DaybookError:
    if problem.code not in _FACTS:
        raise problem
    return problem


def shown_columns(page: NumbersPage) -> tuple[int, ...]:
    """The positions of the columns that people read: all but the system's."""
    own = tuple(number for number, column in enumerate(page.columns) if column.name not in SYSTEM_COLUMNS)
    return own or tuple(range(len(page.columns)))
