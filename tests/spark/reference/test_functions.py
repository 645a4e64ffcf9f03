"""Every function of the table: its example, NULL in each argument, and the values at its edges."""

import datetime
from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.functions import expr

from daybook.expression import Constants, Grouping, Scope, compile_expression
from daybook.expression.functions.table import FUNCTIONS
from daybook.model.types import INTEGER, STRING, ColumnType
from tests.reference import signatures
from tests.reference.functions import Call
from tests.reference.grouping import Aggregate, Group, groups_of
from tests.reference.numbers import ValueFailureError
from tests.reference.parse import parse
from tests.reference.planning import CONSTANTS
from tests.reference.signatures import AGGREGATES, SIGNATURES, Signature, Values
from tests.spark.reference.comparing import (
    accepted_failures,
    disagreements,
    evaluated,
    numbered_frame,
)
from tests.spark.reference.frames import frame, same, spark_type

# Windows look at groups of rows; tests/spark/engine compares them with values by hand and with exact fractions.
SCALAR = sorted(name for name, function in FUNCTIONS.items() if not function.is_aggregate and not function.is_window)
AGGREGATING = sorted(name for name, function in FUNCTIONS.items() if function.is_aggregate)
CLOCK = frozenset({"TODAY", "NOW"})


def columns_of(signature: Signature) -> dict[str, ColumnType]:
    return {f"a{place}": each.type for place, each in enumerate(signature) if isinstance(each, Values)}


@pytest.mark.parametrize("name", SCALAR)
def test_function(spark: SparkSession, name: str) -> None:
    assert name in SIGNATURES, f"the reference does not know {name}: add it to tests/reference"
    found: list[str] = []
    for signature in SIGNATURES[name]:
        rows = signatures.rows(signature)
        types = columns_of(signature)
        scope = Scope(columns=types, qualifiers={})
        case = evaluated(Call(name, signatures.arguments(signature)), scope, rows)
        df = numbered_frame(spark, rows, types).repartition(1)
        found += disagreements(df, [case]) + accepted_failures(df, case, limit=2)
    assert not found, "\n".join(found)


def test_examples(spark: SparkSession) -> None:
    """The values the reference page shows are those the reference computes and those Spark gives, in one query."""
    examples = [FUNCTIONS[name].example for name in SCALAR if name not in CLOCK]
    shown = {each.text: (each.value, parse(each.text).value({})) for each in examples}
    assert {text: values for text, values in shown.items() if not same(*values)} == {}
    cases = [evaluated(parse(each.text), Scope(columns={}, qualifiers={}), [{}]) for each in examples]
    assert disagreements(numbered_frame(spark, [{}], {}), cases) == []


@pytest.mark.parametrize("name", sorted(CLOCK))
def test_clock_example(spark: SparkSession, name: str) -> None:
    moment = datetime.datetime(2026, 1, 31, 12, 30, tzinfo=datetime.UTC)
    product = compile_expression(FUNCTIONS[name].example.text, Scope(columns={}, qualifiers={}))
    sql = product.sql(Constants(timestamp=moment, period=None))
    (row,) = spark.range(1).select(expr(sql).alias("v")).toArrow().to_pylist()
    assert row["v"] == (moment if name == "NOW" else moment.date()) == FUNCTIONS[name].example.value


def grouped_rows(values: Sequence[Any]) -> list[dict[str, Any]]:
    """Groups of: each value alone, all of them with NULLs, a value three times, NULLs only."""
    members = {f"one {place}": [value] for place, value in enumerate(values)}
    members |= {"all": [*values, None], "thrice": [values[1]] * 3 + [None], "none": [None, None]}
    return [{"g": group, "x": value} for group, group_values in members.items() for value in group_values]


def group_values(aggregate: Aggregate, groups: Sequence[Group]) -> tuple[dict[str, Any], list[str]]:
    """The values by group, and the groups the aggregate fails on."""
    values: dict[str, Any] = {}
    failing: list[str] = []
    for group in groups:
        try:
            values[group["g"]] = aggregate.value(group)
        except ValueFailureError:
            failing.append(group["g"])
    return values, failing


@pytest.mark.parametrize("name", AGGREGATING)
def test_aggregate(spark: SparkSession, name: str) -> None:
    assert name in AGGREGATES, f"the reference does not know {name}: add it to tests/reference"
    found: list[str] = []
    for values in AGGREGATES[name]:
        types: dict[str, ColumnType] = {"g": STRING, "x": values.type}
        rows = grouped_rows(values.values)
        aggregate = parse(f"{name}(x)", types)
        assert isinstance(aggregate, Aggregate)
        expected, failing = group_values(aggregate, groups_of(rows, ["g"]))
        scope = Scope(columns=types, qualifiers={})
        product = compile_expression(str(aggregate), scope, grouping=Grouping(columns=("g",), strict=False))
        if product.type != aggregate.type:
            found.append(f"{aggregate} of {values.type}: type {product.type}, expected {aggregate.type}")
        df = frame(spark, rows, types).repartition(2)
        result = df.where(~df.g.isin(failing)).groupBy("g").agg(expr(product.sql(CONSTANTS)).alias("v"))
        if result.schema["v"].dataType != spark_type(aggregate.type):
            found.append(f"{aggregate} of {values.type}: Spark has {result.schema['v'].dataType}")
        found += [
            f"{aggregate} of {values.type}, group {row['g']}: {row['v']!r}, expected {expected[row['g']]!r}"
            for row in result.toArrow().to_pylist()
            if not same(row["v"], expected[row["g"]])
        ]
        for group in failing:
            try:
                value = df.where(df.g == group).groupBy("g").agg(expr(product.sql(CONSTANTS)).alias("v")).toArrow()
            except PySparkException:
                continue
            found.append(f"{aggregate} of {values.type}, group {group}: {value.to_pylist()}, expected a failure")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", AGGREGATING)
def test_aggregate_example(spark: SparkSession, name: str) -> None:
    example = FUNCTIONS[name].example
    rows = [{"g": 1, "x": value} for value in example.rows]
    types: dict[str, ColumnType] = {"g": INTEGER, "x": INTEGER}
    (group,) = groups_of(rows, ["g"])
    expected = parse(example.text, types).value(group)
    product = compile_expression(
        example.text, Scope(columns=types, qualifiers={}), grouping=Grouping(columns=("g",), strict=False)
    )
    (row,) = frame(spark, rows, types).groupBy("g").agg(expr(product.sql(CONSTANTS)).alias("v")).toArrow().to_pylist()
    assert same(example.value, expected)
    assert same(row["v"], expected)
