"""Adds rows to the working dataset: aggregates of its own rows, and appended rows of another dataset.

Several aggregates are computed in one pass over the rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from daybook.engine.context import FAULT_COLUMN, RunContext, aliased_sql, null_sql, quote_identifiers
from daybook.engine.counters import (
    FAULT_TEXT_METRIC,
    FAULTY_METRIC,
    FAULTY_ROWS_SQL,
    FIRST_FAULT_SQL,
    DueCounts,
    ObservedFrame,
    added_metric,
    picked_metric,
)
from daybook.engine.failures import SELECTOR, VALUE, mark_sql
from daybook.engine.layer import guarded_condition
from daybook.engine.load_rows import new_row_columns, row_id_sql
from daybook.engine.measures import MeasureSum, UnitColumns, column_in_source, live_rows_metric, sum_sql, wide_type_sql
from daybook.engine.stages import AggregatePass
from daybook.engine.working_dataset import AddedRows, WorkingDataset
from daybook.expression import cast_sql, quote_identifier
from daybook.plan.steps import AggregateStep, AppendStep, ComputedColumn, LoadStep

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# How many rows a summary row summarises.
_ROWS_IN_GROUP = "__daybook_weight"
_IS_PICKED = "__daybook_is_picked"
_GROUPING_SET = "__daybook_set"


@dataclass(frozen=True, slots=True)
class Summaries:
    """`steps` group the rows where `picked` holds, each by columns of its own.

    `counts` are figures of all rows, picked or not, by name and SQL. They travel through the groups, because a count
    that is part of the data is right however often Spark executes a task. The rows that are not picked then make a
    group of their own, which no expression of a user is evaluated on.
    """

    context: RunContext
    steps: Sequence[AggregateStep | AppendStep]
    picked: str | None = None
    counts: Mapping[str, str] = field(default_factory=dict)
    # Columns that the counts read.
    columns: UnitColumns = field(default_factory=UnitColumns)

    def of(self, rows: "DataFrame") -> "DataFrame":
        """Columns for internal use: read them by `columns_of`, `metrics` and `is_new`."""
        from pyspark.sql import functions as F

        # One after the other, so that Spark computes each of them once.
        for columns in (self.columns.doubles, self.columns.units):
            rows = rows.selectExpr("*", *aliased_sql(columns)) if columns else rows
        if self._is_flagged:
            rows = rows.withColumn(_IS_PICKED, F.expr(f"COALESCE({self.picked}, FALSE)"))
            rows = rows.withColumns({name: F.expr(_value_if_picked(name)) for name in self._columns})
        elif self.picked:
            rows = rows.where(F.expr(self.picked))
        values = {
            _result_column(step, number): self._value(step, number, value)
            for step in self.steps
            for number, value in enumerate(step.aggregations)
        }
        figures = {_ROWS_IN_GROUP: "COUNT(1)", **{_count_column(name): sql for name, sql in self.counts.items()}}
        if len(self.steps) == 1:
            grouped = rows.groupBy(*quote_identifiers(*self._grouping))
        else:
            sets = [quote_identifiers(*self._grouping_of(step)) for step in self.steps]
            grouped = rows.groupingSets(sets, *quote_identifiers(*self._grouping))
            figures[_GROUPING_SET] = "GROUPING_ID()"
        return grouped.agg(*(F.expr(text) for text in aliased_sql({**values, **figures})))

    def columns_of(self, step: AggregateStep | AppendStep) -> Mapping[str, str]:
        """Where group columns and values of a step are found, as SQL."""
        values = {value.column: _result_column(step, number) for number, value in enumerate(step.aggregations)}
        return {**{name: quote_identifier(name) for name in step.group_by}, **values}

    def choice(self, by_step: Mapping[int, str]) -> str:
        """SQL of a value that each step has for its own rows."""
        if len(set(by_step.values())) == 1:
            return next(iter(by_step.values()))
        cases = (f"WHEN {self._set(step)}L THEN {by_step[step.seq]}" for step in self.steps)
        return f"CASE {_GROUPING_SET} {' '.join(cases)} END"

    @property
    def metrics(self) -> Mapping[str, str]:
        """What to count of the groups, by name and SQL."""
        sums: dict[str, str] = {}
        for step in self.steps:
            sums[picked_metric(step.seq)] = self._sum(_ROWS_IN_GROUP, self.belongs_to(step))
            sums[added_metric(step.seq)] = self._sum("1L", self.belongs_to(step))
        # Every set has seen all rows.
        first = None if len(self.steps) == 1 else self._is_in(self.steps[0], _GROUPING_SET)
        return {**sums, **{name: self._sum(_count_column(name), first) for name in self.counts}}

    @property
    def is_new(self) -> str | None:
        """SQL that is true on groups of picked rows."""
        return _IS_PICKED if self._is_flagged else None

    @property
    def _is_flagged(self) -> bool:
        return bool(self.counts) and self.picked is not None

    @property
    def _columns(self) -> list[str]:
        return list(dict.fromkeys(name for step in self.steps for name in step.group_by))

    @property
    def _grouping(self) -> list[str]:
        return [_IS_PICKED, *self._columns] if self._is_flagged else self._columns

    def _grouping_of(self, step: AggregateStep | AppendStep) -> list[str]:
        return [name for name in self._grouping if name == _IS_PICKED or name in step.group_by]

    def _set(self, step: AggregateStep | AppendStep) -> int:
        """What GROUPING_ID gives for the groups of a step: a bit for every column that they are not grouped by."""
        own = self._grouping_of(step)
        return sum(1 << place for place, name in enumerate(reversed(self._grouping)) if name not in own)

    def _is_in(self, step: AggregateStep | AppendStep, sql: str) -> str:
        return f"{sql} = {self._set(step)}L"

    def belongs_to(self, step: AggregateStep | AppendStep, sql: str = _GROUPING_SET) -> str | None:
        """SQL that is true on the groups of a step, by the number of their grouping set; None where all are."""
        conditions = [_IS_PICKED] if self._is_flagged else []
        if len(self.steps) > 1:
            conditions.append(self._is_in(step, sql))
        return " AND ".join(conditions) or None

    def _value(self, step: AggregateStep | AppendStep, number: int, value: ComputedColumn) -> str:
        if self._is_flagged:
            value = replace(value, expression=value.expression.only_where(_IS_PICKED))
        sql = mark_sql(self.context.fitted(value), step.seq, VALUE, number)
        condition = self.belongs_to(step, "GROUPING_ID()")
        return f"IF({condition}, {sql}, NULL)" if condition else sql

    @staticmethod
    def _sum(sql: str, condition: str | None) -> str:
        return f"SUM(IF({condition}, {sql}, 0L))" if condition else f"SUM({sql})"


def _value_if_picked(name: str) -> str:
    return f"IF({_IS_PICKED}, {quote_identifier(name)}, NULL)"


def _result_column(step: AggregateStep | AppendStep, number: int) -> str:
    return f"__daybook_result_{step.seq}_{number}"


def _count_column(name: str) -> str:
    return f"__daybook_count_{name}"


def summary_rows(working: WorkingDataset, together: AggregatePass, context: RunContext, due: DueCounts) -> AddedRows:
    """The rows aggregates add; `due` are figures of all rows that are taken on the way."""
    first = together.steps[0]
    working.settle_for(*together.expressions)
    rows = working.rows_for(first.selector, is_all=bool(due.counts))
    picked = guarded_condition(working.layer.live(), context.selector(first))
    summaries = Summaries(context, together.steps, picked, due.counts, due.columns)
    empty = {name: null_sql(column_type) for name, column_type in together.schema.items()}
    own = {step.seq: {**empty, **_columns(step, summaries.columns_of(step), context)} for step in together.steps}
    names = (*together.schema, *context.system, *context.hidden)
    columns = {name: summaries.choice({seq: own[seq][name] for seq in own}) for name in names}
    sums = {
        name: sql
        for step in together.steps
        for name, sql in _added_sums(step, own[step.seq], summaries.belongs_to(step), context).items()
    }
    observed = ObservedFrame(lambda: summaries.of(rows()), {**summaries.metrics, **sums}, rows)
    return AddedRows(together.seqs, together.schema, observed, columns, summaries.is_new)


def _columns(step: AggregateStep, columns: Mapping[str, str], context: RunContext) -> Mapping[str, str]:
    return {
        **new_row_columns(context, context.dataset_id, context.table, step.seq),
        "_row_id": summary_id_sql(step, columns, context),
        **columns,
        **context.measures.initial_columns(columns, step.schema),
    }


def _added_sums(
    step: AggregateStep | AppendStep, columns: Mapping[str, str], condition: str | None, context: RunContext
) -> dict[str, str]:
    """The totals of the rows that an operation adds; `columns` is their SQL over what is observed."""
    measures = context.measures
    values = step.made_columns if isinstance(step, AppendStep) else [value.column for value in step.aggregations]
    measure_columns = {column: columns[column] for column in measures.types if column in {*step.group_by, *values}}
    sums = {
        MeasureSum(step.seq, "added", column, step.seq): sum_sql(measures.summable(column, sql), condition)
        for column, sql in measure_columns.items()
    }
    return {measures.name(key): sql for key, sql in sums.items()}


def summary_id_sql(step: AggregateStep, columns: Mapping[str, str], context: RunContext) -> str:
    """The id of the summary row of a group; `columns` has the SQL of its columns."""
    scope = (context.project_id, str(step.seq))
    return row_id_sql(context.period, "summary", scope, [columns[name] for name in step.group_by])


_CARRIED_COLUMNS = ("_period", "_valid_from", "_valid_to", "_origin_seq", "_created_at", "_updated_at", "_labels")


def appended_rows(
    source: "DataFrame", load: LoadStep, step: AppendStep, context: RunContext, *, may_fail: bool
) -> AddedRows:
    """The rows an append adds; checks hold whether a row that fails one is picked or not."""
    from pyspark.sql import functions as F

    selector = mark_sql(context.sql(step.source_selector), step.seq, SELECTOR) if step.source_selector else None
    columns = {
        **{name: null_sql(column_type) for name, column_type in step.schema.items()},
        **new_row_columns(context, load.dataset_id, load.table, step.seq),
    }
    if step.aggregations:
        return _aggregated_rows(source, selector, load, step, context, columns, may_fail=may_fail)
    is_new = None
    sums = _source_sums(load, step, context)
    if sums:
        # All rows pass, so that the total of the source is known, too.
        is_new, selector = selector, None
    elif selector and context.is_checking:
        selector = f"({selector}) OR {FAULT_COLUMN} IS NOT NULL"
    rows = source.where(F.expr(selector)) if selector else source
    values = {name: _fitted_column(quote_identifier(name), name, load, step) for name in step.columns}
    for number, value in enumerate(step.mapped):
        fitted = cast_sql(context.sql(value.expression), value.expression.type, step.schema[value.column])
        values[value.column] = mark_sql(fitted, step.seq, VALUE, number)
    columns |= {**values, **{name: quote_identifier(name) for name in _CARRIED_COLUMNS if load.needs(name)}}
    if load.needs("_row_id"):
        columns["_row_id"] = appended_row_id_sql(step, context)
    picked = f"COUNT(IF({is_new}, 1, NULL))" if is_new else "COUNT(1)"
    metrics = {picked_metric(step.seq): picked, added_metric(step.seq): picked}
    metrics |= {FAULT_TEXT_METRIC: FIRST_FAULT_SQL} if may_fail else {}
    metrics |= {**sums, **_added_sums(step, columns, is_new, context)}
    observed = ObservedFrame(lambda: rows, metrics)
    return AddedRows((step.seq,), step.schema, observed, _carried(columns, step, context), is_new)


def _aggregated_rows(
    source: "DataFrame",
    selector: str | None,
    load: LoadStep,
    step: AppendStep,
    context: RunContext,
    columns: Mapping[str, str],
    *,
    may_fail: bool,
) -> AddedRows:
    counts = {**({FAULTY_METRIC: FAULTY_ROWS_SQL} if may_fail else {}), **_source_sums(load, step, context)}
    summaries = Summaries(context, (step,), selector, counts)
    group_columns = summaries.columns_of(step)
    values = {
        **group_columns,
        **{name: cast_sql(group_columns[name], load.types[name], step.schema[name]) for name in step.columns},
    }
    if "_labels" in values:
        values["_labels"] = f"COALESCE({values['_labels']}, '')"
    columns = _carried(
        {**columns, **values, "_row_id": appended_group_id_sql(step, group_columns, context)}, step, context
    )
    metrics = {**summaries.metrics, **_added_sums(step, columns, summaries.is_new, context)}
    observed = ObservedFrame(lambda: summaries.of(source), metrics, lambda: source)
    return AddedRows((step.seq,), step.schema, observed, columns, summaries.is_new)


def _source_sums(load: LoadStep, step: AppendStep, context: RunContext) -> dict[str, str]:
    """What the source of an append has of each measure, and its rows, whether the append picks them or not."""
    measures = context.measures
    if not measures.types:
        return {}
    sums = {
        MeasureSum(step.seq, "source", measure, step.seq): sum_sql(f"CAST({quote_identifier(column)} AS {wide})", None)
        for measure in measures.types
        if (column := column_in_source(measure, load, step)) is not None
        for wide in (wide_type_sql(load.types[column]),)
    }
    return {**{measures.name(key): sql for key, sql in sums.items()}, live_rows_metric(step.seq): "COUNT(1)"}


def _carried(columns: Mapping[str, str], step: AppendStep, context: RunContext) -> dict[str, str]:
    """Those of the columns that rows of the working dataset carry, in order."""
    columns = {**columns, **context.measures.initial_columns(columns, step.schema)}
    return {name: columns[name] for name in (*step.schema, *context.system, *context.hidden)}


def appended_row_id_sql(step: AppendStep, context: RunContext) -> str:
    """The id of the row that an append makes of a row of its source, over the columns of that row."""
    return row_id_sql(context.period, "appended", _id_scope(step, context), ["'row'", "`_row_id`"])


def appended_group_id_sql(step: AppendStep, columns: Mapping[str, str], context: RunContext) -> str:
    """The id of the row that an append makes of a group; `columns` has the SQL of its columns."""
    parts = ["'group'", *(columns[name] for name in step.group_by)]
    return row_id_sql(context.period, "appended", _id_scope(step, context), parts)


def _id_scope(step: AppendStep, context: RunContext) -> tuple[str, str]:
    return context.project_id, str(step.seq)


def _fitted_column(sql: str, name: str, load: LoadStep, step: AppendStep) -> str:
    return mark_sql(cast_sql(sql, load.types[name], step.schema[name]), step.seq, VALUE, step.columns.index(name))
