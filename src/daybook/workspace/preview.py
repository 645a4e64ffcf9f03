"""Shows what a run of the files as they are now would do; computed without Spark, and nothing is kept."""

import datetime
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import reduce
from operator import add
from typing import Any

from pydantic import computed_field

from daybook.errors import DaybookError
from daybook.io.landing.area import LandingArea
from daybook.model.json_fields import ExactValues, Hidden, Notices
from daybook.model.types import DecimalType, FloatType, IntegerType
from daybook.plan.measures import columns_not_summed
from daybook.plan.steps import AggregateStep, AppendStep, CheckStep, Plan
from daybook.recompute import Computation, ComputedOutput
from daybook.recompute.arithmetic import EXACT
from daybook.resolve.project_files import CheckedFiles
from daybook.runs.attempt.prepare import PreparedRun, check_runs
from daybook.runs.attempt.run_request import RunRequest, check_request
from daybook.runs.empty_sources import empty_source_notices
from daybook.runs.environment import open_run_environment, workspace_with_store_copy
from daybook.runs.outputs import SANDBOX_SUFFIX
from daybook.runs.second_engine import compute_run
from daybook.workspace.open_workspace import OpenedWorkspace

MOST_ROWS = 200_000
DEFAULT_ROWS = 10
# What a draft has to say about where it would write.
_NOTICES_OF_DRAFTS = ("RUN_009", "RUN_014")


@dataclass(frozen=True, slots=True)
class PreviewedOperation:
    """How many rows an operation would pick, and add."""

    seq: int
    id: str
    name: Hidden[str]
    type: str
    picked: int
    added: int


@dataclass(frozen=True, slots=True)
class PreviewedOutput:
    """What an output would write: its first rows, and the sums of the columns that can be added up."""

    operation_seq: int
    operation_id: str
    destination: str
    columns: Mapping[str, str]
    row_count: int
    rows: Hidden[tuple[tuple[Any, ...], ...]]
    totals: Hidden[Mapping[str, Decimal | int | float | None]]

    @computed_field(alias="rows")  # type: ignore[prop-decorator]
    @property
    def rows_by_column(self) -> tuple[Mapping[str, Any], ...]:
        return tuple(dict(zip(self.columns, row, strict=True)) for row in self.rows)

    @computed_field(alias="totals")  # type: ignore[prop-decorator]
    @property
    def exact_totals(self) -> ExactValues:
        return self.totals


@dataclass(frozen=True, slots=True)
class Preview:
    """What a run for one period would do."""

    project_id: str
    period: str
    as_of: datetime.date
    parameters: Mapping[str, str]
    input_rows: int
    operations: tuple[PreviewedOperation, ...]
    outputs: tuple[PreviewedOutput, ...]
    # The checks that hold, by the id of the operation, with the rows that they looked at.
    checks: Mapping[str, int]
    notices: Notices


def preview_project(workspace: OpenedWorkspace, request: RunRequest, *, rows: int = DEFAULT_ROWS) -> Preview:
    """Compute a run for one period; nothing is applied, recorded or written.

    What would fail the run is raised. RECOMPUTE_002 for more than 200,000 lines.
    """
    definitions = workspace.read_definitions()
    draft_request = replace(request, is_draft=True, reads_sandbox=False)
    checked = check_request(CheckedFiles(definitions), draft_request)
    with (
        workspace_with_store_copy(definitions) as copied,
        open_run_environment(
            copied, workspace.session, clock=workspace.clock, credential=workspace.credential
        ) as environment,
        tempfile.TemporaryDirectory(prefix="daybook-preview-") as scratch,
    ):
        prepared = next(check_runs(environment, checked))
        own = LandingArea(f"{scratch}/landing", "preview", environment.storage)
        landed = environment.landing(prepared.snapshot.run_id)
        landings = (own,) if landed.needs_session else (landed, own)

        def refuse_too_many(_: object, count: int) -> None:
            if count > MOST_ROWS:
                raise DaybookError("RECOMPUTE_002", project=draft_request.project, rows=count, limit=MOST_ROWS)

        computation = compute_run(prepared, landings, environment.root, before=refuse_too_many)
        return _preview(prepared, computation, rows)


def _preview(prepared: PreparedRun, computation: Computation, rows: int) -> Preview:
    snapshot, plan = prepared.snapshot, prepared.plan
    counts = {count.seq: count for count in computation.counts}
    added = {seq: count.added for seq, count in counts.items()}
    operations = [
        PreviewedOperation(
            operation.seq,
            operation.id,
            operation.name,
            operation.type,
            counts[operation.seq].picked,
            counts[operation.seq].added,
        )
        for operation in plan.project.operations
        if operation.seq in counts
    ]
    checks = {step.operation_id: counts[step.seq].picked for step in plan.steps if isinstance(step, CheckStep)}
    labels = {output.step.seq: output.label.removesuffix(SANDBOX_SUFFIX) for output in prepared.outputs}
    outputs = [_previewed(plan, output, labels[output.name.seq], rows) for output in computation.outputs]
    return Preview(
        snapshot.project.id,
        snapshot.period.identifier,
        snapshot.as_of,
        snapshot.parameters,
        computation.input_rows,
        tuple(operations),
        tuple(outputs),
        checks,
        (
            *(warning for warning in prepared.notices if warning.code not in _NOTICES_OF_DRAFTS),
            *empty_source_notices(prepared, input_rows=computation.input_rows, added=added),
        ),
    )


def _previewed(plan: Plan, output: ComputedOutput, label: str, rows: int) -> PreviewedOutput:
    return PreviewedOutput(
        output.name.seq,
        output.name.id,
        label,
        {name: str(type_) for name, type_ in output.columns.items()},
        len(output.rows),
        tuple(output.rows[:rows]),
        _totals(plan, output),
    )


def _totals(plan: Plan, output: ComputedOutput) -> dict[str, Decimal | int | float | None]:
    """Sums of the numeric columns that are neither keys nor ratios."""
    seq = output.name.seq
    makers = [0, *(step.seq for step in plan.steps if isinstance(step, AggregateStep | AppendStep) and step.seq < seq)]
    left_out = frozenset[str]().union(*(columns_not_summed(plan, seq, maker) for maker in makers))
    totals: dict[str, Decimal | int | float | None] = {}
    for position, (name, type_) in enumerate(output.columns.items()):
        if name.startswith("_") or name in left_out or not isinstance(type_, IntegerType | DecimalType | FloatType):
            continue
        values = [row[position] for row in output.rows if row[position] is not None]
        totals[name] = reduce(EXACT.add if isinstance(type_, DecimalType) else add, values) if values else None
    return totals
