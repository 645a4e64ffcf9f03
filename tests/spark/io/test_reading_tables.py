"""Parquet, Delta and databases: stored types against declared ones, pins, places and slices."""

import datetime as dt
import sqlite3
import uuid
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from daybook.errors import DaybookError, flatten
from daybook.io.formats.postgresql.table import connection_uri
from daybook.io.landing.area import LandingArea
from daybook.io.pins import FilesPin, TablePin, pin_from_json, pin_to_json
from daybook.io.read_source import ReadSource, read_source
from daybook.model.datasource import PostgresqlSource, SqliteOptions, SqliteSource
from daybook.model.definition import DatasetVersion, TableVersion
from daybook.resolve.location import Location, Resolution
from tests.spark.io.test_reading_text import dataset, values


class Tables:
    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder

    def read(self, version: DatasetVersion, location: Location, **changes: Any) -> ReadSource:
        area = LandingArea(str(self.folder / "state"), str(uuid.uuid4()))
        periods = changes.pop("periods", ())
        return read_source(
            self.spark, Resolution((location,), periods), version, area, workspace=self.folder, **changes
        )

    def error(self, version: DatasetVersion, location: Location, **changes: Any) -> DaybookError:
        with pytest.raises(DaybookError) as caught:
            self.read(version, location, **changes)
        return caught.value


@pytest.fixture
def tables(spark: SparkSession, tmp_path: Path) -> Tables:
    return Tables(spark, tmp_path)


class TestParquet:
    @pytest.mark.parametrize(
        ("files", "options", "known"),
        [
            ([["2026-01", "2026-01"], ["2026-02"]], {}, {"2026-01", "2026-02"}),
            ([["2026-01", "2026-02"]], {}, None),
            ([["2026-01", None]], {}, None),
            ([["2026-01", "2026-01", "2026-02"]], {"row_group_size": 2}, None),
            ([["2026-01", "2026-01", "2026-01"]], {"row_group_size": 2}, {"2026-01"}),
            ([["2026-01"], ["2026-01"]], {"write_statistics": False}, None),
            ([["2026-01"], []], {}, None),
        ],
    )
    def test_periods_that_statistics_prove(
        self, tables: Tables, files: list[list[str | None]], options: dict[str, Any], known: set[str] | None
    ) -> None:
        folder = tables.folder / "parts"
        folder.mkdir()
        for number, periods in enumerate(files):
            columns = {"a": pa.array(range(len(periods)), pa.int64()), "_period": pa.array(periods, pa.string())}
            pq.write_table(pa.table(columns), folder / f"{number}.parquet", **options)
        source = tables.read(dataset("a integer", mode="period"), Location("parquet", uri=str(folder)))
        assert source.frame.known_periods == known

    def test_two_columns_of_one_name(self, tables: Tables) -> None:
        path = tables.folder / "doubled.parquet"
        pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), path)
        error = tables.error(dataset("a integer"), Location("parquet", uri=str(path)))
        assert (error.code, error.parameters["column"]) == ("IO_014", "a")

    def test_widening_that_loses_nothing(self, tables: Tables) -> None:
        folder = tables.folder / "odd [name] +%é"
        folder.mkdir()
        narrow = {
            "i": pa.array([1], pa.int16()),
            "d": pa.array([Decimal("1.25")], pa.decimal128(10, 2)),
            "f": pa.array([0.5], pa.float32()),
            "t": pa.array([0], pa.timestamp("ms")),
        }
        wide = {
            "i": pa.array([2], pa.int64()),
            "d": pa.array([Decimal("2.5000")], pa.decimal128(18, 4)),
            "f": pa.array([1.5], pa.float64()),
            "t": pa.array([dt.datetime(2026, 1, 2, tzinfo=dt.UTC)], pa.timestamp("us", tz="UTC")),
        }
        pq.write_table(pa.table(narrow), folder / "a b.parquet")
        pq.write_table(pa.table(wide), folder / "c.parquet")
        version = dataset("i integer", "d decimal(20,4)", "f float", "t timestamp")
        source = tables.read(version, Location("parquet", uri=str(folder), root=str(tables.folder)))
        assert values(source, "i", "d", "f") == [(1, Decimal("1.2500"), 0.5), (2, Decimal("2.5000"), 1.5)]
        assert values(source, "__place", "__ordinal") == [
            ("odd [name] +%é/a b.parquet", 0),
            ("odd [name] +%é/c.parquet", 0),
        ]

    @pytest.mark.parametrize(
        ("array", "declared"),
        [
            (pa.array([1.5], pa.float64()), "decimal(18,2)"),
            (pa.array([1], pa.int64()), "decimal(18,2)"),
            (pa.array([Decimal("1.255")], pa.decimal128(10, 3)), "decimal(10,2)"),
            (pa.array(["1"]), "integer"),
            (pa.array([1], pa.int32()), "string"),
            (pa.array([1], pa.uint64()), "integer"),
            (pa.array([dt.date(2026, 1, 1)]), "timestamp"),
            (pa.array([0], pa.timestamp("ns")), "timestamp"),
            (pa.array([b"x"], pa.binary()), "string"),
        ],
    )
    def test_everything_else_is_an_error(self, tables: Tables, array: pa.Array, declared: str) -> None:
        path = tables.folder / "data.parquet"
        pq.write_table(pa.table({"a": array}), path)
        error = tables.error(dataset(f"a {declared}"), Location("parquet", uri=str(path)))
        assert error.code == "IO_003"
        assert (error.parameters["file"], error.parameters["column"]) == (str(path), "a")

    def test_each_file_must_have_the_column(self, tables: Tables) -> None:
        pq.write_table(pa.table({"a": [1], "b": [1]}), tables.folder / "1.parquet")
        pq.write_table(pa.table({"a": [1]}), tables.folder / "2.parquet")
        error = tables.error(dataset("a integer", "b integer"), Location("parquet", uri=str(tables.folder)))
        assert (error.code, error.parameters) == ("IO_002", {"file": str(tables.folder / "2.parquet"), "column": "b"})

    def test_partition_folders_are_columns_and_prune(self, tables: Tables) -> None:
        for period, region in (("2026-01", "EU"), ("2026-01", "A/B"), ("2026-02", "EU")):
            folder = tables.folder / f"_period={period}" / f"region={region.replace('/', '%2F')}"
            folder.mkdir(parents=True)
            pq.write_table(pa.table({"a": [1]}), folder / "x.parquet")
        version = dataset("a integer", "region string", mode="period")
        source = tables.read(version, Location("parquet", uri=str(tables.folder)), periods=("2026-01",))
        assert values(source, "region", "_period") == [("A/B", "2026-01"), ("EU", "2026-01")]
        (pin,) = source.pins
        assert isinstance(pin, FilesPin)
        assert len(pin.files) == 2

    def test_a_change_is_noticed_before_the_commit(self, tables: Tables) -> None:
        path = tables.folder / "data.parquet"
        pq.write_table(pa.table({"a": [1]}), path)
        location = Location("parquet", uri=str(path))
        source = tables.read(dataset("a integer"), location)
        source.verify_pins()
        pinned = [pin_from_json(pin_to_json(pin)) for pin in source.pins]
        tables.read(dataset("a integer"), location, pinned=pinned)
        pq.write_table(pa.table({"a": [1, 2]}), path)
        with pytest.raises(DaybookError) as caught:
            source.verify_pins()
        assert caught.value.code == "IO_008"
        assert tables.error(dataset("a integer"), location, pinned=pinned).code == "IO_009"

    def test_what_is_no_parquet_is_named(self, tables: Tables) -> None:
        path = tables.folder / "data.parquet"
        path.write_bytes(b"nothing")
        error = tables.error(dataset("a integer"), Location("parquet", uri=str(path)))
        assert (error.code, error.parameters["location"]) == ("IO_012", str(path))


