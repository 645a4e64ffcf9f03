"""Random expressions: Spark's values and the reference's are the same."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import expr

from daybook.errors import DaybookError
from daybook.expression import Compiled, Constants, Scope, compile_expression
from daybook.model.period import Period
from tests.reference import samples
from tests.reference.functions import RUN_TIMESTAMP
from tests.reference.generate import ExpressionGenerator
from tests.reference.numbers import ValueFailureError
from tests.reference.tree import Expression
from tests.spark.reference.frames import frame, same, spark_type

BATCHES, EXPRESSIONS_PER_BATCH = 25, 80
FAILURES_PER_BATCH = 2
SCOPE = Scope(
    columns=samples.COLUMNS,
    qualifiers={samples.MAIN: samples.COLUMNS, samples.ALIAS: samples.ALIAS_COLUMNS},
    aliases=frozenset({samples.ALIAS}),
)
CONSTANTS = Constants(
    timestamp=RUN_TIMESTAMP,
    period=Period("2026-01", "month", datetime.date(2026, 1, 1), datetime.date(2026, 1, 31)),
)


@dataclass(frozen=True)
class Case:
    """An expression, its values by row number, and the rows it fails on."""

    expression: Expression
    values: Mapping[int, Any]
    failing: Sequence[int]


def evaluated(expression: Expression, rows: Sequence[Mapping[str, Any]]) -> Case:
    values: dict[int, Any] = {}
    failing: list[int] = []
    for number, row in enumerate(rows):
        try:
            values[number] = expression.value(row)
        except ValueFailureError:
            failing.append(number)
    return Case(expression, values, failing)


def compiled(expression: Expression) -> Compiled:
    return compile_expression(str(expression), SCOPE)


def sample_frame(spark: SparkSession, rows: Sequence[Mapping[str, Any]]) -> DataFrame:
    numbered = [{**row, "__row": number} for number, row in enumerate(rows)]
    return frame(spark, numbered, {**samples.all_types(), "__row": samples.COLUMNS["n1"]})


def disagreements(df: DataFrame, cases: Sequence[Case]) -> list[str]:
    """What differs, each as one line with the text, the row and the two values."""
    found: list[str] = []
    columns: dict[int, Column] = {}
    for place, case in enumerate(cases):
        try:
            product = compiled(case.expression)
        except DaybookError as error:
            found.append(f"{case.expression}: does not compile: {error}")
            continue
        if product.type != case.expression.type:
            found.append(f"{case.expression}: type {product.type}, expected {case.expression.type}")
        rows = ", ".join(map(str, case.values)) or "-1"
        columns[place] = expr(f"CASE WHEN `__row` IN ({rows}) THEN {product.sql(CONSTANTS)} END").alias(str(place))
    return found + differences(df, {place: cases[place] for place in columns}, columns)


def differences(df: DataFrame, cases: Mapping[int, Case], columns: Mapping[int, Column]) -> list[str]:
    """What Spark makes of all columns in one job; when that fails, of each half, until the culprit is alone."""
    try:
        result = df.select("__row", *(columns[place] for place in cases))
        types = {field.name: field.dataType for field in result.schema}
        rows = result.toArrow().to_pylist()
    except PySparkException as error:
        if len(cases) == 1:
            return [f"{case.expression}: {str(error)[:300]}" for case in cases.values()]
        places = list(cases)
        halves = places[: len(places) // 2], places[len(places) // 2 :]
        return [line for half in halves for line in differences(df, {p: cases[p] for p in half}, columns)]
    found = [
        f"{case.expression}: Spark has {types[str(place)]}"
        for place, case in cases.items()
        if types[str(place)] != spark_type(case.expression.type)
    ]
    for row in rows:
        for place, case in cases.items():
            number, actual = row["__row"], row[str(place)]
            if number in case.values and not same(actual, case.values[number]):
                found.append(f"{case.expression}: row {number}: {actual!r}, expected {case.values[number]!r}")
    return found


def cases_of(seed: int, rows: Sequence[Mapping[str, Any]]) -> list[Case]:
    random = Random(seed)
    generator = ExpressionGenerator(random, samples.references(random))
    return [evaluated(generator.any(random.choice((1, 2, 2, 3))), rows) for _ in range(EXPRESSIONS_PER_BATCH)]


@pytest.mark.parametrize("seed", range(BATCHES))
def test_random_expressions(spark: SparkSession, seed: int) -> None:
    rows = samples.rows(Random(seed))
    df = sample_frame(spark, rows)
    # Spark evaluates a projection of local rows without generating code; behind an exchange it generates code.
    df = df if seed % 4 == 0 else df.repartition(1)
    found = disagreements(df, cases_of(seed, rows))
    assert not found, "\n".join(found)
