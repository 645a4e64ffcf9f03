"""Compares the outputs of two runs row by row: one pass over each side; only the shown rows leave Spark."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import reduce
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from daybook.compare.compared_output import (
    SUMMED_INTEGER,
    ComparedOutput,
    RowKeyColumns,
    SliceRows,
    choose_key,
    choose_outputs,
    choose_rows,
    find_recorded_run,
    open_slice,
)
from daybook.compare.compared_run import ComparedRows, RepeatedRowKeys
from daybook.compare.diff_result import ColumnTotal, DiffCounts, DiffResult, OneSidedColumns, RetypedColumn, RowChange
from daybook.compare.exact_numbers import Number, subtract
from daybook.engine.counters import ObservedFrame
from daybook.errors import DaybookError, Notice, notice
from daybook.expression import common_type, quote_identifier, spark_type
from daybook.expression.type_rules import is_number
from daybook.io.filesystem import remove_folder
from daybook.model.types import INTEGER, STRING, SYSTEM_COLUMNS, ColumnType
from daybook.plan.measures import columns_not_summed
from daybook.runs.environment import RunEnvironment

# Parts of a hash whose sum over two billion rows of one key is a 64-bit integer.
_HASH_PARTS = 2**32


@dataclass(frozen=True, slots=True)
class ComparedColumn:
    """A column that both sides have, and the type in which its values are compared.

    `is_summed` is False for keys and ratios, whose totals mean nothing. `is_compared` is False for a column that is in
    the key as well, and is here for its total.
    """

    name: str
    type: ColumnType
    is_summed: bool = True
    is_compared: bool = True

    @property
    def is_number(self) -> bool:
        return is_number(self.type)

    @property
    def has_total(self) -> bool:
        return self.is_number and self.is_summed


@dataclass(frozen=True, slots=True)
class ComparedSlices:
    """`effects` are what each change did to a measure, and `effect` what all rows did; without contributions empty."""

    counts: DiffCounts
    totals: tuple[ColumnTotal, ...]
    changes: tuple[RowChange, ...]
    repeated: RepeatedRowKeys
    effects: tuple[Number, ...] = ()
    effect: Number | None = None


@dataclass(frozen=True, slots=True)
class Contributions:
    """What rows did to a measure before and after: columns k0, k1, … of the key, and `value`."""

    before: DataFrame
    after: DataFrame


def compare_rows(
    left: SliceRows,
    right: SliceRows,
    keys: Sequence[ComparedColumn],
    values: Sequence[ComparedColumn],
    *,
    tolerance: Decimal = Decimal(0),
    limit: int = 10,
    contributions: Contributions | None = None,
) -> ComparedSlices:
    """Both sides grouped by key in one query: counts and totals are observed on the way to the rows that are shown."""
    observed, shown = plan_comparison(left, right, keys, values, tolerance, limit, contributions)
    try:
        rows = shown.toArrow().to_pylist()
        metrics = observed.metrics()
        left.finish()
        right.finish()
    except PySparkException as failure:
        error = left.translate(failure)
        # Only the operation that failed says which side it was.
        raise (error if error.operation_seq is not None else right.translate(failure)) from failure
    counts = DiffCounts(**{name: metrics[name] or 0 for name in ("a", "b", "added", "removed", "changed", "same")})
    return ComparedSlices(
        counts,
        tuple(_total(column, number, metrics) for number, column in enumerate(values) if column.has_total),
        tuple(_change(row, keys, values) for row in rows),
        RepeatedRowKeys(metrics["repeated_a"] or 0, metrics["repeated_b"] or 0),
        tuple(row["effect"] for row in rows) if contributions is not None else (),
        metrics.get("effect"),
    )


def plan_comparison(
    left: SliceRows,
    right: SliceRows,
    keys: Sequence[ComparedColumn],
    values: Sequence[ComparedColumn],
    tolerance: Decimal,
    limit: int,
    contributions: Contributions | None = None,
) -> tuple[ObservedFrame, DataFrame]:
    """What is observed, and the rows that are shown: each side is read once, and both pass one shuffle.

    A key that occurs more than once on a side is one group, so that its rows are never multiplied.
    """
    sides = _side(left.df, keys, values, is_b=False).unionByName(_side(right.df, keys, values, is_b=True))
    if contributions is not None:
        sides = sides.unionByName(_contributed(contributions.before, is_b=False), allowMissingColumns=True)
        sides = sides.unionByName(_contributed(contributions.after, is_b=True), allowMissingColumns=True)
    grouped = _group_by_key(sides, keys, values, tolerance, has_effects=contributions is not None)
    metrics = _metrics(values) | ({"effect": "SUM(effect)"} if contributions is not None else {})
    observed = ObservedFrame(lambda: grouped, metrics)
    order = [F.col("score").desc(), *(F.col(f"k{number}").asc_nulls_last() for number in range(len(keys)))]
    return observed, observed.frame.where("differs").orderBy(*order).limit(limit)


def _group_by_key(
    sides: DataFrame,
    keys: Sequence[ComparedColumn],
    values: Sequence[ComparedColumn],
    tolerance: Decimal,
    *,
    has_effects: bool,
) -> DataFrame:
    hashed = F.pmod(F.xxhash64(*_hashed(values, tolerance)), F.lit(_HASH_PARTS))
    aggregates = []
    for side, is_side in (("a", ~F.col("is_b")), ("b", F.col("is_b"))):
        is_row = F.col("is_row") & is_side
        aggregates += [F.count_if(is_row).alias(f"rows_{side}"), F.sum(F.when(is_row, hashed)).alias(f"hash_{side}")]
        for number, column in enumerate(values):
            value = F.when(is_side, F.col(f"v{number}"))
            aggregates.append((F.sum(value) if column.is_number else F.max(value)).alias(f"{side}{number}"))
    if has_effects:
        value = F.when(F.col("is_b"), F.col("value")).otherwise(-F.col("value"))
        aggregates.append(F.sum(value).alias("effect"))
    grouped = sides.groupBy(*(f"k{number}" for number in range(len(keys)))).agg(*aggregates)
    is_repeated = (F.col("rows_a") > 1) | (F.col("rows_b") > 1)
    # Rows of one key are the same in any order; within a tolerance, if the sums of their numbers are. Where all columns
    # are the key, more rows of one key are added rows and no other ones.
    is_all_key = not any(column.is_compared for column in values)
    has_others = F.lit(False) if is_all_key else F.col("hash_a") != F.col("hash_b")
    differs = _any_differs(values, tolerance)
    differs = F.when(is_repeated, has_others | differs if tolerance else has_others).otherwise(differs)
    both = (F.col("rows_a") > 0) & (F.col("rows_b") > 0)
    added = {
        "is_changed": both & differs,
        "differs": (F.col("rows_a") != F.col("rows_b")) | (both & differs),
        "score": F.abs(F.coalesce(F.col("effect").cast("double"), F.lit(0.0))) if has_effects else _score(values),
    }
    return grouped.withColumns(added)


def _contributed(df: DataFrame, *, is_b: bool) -> DataFrame:
    return df.withColumns({"is_b": F.lit(is_b), "is_row": F.lit(False)})


def _side(df: DataFrame, keys: Sequence[ComparedColumn], values: Sequence[ComparedColumn], *, is_b: bool) -> DataFrame:
    columns = [F.lit(is_b).alias("is_b"), F.lit(True).alias("is_row")]
    for letter, named in (("k", keys), ("v", values)):
        columns += [
            F.col(quote_identifier(column.name)).cast(_compared_type(column, letter)).alias(f"{letter}{number}")
            for number, column in enumerate(named)
        ]
    return df.select(*columns)


def _compared_type(column: ComparedColumn, letter: str) -> str:
    """Sums of large integers, such as numbers of customers, need more than 64 bits."""
    return SUMMED_INTEGER if letter == "v" and column.type == INTEGER else spark_type(column.type)


def _hashed(values: Sequence[ComparedColumn], tolerance: Decimal) -> list[Column]:
    """Each value with its number, so that NULL leaves a mark; numbers only where they must be equal."""
    return [F.lit(0)] + [
        part
        for number, column in enumerate(values)
        if column.is_compared and not (tolerance and column.is_number)
        for part in (F.lit(number), F.col(f"v{number}"))
    ]


def _any_differs(values: Sequence[ComparedColumn], tolerance: Decimal) -> Column:
    differences = []
    for number, column in enumerate(values):
        if not column.is_compared:
            continue
        a, b = F.col(f"a{number}"), F.col(f"b{number}")
        differs = ~a.eqNullSafe(b)
        if column.is_number and tolerance:
            differs &= ~F.coalesce(F.abs(a - b) <= F.lit(tolerance), F.lit(False))
        differences.append(differs)
    return reduce(lambda left, right: left | right, differences, F.lit(False))


def _score(values: Sequence[ComparedColumn]) -> Column:
    """How large a change is: the largest difference of an amount, as far as an order needs it."""
    moved = [
        F.abs(
            F.coalesce(F.col(f"b{number}").cast("double"), F.lit(0.0))
            - F.coalesce(F.col(f"a{number}").cast("double"), F.lit(0.0))
        )
        for number, column in enumerate(values)
        if column.has_total
    ]
    return F.greatest(F.lit(0.0), *moved) if moved else F.lit(0.0)


def _metrics(values: Sequence[ComparedColumn]) -> dict[str, str]:
    common = "LEAST(rows_a, rows_b)"
    totals = {
        f"total_{side}{number}": f"SUM({side}{number})"
        for number, column in enumerate(values)
        if column.has_total
        for side in ("a", "b")
    }
    return {
        "a": "SUM(rows_a)",
        "b": "SUM(rows_b)",
        "added": "SUM(GREATEST(rows_b - rows_a, 0))",
        "removed": "SUM(GREATEST(rows_a - rows_b, 0))",
        "changed": f"SUM(IF(is_changed, {common}, 0))",
        "same": f"SUM(IF(is_changed, 0, {common}))",
        "repeated_a": "COUNT_IF(rows_a > 1)",
        "repeated_b": "COUNT_IF(rows_b > 1)",
        **totals,
    }


def _total(column: ComparedColumn, number: int, metrics: Mapping[str, Any]) -> ColumnTotal:
    before, after = metrics[f"total_a{number}"], metrics[f"total_b{number}"]
    zero = Decimal(0)
    before, after = zero if before is None else before, zero if after is None else after
    return ColumnTotal(column.name, before, after, subtract(after, before))


def _change(row: Mapping[str, Any], keys: Sequence[ComparedColumn], values: Sequence[ComparedColumn]) -> RowChange:
    sides = {
        side: {column.name: row[f"{side}{number}"] for number, column in enumerate(values)}
        if row[f"rows_{side}"]
        else None
        for side in ("a", "b")
    }
    change = RowChange({column.name: row[f"k{number}"] for number, column in enumerate(keys)}, sides["a"], sides["b"])
    return replace(change, rows_a=row["rows_a"], rows_b=row["rows_b"])


@dataclass(frozen=True, slots=True)
class DiffRequest:
    """Two runs, each by its id or as PROJECT@PERIOD; numbers that differ by `tolerance` at most count as the same."""

    a: str
    b: str
    output: str | None = None
    rows: int | None = None
    key: tuple[str, ...] = ()
    tolerance: Decimal = Decimal(0)
    limit: int = 10


def diff(environment: RunEnvironment, request: DiffRequest) -> DiffResult:
    """Compare what two runs wrote; all that is wrong with the question is raised before Spark is asked for."""
    run_a, run_b = find_recorded_run(environment, request.a), find_recorded_run(environment, request.b)
    output_a, output_b = choose_outputs(run_a, run_b, request.output)
    a = ComparedOutput(run_a, run_a.prepared.output(output_a.operation_seq).step)
    b = ComparedOutput(run_b, run_b.prepared.output(output_b.operation_seq).step)
    rows = choose_rows(a, b, request.rows)
    key = choose_key(a, b, rows, request.key)
    keys, values, retyped = compared_columns(a, b, key, rows)
    names = [column.name for column in (*keys, *values)]
    staging = f"{environment.state}/staging/{run_a.id}.diff-{secrets.token_hex(4)}"
    with environment.spark(run_b.snapshot) as spark:
        try:
            left = open_slice(environment, spark, a, rows.seq_a, names, f"{staging}/a")
            right = open_slice(environment, spark, b, rows.seq_b, names, f"{staging}/b")
            compared = compare_rows(left, right, keys, values, tolerance=request.tolerance, limit=request.limit)
        finally:
            remove_folder(staging, environment.storage)
    only_a, only_b = _one_sided(a, b), _one_sided(b, a)
    return DiffResult(
        a=run_a.compared(is_computed=left.is_computed),
        b=run_b.compared(is_computed=right.is_computed),
        output=output_b.destination,
        operation=rows,
        key=key.columns,
        key_origin=key.origin,
        rows=compared.counts,
        totals=compared.totals,
        changes=compared.changes,
        repeated=compared.repeated,
        only_in=OneSidedColumns(only_a, only_b),
        retyped=retyped,
        notices=_notices(a, b, key),
    )


def _notices(a: ComparedOutput, b: ComparedOutput, key: RowKeyColumns) -> tuple[Notice, ...]:
    if key.origin == "row_id" and a.run.record.period != b.run.record.period:
        return (notice("RUN_067", a=a.run.id, b=b.run.id),)
    return ()


def _one_sided(own: ComparedOutput, other: ComparedOutput) -> tuple[str, ...]:
    return tuple(name for name in own.step.columns if name not in {**other.step.columns, **SYSTEM_COLUMNS})


def compared_columns(
    a: ComparedOutput, b: ComparedOutput, key: RowKeyColumns, rows: ComparedRows
) -> tuple[list[ComparedColumn], list[ComparedColumn], tuple[RetypedColumn, ...]]:
    """Key and value columns in the types they are compared in; values of kinds that differ are compared as texts."""
    types_a, types_b = {**SYSTEM_COLUMNS, **a.step.columns}, {**SYSTEM_COLUMNS, **b.step.columns}
    keys: list[ComparedColumn] = []
    for name in key.columns:
        if (type_ := common_type((types_a[name], types_b[name]))) is None:
            raise DaybookError(
                "RUN_066", column=name, a=a.run.id, b=b.run.id, type_a=types_a[name], type_b=types_b[name]
            )
        keys.append(ComparedColumn(name, type_))
    names = [name for name in b.step.columns if name in a.step.columns and name not in {*SYSTEM_COLUMNS, *key.columns}]
    not_summed = columns_not_summed(a.plan, a.step.seq, rows.seq_a) | columns_not_summed(b.plan, b.step.seq, rows.seq_b)
    values = [
        ComparedColumn(name, common_type((types_a[name], types_b[name])) or STRING, name not in not_summed)
        for name in names
    ]
    if not values and not _has_only_key(a, b, key):
        raise DaybookError("RUN_063", a=a.run.id, b=b.run.id)
    retyped = tuple(
        RetypedColumn(name, str(types_a[name]), str(types_b[name])) for name in names if types_a[name] != types_b[name]
    )
    return keys, values, retyped


def _has_only_key(a: ComparedOutput, b: ComparedOutput, key: RowKeyColumns) -> bool:
    """Whether both outputs have nothing but the key, so that rows are only there or not."""
    return all(name in {*key.columns, *SYSTEM_COLUMNS} for side in (a, b) for name in side.step.columns)
