"""A database that holds fewer digits than a column is told by the value that does not fit, never by a rounded one."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from daybook.errors import DaybookError
from daybook.io.registry import writer_for
from daybook.io.target import OutputColumn
from daybook.model.types import DecimalType
from tests.spark.io.cases import CASES, Place, frame, read_target, rows_of, sorted_rows, write

WIDE = (OutputColumn("wide", DecimalType(38, 10)),)
FINE = (OutputColumn("wide", DecimalType(38, 28)),)


@pytest.fixture
def place(tmp_path: Path, is_connect: bool) -> Place:
    if is_connect:
        pytest.skip("JDBC commits need a classic session")
    return Place(next(case for case in CASES if case.format == "jdbc"), tmp_path)


@pytest.mark.parametrize(
    ("columns", "value"),
    [
        (WIDE, "123456789012345678901234567.0123456789"),
        (FINE, "0.0123456789012345678901234567"),
    ],
)
def test_a_value_that_does_not_fit_fails(
    spark: SparkSession, place: Place, columns: tuple[OutputColumn, ...], value: str
) -> None:
    target = place.target(columns)
    with pytest.raises(DaybookError) as refused:
        write(frame(spark, columns, [{"wide": Decimal("1.5")}, {"wide": Decimal(value)}]), target)
    assert refused.value.code == "IO_026"
    assert "in column wide does not fit" in str(refused.value.parameters["reason"])
    assert writer_for("jdbc").committed(target) is None


@pytest.mark.parametrize("columns", [WIDE, pytest.param(FINE, marks=pytest.mark.slow)])
def test_values_that_fit_are_exact(spark: SparkSession, place: Place, columns: tuple[OutputColumn, ...]) -> None:
    rows: list[dict[str, Any]] = [{"wide": Decimal("-1.5")}, {"wide": None}, {"wide": Decimal("1234567.123")}]
    target = place.target(columns)
    write(frame(spark, columns, rows), target)
    assert rows_of(read_target(spark, target), "wide") == sorted_rows(rows)


def test_a_table_that_is_there_already_may_be_narrower(spark: SparkSession, place: Place) -> None:
    narrow = (OutputColumn("wide", DecimalType(10, 2)),)
    write(frame(spark, narrow, [{"wide": Decimal("1.25")}]), place.target(narrow))
    with pytest.raises(DaybookError) as refused:
        write(frame(spark, WIDE, [{"wide": Decimal("1.255")}]), place.target(WIDE, mode="append"))
    assert "decimal(10,2)" in str(refused.value.parameters["reason"])
    assert [row["wide"] for row in rows_of(read_target(spark, place.target(narrow)), "wide")] == [Decimal("1.25")]
