"""Computes what each row contributes to a measure that is a plain sum of rows, and the effect of changed rows.

A state next to a data cause is computed as its contributions: one narrow pass gives the total, and afterwards the
effect of each row of a dataset is known.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from daybook.compare.bridge_result import Cause, CauseName, RowCounts, RowEffect
from daybook.compare.compared_output import LOADED, SEQ_COLUMN, SliceRows
from daybook.compare.diff import ComparedColumn, ComparedSlices, Contributions, compare_rows
from daybook.compare.exact_numbers import Number, subtract
from daybook.compare.hybrid import FrameSource, HybridPlan, LoadedTwice
from daybook.compare.measured_state import Measure, MeasuredState, StateEngine, collect_totals
from daybook.engine.context import RunContext
from daybook.engine.failures import translate_failure
from daybook.engine.load_rows import load_source
from daybook.errors import DaybookError
from daybook.expression import ColumnUse, CompiledExpression, cast_sql, common_type, quote_identifier, spark_type
from daybook.expression.type_rules import is_number
from daybook.expression.typed_tree import ColumnValue, TypedCall, TypedNode
from daybook.model.types import SYSTEM_COLUMNS, ColumnType
from daybook.plan.conditions import excludes, is_zero
from daybook.plan.partial_plan import PartialPlan, argument_column, detail_rows
from daybook.plan.steps import (
    AggregateStep,
    AppendStep,
    ComputedColumn,
    DeleteStep,
    JoinStep,
    LoadStep,
    OutputStep,
    Plan,
    Step,
    UpdateStep,
    working_columns,
)

# No project can make columns of these names.
_VALUE = "__daybook_contribution"
_KEY_PREFIX = "__daybook_key_"


@dataclass(frozen=True, slots=True)
class ContributionOrigin:
    """How contributions are known to come from rows of a dataset: by key columns, of rows that `seq` made, if any."""

    columns: tuple[str, ...]
    seq: int | None


@dataclass(frozen=True, slots=True)
class ContributionPlan:
    """The rows that are summed up, narrow: `value` is what each adds to its group."""

    cut: PartialPlan
    value: str
    groups: tuple[str, ...]
    total_type: ColumnType
    type: ColumnType
    origins: Mapping[str, ContributionOrigin]


@dataclass(frozen=True, slots=True)
class StagedContributions:
    df: DataFrame
    plan: ContributionPlan

    def of(self, dataset_id: str) -> DataFrame | None:
        """Contributions by the key of a dataset's rows, as columns k0, k1, … and value."""
        if (origin := self.plan.origins.get(dataset_id)) is None:
            return None
        rows = self.df if origin.seq is None else self.df.where(F.col(SEQ_COLUMN) == origin.seq)
        keys = [F.col(quote_identifier(name)).alias(f"k{number}") for number, name in enumerate(origin.columns)]
        return rows.select(*keys, F.col(quote_identifier(self.plan.value)).alias("value"))


def plan_contributions(state: HybridPlan, measure: Measure, datasets: Iterable[str]) -> ContributionPlan | None:
    """None where the measure is no plain sum of rows, so that only the whole can be computed."""
    state, origins = with_origins(state, datasets)
    if state.rows == LOADED:
        return _plan_loaded_rows(state, measure, origins)
    plan, step = state.plan, state.plan.step(state.rows)
    if not isinstance(step, AggregateStep) or not _is_left_alone(plan, step, state.output):
        return None
    value = next((computed for computed in step.aggregations if computed.column == measure.column), None)
    argument = _summed_argument(value)
    if value is None or argument is None or not {*measure.by} <= {*step.group_by}:
        return None
    keys = _key_columns(plan, step, origins)
    names = dict.fromkeys((*step.group_by, *(name for origin in keys.values() for name in origin.columns), SEQ_COLUMN))
    cut = detail_rows(plan, step, tuple(names), (argument_column(_VALUE, argument),))
    return ContributionPlan(
        _narrow(cut, (*names, _VALUE)), _VALUE, step.group_by, value.expression.type, value.type, keys
    )


