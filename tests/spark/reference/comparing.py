"""Expressions on Spark beside the values the reference has for them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import expr

from daybook.errors import DaybookError
from daybook.expression import CompiledExpression, Scope, compile_expression
from daybook.model.types import INTEGER, ColumnType
from daybook.recompute.arithmetic import ValueFailureError
from daybook.recompute.tree import Node
from tests.reference.evaluate import value
from tests.reference.planning import CONSTANTS
from tests.spark.reference.frames import frame, same, spark_type

Rows = Sequence[Mapping[str, Any]]
NUMBER = "__row"


@dataclass(frozen=True)
class Case:
    """An expression, its values by row number, and the rows it fails on."""

    expression: Node
    scope: Scope
    values: Mapping[int, Any]
    failing: Sequence[int]

    def compiled(self) -> CompiledExpression:
        return compile_expression(str(self.expression), self.scope)


def evaluated(expression: Node, scope: Scope, rows: Rows) -> Case:
    values: dict[int, Any] = {}
    failing: list[int] = []
    for number, row in enumerate(rows):
        try:
            values[number] = value(expression, row)
        except ValueFailureError:
            failing.append(number)
    return Case(expression, scope, values, failing)


def numbered_frame(spark: SparkSession, rows: Rows, types: Mapping[str, ColumnType]) -> DataFrame:
    numbered = [{**row, NUMBER: number} for number, row in enumerate(rows)]
    return frame(spark, numbered, {**types, NUMBER: INTEGER})


def disagreements(df: DataFrame, cases: Sequence[Case]) -> list[str]:
    """What differs, each as one line with the text, the row and the two values."""
    found: list[str] = []
    columns: dict[int, Column] = {}
    for place, case in enumerate(cases):
        try:
            product = case.compiled()
        except DaybookError as error:
            found.append(f"{case.expression}: does not compile: {error}")
            continue
        if product.type != case.expression.type:
            found.append(f"{case.expression}: type {product.type}, expected {case.expression.type}")
        # On the rows where the reference has no value Spark must not be asked for one.
        rows = ", ".join(map(str, case.values)) or "-1"
        columns[place] = expr(f"CASE WHEN `{NUMBER}` IN ({rows}) THEN {product.sql(CONSTANTS)} END").alias(str(place))
    return found + differences(df, {place: cases[place] for place in columns}, columns)


def differences(df: DataFrame, cases: Mapping[int, Case], columns: Mapping[int, Column]) -> list[str]:
    """What Spark makes of all columns in one job; when that fails, of each half, until the culprit is alone."""
    try:
        result = df.select(NUMBER, *(columns[place] for place in cases))
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
            number, actual = row[NUMBER], row[str(place)]
            if number in case.values and not same(actual, case.values[number]):
                found.append(f"{case.expression}: row {number}: {actual!r}, expected {case.values[number]!r}")
    return found


def accepted_failures(df: DataFrame, case: Case, limit: int) -> list[str]:
    """The rows, among the first few the reference fails on, that Spark has a value for."""
    found: list[str] = []
    for number in case.failing[:limit]:
        try:
            result = df.where(f"`{NUMBER}` = {number}").select(expr(case.compiled().sql(CONSTANTS))).collect()
        except PySparkException:
            continue
        found.append(f"{case.expression}: row {number}: {result}, expected a failure")
    return found
