import datetime
import struct
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from daybook.expression.type_rules import spark_type
from daybook.model.types import (
    BOOLEAN,
    DATE,
    FLOAT,
    INTEGER,
    STRING,
    TIMESTAMP,
    ColumnType,
    DecimalType,
)
from daybook.proof.row_digest import digest_rows
from daybook.proof.spark_digest import DigestedFrame, digest_frames

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS: dict[str, ColumnType] = {
    "text": STRING,
    "whole": INTEGER,
    "amount": DecimalType(18, 2),
    "wide": DecimalType(38, 0),
    "narrow `quoted`": DecimalType(38, 37),
    "ratio": FLOAT,
    "flag": BOOLEAN,
    "day": DATE,
    "moment": TIMESTAMP,
}


def _double(digits: str) -> float:
    (value,) = struct.unpack(">d", bytes.fromhex(digits))
    return float(value)


FLOATS = [
    0.0, -0.0, 1.0, -1.5, 0.1, 1e300, -1e-300, 5e-324, 2.2250738585072014e-308, 2.225073858507201e-308,
    1.7976931348623157e308, float("inf"), float("-inf"), float("nan"), _double("fff8000000000001"), 2.0**-1040,
]  # fmt: skip
TEXTS = ["", " ", "NULL", "Zürich €", "a\x00b", "line\nbreak", "\U0001f4b6", "x" * 300]
DECIMALS = ["0.00", "-0.00", "0.01", "-9999999999999999.99", "1200.00"]
DAYS = [datetime.date(1, 1, 1), datetime.date(1582, 10, 10), datetime.date(2026, 2, 28), datetime.date(9999, 12, 31)]
NO_ROW = (None,) * len(COLUMNS)


def _rows() -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for number in range(60):
        day = DAYS[number % len(DAYS)]
        rows.append(
            (
                TEXTS[number % len(TEXTS)],
                (-1) ** number * (2**62 + number),
                Decimal(DECIMALS[number % len(DECIMALS)]),
                Decimal((-1) ** number * (10**38 - 1 - number)),
                Decimal((-1) ** number) / 8,
                FLOATS[number % len(FLOATS)],
                number % 2 == 0,
                day,
                datetime.datetime(day.year, day.month, day.day, 23, 59, 59, number * 1001, tzinfo=datetime.UTC),
            )
        )
    nulls = [(*NO_ROW[:place], *rows[place][place : place + 1], *NO_ROW[place + 1 :]) for place in range(len(NO_ROW))]
    return [*rows, *nulls, NO_ROW, NO_ROW, rows[3], rows[3]]


def _frame(spark: "SparkSession", rows: list[tuple[Any, ...]], columns: dict[str, ColumnType]) -> DigestedFrame:
    import pyarrow as pa

    from daybook.io.column_types import arrow_type

    table = pa.table(
        [pa.array([row[place] for row in rows], arrow_type(type_)) for place, type_ in enumerate(columns.values())],
        names=list(columns),
    )
    df = spark.createDataFrame(table)
    assert [field.dataType.simpleString().upper() for field in df.schema] == [
        spark_type(type_).upper() for type_ in columns.values()
    ]
    return DigestedFrame(df, columns, len(rows))


def test_spark_and_plain_python_agree_on_every_type(spark: "SparkSession") -> None:
    rows = _rows()
    (digest,) = digest_frames([_frame(spark, rows, COLUMNS)])
    assert digest == digest_rows(COLUMNS, rows)


def test_several_outputs_are_digested_together_also_empty_ones(spark: "SparkSession") -> None:
    small: dict[str, ColumnType] = {"k": INTEGER, "v": STRING}
    empty: list[tuple[Any, ...]] = []
    some: list[tuple[Any, ...]] = [(1, "a"), (None, None), (1, "a")]
    digests = digest_frames([_frame(spark, empty, small), _frame(spark, some, small)])
    assert digests == (digest_rows(small, empty), digest_rows(small, some))


@pytest.mark.parametrize("expected_rows", [0, 5000])
def test_buckets_follow_from_the_rows_that_are_there(spark: "SparkSession", expected_rows: int) -> None:
    columns: dict[str, ColumnType] = {"id": INTEGER}
    df = spark.range(4500).selectExpr("id % 4400 AS id")
    (digest,) = digest_frames([DigestedFrame(df, columns, expected_rows)])
    assert digest == digest_rows(columns, [(number % 4400,) for number in range(4500)])
