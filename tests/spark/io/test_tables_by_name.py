"""Tables by their names in Spark: what is pinned, what Spark copies, and what is refused."""

import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from daybook.errors import DaybookError, flatten
from daybook.io.landing.area import LandingArea
from daybook.io.pins import LandedPin, TablePin
from daybook.io.read_source import ReadSource, read_source
from daybook.io.registry import format_named, writer_for
from daybook.io.target import OutputColumn
from daybook.model.datasource import SparkCatalogOptions, SparkCatalogSource
from daybook.model.types import INTEGER, STRING
from daybook.resolve.location import Location, Resolution
from tests.catalogs import DELTA, ICEBERG, MISSING, catalog_jars
from tests.spark.io.cases import Case, Place, frame, version_of, write

COLUMNS = (OutputColumn("key", STRING), OutputColumn("whole", INTEGER))
needs_catalogs = pytest.mark.skipif(not catalog_jars(), reason=MISSING)
both = pytest.mark.parametrize("catalog", [DELTA, ICEBERG])


def location_of(table: str, catalog: str = "spark_catalog", schema: str = "default") -> Location:
    options = SparkCatalogOptions.model_validate({"catalog": catalog, "schema": schema})
    source = SparkCatalogSource(id="c", name="c", type="spark_catalog", options=options)
    return Location("spark_catalog", table=table, schema=schema, datasource=source)


