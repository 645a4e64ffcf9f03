"""Live workbooks: which totals of an output can be formulas, and the detail rows of these formulas."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from daybook.engine.context import RunContext
from daybook.engine.operations.aggregate import summary_id_sql
from daybook.engine.pipeline import Pipeline
from daybook.errors import Notice, notice
from daybook.expression import quote_identifier
from daybook.expression.typed_tree import AllRows, ColumnValue, TypedNode
from daybook.io.formats.xlsx.formulas import Formula, NoFormulaError, aggregation_formula
from daybook.io.formats.xlsx.live_workbook import GROUP_COLUMN, OPERATION_SEQ, ROW_ID, LiveAggregate, LiveWorkbookWriter
from daybook.io.read_source import ReadSource
from daybook.io.state_tables import stream_parquet
from daybook.io.target import OutputColumn
from daybook.model.types import STRING, SYSTEM_COLUMNS, FloatType
from daybook.plan.partial_plan import PartialPlan, argument_column, detail_rows
from daybook.plan.steps import AggregateStep, ComputedColumn, OutputStep, Plan, UpdateStep
from daybook.runs.environment import RunEnvironment
from daybook.runs.outputs import PlannedOutput


def with_row_ids(plan: Plan, outputs: Iterable[PlannedOutput]) -> Plan:
    """The plan with row ids in the live outputs, which identify their summary rows."""
    seqs = {output.step.seq for output in outputs if output.is_live}
    own = {name: SYSTEM_COLUMNS[name] for name in (ROW_ID, OPERATION_SEQ)}
    steps = tuple(
        replace(step, columns={**step.columns, **own}) if isinstance(step, OutputStep) and step.seq in seqs else step
        for step in plan.steps
    )
    return replace(plan, steps=steps)


@dataclass(frozen=True, slots=True)
class LiveDetails:
    """An aggregate whose values are formulas, and the plan that gives the rows they are computed of."""

    step: AggregateStep
    aggregate: LiveAggregate
    rows: PartialPlan


@dataclass(frozen=True, slots=True)
class LiveOutput:
    details: tuple[LiveDetails, ...]
    notices: tuple[Notice, ...]


def plan_live_output(plan: Plan, planned: PlannedOutput) -> LiveOutput:
    """Every aggregate before the output, as far as its values can be formulas; the others keep their values."""
    details: list[LiveDetails] = []
    notices: list[Notice] = []
    for step in plan.steps:
        if not isinstance(step, AggregateStep) or step.seq > planned.step.seq:
            continue
        formulas: dict[str, Formula] = {}
        for value in step.aggregations:
            if value.column not in planned.step.columns:
                continue
            try:
                formulas[value.column] = _formula(plan, step, value, planned.step)
            except NoFormulaError as reason:
                notices.append(
                    notice("IO_057", location=planned.label, column=value.column, seq=step.seq, reason=str(reason))
                )
        if formulas:
            details.append(_details(plan, step, formulas))
    return LiveOutput(tuple(details), tuple(notices))


def _formula(plan: Plan, step: AggregateStep, value: ComputedColumn, output: OutputStep) -> Formula:
    types = {**plan.types, **SYSTEM_COLUMNS}
    for name in step.group_by:
        if isinstance(types[name], FloatType):
            raise NoFormulaError(f"its groups are distinguished by {name}, which is a float")
    between = (
        later_step
        for later_step in plan.steps
        if step.seq < later_step.seq < output.seq and isinstance(later_step, UpdateStep)
    )
    for later in between:
        if value.column in {assigned.column for assigned in later.assignments}:
            raise NoFormulaError(f"operation {later.seq} changes it afterwards")
    return aggregation_formula(value)


def _details(plan: Plan, step: AggregateStep, formulas: Mapping[str, Formula]) -> LiveDetails:
    """A plain column is an argument as it is; what is computed for each row gets a column of its own."""
    computed: dict[TypedNode, ComputedColumn] = {}
    plain: list[str] = []
    for column, formula in formulas.items():
        for tree in formula.arguments:
            if isinstance(tree, ColumnValue):
                plain.append(tree.use.name)
            elif not isinstance(tree, AllRows) and tree not in computed:
                taken = {*plan.types, *SYSTEM_COLUMNS, *(added.column for added in computed.values())}
                computed[tree] = argument_column(_free_name(f"of {column}", taken), tree)
    rows = detail_rows(plan, step, plain, tuple(computed.values()))
    (output,) = (part for part in rows.plan.steps if isinstance(part, OutputStep))

    def name_of(tree: TypedNode) -> str:
        if isinstance(tree, AllRows):
            return step.group_by[0]
        return tree.use.name if isinstance(tree, ColumnValue) else computed[tree].column

    live = LiveAggregate(
        step.seq,
        tuple(OutputColumn(name, type_) for name, type_ in output.columns.items() if name != ROW_ID),
        {column: (formula, tuple(map(name_of, formula.arguments))) for column, formula in formulas.items()},
    )
    return LiveDetails(step, live, rows)


def _free_name(name: str, taken: set[str]) -> str:
    numbered: Iterator[str] = (f"{name} {number}" for number in range(2, len(taken) + 3))
    return name if name not in taken else next(candidate for candidate in numbered if candidate not in taken)


def live_writer(
    environment: RunEnvironment,
    spark: SparkSession,
    live: LiveOutput,
    sources: Mapping[str, ReadSource],
    pipeline: Pipeline,
    staging: str,
) -> LiveWorkbookWriter:
    """A writer that has the details computed again, by a plan that ends at their aggregate."""
    by_seq = {details.step.seq: details for details in live.details}

    def write_details(aggregate: LiveAggregate, place: str) -> None:
        step_details = by_seq[aggregate.seq]
        frames = {key: sources[whole].frame for key, whole in step_details.rows.feeds.items()}
        folder = environment.staging(spark, f"{staging}/details-{aggregate.seq}")
        with Pipeline(spark, step_details.rows.plan, frames, staging=folder, as_of=pipeline.as_of) as details:
            (group,) = details.groups()
            (output,) = group.outputs
            context = RunContext.of(step_details.rows.plan, pipeline.as_of)
            columns = {name: quote_identifier(name) for name in step_details.step.group_by}
            df = output.df.withColumn(GROUP_COLUMN, F.expr(summary_id_sql(step_details.step, columns, context)))
            rows = df.orderBy(*map(quote_identifier, step_details.rows.order))
            if environment.storage.tables is None:
                rows.write.mode("error").parquet(place)
                return
            Path(place).mkdir()
            stream_parquet(rows, Path(place), (*aggregate.columns, OutputColumn(GROUP_COLUMN, STRING)))

    return LiveWorkbookWriter(tuple(details.aggregate for details in live.details), write_details)
