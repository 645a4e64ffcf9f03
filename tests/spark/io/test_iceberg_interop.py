"""Iceberg tables of others read by Daybook, and those of Daybook read by others."""

import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import EqualTo
from pyiceberg.types import LongType
from pyspark.sql import SparkSession

from daybook.io.landing.area import LandingArea
from daybook.io.source_rows import read_source_rows
from daybook.io.target import OutputColumn
from daybook.model.types import FLOAT, INTEGER, STRING, DecimalType
from daybook.resolve.location import Resolution
from tests.catalogs import ICEBERG, MISSING, catalog_jars
from tests.spark.io.cases import (
    Case,
    Place,
    columns_of,
    frame,
    hard_rows,
    read_target,
    rows_of,
    sorted_rows,
    version_of,
    write,
)

COLUMNS = (OutputColumn("key", STRING), OutputColumn("number", INTEGER))
needs_runtime = pytest.mark.skipif(not catalog_jars(), reason=MISSING)


@pytest.fixture
def case() -> Case:
    return Case("iceberg", "iceberg")


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqlCatalog]:
    """As somebody else opens it."""
    warehouse = tmp_path / "lake"
    warehouse.mkdir()
    catalog = SqlCatalog("default", uri=f"sqlite:///{warehouse}/catalog.db", warehouse=str(warehouse))
    catalog.create_namespace("close")
    yield catalog
    catalog.close()


def target_of(place: Place, columns: tuple[OutputColumn, ...] = COLUMNS) -> Any:
    target = place.target(columns)
    return replace(target, location=replace(target.location, table="journal"))


def read(spark: SparkSession, place: Place, columns: tuple[OutputColumn, ...]) -> list[dict[str, Any]]:
    """The rows as Spark reads them, which are those that the second engine reads, in the same places."""
    target = target_of(place, columns)
    source = read_target(spark, target)
    names = [column.name for column in columns]
    landing = LandingArea(str(place.workspace / "landed"), "r")
    resolution = Resolution((target.location,), ())
    stored = read_source_rows(resolution, version_of(columns), [landing], workspace=place.workspace)
    by_spark = source.frame.rows.identified.selectExpr(*names, "__ordinal").toArrow().to_pylist()
    in_python = [dict(zip([*names, "__ordinal"], [*row[: len(names)], row[-1]], strict=True)) for row in stored.rows()]
    assert sorted_rows(by_spark) == sorted_rows(in_python)
    return rows_of(source, *names)


def test_pyiceberg_reads_the_rows_that_were_written(spark: SparkSession, place: Place, catalog: SqlCatalog) -> None:
    case = place.case
    target = target_of(place, columns_of(case))
    write(frame(spark, columns_of(case), hard_rows(case)), target)
    found = catalog.load_table("close.journal").scan().to_arrow().to_pylist()
    assert sorted_rows(found) == sorted_rows(hard_rows(case))


def test_statistics_skip_files_and_hide_nothing(spark: SparkSession, place: Place, catalog: SqlCatalog) -> None:
    columns = (OutputColumn("key", STRING), OutputColumn("amount", DecimalType(18, 2)))
    rows = [{"key": key, "amount": amount} for key, amount in zip("amz", (None, 1, -1), strict=True)]
    write(frame(spark, columns, rows, parts=3), target_of(place, columns))
    table = catalog.load_table("close.journal")
    equal_to: Any = EqualTo
    picked = table.scan(equal_to("key", "m"))
    assert [row["key"] for row in picked.to_arrow().to_pylist()] == ["m"]
    assert len(list(picked.plan_files())) == 1
    assert sum(task.file.record_count for task in table.scan().plan_files()) == 3


def test_columns_are_found_by_their_field_ids(spark: SparkSession, place: Place, catalog: SqlCatalog) -> None:
    """One was renamed and promoted, and another one has its old name."""
    schema = pa.schema([("key", pa.string()), ("number", pa.int32()), ("ratio", pa.float32())])
    table = catalog.create_table("close.journal", schema)
    table.append(pa.table({"key": ["a"], "number": [7], "ratio": [0.5]}, schema))
    with table.update_schema() as update:
        update.rename_column("number", "count").update_column("number", LongType())
    with table.update_schema() as update:
        update.add_column("number", LongType())
    later = table.schema().as_arrow()
    table.append(pa.Table.from_pylist([{"key": "b", "count": 2**40, "ratio": None, "number": 1}], later))
    columns = tuple(
        OutputColumn(name, type_)
        for name, type_ in (("key", STRING), ("count", INTEGER), ("number", INTEGER), ("ratio", FLOAT))
    )
    assert read(spark, place, columns) == sorted_rows(
        [
            {"key": "a", "count": 7, "number": None, "ratio": 0.5},
            {"key": "b", "count": 2**40, "number": 1, "ratio": None},
        ]
    )