def plan_inner_contributions(state: HybridPlan, measure: Measure, datasets: Iterable[str]) -> ContributionPlan | None:
    """Of a total of totals: the rows that the innermost aggregate sums up, where the others only add its totals."""
    state, origins = with_origins(state, datasets)
    plan = state.plan
    innermost = _innermost_sum(plan, state.rows, measure.column, state.output)
    if innermost is None:
        return None
    step, argument, total_type = innermost
    keys = _key_columns(plan, step, origins)
    names = dict.fromkeys((*(name for origin in keys.values() for name in origin.columns), SEQ_COLUMN))
    cut = detail_rows(plan, step, tuple(names), (argument_column(_VALUE, argument),))
    return ContributionPlan(_narrow(cut, (*names, _VALUE)), _VALUE, (), total_type, total_type, keys)


def _innermost_sum(
    plan: Plan, seq: int, column: str, end: OutputStep | AggregateStep
) -> tuple[AggregateStep, TypedNode, ColumnType] | None:
    """The aggregate whose rows are the measure's, and what it sums up of each."""
    step = plan.step(seq) if seq != LOADED else None
    if not isinstance(step, AggregateStep) or not _is_left_alone(plan, step, end):
        return None
    value = next((computed for computed in step.aggregations if computed.column == column), None)
    argument = _summed_argument(value, may_be_zero=True)
    if value is None or argument is None:
        return None
    if isinstance(argument, ColumnValue):
        makers = [
            earlier.seq
            for earlier in plan.steps[: plan.steps.index(step)]
            if isinstance(earlier, AggregateStep)
            and not excludes(step.selector, earlier.seq)
            and any(computed.column == argument.use.name for computed in earlier.aggregations)
        ]
        if len(makers) == 1:
            return _innermost_sum(plan, makers[0], argument.use.name, step)
    return step, argument, value.type


def _plan_loaded_rows(
    state: HybridPlan, measure: Measure, origins: Mapping[str, ContributionOrigin]
) -> ContributionPlan:
    keys = _key_columns(state.plan, state.output, origins)
    column = measure.column
    names = dict.fromkeys(
        (column, *measure.by, *(name for origin in keys.values() for name in origin.columns), SEQ_COLUMN)
    )
    cut = state.written(names)
    type_ = cut.plan.outputs[-1].columns[column]
    if not is_number(type_):
        raise DaybookError("RUN_077", column=f"{column} that is a number")
    return ContributionPlan(cut, column, (), type_, type_, keys)


def measure_contributions(
    engine: StateEngine, state: HybridPlan, planned: ContributionPlan, measure: Measure
) -> tuple[MeasuredState, StagedContributions]:
    """Computes the contributions of a state once, and their totals from what was written down."""
    contributions = stage_contributions(engine, state, planned)
    staged = summed = contributions.df
    if planned.groups:
        grouped = staged.groupBy(*map(quote_identifier, planned.groups))
        total_type = spark_type(planned.total_type)
        total = F.sum(F.col(quote_identifier(planned.value)).cast(total_type)).cast(total_type)
        fitted = cast_sql(quote_identifier(planned.value), planned.total_type, planned.type)
        summed = grouped.agg(total.alias(planned.value)).selectExpr(
            *map(quote_identifier, planned.groups), f"{fitted} AS {quote_identifier(measure.column)}"
        )
    return collect_totals(summed, measure), contributions


def stage_contributions(engine: StateEngine, state: HybridPlan, planned: ContributionPlan) -> StagedContributions:
    """Computes the contributions of a state and writes them down."""
    folder = engine.new_folder()
    with engine.rows(state, planned.cut) as df:
        contributions = folder.keep(df, "contributions")
    return StagedContributions(contributions, planned)


