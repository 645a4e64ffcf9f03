"""Every function's own example, executed."""

import datetime
from decimal import Decimal

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from daybook.expression import Grouping, Scope, compile_expression, quote_literal, spark_type
from daybook.expression.functions.function import Function
from daybook.expression.functions.function_table import FUNCTIONS
from daybook.model.types import INTEGER
from tests.spark.expression.world import CONSTANTS

_OF_ROWS = [function for function in FUNCTIONS.values() if not function.takes_over]
_OF_GROUPS = [function for function in FUNCTIONS.values() if function.is_aggregate]

pytestmark = pytest.mark.usefixtures("product_settings")


def test_every_example_of_a_row_function_gives_its_value(spark: SparkSession) -> None:
    compiled = [compile_expression(function.example.text, Scope({}, {})) for function in _OF_ROWS]
    columns = [f"{each.sql(CONSTANTS)} AS v{position}" for position, each in enumerate(compiled)]
    row = spark.range(1).selectExpr(*columns).collect()[0]
    found = {function.name: _comparable(value) for function, value in zip(_OF_ROWS, row, strict=True)}
    assert found == {function.name: _comparable(function.example.value) for function in _OF_ROWS}


@pytest.mark.parametrize("function", _OF_GROUPS, ids=lambda function: function.name)
def test_every_example_of_an_aggregate_gives_its_value(spark: SparkSession, function: Function) -> None:
    assert function.example.rows
    rows = [f"({quote_literal(value, INTEGER)})" for value in function.example.rows]
    df = spark.sql(f"SELECT CAST(x AS {spark_type(INTEGER)}) AS x FROM VALUES {', '.join(rows)} AS t(x)")
    compiled = compile_expression(function.example.text, Scope({"x": INTEGER}, {}), grouping=Grouping(()))
    found = df.groupBy().agg(F.expr(compiled.sql(CONSTANTS)).alias("v")).collect()[0].v
    assert _comparable(found) == _comparable(function.example.value)


def _comparable(value: object) -> object:
    """Values with what equality would overlook: the type and the digits after the point; timestamps without zone."""
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None)
    return (type(value).__name__, value)
