"""Tables written by Daybook are plain Delta tables to everybody else."""

from decimal import Decimal
from pathlib import Path
from unittest.mock import patch

import duckdb
import polars
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from daybook.errors import DaybookError
from daybook.io.format import VacuumRequest
from daybook.io.formats.delta.format import vacuum_table
from daybook.io.formats.delta.writer import DeltaWriter
from daybook.io.target import OutputColumn
from daybook.io.writer import Commit
from daybook.model.types import DATE, STRING, DecimalType
from tests.spark.io.cases import Case, Place, frame, read_target, write

COLUMNS = (OutputColumn("key", STRING), OutputColumn("amount", DecimalType(18, 2)), OutputColumn("day", DATE))


@pytest.fixture
def case() -> Case:
    return Case("delta", "delta", "table")


def rows(spark: SparkSession, *keys: str) -> list[dict[str, object]]:
    return [{"key": key, "amount": Decimal("1.25"), "day": None} for key in keys]


EXPECTED = [("c", Decimal("1.25"), "2026-02"), ("d", Decimal("1.25"), "2026-01")]


@pytest.fixture
def uri(spark: SparkSession, place: Place) -> str:
    """A table of two slices, one of them written twice."""
    for period, keys in (("2026-01", "ab"), ("2026-02", "c"), ("2026-01", "d")):
        target = place.target(COLUMNS, mode="replace_period", run_period=period)
        write(frame(spark, COLUMNS, rows(spark, *keys)), target)
    return target.uri or ""


def test_deltalake_sees_the_same_rows(uri: str) -> None:
    found = DeltaTable(uri).to_pyarrow_table().to_pylist()
    assert sorted((row["key"], row["amount"], row["_run_period"]) for row in found) == EXPECTED


def test_polars_sees_the_same_rows(uri: str) -> None:
    assert sorted(polars.read_delta(uri).select("key", "amount", "_run_period").rows()) == EXPECTED


def test_duckdb_sees_the_same_rows(uri: str) -> None:
    package = pytest.importorskip("duckdb_extension_delta", reason="the extension is packaged for Linux")
    (extension,) = Path(package.__file__).parent.glob("extensions/*/delta.duckdb_extension")
    connection = duckdb.connect()
    connection.load_extension(str(extension))
    query = f"select key, amount, _run_period from delta_scan('{uri}') order by key"
    assert connection.execute(query).fetchall() == EXPECTED


def test_duckdb_reads_the_files_of_the_version(uri: str) -> None:
    files = DeltaTable(uri).file_uris()
    query = (
        "select key, amount, _run_period from read_parquet(?, hive_partitioning = true, hive_types_autocast = false)"
    )
    assert sorted(duckdb.connect().execute(query, [files]).fetchall()) == EXPECTED


def test_statistics_skip_files_and_hide_nothing(spark: SparkSession, place: Place) -> None:
    target = place.target(COLUMNS, mode="replace_period", run_period="2026-01")
    write(frame(spark, COLUMNS, rows(spark, "a", "m", "z"), parts=3), target)
    table = DeltaTable(target.uri or "")
    assert table.to_pyarrow_table(filters=[("key", "=", "m")]).num_rows == 1
    actions = table.get_add_actions(flatten=True)
    assert sum(actions.column("num_records").to_pylist()) == 3


def test_every_footer_is_read_once(spark: SparkSession, place: Place) -> None:
    target = place.target(COLUMNS, mode="replace_period", run_period="2026-01")
    with patch.object(pq, "read_metadata", wraps=pq.read_metadata) as reading:
        write(frame(spark, COLUMNS, rows(spark, "a", "m", "z"), parts=3), target)
    assert reading.call_count == len(DeltaTable(target.uri or "").file_uris()) == 3


def test_a_commit_is_found_behind_many_others(spark: SparkSession, place: Place) -> None:
    target = place.target(COLUMNS, mode="replace_period", run_period="2026-01")
    first = write(frame(spark, COLUMNS, rows(spark, "a", "m")), target)
    table = DeltaTable(target.uri or "")
    for number in range(30):
        table.alter.set_table_properties({"delta.checkpointInterval": str(number + 100)})
    assert DeltaWriter().committed(target) == Commit(2, first.version, is_repeat=True)


def test_vacuum_keeps_what_is_pinned(spark: SparkSession, place: Place) -> None:
    for key in "abcd":
        target = place.target(COLUMNS, mode="replace_period", run_period="2026-01")
        write(frame(spark, COLUMNS, rows(spark, key)), target)
    uri = target.uri or ""
    far = 1 << 62
    would = vacuum_table(VacuumRequest(uri, {"0"}, 1, far, is_dry_run=True))
    removed = vacuum_table(VacuumRequest(uri, {"0"}, 1, far))
    assert would == removed
    assert len(removed) > 0
    assert [row[0] for row in read_target(spark, target).frame.rows.identified.select("key").collect()] == ["d"]
    assert DeltaTable(uri, version=0).to_pyarrow_table().num_rows == 1
    with pytest.raises(FileNotFoundError):
        DeltaTable(uri, version=1).to_pyarrow_table()


def test_a_table_is_not_made_on_top_of_other_files(spark: SparkSession, place: Place) -> None:
    target = place.target(COLUMNS)
    Path(target.uri or "").mkdir(parents=True)
    (Path(target.uri or "") / "notes.txt").write_text("mine")
    with pytest.raises(DaybookError) as caught:
        write(frame(spark, COLUMNS, rows(spark, "a")), target)
    assert caught.value.code == "IO_028"
