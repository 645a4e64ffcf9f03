"""Runs on tables by name: owned slices, registered versions, chains, retries, replay, drops and builds."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from daybook.errors import DaybookError
from daybook.runs.run_result import RunFailedError
from daybook.workspace.maintenance import drop_slice, list_slices
from daybook.workspace.open_workspace import OpenedWorkspace, open_workspace
from tests.catalogs import DELTA, ICEBERG, MISSING, catalog_jars
from tests.workspaces import Folder, to_table

pytestmark = pytest.mark.skipif(not catalog_jars(), reason=MISSING)


@pytest.fixture(params=[DELTA, ICEBERG])
def catalog(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[str]:
    """A catalog with an empty schema `close`."""
    name: str = request.param
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {name}.close").collect()
    yield name
    for row in spark.sql(f"SHOW TABLES IN {name}.close").collect():
        spark.sql(f"DROP TABLE {name}.close.`{row['tableName']}`").collect()


def workspace(root: Path, spark: SparkSession, catalog: str) -> Folder:
    folder = Folder.new(root, lambda: spark)
    folder.datasource("db", "spark_catalog", catalog=catalog, schema="close")
    folder.project(to_table("result", "db", register_as_dataset="booked"))
    return folder


def opened(folder: Folder) -> OpenedWorkspace:
    return open_workspace(folder.root, session=folder.session)


def rows(spark: SparkSession, catalog: str, table: str = "result") -> list[tuple[str, str]]:
    """(period of the slice, order)."""
    df = spark.table(f"{catalog}.close.{table}").select("_run_period", "order_id")
    return sorted((row[0], row[1]) for row in df.collect())


def test_slices_are_owned_and_dropped_and_nothing_stays_beside_them(
    spark: SparkSession, tmp_path: Path, catalog: str
) -> None:
    first, second = (workspace(tmp_path / name, spark, catalog) for name in ("first", "second"))
    first.run("2026-01")
    before = rows(spark, catalog)
    with pytest.raises(RunFailedError) as caught:
        second.run("2026-01")
    assert [cause.code for cause in caught.value.error.causes] == ["STORE_016"]
    assert rows(spark, catalog) == before
    second.run("2026-02")
    assert {period for period, _ in rows(spark, catalog)} == {"2026-01", "2026-02"}
    done = drop_slice(opened(first), "db.result", "2026-01", reason="delivered twice")
    assert done.rows == len(before)
    assert {period for period, _ in rows(spark, catalog)} == {"2026-02"}
    assert list_slices(opened(first)) == ()
    assert [row["tableName"] for row in spark.sql(f"SHOW TABLES IN {catalog}.close").collect()] == ["result"]


def test_a_registered_table_is_read_by_the_next_project_and_a_replay_reads_its_version_again(
    spark: SparkSession, tmp_path: Path, catalog: str
) -> None:
    folder = workspace(tmp_path / "w", spark, catalog)
    folder.run("2026-01")
    folder.project(to_table("summary", "db"), id_="next", input_="booked")
    run = folder.run("2026-01", "next")
    read = rows(spark, catalog, "summary")
    assert read == rows(spark, catalog)
    folder.run("2026-02")
    assert folder.replay(run.run_id).is_same


def test_a_table_of_another_provider_is_refused_with_its_name(
    spark: SparkSession, tmp_path: Path, catalog: str
) -> None:
    if catalog != DELTA:
        pytest.skip("this catalog makes tables of Iceberg only")
    spark.sql(f"CREATE TABLE {catalog}.close.result (a INT) USING parquet LOCATION '{tmp_path}/plain'").collect()
    folder = workspace(tmp_path / "w", spark, catalog)
    with pytest.raises(RunFailedError) as caught:
        folder.run("2026-01")
    (cause,) = caught.value.error.causes
    assert isinstance(cause, DaybookError)
    assert (cause.code, "parquet" in str(cause.parameters["reason"])) == ("IO_032", True)