def test_files_without_field_ids_are_read_by_mapped_names(
    spark: SparkSession, place: Place, catalog: SqlCatalog
) -> None:
    schema = pa.schema([("key", pa.string()), ("number", pa.int64())])
    imported = place.workspace / "lake/imported.parquet"
    pq.write_table(pa.table({"key": ["a"], "number": [1]}, schema), imported)
    table = catalog.create_table("close.journal", schema)
    table.add_files([str(imported)])
    table.append(pa.table({"key": ["b"], "number": [2]}, schema))
    with table.update_schema() as update:
        update.rename_column("number", "count")
    columns = (OutputColumn("key", STRING), OutputColumn("count", INTEGER))
    assert read(spark, place, columns) == [{"key": "a", "count": 1}, {"key": "b", "count": 2}]


def test_field_ids_of_a_source_are_not_written_into_other_files(
    spark: SparkSession, place: Place, catalog: SqlCatalog
) -> None:
    write(frame(spark, COLUMNS, [{"key": "a", "number": 1}]), target_of(place))
    df = read_target(spark, target_of(place)).frame.rows.identified
    for folder, columns in (("all", df), ("narrow", df.select("key", "number"))):
        columns.write.parquet(str(place.workspace / folder))
        (file,) = sorted((place.workspace / folder).glob("*.parquet"))[:1]
        assert b"PARQUET:field_id" not in {
            key for field in pq.read_schema(file) for key, value in (field.metadata or {}).items() if value != b"-1"
        }


@needs_runtime
def test_the_runtime_of_spark_reads_the_rows_that_were_written(
    spark: SparkSession, place: Place, catalog: SqlCatalog
) -> None:
    case = place.case
    columns = (*columns_of(case), OutputColumn("_row_id", STRING))
    rows = [{**row, "_row_id": str(number)} for number, row in enumerate(hard_rows(case))]
    write(frame(spark, columns, rows), replace(target_of(place, columns), mode="replace", run_period="2026-01"))
    metadata = catalog.load_table("close.journal").metadata_location
    found = spark.read.format("iceberg").load(metadata).withColumnRenamed("daybook_row_id", "_row_id")
    assert sorted_rows(found.drop("_run_period").toArrow().to_pylist()) == sorted_rows(rows)


@needs_runtime
@pytest.mark.parametrize("version", [2, 3], ids=["position deletes", "deletion vectors"])
def test_a_table_that_the_runtime_made_is_read_right(
    spark: SparkSession, place: Place, catalog: SqlCatalog, version: int
) -> None:
    name = f"{ICEBERG}.books.made_{uuid.uuid4().hex[:8]}"
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {ICEBERG}.books")
    modes = ", ".join(f"'write.{act}.mode'='merge-on-read'" for act in ("delete", "update", "merge"))
    spark.sql(
        f"CREATE TABLE {name} (key STRING, number INT, money DECIMAL(9,2), ratio FLOAT) USING iceberg "
        f"TBLPROPERTIES ('format-version'='{version}', {modes})"
    )
    spark.sql(f"INSERT INTO {name} SELECT CAST(id AS STRING), id, id / 4, id / 8 FROM range(0, 20, 1, 2)")
    for change in (
        f"ALTER TABLE {name} ALTER COLUMN number TYPE BIGINT",
        f"ALTER TABLE {name} ALTER COLUMN money TYPE DECIMAL(20,2)",
        f"ALTER TABLE {name} ALTER COLUMN ratio TYPE DOUBLE",
        f"ALTER TABLE {name} RENAME COLUMN number TO count",
        f"ALTER TABLE {name} ADD COLUMN number BIGINT",
        f"INSERT INTO {name} VALUES ('x', {2**40}, 12345678901.25, 0.1, 5)",
        f"DELETE FROM {name} WHERE count % 3 = 0",
        f"UPDATE {name} SET number = 1 WHERE key = '4'",
    ):
        spark.sql(change)
    (log,) = spark.sql(f"SELECT file FROM {name}.metadata_log_entries ORDER BY timestamp DESC LIMIT 1").collect()
    catalog.register_table("close.journal", log[0].removeprefix("file:"))
    columns = (
        OutputColumn("key", STRING),
        OutputColumn("count", INTEGER),
        OutputColumn("money", DecimalType(20, 2)),
        OutputColumn("ratio", FLOAT),
        OutputColumn("number", INTEGER),
    )
    expected = spark.table(name).select(*(column.name for column in columns)).toArrow().to_pylist()
    assert len(expected) == 14
    assert read(spark, place, columns) == sorted_rows(expected)