class TestDelta:
    def write(self, folder: Path, rows: dict[str, Any], **changes: Any) -> str:
        uri = str(folder / "table")
        write_deltalake(uri, pa.table(rows), mode="append", **changes)
        return uri

    def test_partition_values_come_from_the_log(self, tables: Tables) -> None:
        for region in ("EU", "US é/x", None):
            column = pa.array([region, region], pa.string())
            uri = self.write(tables.folder, {"a": [1, 2], "region": column}, partition_by=["region"])
        version = dataset("a integer", "region string")
        source = tables.read(version, Location("delta", uri=uri, root=str(tables.folder)))
        assert [row[1] for row in values(source, "a", "region")] == ["EU", "US é/x", None, "EU", "US é/x", None]
        assert all(place.startswith("table/") for (place,) in values(source, "__place"))

    def test_partition_values_are_looked_up_without_python_workers(
        self, tables: Tables, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for region in ("EU", "US"):
            uri = self.write(tables.folder, {"a": [1], "region": [region]}, partition_by=["region"])
        source = tables.read(dataset("a integer", "region string"), Location("delta", uri=uri))
        source.frame.rows.identified.explain()
        plan = capsys.readouterr().out
        assert "LocalTableScan" in plan
        assert "ExistingRDD" not in plan

    def test_a_version_stays_readable(self, tables: Tables) -> None:
        uri = self.write(tables.folder, {"a": [1]})
        source = tables.read(dataset("a integer"), Location("delta", uri=uri))
        self.write(tables.folder, {"a": [2]})
        source.verify_pins()
        assert values(source, "a") == [(1,)]
        assert values(
            tables.read(dataset("a integer"), Location("delta", uri=uri, version=TableVersion("delta", "0"))), "a"
        ) == [(1,)]
        pins = [pin_from_json(pin_to_json(pin)) for pin in source.pins]
        assert isinstance(pins[0], TablePin)
        assert values(tables.read(dataset("a integer"), Location("delta", uri=uri), pinned=pins), "a") == [(1,)]

    def test_a_vacuumed_version_has_expired(self, tables: Tables) -> None:
        uri = self.write(tables.folder, {"a": [1]})
        write_deltalake(uri, pa.table({"a": [2]}), mode="overwrite")
        DeltaTable(uri).vacuum(0, enforce_retention_duration=False, dry_run=False)
        assert (
            tables.error(dataset("a integer"), Location("delta", uri=uri, version=TableVersion("delta", "0"))).code
            == "IO_009"
        )

    def test_unknown_features_are_refused(self, tables: Tables) -> None:
        uri = self.write(tables.folder, {"a": [1]}, configuration={"delta.enableDeletionVectors": "true"})
        error = tables.error(dataset("a integer"), Location("delta", uri=uri))
        assert (error.code, error.parameters["feature"]) == ("IO_010", "deletion vectors")

    def test_all_findings_at_once(self, tables: Tables) -> None:
        uri = self.write(tables.folder, {"a": [1], "b": ["x"]})
        error = tables.error(dataset("a string", "b integer", "c date"), Location("delta", uri=uri))
        assert sorted(finding.code for finding in flatten(error)) == ["IO_002", "IO_003", "IO_003"]

    def test_a_missing_table_is_named(self, tables: Tables) -> None:
        assert tables.error(dataset("a integer"), Location("delta", uri=str(tables.folder / "no"))).code == "IO_001"


class TestSqlite:
    def location(self, tables: Tables, *statements: str) -> Location:
        with closing(sqlite3.connect(tables.folder / "data.db")) as connection, connection:
            for statement in statements:
                connection.execute(statement)
        source = SqliteSource(id="s", name="s", type="sqlite", options=SqliteOptions(path="data.db"))
        return Location("sqlite", table="t", datasource=source)

    def test_dynamic_types_are_checked_value_by_value(self, tables: Tables) -> None:
        location = self.location(tables, "create table t (a)", "insert into t values (1), ('x')")
        error = tables.error(dataset("a integer"), location)
        assert (error.code, error.parameters["place"], error.parameters["value"]) == ("IO_004", "row 2", "'x'")

    def test_numeric_columns_give_exact_decimals(self, tables: Tables) -> None:
        location = self.location(tables, "create table t (a numeric)", "insert into t values (12.5), (7), ('0.10')")
        assert values(tables.read(dataset("a decimal(10,2)"), location), "a") == [
            (Decimal("0.10"),),
            (Decimal("12.50"),),
            (Decimal("7.00"),),
        ]

    def test_a_double_that_is_no_decimal_is_refused(self, tables: Tables) -> None:
        location = self.location(tables, "create table t (a real)", "insert into t values (0.1 + 0.2)")
        assert tables.error(dataset("a decimal(38,17)"), location).code == "IO_004"


class TestPostgresql:
    def location(self, source: PostgresqlSource, *statements: str) -> Location:
        with psycopg.connect(connection_uri(source, Path())) as connection:
            connection.execute("drop table if exists t")
            for statement in statements:
                connection.execute(statement.encode())
        return Location("postgresql", table="t", datasource=source)

    def test_types_are_checked_and_numerics_exact(self, tables: Tables, postgresql: PostgresqlSource) -> None:
        location = self.location(
            postgresql,
            "create table t (a smallint, n numeric, r real, ts timestamp, c char(3), u int)",
            "insert into t values (1, 0.1234567890, 0.5, '2026-01-01 10:00', 'ab', 1)",
        )
        version = dataset("a integer", "n decimal(38,10)", "r float", "ts timestamp", "c string")
        source = tables.read(version, location)
        assert values(source, "a", "n", "r", "c") == [(1, Decimal("0.1234567890"), 0.5, "ab")]
        assert [notice.code for notice in source.notices] == ["IO_007"]
        findings = flatten(tables.error(dataset("a string", "n float", "x date"), location))
        assert sorted(finding.code for finding in findings) == ["IO_002", "IO_003", "IO_003"]

    @pytest.mark.parametrize(
        ("type_", "value", "declared"),
        [("numeric", "1.005", "decimal(10,2)"), ("numeric", "'NaN'", "decimal(10,2)"), ("date", "'infinity'", "date")],
    )
    def test_values_that_do_not_fit_are_named(
        self, tables: Tables, postgresql: PostgresqlSource, type_: str, value: str, declared: str
    ) -> None:
        location = self.location(postgresql, f"create table t (a {type_})", f"insert into t values (null), ({value})")
        error = tables.error(dataset(f"a {declared}"), location)
        assert (error.code, error.parameters["place"], error.parameters["column"]) == ("IO_004", "row 2", "a")

    def test_null_in_a_column_that_may_hold_none(self, tables: Tables, postgresql: PostgresqlSource) -> None:
        location = self.location(postgresql, "create table t (a int)", "insert into t values (1), (null)")
        assert tables.error(dataset("a integer!"), location).parameters["place"] == "row 2"

    def test_a_database_out_of_reach_is_named(self, tables: Tables, postgresql: PostgresqlSource) -> None:
        options = postgresql.options.model_copy(update={"host": "/nowhere"})
        gone = postgresql.model_copy(update={"options": options})
        assert tables.error(dataset("a integer"), Location("postgresql", table="t", datasource=gone)).code == "IO_012"