def _narrow(cut: PartialPlan, names: Iterable[str]) -> PartialPlan:
    """The same rows with these columns only."""
    *before, output = cut.plan.steps
    if not isinstance(output, OutputStep):
        raise AssertionError("a partial plan ends in an output")
    narrow = replace(output, columns={name: output.columns[name] for name in names})
    return replace(cut, plan=replace(cut.plan, steps=(*before, narrow)))


def _summed_argument(value: ComputedColumn | None, *, may_be_zero: bool = False) -> TypedNode | None:
    """What a SUM sums up, also where COALESCE gives 0 for none; None for every other aggregation."""
    match value.expression.tree if value else None:
        case TypedCall(function, (argument,)) if function.name == "SUM":
            return argument
        case TypedCall(coalesce, (TypedCall(function, (argument,)), other)) if (
            may_be_zero and coalesce.name == "COALESCE" and function.name == "SUM" and is_zero(other)
        ):
            return argument
        case _:
            return None


def _is_left_alone(plan: Plan, step: AggregateStep, end: OutputStep | AggregateStep) -> bool:
    """Whether the rows of an aggregate are written, or summed up again, as it made them."""
    following = plan.steps[plan.steps.index(step) + 1 : plan.steps.index(end)]
    if any(
        isinstance(later_step, UpdateStep | DeleteStep) and not excludes(later_step.selector, step.seq)
        for later_step in following
    ):
        return False
    return working_columns(end.selector) <= {SEQ_COLUMN} and not excludes(end.selector, step.seq)


def _key_columns(plan: Plan, end: Step, origins: Mapping[str, ContributionOrigin]) -> dict[str, ContributionOrigin]:
    """The origins whose key columns nothing changes on the way."""
    before = plan.steps[: plan.steps.index(end)]
    changed = {assignment.column for step in before if isinstance(step, UpdateStep) for assignment in step.assignments}
    return {
        dataset_id: origin
        for dataset_id, origin in origins.items()
        if all(name.startswith(_KEY_PREFIX) or name not in changed for name in origin.columns)
    }


def with_origins(state: HybridPlan, datasets: Iterable[str]) -> tuple[HybridPlan, dict[str, ContributionOrigin]]:
    """The state with columns that identify the row and dataset a row comes from; datasets read twice are left out."""
    plan = state.plan
    origins: dict[str, ContributionOrigin] = {}
    for dataset_id in datasets:
        loads = [load for load in plan.loads if load.dataset_id == dataset_id]
        if len(loads) != 1:
            continue
        (load,) = loads
        key = key_of_rows(load)
        if load.role == "input":
            origins[dataset_id] = ContributionOrigin(key, LOADED)
        elif load.role == "append":
            step = plan.step(load.operation_seq)
            if isinstance(step, AppendStep) and not step.aggregations and {*key} <= {*step.columns}:
                origins[dataset_id] = ContributionOrigin(key, load.operation_seq)
        else:
            plan, columns = _with_join_keys(plan, load, key, len(origins))
            origins[dataset_id] = ContributionOrigin(columns, None)
    output = next(step for step in plan.outputs if step.seq == state.output.seq)
    return replace(state, plan=plan, output=output), origins


def key_of_rows(load: LoadStep) -> tuple[str, ...]:
    """The key of the rows of a dataset: the natural key, else the row id."""
    return tuple(load.version.dataset.natural_key_columns) or ("_row_id",)


def _with_join_keys(plan: Plan, load: LoadStep, key: tuple[str, ...], number: int) -> tuple[Plan, tuple[str, ...]]:
    """The update that joins a dataset keeps the key of the row it found."""
    types = {**load.types, "_row_id": SYSTEM_COLUMNS["_row_id"]}
    names = tuple(f"{_KEY_PREFIX}{number}_{index}" for index in range(len(key)))
    alias = load.alias or ""
    kept = tuple(
        ComputedColumn(name, _column(alias, column, types[column]), types[column])
        for name, column in zip(names, key, strict=True)
    )
    added = {value.column: value.type for value in kept}
    steps: list[Step] = []
    for step in plan.steps:
        if step.seq >= load.operation_seq:
            step = replace(step, schema={**step.schema, **added})
        if isinstance(step, UpdateStep) and step.seq == load.operation_seq:
            joins = tuple(_with_columns(join, load.key, key) for join in step.joins)
            step = replace(step, assignments=(*step.assignments, *kept), joins=joins)
        steps.append(step)
    return replace(plan, steps=tuple(steps)), names