@pytest.fixture
def parquet_table(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    """A table of the session's own catalog that keeps no versions; two of its rows are equal."""
    name = f"plain_{uuid.uuid4().hex[:12]}"
    columns = "(key STRING, whole INT)"
    spark.sql(f"CREATE TABLE default.{name} {columns} USING parquet LOCATION '{tmp_path}/{name}'").collect()
    spark.sql(f"INSERT INTO default.{name} VALUES ('a', 1), ('b', 2), ('b', 2)").collect()
    yield name
    spark.sql(f"DROP TABLE default.{name}").collect()


def read(
    spark: SparkSession, location: Location, area: LandingArea, *, pins: tuple[LandedPin | TablePin, ...] | None = None
) -> ReadSource:
    return read_source(spark, Resolution((location,), ()), version_of(COLUMNS), area, pinned=pins)


def rows(source: ReadSource) -> list[tuple[str, int]]:
    return sorted((row["key"], row["whole"]) for row in source.frame.rows.identified.toArrow().to_pylist())


def test_a_table_without_versions_is_copied_once_per_run(
    spark: SparkSession, parquet_table: str, tmp_path: Path
) -> None:
    area = LandingArea(str(tmp_path / "landed"), "run-1")
    first = read(spark, location_of(parquet_table), area)
    spark.sql(f"INSERT INTO default.{parquet_table} VALUES ('c', 3)").collect()
    again = read(spark, location_of(parquet_table), area)
    assert rows(first) == rows(again) == [("a", 1), ("b", 2), ("b", 2)]
    later = read(spark, location_of(parquet_table), replace(area, run_id="run-2"))
    assert len(rows(later)) == 4
    (pin,) = first.pins
    assert isinstance(pin, LandedPin)
    replayed = read(spark, location_of(parquet_table), replace(area, run_id="run-3"), pins=(pin,))
    assert rows(replayed) == rows(first)


def test_equal_rows_are_numbered(spark: SparkSession, parquet_table: str, tmp_path: Path) -> None:
    source = read(spark, location_of(parquet_table), LandingArea(str(tmp_path / "landed"), "run"))
    identities = source.frame.rows.identified.toArrow().to_pylist()
    assert len({(row["__place"], row["__ordinal"]) for row in identities}) == 3
    assert sorted(row["__ordinal"] for row in identities) == [0, 0, 1]
    assert "__place" not in source.frame.rows.plain.columns


def test_a_view_is_read_like_a_table(spark: SparkSession, parquet_table: str, tmp_path: Path) -> None:
    view = f"{parquet_table}_view"
    spark.sql(f"CREATE VIEW default.{view} AS SELECT * FROM default.{parquet_table} WHERE whole > 1").collect()
    try:
        source = read(spark, location_of(view), LandingArea(str(tmp_path / "landed"), "run"))
        assert rows(source) == [("b", 2), ("b", 2)]
    finally:
        spark.sql(f"DROP VIEW default.{view}").collect()


def test_a_table_that_is_not_there_is_named(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(DaybookError) as caught:
        read(spark, location_of("never_made"), LandingArea(str(tmp_path / "landed"), "run"))
    assert caught.value.code == "IO_001"


def test_missing_columns_and_other_types_are_named(spark: SparkSession, parquet_table: str, tmp_path: Path) -> None:
    declared = (OutputColumn("key", INTEGER), OutputColumn("amount", INTEGER))
    area = LandingArea(str(tmp_path / "landed"), "run")
    with pytest.raises(DaybookError) as caught:
        read_source(spark, Resolution((location_of(parquet_table),), ()), version_of(declared), area)
    assert {error.code for error in flatten(caught.value)} == {"IO_002", "IO_003"}


def test_a_provider_that_cannot_replace_in_one_step_is_refused_by_its_name(
    spark: SparkSession, parquet_table: str, tmp_path: Path
) -> None:
    place = Place(Case("catalog", "spark_catalog", catalog="spark_catalog"), tmp_path)
    target = replace(place.target(COLUMNS), location=location_of(parquet_table))
    with pytest.raises(DaybookError) as caught:
        writer_for("spark_catalog").check(target)
    assert caught.value.code == "IO_032"
    assert "parquet" in str(caught.value.parameters["reason"])


@needs_catalogs
@both
def test_a_version_is_read_as_it_was(spark: SparkSession, catalog: str, tmp_path: Path) -> None:
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {catalog}.books").collect()
    place = Place(Case("catalog", "spark_catalog", catalog=catalog), tmp_path)
    target = place.target(COLUMNS)
    location = replace(target.location, schema="books")
    write(frame(spark, COLUMNS, [{"key": "a", "whole": 1}]), target)
    area = LandingArea(str(tmp_path / "landed"), "run")
    source = read(spark, location, area)
    write(frame(spark, COLUMNS, [{"key": "b", "whole": 2}]), replace(target, run_id="later"))
    (pin,) = source.pins
    assert isinstance(pin, TablePin)
    assert format_named("spark_catalog").has_changed(pin, location, tmp_path)
    format_named("spark_catalog").verify_pin(pin, location, tmp_path)
    assert rows(read(spark, location, area, pins=(pin,))) == [("a", 1)]
    assert rows(read(spark, location, area)) == [("b", 2)]
    assert not (tmp_path / "landed").exists()
    spark.sql(f"DROP TABLE {catalog}.books.{location.table_name}").collect()
    with pytest.raises(DaybookError) as caught:
        format_named("spark_catalog").verify_pin(pin, location, tmp_path)
    assert caught.value.code == "IO_008"


@needs_catalogs
@both
def test_nothing_staged_is_left_beside_a_table(spark: SparkSession, catalog: str, tmp_path: Path) -> None:
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {catalog}.tidy").collect()
    location = location_of("tidy_table", catalog, "tidy")
    place = Place(Case("catalog", "spark_catalog", catalog=catalog), tmp_path)
    target = replace(place.target(COLUMNS), location=location, run_id="20260131-094502-7c1f0a")
    writer = writer_for("spark_catalog")
    writer.stage(frame(spark, COLUMNS, [{"key": "a", "whole": 1}]), target)
    (leftover,) = format_named("spark_catalog").find_leftovers(target.datasource, tmp_path)
    assert leftover.run_id == target.run_id
    writer.discard(target)
    write(frame(spark, COLUMNS, [{"key": "a", "whole": 1}]), target)
    assert not list(format_named("spark_catalog").find_leftovers(target.datasource, tmp_path))
    assert [row["tableName"] for row in spark.sql(f"SHOW TABLES IN {catalog}.tidy").collect()] == ["tidy_table"]
    spark.sql(f"DROP TABLE {catalog}.tidy.tidy_table").collect()
