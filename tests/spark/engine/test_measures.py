"""Sums that Spark takes in parts of 64 bits, against sums of Python's decimals."""

from decimal import Decimal

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from daybook.engine.measures import Measures, MeasureSum, PassingRows, UnitColumns
from daybook.expression import spark_type
from daybook.model.measures import plus
from daybook.model.types import INTEGER, ColumnType, DecimalType

# Around what is exact as a double, what 64 bits hold, and where a long number is divided.
SHORT = ["0.00", "-0.01", "0.29", "1.15", "11258999068425.99", "11258999068426.00", "-11258999068426.01"]
SHORTEST = [*SHORT, "9999999999999999.99", "-9999999999999999.99"]
LONG = [
    *SHORTEST,
    "39999999999999999.99",
    "-39999999999999999.99",
    "40000000000000000.00",
    "-40000000000000000.01",
    "92233720368547758.07",
    "92233720368547758.08",
    "-100000000000000000.01",
    "12345678901234567890123456789.01",
    "-90000000000000000000000000000000000.09",
]
INTEGERS = ["9223372036854775807", "9223372036854775806", "-9223372036854775808", "-1", "0", "4294967296"]
EIGHT_PLACES = ["0.00000001", "11258999.06842623", "11258999.06842625", "-99999999999999999999.99999999"]


@pytest.mark.parametrize(
    ("column_type", "texts"),
    [
        (DecimalType(18, 2), SHORTEST),
        (DecimalType(18, 0), ["999999999999999999", "-1125899906842624", "7"]),
        (DecimalType(38, 2), LONG),
        (DecimalType(28, 8), EIGHT_PLACES),
        (INTEGER, INTEGERS),
    ],
)
def test_parts_are_exact(spark: SparkSession, column_type: ColumnType, texts: list[str]) -> None:
    measures = Measures({"amount": column_type})
    assert measures.has_units("amount")
    values = ", ".join(f"(CAST('{text}' AS {spark_type(column_type)}))" for text in texts)
    rows = spark.sql(f"SELECT amount, FALSE AS _deleted FROM VALUES {values}, (NULL) AS t(amount)")
    units = UnitColumns()
    sums = PassingRows(measures, frozenset({0}), {"amount": column_type}, (), {}, True, units).sums(with_loaded=True)
    computed = rows.selectExpr("*", *(f"{sql} AS {name}" for name, sql in units.doubles.items()))
    computed = computed.selectExpr("*", *(f"{sql} AS {name}" for name, sql in units.units.items()))
    # Each value alone, and all together.
    grouped = computed.groupBy("amount").agg(*(F.expr(sql).alias(name) for name, sql in sums.items())).collect()
    whole = computed.agg(*(F.expr(sql).alias(name) for name, sql in sums.items())).collect()
    key = MeasureSum(0, "loaded", "amount", 0)
    for row in grouped:
        assert measures.read(row.asDict())[key] == Decimal(row["amount"] or 0)
    expected: Decimal | float = Decimal(0)
    for text in texts:
        expected = plus(expected, Decimal(text))
    assert measures.read(whole[0].asDict())[key] == expected
