"""What two runs wrote, compared row by row: one pass over each side, and no row leaves Spark but those shown."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from daybook.compare.chosen_rows import ComparedOutput, RowKeyColumns, choose_key, choose_rows
from daybook.compare.recorded_run import choose_outputs, find_recorded_run
from daybook.compare.result import (
    ColumnTotal,
    DiffCounts,
    DiffResult,
    RepeatedKeys,
    RetypedColumn,
    RowChange,
    subtract,
)
from daybook.compare.slices import SliceRows, open_slice
from daybook.engine.counters import ObservedFrame
from daybook.errors import DaybookError, Notice, notice
from daybook.expression import common_type, quote_identifier, spark_type
from daybook.expression.type_rules import is_number
from daybook.model.types import STRING, SYSTEM_COLUMNS, ColumnType
from daybook.runs.environment import RunEnvironment, remove_folder

# Parts of a hash whose sum over the rows of one key stays a 64-bit integer.
_HASH_PARTS = 2**40


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


@dataclass(frozen=True, slots=True)
class ComparedColumn:
    """A column that both sides have, and the type in which its values are compared."""

    name: str
    type: ColumnType

    @property
    def is_number(self) -> bool:
        return is_number(self.type)


def diff(around: RunEnvironment, request: DiffRequest) -> DiffResult:
    """Compare what two runs wrote; all that is wrong with the question is raised before Spark is asked for."""
    run_a, run_b = find_recorded_run(around, request.a), find_recorded_run(around, request.b)
    output_a, output_b = choose_outputs(run_a, run_b, request.output)
    a = ComparedOutput(run_a, run_a.prepared.output(output_a.operation_seq).step)
    b = ComparedOutput(run_b, run_b.prepared.output(output_b.operation_seq).step)
    rows = choose_rows(a, b, request.rows)
    key = choose_key(a, b, rows, request.key)
    keys, values, retyped = _compared_columns(a, b, key)
    names = [column.name for column in (*keys, *values)]
    staging = f"{around.state}/staging/{run_a.id}.diff-{secrets.token_hex(4)}"
    with around.spark(run_b.snapshot) as spark:
        try:
            left = open_slice(around, spark, a, rows.seq_a, names, f"{staging}/a")
            right = open_slice(around, spark, b, rows.seq_b, names, f"{staging}/b")
            found = compare_rows(left, right, keys, values, tolerance=request.tolerance, limit=request.limit)
        finally:
            remove_folder(staging)
    only_a, only_b = _one_sided(a, b), _one_sided(b, a)
    return DiffResult(
        a=run_a.compared(is_computed=left.is_computed),
        b=run_b.compared(is_computed=right.is_computed),
        output=output_b.destination,
        operation=rows,
        key=key.columns,
        key_origin=key.origin,
        rows=found.counts,
        totals=found.totals,
        changes=found.changes,
        repeated=found.repeated,
        only_in_a=only_a,
        only_in_b=only_b,
        retyped=retyped,
        notices=_notices(a, b, key),
    )


def _notices(a: ComparedOutput, b: ComparedOutput, key: RowKeyColumns) -> tuple[Notice, ...]:
    if key.origin == "row_id" and a.run.record.period != b.run.record.period:
        return (notice("RUN_067", a=a.run.id, b=b.run.id),)
    return ()


def _one_sided(one: ComparedOutput, other: ComparedOutput) -> tuple[str, ...]:
    return tuple(name for name in one.step.columns if name not in {**other.step.columns, **SYSTEM_COLUMNS})


def _compared_columns(
    a: ComparedOutput, b: ComparedOutput, key: RowKeyColumns
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
    values = [ComparedColumn(name, common_type((types_a[name], types_b[name])) or STRING) for name in names]
    if not values and not _has_only_key(a, b, key):
        raise DaybookError("RUN_063", a=a.run.id, b=b.run.id)
    retyped = tuple(
        RetypedColumn(name, str(types_a[name]), str(types_b[name])) for name in names if types_a[name] != types_b[name]
    )
    return keys, values, retyped


def _has_only_key(a: ComparedOutput, b: ComparedOutput, key: RowKeyColumns) -> bool:
    """Whether both outputs have nothing but the key, so that rows are only there or not."""
    return all(name in {*key.columns, *SYSTEM_COLUMNS} for side in (a, b) for name in side.step.columns)


@dataclass(frozen=True, slots=True)
class ComparedSlices:
    counts: DiffCounts
    totals: tuple[ColumnTotal, ...]
    changes: tuple[RowChange, ...]
    repeated: RepeatedKeys


def compare_rows(
    left: SliceRows,
    right: SliceRows,
    keys: Sequence[ComparedColumn],
    values: Sequence[ComparedColumn],
    *,
    tolerance: Decimal = Decimal(0),
    limit: int = 10,
) -> ComparedSlices:
    """Both sides grouped by key in one job: counts and totals are observed on the way to the rows that are shown.

    A key that stands more than once on a side is one group, so that its rows are never multiplied.
    """
    grouped = _group_by_key(left.df, right.df, keys, values, tolerance)
    observed = ObservedFrame(lambda: grouped, _metrics(values))
    order = [F.col("score").desc(), *(F.col(f"k{number}").asc_nulls_last() for number in range(len(keys)))]
    shown = observed.frame.where("differs").orderBy(*order).limit(limit)
    try:
        rows = shown.toArrow().to_pylist()
        found = observed.metrics()
        left.finish()
        right.finish()
    except Exception as failure:
        raise right.translate(left.translate(failure)) from failure
    counts = DiffCounts(**{name: found[name] or 0 for name in ("a", "b", "added", "removed", "changed", "same")})
    return ComparedSlices(
        counts,
        tuple(_total(column, number, found) for number, column in enumerate(values) if column.is_number),
        tuple(_change(row, keys, values) for row in rows),
        RepeatedKeys(found["repeated_a"] or 0, found["repeated_b"] or 0),
    )


def _group_by_key(
    left: DataFrame,
    right: DataFrame,
    keys: Sequence[ComparedColumn],
    values: Sequence[ComparedColumn],
    tolerance: Decimal,
) -> DataFrame:
    sides = _side(left, keys, values, is_b=False).unionByName(_side(right, keys, values, is_b=True))
    hashed = F.pmod(F.xxhash64(*_hashed(values)), F.lit(_HASH_PARTS))
    aggregates = [F.count_if(~F.col("is_b")).alias("rows_a"), F.count_if("is_b").alias("rows_b")]
    for side, is_side in (("a", ~F.col("is_b")), ("b", F.col("is_b"))):
        aggregates.append(F.sum(F.when(is_side, hashed)).alias(f"hash_{side}"))
        for number, column in enumerate(values):
            value = F.when(is_side, F.col(f"v{number}"))
            aggregates.append((F.sum(value) if column.is_number else F.max(value)).alias(f"{side}{number}"))
    grouped = sides.groupBy(*(f"k{number}" for number in range(len(keys)))).agg(*aggregates)
    is_repeated = (F.col("rows_a") > 1) | (F.col("rows_b") > 1)
    differs = F.when(is_repeated, F.col("hash_a") != F.col("hash_b")).otherwise(_any_differs(values, tolerance))
    both = (F.col("rows_a") > 0) & (F.col("rows_b") > 0)
    return grouped.withColumns(
        {
            "is_changed": both & differs,
            "differs": (F.col("rows_a") != F.col("rows_b")) | (both & differs),
            "score": _score(values),
        }
    )


def _side(df: DataFrame, keys: Sequence[ComparedColumn], values: Sequence[ComparedColumn], *, is_b: bool) -> DataFrame:
    columns = [F.lit(is_b).alias("is_b")]
    for letter, named in (("k", keys), ("v", values)):
        columns += [
            F.col(quote_identifier(column.name)).cast(spark_type(column.type)).alias(f"{letter}{number}")
            for number, column in enumerate(named)
        ]
    return df.select(*columns)


def _hashed(values: Sequence[ComparedColumn]) -> list[Column]:
    """Each value with its number, so that NULL leaves a mark."""
    return [part for number in range(len(values)) for part in (F.lit(number), F.col(f"v{number}"))] or [F.lit(0)]


def _any_differs(values: Sequence[ComparedColumn], tolerance: Decimal) -> Column:
    found = []
    for number, column in enumerate(values):
        a, b = F.col(f"a{number}"), F.col(f"b{number}")
        differs = ~a.eqNullSafe(b)
        if column.is_number and tolerance:
            differs &= ~F.coalesce(F.abs(a - b) <= F.lit(tolerance), F.lit(False))
        found.append(differs)
    return reduce(lambda one, other: one | other, found, F.lit(False))


def _score(values: Sequence[ComparedColumn]) -> Column:
    """How large a change is: the largest difference of a number, as far as an order needs it."""
    moved = [
        F.abs(
            F.coalesce(F.col(f"b{number}").cast("double"), F.lit(0.0))
            - F.coalesce(F.col(f"a{number}").cast("double"), F.lit(0.0))
        )
        for number, column in enumerate(values)
        if column.is_number
    ]
    return F.greatest(F.lit(0.0), *moved) if moved else F.lit(0.0)


def _metrics(values: Sequence[ComparedColumn]) -> dict[str, str]:
    common = "LEAST(rows_a, rows_b)"
    totals = {
        f"total_{side}{number}": f"SUM({side}{number})"
        for number, column in enumerate(values)
        if column.is_number
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


def _total(column: ComparedColumn, number: int, found: Mapping[str, Any]) -> ColumnTotal:
    before, after = found[f"total_a{number}"], found[f"total_b{number}"]
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
