"""Computes a run again by the second engine, and compares every cell with what the run wrote."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from typing import Annotated

from daybook.errors import DaybookError, flatten
from daybook.expression import CompiledExpression
from daybook.io.registry import format_named
from daybook.io.row_page import PageRequest
from daybook.model.json_fields import Merged, named
from daybook.model.types import value_text
from daybook.plan.steps import AggregateStep, AppendStep, OutputStep, Plan, Step, UpdateStep
from daybook.recompute import ComputedOutput
from daybook.recompute.comparison import CellDifference, compare_rows
from daybook.recompute.tree import Row, Value
from daybook.runs.attempt.prepare import PreparedRun
from daybook.runs.attempt.recorder import recorded_pins
from daybook.runs.environment import RunEnvironment
from daybook.runs.second_engine import compute_run
from daybook.runs.slices import CommittedOutput, committed_outputs

# Columns that only the run knows: none today, since ids follow a published rule and times are those of the snapshot.
_NOT_COMPARED: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DifferingCell:
    """A cell that the run wrote otherwise than it is computed now, and the expression that gave its column."""

    cell: Merged[CellDifference]
    operation_seq: int | None
    operation: str | None
    expression: str | None


@dataclass(frozen=True, slots=True)
class RecomputedOutput:
    """One output compared with what was written; `problem` says why it could not be."""

    operation_seq: int
    operation_id: str
    destination: str
    is_same: bool = field(init=False, default=True)
    rows_written: int | None
    rows_computed: int
    cells: int
    count: Annotated[int, named("differing_cells")]
    differences: tuple[DifferingCell, ...]
    not_compared: tuple[str, ...] = ()
    problem: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_same", self.problem is None and self.count == 0)


@dataclass(frozen=True, slots=True)
class Recomputation:
    """A run computed again; `keys` are the rows that were asked for, empty for all."""

    run_id: str
    project_id: str
    period: str
    is_same: bool = field(init=False, default=True)
    keys: Mapping[str, str | None]
    outputs: tuple[RecomputedOutput, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_same", all(output.is_same for output in self.outputs))


def recompute_run(
    environment: RunEnvironment, run_id: str, keys: Mapping[str, str | None] | None = None, *, shown: int = 20
) -> Recomputation:
    """Every cell of every output that a run committed, computed from its snapshot and its pinned sources.

    With `keys` only rows with these values, as texts by column, are compared. RUN_012 when the data is gone.
    """
    chosen_keys = dict(keys or {})
    with environment.store.read() as transaction:
        prepared, committed = committed_outputs(transaction, environment.root, run_id, environment.storage)
        pins = recorded_pins(transaction, run_id)
        status = transaction.runs.get(run_id).status
    is_landed_in_tables = environment.storage.tables is not None
    is_written_by_name = any(output.needs_session for output in committed)
    needs_session = is_landed_in_tables or is_written_by_name or _reads_tables_by_name(prepared)
    spark = environment.session() if needs_session else None
    if not committed:
        raise DaybookError("RUN_017", run_id=run_id, status=status)
    skipped = {step.seq for step in prepared.plan.outputs} - {output.result.operation_seq for output in committed}
    try:
        with environment.landings_without_spark(run_id) as landings:
            computation = compute_run(prepared, landings, environment.root, pins=pins, spark=spark)
    except DaybookError as error:
        if any(single.code == "IO_009" for single in flatten(error)):
            raise DaybookError("RUN_012", run_id=run_id, causes=flatten(error)) from error
        raise
    outputs = {output.name.seq: output for output in computation.outputs if output.name.seq not in skipped}
    compared = tuple(
        _compare(prepared, output, outputs[output.result.operation_seq], chosen_keys, shown) for output in committed
    )
    snapshot = prepared.snapshot
    return Recomputation(run_id, snapshot.project.id, snapshot.period.identifier, chosen_keys, compared)


def _reads_tables_by_name(prepared: PreparedRun) -> bool:
    locations = (location for source in prepared.snapshot.sources for location in source.resolution.locations)
    formats = (format_named(location.format) for location in locations)
    return any(format_.needs_session and not format_.is_landed for format_ in formats)


def _compare(
    prepared: PreparedRun,
    committed: CommittedOutput,
    computed: ComputedOutput,
    keys: Mapping[str, str | None],
    shown: int,
) -> RecomputedOutput:
    step = committed.planned.step
    names = list(computed.columns)
    stored = {column.name for column in committed.planned.target.columns}
    columns = [name for name in names if name in stored and name not in _NOT_COMPARED]
    positions = [names.index(name) for name in columns]
    rows = [tuple(row[position] for position in positions) for row in computed.rows]
    result = RecomputedOutput(
        step.seq, step.operation_id, committed.planned.label, None, len(rows), 0, 0, (), _NOT_COMPARED
    )
    try:
        written = _written_rows(committed, columns)
    except DaybookError as error:
        problem = DaybookError(
            "RECOMPUTE_003",
            output=committed.planned.label,
            run_id=prepared.snapshot.run_id,
            reason=str(error),
            causes=flatten(error),
        )
        return replace(result, problem=str(problem))
    if keys:
        written, rows = (_with_keys(part, columns, keys) for part in (written, rows))
    compared = compare_rows(columns, written, rows, shown=shown)
    differences = tuple(_explained(prepared.plan, step, cell) for cell in compared.differences)
    return replace(
        result,
        rows_written=len(written),
        rows_computed=len(rows),
        cells=compared.cells,
        count=compared.count,
        differences=differences,
    )


def _written_rows(committed: CommittedOutput, columns: Sequence[str]) -> list[Row]:
    rows: list[Row] = []
    for batch in committed.batches(PageRequest()):
        rows.extend(zip(*(batch.column(name).to_pylist() for name in columns), strict=True))
    return rows


def _with_keys(rows: Sequence[Row], columns: Sequence[str], keys: Mapping[str, str | None]) -> list[Row]:
    positions = {columns.index(name): text for name, text in keys.items() if name in columns}
    return [row for row in rows if all(has_text(row[position], text) for position, text in positions.items())]


def has_text(value: Value, text: str | None) -> bool:
    """Whether a text stands for a value; zeros at the end of a number do not matter."""
    if value is None or text is None:
        return value is None and text is None
    if isinstance(value, Decimal):
        return value == _number(text)
    return value_text(value) == text


def _number(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def _explained(plan: Plan, output: OutputStep, cell: CellDifference) -> DifferingCell:
    """The last operation before the output that gave the column its value, and the expression it did so by."""
    for step in reversed([step for step in plan.steps if step.seq < output.seq]):
        if (expression := _expression_of(step, cell.column)) is not None:
            return DifferingCell(cell, step.seq, step.operation_id, expression.text)
    return DifferingCell(cell, None, None, None)


def _expression_of(step: Step, column: str | None) -> CompiledExpression | None:
    match step:
        case UpdateStep(assignments=values) | AggregateStep(aggregations=values):
            return next((value.expression for value in values if value.column == column), None)
        case AppendStep(aggregations=aggregations, mapped=mapped):
            return next((value.expression for value in (*aggregations, *mapped) if value.column == column), None)
        case _:
            return None