def _with_columns(join: JoinStep, key: str, columns: Iterable[str]) -> JoinStep:
    return replace(join, columns=tuple(dict.fromkeys((*join.columns, *columns)))) if join.load_key == key else join


def _column(alias: str, name: str, type_: ColumnType) -> CompiledExpression:
    use = ColumnUse(alias, name)
    return CompiledExpression("", type_, frozenset({use}), False, ColumnValue(use, type_))


SHOWN_ROWS = 10


def with_row_effects(
    cause: Cause,
    sources: FrameSource,
    loaded: LoadedTwice | None,
    contributions: tuple[StagedContributions | None, StagedContributions | None],
) -> Cause:
    """The cause with the rows of its dataset that were added, removed and changed, and the largest by their effect.

    Of a dataset that only one side loads no row has a counterpart.
    """
    name = next((member for member in cause.members if member.kind == "data"), None)
    if name is None or loaded is None:
        return cause
    compared = _compare(loaded.sources or sources, loaded.before, loaded.after, _by_key(contributions, name))
    counts = RowCounts(compared.counts.added, compared.counts.removed, compared.counts.changed)
    return replace(cause, rows=counts, largest=_largest(compared, cause.share), repeated=compared.repeated)


def _by_key(
    contributions: tuple[StagedContributions | None, StagedContributions | None], name: CauseName
) -> Contributions | None:
    before, after = (staged.of(name.name) if staged is not None else None for staged in contributions)
    if before is None or after is None or before.columns != after.columns:
        return None
    return Contributions(before, after)


def _compare(
    sources: FrameSource,
    before: tuple[HybridPlan, LoadStep],
    after: tuple[HybridPlan, LoadStep],
    contributions: Contributions | None,
) -> ComparedSlices:
    types_a, types_b = ({**SYSTEM_COLUMNS, **load.types} for _, load in (before, after))
    key = key_of_rows(after[1]) if key_of_rows(before[1]) == key_of_rows(after[1]) else ("_row_id",)
    values = [name for name in after[1].types if name in before[1].types and name not in key]
    columns = {name: common_type((types_a[name], types_b[name])) or types_b[name] for name in (*key, *values)}
    return compare_rows(
        _rows(sources, *before, tuple(columns)),
        _rows(sources, *after, tuple(columns)),
        [ComparedColumn(name, columns[name]) for name in key],
        [ComparedColumn(name, columns[name]) for name in values],
        limit=SHOWN_ROWS,
        contributions=contributions,
    )


def _rows(sources: FrameSource, state: HybridPlan, load: LoadStep, columns: tuple[str, ...]) -> SliceRows:
    """The rows of a dataset as the state loads them."""
    context = RunContext.of(replace(state.plan, constants=state.constants), None)
    df = load_source(sources.frame(state.reads[load.key]), load, context, columns)
    types = {**SYSTEM_COLUMNS, **load.types}
    return SliceRows(
        df,
        {name: types[name] for name in columns},
        False,
        lambda: None,
        lambda failure: translate_failure(state.plan, failure),
    )


def _largest(compared: ComparedSlices, share: Number) -> tuple[RowEffect, ...]:
    """Effects are shown where those of all rows add up to the share; a row that is alone has all of it."""
    effects: list[Number | None] = [None] * len(compared.changes)
    if compared.effect is not None and not subtract(compared.effect, share):
        effects = list(compared.effects)
    elif len(compared.changes) == 1:
        effects = [share]
    return tuple(
        RowEffect(change.key, change.before, change.after, effect, rows_a=change.rows_a, rows_b=change.rows_b)
        for change, effect in zip(compared.changes, effects, strict=True)
    )
