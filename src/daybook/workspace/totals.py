"""The totals of a run from its sources to its outputs, with the facts about the run that an auditor needs."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import reduce

from daybook.errors import DaybookError
from daybook.model.json_fields import Hidden, Merged
from daybook.model.measures import EXACT
from daybook.pictures.flow import FlowChange, FlowOutput, Stream, draw_flow
from daybook.pictures.shown_values import format_number
from daybook.runs.totals import MadeBy, MeasureTotals, OperationTotals, RunTotals, SourceTotals, read_totals
from daybook.workspace.open_workspace import OpenedWorkspace
from daybook.workspace.runs import RunDetails, show_run


@dataclass(frozen=True, slots=True)
class CheckedRows:
    """A check of the project, and how many rows it picked."""

    seq: int
    name: str
    rows: int


@dataclass(frozen=True, slots=True)
class ProducedInformation:
    """The facts that audits require about system-produced information: its definition, inputs, author and checks."""

    project: str
    version: int
    digest: str
    period: str
    as_of: str
    parameters: Mapping[str, str]
    status: str
    run_by: str
    host: str
    run_at: str
    commit: str | None
    is_clean: bool | None
    daybook: str
    checks: tuple[CheckedRows, ...]


@dataclass(frozen=True, slots=True)
class TotalsOfRun:
    """The totals that a run recorded."""

    totals: Merged[RunTotals]
    information: Hidden[ProducedInformation]

    @property
    def run(self) -> str:
        return self.totals.run

    @property
    def sources(self) -> tuple[SourceTotals, ...]:
        return self.totals.sources

    @property
    def measures(self) -> tuple[MeasureTotals, ...]:
        return self.totals.measures


def run_totals(workspace: OpenedWorkspace, run: str, *, measure: str | None = None) -> TotalsOfRun:
    """The totals of a run, by its id or as PROJECT@PERIOD: of all measures, or of one."""
    details = show_run(workspace, run)
    recorded = totals_of(details)
    if recorded is None:
        raise DaybookError("TOTALS_030", run_id=details.record.id)
    if measure is None:
        return recorded
    chosen = tuple(measure_totals for measure_totals in recorded.totals.measures if measure_totals.column == measure)
    if not chosen:
        names = ", ".join(measure_totals.column for measure_totals in recorded.totals.measures) or "none"
        raise DaybookError("TOTALS_031", column=measure, run_id=details.record.id, measures=names)
    return replace(recorded, totals=replace(recorded.totals, measures=chosen))


def totals_of(run: RunDetails) -> TotalsOfRun | None:
    """None for a run that followed neither measures nor controls."""
    labels = {commit.operation_seq: str(commit.details.get("label", commit.destination)) for commit in run.commits}
    totals = read_totals(run.record.id, run.operations, run.operation_names, labels)
    return None if totals is None else TotalsOfRun(totals, _information(run))


def _information(run: RunDetails) -> ProducedInformation:
    record, snapshot = run.record, run.snapshot
    provenance, git = snapshot["provenance"], snapshot["provenance"].get("git")
    return ProducedInformation(
        project=record.project_id,
        version=record.project_version,
        digest=hashlib.sha256(snapshot["project_text"].encode()).hexdigest(),
        period=record.period,
        as_of=str(snapshot["as_of"]),
        parameters=snapshot.get("parameters") or {},
        status=record.status,
        run_by=provenance["user"],
        host=provenance["host"],
        run_at=str(snapshot["timestamp"]),
        commit=git["commit"] if git else None,
        is_clean=git["is_clean"] if git else None,
        daybook=provenance["daybook_version"],
        checks=tuple(
            CheckedRows(
                operation.seq, run.operation_names.get(operation.seq, operation.type), operation.rows_picked or 0
            )
            for operation in run.operations
            if operation.type == "check"
        ),
    )


def total_of(totals: Sequence[MadeBy], made_by: int) -> Decimal:
    """The part of a total that belongs to the rows of one operation."""
    return reduce(EXACT.add, (Decimal(figure.total) for figure in totals if figure.made_by == made_by), Decimal(0))


def makers_of(measure: MeasureTotals) -> tuple[int, ...]:
    """The operations whose rows have a total of the measure other than zero, 0 being the load of the input."""
    figures = [
        *(figure for operation in measure.operations for figure in (*operation.before, *operation.after)),
        *(figure for output in measure.outputs for figure in (*output.written, *output.left_out)),
    ]
    amounts = {figure.made_by for figure in figures if Decimal(figure.total)}
    return tuple(sorted(amounts)) or (0,)


def is_finite(measure: MeasureTotals) -> bool:
    """Whether all totals are numbers that can be drawn and added up: one NaN among floats makes a total none."""
    figures = [
        *(
            figure
            for operation in measure.operations
            for figure in (
                *operation.before,
                *operation.added,
                *operation.changed,
                *operation.deleted,
                *operation.after,
            )
        ),
        *(figure for output in measure.outputs for figure in (*output.written, *output.left_out)),
    ]
    return all(Decimal(figure.total).is_finite() for figure in figures)


def balance_sentences(recorded: TotalsOfRun) -> Iterator[str]:
    """Each measure as one equation, for the stream of rows with the largest written total."""
    source = next((source for source in recorded.sources if source.seq == 0), None)
    for measure in filter(is_finite, recorded.measures):
        maker, flow = _largest_stream(recorded, measure)
        names = {operation.seq: operation.name for operation in measure.operations}
        begin = "loaded" if maker == 0 else f"made by {maker} {names.get(maker, '')}".rstrip()
        if maker == 0 and source is not None and source.control and measure.column in source.control.totals:
            begin = "loaded, as the control file says,"
        text = f"{measure.column}: {format_number(flow.start)} {begin}"
        for is_deleted, what in ((False, "changed"), (True, "deleted")):
            amounts = (Decimal(change.amount) for change in flow.changes if change.is_deleted is is_deleted)
            amount = reduce(EXACT.add, amounts, Decimal(0))
            if amount:
                sign = "-" if is_deleted is (amount > 0) else "+"
                text += f" {sign} {format_number(abs(amount))} {what}"
        if flow.outputs:
            last = flow.outputs[-1]
            parts = [f"{format_number(last.written)} written"] if last.written or not last.left_out else []
            parts += [f"{format_number(last.left_out)} left out"] if last.left_out else []
            text += f" = {' + '.join(parts)}"
        yield text


def _largest_stream(recorded: TotalsOfRun, measure: MeasureTotals) -> tuple[int, Stream]:
    columns = {operation.seq: number for number, operation in enumerate(measure.operations, start=1)}
    streams = [(maker, _stream(recorded, measure, maker, columns)) for maker in makers_of(measure)]

    def size(stream: tuple[int, Stream]) -> tuple[float, float]:
        written = (abs(float(output.written)) for output in stream[1].outputs)
        return max(written, default=0.0), stream[1].largest

    return max(streams, key=size)


def draw_totals(recorded: TotalsOfRun, measure: MeasureTotals, *, name: str = "flow") -> str:
    """The flow of a measure as a picture, with the operations that changed it; empty if a total is not finite."""
    if not is_finite(measure):
        return ""
    makers = makers_of(measure)
    touching = [operation for operation in measure.operations if _touches(operation, makers)]
    columns = {operation.seq: number for number, operation in enumerate(touching, start=1)}
    streams = [_stream(recorded, measure, maker, columns) for maker in makers]
    names = [f"{operation.seq} {operation.name}" for operation in touching]
    return draw_flow(streams, names, title=f"The way of {measure.column}", name=name)


def _touches(operation: OperationTotals, makers: Sequence[int]) -> bool:
    figures = (*operation.added, *operation.changed, *operation.deleted)
    return any(Decimal(figure.total) and figure.made_by in makers for figure in figures)


def _stream(recorded: TotalsOfRun, measure: MeasureTotals, maker: int, columns: Mapping[int, int]) -> Stream:
    source = next((source for source in recorded.sources if source.seq == 0), None)
    start = Decimal(source.totals.get(measure.column, "0")) if source is not None and maker == 0 else Decimal(0)
    label = f"{source.dataset}, loaded" if source is not None else "loaded"
    begin, live, changes = 0, start, list[FlowChange]()
    for operation in measure.operations:
        column = columns.get(operation.seq, 0)
        if (added := total_of(operation.added, maker)) and maker == operation.seq:
            begin, start, live = column, added, added
        for figures, is_deleted in ((operation.changed, False), (operation.deleted, True)):
            if amount := total_of(figures, maker):
                live = EXACT.subtract(live, amount) if is_deleted else EXACT.add(live, amount)
                changes.append(FlowChange(column, amount, is_deleted, live))
        if maker == operation.seq:
            label = f"{operation.seq} {operation.name}"
    outputs = tuple(
        FlowOutput(
            output.label,
            max((column for seq, column in columns.items() if seq < output.seq), default=0),
            EXACT.add(total_of(output.written, maker), total_of(output.left_out, maker)),
            total_of(output.written, maker),
            total_of(output.left_out, maker),
        )
        for output in measure.outputs
        if output.seq > maker
    )
    return Stream(label, begin, start, tuple(changes), outputs)
