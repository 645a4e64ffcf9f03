"""A small table with every type, and how expressions run over it."""

import datetime
from collections.abc import Sequence
from decimal import Decimal

from pyspark.sql import DataFrame, SparkSession

from daybook.expression import CompiledExpression, Constants, Grouping, Scope, compile_expression, spark_type
from daybook.model.calendar import Period
from daybook.model.types import BOOLEAN, DATE, FLOAT, INTEGER, STRING, TIMESTAMP, ColumnType, DecimalType

COLUMNS: dict[str, ColumnType] = {
    "n": INTEGER,
    "m": INTEGER,
    "x": FLOAT,
    "y": FLOAT,
    "s": STRING,
    "t": STRING,
    "b": BOOLEAN,
    "d": DATE,
    "e": DATE,
    "ts": TIMESTAMP,
    "d18_2": DecimalType(18, 2),
    "d10_0": DecimalType(10, 0),
    "d5_5": DecimalType(5, 5),
    "d38_10": DecimalType(38, 10),
    "d38_0": DecimalType(38, 0),
    "d38_2": DecimalType(38, 2),
    "d38_38": DecimalType(38, 38),
    "d20_4": DecimalType(20, 4),
}
SCOPE = Scope(COLUMNS, {"orders": COLUMNS})
PERIOD = Period("2026-01", "month", datetime.date(2026, 1, 1), datetime.date(2026, 1, 31))
CONSTANTS = Constants(datetime.datetime(2026, 1, 31, 12, 30, tzinfo=datetime.UTC), PERIOD)

# One row of values that are easy to calculate with by hand, one of NULLs.
ROW: dict[str, object] = {
    "n": 7,
    "m": 0,
    "x": 2.5,
    "y": -0.5,
    "s": "EMEA",
    "t": "me",
    "b": True,
    "d": datetime.date(2026, 1, 31),
    "e": datetime.date(2024, 2, 29),
    "ts": datetime.datetime(2026, 1, 31, 23, 59, 59, 120000),  # noqa: DTZ001
    "d18_2": Decimal("10.25"),
    "d10_0": Decimal("-3"),
    "d5_5": Decimal("0.00005"),
    "d38_10": Decimal("1.0000000001"),
    "d38_0": Decimal("12345678901234567890123456789012345678"),
    "d38_2": Decimal("100.50"),
    "d38_38": Decimal("0.5"),
    "d20_4": Decimal("0.0000"),
}
DDL = ", ".join(f"{name} {spark_type(column_type)}" for name, column_type in COLUMNS.items())


def frame(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([tuple(ROW[name] for name in COLUMNS), tuple(None for _ in COLUMNS)], DDL)


def compiled(text: str, grouping: Grouping | None = None) -> CompiledExpression:
    return compile_expression(text, SCOPE, grouping=grouping)


def sql(text: str, grouping: Grouping | None = None) -> str:
    return compiled(text, grouping).sql(CONSTANTS)


def values(spark: SparkSession, texts: Sequence[str]) -> list[object]:
    """The values of expressions over the row that has values, in one job."""
    named = [f"{sql(text)} AS v{position}" for position, text in enumerate(texts)]
    return list(frame(spark).where("n IS NOT NULL").selectExpr(*named).collect()[0])


def values_of_null(spark: SparkSession, texts: Sequence[str]) -> list[object]:
    """The same over the row of NULLs."""
    named = [f"{sql(text)} AS v{position}" for position, text in enumerate(texts)]
    return list(frame(spark).where("n IS NULL").selectExpr(*named).collect()[0])
