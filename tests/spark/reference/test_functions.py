"""Every function of the table: its example, NULL in each argument, and the values at its edges."""

import datetime
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Column, SparkSession
from pyspark.sql.functions import expr

from daybook.expression import Constants, Grouping, Scope, compile_expression
from daybook.expression.functions.function_table import FUNCTIONS
from daybook.model.types import INTEGER, STRING, ColumnType
from daybook.recompute.aggregates import Aggregate
from daybook.recompute.arithmetic import ValueFailureError
from daybook.recompute.functions import Call
from tests.reference import literals, signatures
from tests.reference.evaluate import group_value, parse, value
from tests.reference.planning import CONSTANTS
from tests.reference.signatures import AGGREGATES, SIGNATURES, Values
from tests.spark.reference.comparing import (
    Case,
    accepted_failures,
    disagreements,
    evaluated,
    numbered_frame,
)
from tests.spark.reference.frames import frame, same, spark_type

# Windows look at groups of rows; tests/spark/engine compares them with values by hand and with exact fractions.
SCALAR = sorted(name for name, function in FUNCTIONS.items() if not function.is_aggregate and not function.is_window)
AGGREGATING = sorted(name for name, function in FUNCTIONS.items() if function.is_aggregate)
CLOCK = {"TODAY": literals.TODAY, "NOW": literals.NOW}


def test_the_reference_knows_every_function() -> None:
    assert [name for name in SCALAR if name not in SIGNATURES] == []
    assert [name for name in AGGREGATING if name not in AGGREGATES] == []


def test_functions(spark: SparkSession) -> None:
    """Every function with every kind of arguments, each in columns of its own beside the others, in one query."""
    types: dict[str, ColumnType] = {}
    table: list[dict[str, Any]] = []
    cases: list[Case] = []
    for name in SCALAR:
        for number, signature in enumerate(SIGNATURES[name]):
            prefix = f"{name}_{number}_"
            own = {f"{prefix}{place}": each.type for place, each in enumerate(signature) if isinstance(each, Values)}
            rows = signatures.rows(signature, prefix)
            call = CLOCK.get(name) or Call(name, signatures.arguments(signature, prefix))
            cases.append(evaluated(call, Scope(columns=own, qualifiers={}), rows))
            types |= own
            table += [{} for _ in range(len(rows) - len(table))]
            for place, row in enumerate(rows):
                table[place] |= row
    df = numbered_frame(spark, [dict.fromkeys(types) | row for row in table], types)
    found = disagreements(df.repartition(1), cases)
    found += [line for case in cases for line in accepted_failures(df, case, limit=2)]
    assert not found, "\n".join(found)


def test_examples(spark: SparkSession) -> None:
    """The values the reference page shows are those the reference computes and those Spark gives, in one query."""
    examples = [FUNCTIONS[name].example for name in SCALAR if name not in CLOCK]
    shown = {each.text: (each.value, value(parse(each.text), {})) for each in examples}
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


def grouped_values(values: Sequence[Any]) -> dict[str, list[Any]]:
    """Groups of: each value alone, all of them with NULLs, a value three times, NULLs only."""
    alone = {f"one {place}": [value] for place, value in enumerate(values)}
    return alone | {"all": [*values, None], "thrice": [values[1]] * 3 + [None], "none": [None, None]}


def group_values(aggregate: Aggregate, groups: Sequence[Sequence[dict[str, Any]]]) -> tuple[dict[str, Any], list[str]]:
    """The values by group, and the groups the aggregate fails on."""
    values: dict[str, Any] = {}
    failing: list[str] = []
    for group in groups:
        try:
            values[group[0]["g"]] = group_value(aggregate, group)
        except ValueFailureError:
            failing.append(group[0]["g"])
    return values, failing


def test_aggregates(spark: SparkSession) -> None:
    """Every aggregate of every type, each in a column and in groups of its own beside the others, in one query."""
    columns = {f"{name}_{n}": (name, each) for name in AGGREGATING for n, each in enumerate(AGGREGATES[name])}
    types: dict[str, ColumnType] = {"g": STRING, **{column: values.type for column, (_, values) in columns.items()}}
    scope, table = Scope(columns=types, qualifiers={}), list[dict[str, Any]]()
    aggregates, sql = dict[str, Aggregate](), dict[str, Column]()
    expected, failing = dict[str, dict[str, Any]](), dict[str, list[str]]()
    found: list[str] = []
    for column, (name, values) in columns.items():
        groups = grouped_values(values.values).items()
        rows = [{"g": f"{column} {group}", column: value} for group, members in groups for value in members]
        aggregate = parse(f"{name}({column})", types)
        assert isinstance(aggregate, Aggregate)
        expected[column], failing[column] = group_values(
            aggregate, [list(members) for _, members in groupby(rows, itemgetter("g"))]
        )
        product = compile_expression(str(aggregate), scope, grouping=Grouping(columns=("g",), strict=False))
        if product.type != aggregate.type:
            found.append(f"{aggregate} of {values.type}: type {product.type}, expected {aggregate.type}")
        aggregates[column], sql[column] = aggregate, expr(product.sql(CONSTANTS)).alias(column)
        table += [dict.fromkeys(types) | row for row in rows]
    df = frame(spark, table, types).repartition(2)
    refused = [group for groups in failing.values() for group in groups]
    result = df.where(~df.g.isin(refused)).groupBy("g").agg(*sql.values())
    for column, aggregate in aggregates.items():
        if result.schema[column].dataType != spark_type(aggregate.type):
            found.append(f"{aggregate} of {types[column]}: Spark has {result.schema[column].dataType}")
    actual = {row["g"]: row for row in result.toArrow().to_pylist()}
    for column, values_by_group in expected.items():
        found += [
            f"{aggregates[column]} of {types[column]}, group {group}: {actual[group][column]!r}, expected {value!r}"
            for group, value in values_by_group.items()
            if not same(actual[group][column], value)
        ]
    for column, groups_of_column in failing.items():
        for group in groups_of_column:
            try:
                value = df.where(df.g == group).groupBy("g").agg(sql[column]).collect()
            except PySparkException:
                continue
            found.append(f"{aggregates[column]} of {types[column]}, group {group}: {value}, expected a failure")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", AGGREGATING)
def test_aggregate_example(spark: SparkSession, name: str) -> None:
    example = FUNCTIONS[name].example
    rows = [{"g": 1, "x": value} for value in example.rows]
    types: dict[str, ColumnType] = {"g": INTEGER, "x": INTEGER}
    expected = group_value(parse(example.text, types), rows)
    product = compile_expression(
        example.text, Scope(columns=types, qualifiers={}), grouping=Grouping(columns=("g",), strict=False)
    )
    (row,) = frame(spark, rows, types).groupBy("g").agg(expr(product.sql(CONSTANTS)).alias("v")).toArrow().to_pylist()
    assert same(example.value, expected)
    assert same(row["v"], expected)
