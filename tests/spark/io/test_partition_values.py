"""Partition values of tables that others wrote: slashes, percent codes, NULL, blanks and other alphabets."""

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from daybook.io.landing.area import LandingArea
from daybook.io.read_source import read_source
from daybook.io.target import OutputColumn
from daybook.model.dataset import ColumnDef, Dataset, MainTable
from daybook.model.definition import DatasetVersion
from daybook.model.types import DATE, INTEGER, STRING, ColumnType
from daybook.resolve.location import Location, Resolution
from tests.spark.io.cases import TABLES, Case, Place, frame, read_target, write

VALUES = [
    "a/b",
    "a=b",
    "50%",
    "%2F",
    "a b",
    " a ",
    "ä/ö",
    "日本",
    "a:b",
    "a\\b",
    "'",
    '"',
    "#",
    "?",
    "{x}",
    "*",
    "[a]",
    "~",
    "A",
    "a",
    None,
]


def read(spark: SparkSession, format_: str, folder: Path, column: str, type_: ColumnType = STRING) -> list[Any]:
    columns = (ColumnDef(name="id", type=INTEGER), ColumnDef(name=column, type=type_))
    version = DatasetVersion(Dataset(id="d", name="d", main_table=MainTable(name="t", columns=columns)), 1)
    resolution = Resolution((Location(format_, uri=str(folder)),), ())
    source = read_source(spark, resolution, version, LandingArea(str(folder.parent / "state"), "run"))
    rows = source.frame.rows.plain.select("id", column).toArrow().to_pylist()
    return [row[column] for row in sorted(rows, key=lambda row: row["id"])]


@pytest.mark.parametrize("column", ["region", "sales region"])
def test_delta(spark: SparkSession, tmp_path: Path, column: str) -> None:
    table = pa.table({"id": range(len(VALUES)), column: pa.array(VALUES, pa.string())})
    write_deltalake(tmp_path / "t", table, partition_by=[column])
    assert read(spark, "delta", tmp_path / "t", column) == VALUES


@pytest.mark.parametrize("column", ["region", "sales region"])
@pytest.mark.parametrize("format_", ["parquet", "csv", "json"])
def test_hive_folders_by_spark(spark: SparkSession, tmp_path: Path, format_: str, column: str) -> None:
    table = pa.table({"id": range(len(VALUES)), column: pa.array(VALUES, pa.string())})
    writer = spark.createDataFrame(table).write.partitionBy(column).format(format_)
    writer.options(header=True).save(str(tmp_path / "t"))
    # Spark itself cannot tell an empty text from NULL there.
    assert read(spark, format_, tmp_path / "t", column) == VALUES


@pytest.mark.parametrize("format_", ["delta", "parquet"])
def test_dates_and_numbers(spark: SparkSession, tmp_path: Path, format_: str) -> None:
    days = [dt.date(2026, 1, 31), None, dt.date(1999, 12, 1)]
    for name, values, type_ in (("day", days, DATE), ("number", [7, None, -1], INTEGER)):
        table = pa.table({"id": range(3), name: pa.array(values, pa.date32() if type_ is DATE else pa.int64())})
        folder = tmp_path / name
        if format_ == "delta":
            write_deltalake(folder, table, partition_by=[name])
        else:
            spark.createDataFrame(table).write.partitionBy(name).parquet(str(folder))
        assert read(spark, format_, folder, name, type_) == values


ODD_PERIODS = ("2026/W01", "FY 26=Q1", "50%", "%2F", "日本 26", "a:b", "'", "[a]*", "2026-01")

# The same characters: a catalog takes several statements for each write.
FEW_ODD_PERIODS = ("FY 26=Q1/日本", "50%2F:'[a]*", "2026-01")


@pytest.mark.parametrize("case", TABLES, ids=lambda case: case.name)
def test_slices_of_odd_calendars(spark: SparkSession, place: Place, case: Case) -> None:
    columns = (OutputColumn("text", STRING),)
    periods = FEW_ODD_PERIODS if case.format == "spark_catalog" else ODD_PERIODS
    for attempt in ("first", "second"):
        for period in periods:
            target = place.target(columns, mode="replace_period", run_period=period)
            write(frame(spark, columns, [{"text": f"{attempt} {period}"}]), target)
    found = read_target(spark, target, columns).frame.rows.plain.select("_run_period", "text").collect()
    assert sorted((row._run_period, row.text) for row in found) == sorted(
        (period, f"second {period}") for period in periods
    )
    for period in periods:
        source = read_target(spark, target, columns, temporal_mode="period", periods=(period,))
        kept = source.frame.rows.plain.where(F.col("_run_period") == period).select("text").collect()
        assert [row.text for row in kept] == [f"second {period}"]
