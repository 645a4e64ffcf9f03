"""An average that is a new column is rounded once, whatever the size of its group."""

from decimal import Decimal
from fractions import Fraction

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from daybook.expression import Grouping, Scope, compile_expression
from daybook.model.types import INTEGER, ColumnType, DecimalType
from tests.spark.expression.world import CONSTANTS

# This many cents divided by so many rows are 9.9933334999995…, which is 9.993333500000 at twelve places.
ROWS, CENTS = 1_000_003, 999_336_348
MONEY = DecimalType(18, 2)


def test_the_example_is_below_the_tie() -> None:
    quotient = Fraction(CENTS, 100 * ROWS)
    tie = Fraction("9.9933335")
    assert tie - Fraction(5, 10**13) < quotient < tie


@pytest.mark.parametrize("amount", [DecimalType(4, 2), MONEY, DecimalType(28, 2)], ids=str)
@pytest.mark.parametrize("over", ["", " OVER (n)"], ids=["grouped", "window"])
def test_a_tie_that_is_none(spark: SparkSession, amount: DecimalType, over: str) -> None:
    columns: dict[str, ColumnType] = {"n": INTEGER, "amount": amount}
    grouping = None if over else Grouping(("n",))
    expression = compile_expression(
        f"AVG(amount){over}", Scope(columns, {}), grouping=grouping, allow_windows=bool(over)
    )
    assert expression.column_type == DecimalType(amount.precision + 4, 6)
    base, more = divmod(CENTS, ROWS)
    cents = f"{base} + IF(id < {more}, 1, 0)"
    rows = spark.range(ROWS).selectExpr("1L AS n", f"CAST(({cents}) / 100 AS DECIMAL({amount.precision}, 2)) AS amount")
    sql = expression.fitted_sql(expression.column_type, CONSTANTS)
    value = F.expr(sql).alias("v")
    df = rows.select(value).limit(1) if over else rows.groupBy("n").agg(value)
    assert df.schema["v"].dataType.simpleString() == f"decimal({amount.precision + 4},6)"
    assert df.collect()[0].v == Decimal("9.993333")


def test_ties_are_rounded_away_from_zero_and_a_group_of_nulls_has_none(spark: SparkSession) -> None:
    columns: dict[str, ColumnType] = {"n": INTEGER, "amount": MONEY}
    expression = compile_expression("AVG(amount)", Scope(columns, {}), grouping=Grouping(("n",)))
    sql = expression.fitted_sql(expression.column_type, CONSTANTS)
    # 0.01 / 32 is 0.0003125.
    values = "SELECT 1L AS n, IF(id = 0, -0.01BD, 0.00BD) AS amount FROM RANGE(32) UNION ALL SELECT 2L, NULL"
    found = spark.sql(f"SELECT n, {sql} AS v FROM ({values}) GROUP BY n ORDER BY n").collect()
    assert [row.v for row in found] == [Decimal("-0.000313"), None]
