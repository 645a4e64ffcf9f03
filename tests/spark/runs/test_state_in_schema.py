"""Runs whose state is a schema: landed rows are sent, staged rows are tables, and files are streamed back."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from daybook.errors import DaybookError, flatten
from daybook.io.landing import area, table_area
from daybook.runs.garbage import collect_garbage
from daybook.workspace.maintenance import apply_retention, examine
from daybook.workspace.open_workspace import open_workspace
from tests.catalogs import DELTA, ICEBERG, MISSING, catalog_jars
from tests.workspaces import Folder, assign, to_path, to_table

pytestmark = pytest.mark.skipif(not catalog_jars(), reason=MISSING)


@pytest.fixture(params=[DELTA, ICEBERG])
def catalog(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[str]:
    name: str = request.param
    for schema in ("close", "state"):
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {name}.{schema}").collect()
    yield name
    for schema in ("close", "state"):
        for table in tables(spark, name, schema):
            spark.sql(f"DROP TABLE {name}.{schema}.`{table}`").collect()


def tables(spark: SparkSession, catalog: str, schema: str) -> list[str]:
    return sorted(row["tableName"] for row in spark.sql(f"SHOW TABLES IN {catalog}.{schema}").collect())


def workspace(root: Path, spark: SparkSession, catalog: str, *operations: dict[str, Any]) -> Folder:
    folder = Folder.new(root, lambda: spark, state={"datasource_id": "db", "schema": "state"})
    folder.datasource("db", "spark_catalog", catalog=catalog, schema="close")
    folder.project(*operations or (to_table("result", "db", register_as_dataset="booked"),))
    return folder


def rows(spark: SparkSession, catalog: str, table: str = "result") -> list[tuple[Any, ...]]:
    row_id = "daybook_row_id" if catalog == ICEBERG else "_row_id"
    df = spark.table(f"{catalog}.close.{table}").select("_run_period", "order_id", row_id)
    return sorted(tuple(row) for row in df.collect())


def without_times(file: Path) -> bytes:
    """A file without the times of its run."""
    return re.sub(rb"\d{4}-\d{2}-\d{2}T[0-9:.]+Z", b"", file.read_bytes())


def test_nothing_is_written_into_a_folder_and_rows_and_ids_are_the_same(
    spark: SparkSession, tmp_path: Path, catalog: str
) -> None:
    folder = workspace(tmp_path / "w", spark, catalog)
    run = folder.run("2026-01")
    assert not any((folder.root / ".daybook").glob("landing/**"))
    assert not any((folder.root / ".daybook").glob("staging/**"))
    assert [name for name in tables(spark, catalog, "state") if "landing" not in name] == []
    sent = rows(spark, catalog)
    assert folder.replay(run.run_id).is_same
    assert [name for name in tables(spark, catalog, "state") if "landing" not in name] == []
    spark.sql(f"DROP TABLE {catalog}.close.result").collect()
    shared = Folder.new(tmp_path / "shared", lambda: spark)
    shared.datasource("db", "spark_catalog", catalog=catalog, schema="close")
    shared.project(to_table("result", "db"))
    shared.run("2026-01")
    assert rows(spark, catalog) == sent


def test_files_are_streamed_back_as_spark_would_write_them(spark: SparkSession, tmp_path: Path, catalog: str) -> None:
    if catalog == ICEBERG:
        pytest.skip("files do not depend on the catalog")
    operations = [to_path(f"out/{{{{identifier}}}}.{name}") for name in ("csv", "json", "xlsx", "parquet")]
    folder = workspace(tmp_path / "w", spark, catalog, assign("order_id", "CONCAT(order_id, ', \"x\"')"), *operations)
    folder.run("2026-01")
    shared = Folder.new(tmp_path / "shared", lambda: spark)
    shared.project(assign("order_id", "CONCAT(order_id, ', \"x\"')"), *operations)
    shared.run("2026-01")
    for name in ("csv", "json"):
        file = f"out/2026-01.{name}"
        assert without_times(folder.root / file) == without_times(shared.root / file)
    assert (folder.root / "out/2026-01.xlsx").is_file()


def test_many_rows_are_sent_in_pieces(
    spark: SparkSession, tmp_path: Path, catalog: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_area, "_PIECE_BYTES", 4_000)
    monkeypatch.setattr(area, "IN_MEMORY_BYTES", 4_000)
    folder = workspace(tmp_path / "w", spark, catalog)
    first = folder.csv_rows("data/orders.csv")[0]
    folder.write_csv("data/orders.csv", [{**first, "order_id": f"N-{number % 300}"} for number in range(400)])
    folder.run("2026-01")
    sent = rows(spark, catalog)
    assert len(sent) == 400
    assert len({row[2] for row in sent}) == 400


def test_gc_and_doctor_clean_the_schema(spark: SparkSession, tmp_path: Path, catalog: str) -> None:
    folder = workspace(tmp_path / "w", spark, catalog)
    run = folder.run("2026-01")
    opened = open_workspace(folder.root, session=folder.session)
    with folder.around() as around:
        around.landing("20260131-094502-7c1f0a")
        staging = around.staging(spark, f"{around.state}/staging/{run.run_id}.9")
        staging.keep(spark.range(3), "left")
    assert any("staging" in name for name in tables(spark, catalog, "state"))
    examine(opened, fix=True, session=folder.session)
    assert [name for name in tables(spark, catalog, "state") if "landing" not in name] == []
    assert tables(spark, catalog, "state")
    folder.write_csv("data/orders.csv", folder.csv_rows("data/orders.csv")[:1])
    folder.run("2026-01")
    assert len(tables(spark, catalog, "state")) == 2
    opened = open_workspace(folder.root, session=folder.session)
    settings = opened.settings.retention.model_copy(update={"runs": "0d"})
    with folder.around() as around:
        assert len(collect_garbage(around, settings).landings) == 1
    # The last run that completed is kept, with what it read.
    assert len(tables(spark, catalog, "state")) == 1
    assert apply_retention(opened).landings == ()


def test_what_spark_would_open_by_a_path_is_refused(spark: SparkSession, tmp_path: Path, catalog: str) -> None:
    if catalog == ICEBERG:
        pytest.skip("it is refused before the catalog is asked")
    folder = workspace(tmp_path / "w", spark, catalog, to_table("result", "lake"))
    with pytest.raises(DaybookError) as caught:
        folder.run("2026-01")
    assert [cause.code for error in flatten(caught.value) for cause in error.causes] == ["IO_080"]
