"""Runs whose state is a schema: landed rows are sent, staged rows are tables, and files are streamed back."""

import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from pyspark.sql import SparkSession

from daybook.compare.diff import DiffRequest
from daybook.errors import DaybookError, flatten
from daybook.io.landing import area, table_area
from daybook.io.stored_rows import RowCondition, RowOrder
from daybook.model.settings import RetentionSettings
from daybook.runs.garbage import collect_garbage
from daybook.runs.run_result import RunFailedError
from daybook.workspace.certificates import make_key, seal_period
from daybook.workspace.maintenance import apply_retention, examine
from daybook.workspace.numbers import NumbersRequest, diff_runs, read_numbers, stream_csv
from daybook.workspace.open_workspace import open_workspace
from daybook.workspace.periods import lock_period
from daybook.workspace.recomputation import recompute
from tests.catalogs import DELTA, ICEBERG, MISSING, catalog_jars
from tests.workspaces import COLUMNS, Folder, assign, to_path, to_table

pytestmark = pytest.mark.skipif(not catalog_jars(), reason=MISSING)


SCHEMAS = ("close", "state", "drafts")


@pytest.fixture(params=[DELTA, ICEBERG])
def catalog(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[str]:
    name: str = request.param
    for schema in SCHEMAS:
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {name}.{schema}").collect()
    yield name
    for schema in SCHEMAS:
        for table in tables(spark, name, schema):
            spark.sql(f"DROP TABLE {name}.{schema}.`{table}`").collect()


def tables(spark: SparkSession, catalog: str, schema: str) -> list[str]:
    return sorted(row["tableName"] for row in spark.sql(f"SHOW TABLES IN {catalog}.{schema}").collect())


def workspace(root: Path, spark: SparkSession, catalog: str, *operations: dict[str, Any], **settings: Any) -> Folder:
    folder = Folder.new(root, lambda: spark, state={"datasource_id": "db", "schema": "state"}, **settings)
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


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few hundred rows are sent as many are: in several pieces."""
    monkeypatch.setattr(table_area, "_PIECE_BYTES", 4_000)
    monkeypatch.setattr(area, "IN_MEMORY_BYTES", 4_000)


@pytest.mark.usefixtures("small_pieces")
def test_many_rows_are_sent_in_pieces(spark: SparkSession, tmp_path: Path, catalog: str) -> None:
    folder = workspace(tmp_path / "w", spark, catalog)
    first = folder.csv_rows("data/orders.csv")[0]
    folder.write_csv("data/orders.csv", [{**first, "order_id": f"N-{number % 300}"} for number in range(400)])
    folder.run("2026-01")
    sent = rows(spark, catalog)
    assert len(sent) == 400
    assert len({row[2] for row in sent}) == 400


def test_of_two_landings_that_were_made_at_once_the_second_is_dropped(
    spark: SparkSession, tmp_path: Path, catalog: str
) -> None:
    folder = workspace(tmp_path / "w", spark, catalog)
    folder.run("2026-01")
    before = tables(spark, catalog, "state")
    with folder.around() as around:
        landing = around.landing("20260131-094502-7c1f0a")
        assert isinstance(landing, table_area.TableLandingArea)
        (key,) = landing.tables.manifests.folders()
        first = landing.find(key)
        assert first is not None
        attempt = landing.new_attempt(key)
        landing.tables.write(spark.range(3), attempt)
        assert landing.publish(replace(first, files=(area.LandedFile(f"{attempt}/0", 3),))) == first
        assert landing.find(key) == first
    assert tables(spark, catalog, "state") == before


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


def test_doctor_cleans_every_schema_that_runs_wrote_into(spark: SparkSession, tmp_path: Path, catalog: str) -> None:
    sandbox = {"datasource_id": "db", "schema": "drafts"}
    folder = workspace(tmp_path / "w", spark, catalog, sandbox=sandbox)
    run = folder.run("2026-01")
    staged = f"daybook_{run.run_id.replace('-', '_')}_1_0123abcd"
    for schema in ("close", "drafts"):
        spark.range(3).writeTo(f"{catalog}.{schema}.{staged}").using(
            "delta" if catalog == DELTA else "iceberg"
        ).create()
    opened = open_workspace(folder.root, session=folder.session)
    subjects = {finding.subject: finding for finding in examine(opened, fix=True, session=folder.session).findings}
    assert subjects["Left behind"].detail.startswith("removed 2 ")
    assert not any(staged in tables(spark, catalog, schema) for schema in SCHEMAS)
    assert {subjects[name].state for name in ("Data source db", "State", "Sandbox")} == {"ok"}


def test_doctor_names_a_schema_that_is_not_there(spark: SparkSession, tmp_path: Path, catalog: str) -> None:
    folder = workspace(tmp_path / "w", spark, catalog, sandbox={"datasource_id": "db", "schema": "nowhere"})
    opened = open_workspace(folder.root, session=folder.session)
    problems = [finding for finding in examine(opened, session=folder.session).findings if finding.state == "problem"]
    assert [finding.subject for finding in problems] == ["Sandbox"]
    assert f"CREATE SCHEMA `{catalog}`.`nowhere`" in str(problems[0].remedy)


def test_what_spark_would_open_by_a_path_is_refused(spark: SparkSession, tmp_path: Path, catalog: str) -> None:
    if catalog == ICEBERG:
        pytest.skip("it is refused before the catalog is asked")
    folder = workspace(tmp_path / "w", spark, catalog, to_table("result", "lake"))
    with pytest.raises(DaybookError) as caught:
        folder.run("2026-01")
    assert [cause.code for error in flatten(caught.value) for cause in error.causes] == ["IO_080"]


def test_landed_rows_are_compared_with_their_control_where_spark_has_them(
    spark: SparkSession, tmp_path: Path, catalog: str
) -> None:
    folder = workspace(tmp_path / "w", spark, catalog)
    table = {"name": "orders", "temporal_mode": "period", "columns": COLUMNS, "location": {"path": "data/orders.csv"}}
    control = {"path": "data/{{identifier}}.control.csv"}
    folder.define("dataset", {"id": "orders", "control": control, "main_table": table})
    # 100 + 50 + 0 + 70: the rows of both months are landed.
    (folder.root / "data/2026-01.control.csv").write_text("rows,total_amount\n4,220.00\n")
    folder.run("2026-01")
    (folder.root / "data/2026-01.control.csv").write_text("rows,total_amount\n4,220.01\n")
    with pytest.raises(RunFailedError) as caught:
        folder.run("2026-01")
    assert [error.code for error in flatten(caught.value.error)] == ["TOTALS_010"]


def test_a_project_that_reads_what_it_wrote_before_begins_with_nothing(
    spark: SparkSession, tmp_path: Path, catalog: str
) -> None:
    operations = ({"type": "append", "arguments": {"source": {"dataset_id": "before"}}}, to_table("result", "db"))
    folder = workspace(tmp_path / "w", spark, catalog, *operations)
    folder.dataset("rolled", COLUMNS, {"datasource_id": "db", "table": "result"}, temporal_mode="period")
    view = {"of": "rolled", "window": "previous", "missing": "empty", "period": "run"}
    folder.define("dataset", {"id": "before", "view": view})
    folder.run("2026-01")
    assert len(rows(spark, catalog)) == 3
    folder.run("2026-02")
    # The order of February and the three of January.
    assert len([row for row in rows(spark, catalog) if row[0] == "2026-02"]) == 4


def test_a_workbook_with_formulas_is_streamed_back(spark: SparkSession, tmp_path: Path, catalog: str) -> None:
    if catalog == ICEBERG:
        pytest.skip("files do not depend on the catalog")
    aggregate = {"group_by": ["region"], "aggregations": [{"column": "amount", "expression": "SUM(amount)"}]}
    operations = (
        {"type": "aggregate", "arguments": aggregate},
        to_path({"path": "out/book.xlsx", "options": {"live": True}}),  # type: ignore[dict-item]
    )
    folder = workspace(tmp_path / "w", spark, catalog, *operations)
    folder.run("2026-01")
    book = openpyxl.load_workbook(folder.root / "out/book.xlsx")
    (details,) = (sheet for sheet in book.worksheets if sheet.title.startswith("Details"))
    # A header, two orders of EMEA and one of APAC; a sum for each of the two.
    assert details.max_row == 4
    formulas = [cell.value for row in book.worksheets[0].iter_rows() for cell in row if cell.data_type == "f"]
    assert len(formulas) == 2


def test_numbers_are_paged_through_the_session(spark: SparkSession, tmp_path: Path, catalog: str) -> None:
    folder = workspace(tmp_path / "w", spark, catalog)
    run = folder.run("2026-01")
    opened = open_workspace(folder.root, session=folder.session)
    page = read_numbers(opened, NumbersRequest(run.run_id, sort=(RowOrder("amount", is_descending=True),), limit=2))
    position = [column.name for column in page.columns].index("order_id")
    assert ([row[position] for row in page.rows], page.count) == (["O-1", "O-2"], 3)
    assert page.totals == {"amount": Decimal("150.00")}
    some = (RowCondition("region", "starts_with", "em"), RowCondition("amount", "<=", "50.005"))
    assert read_numbers(opened, NumbersRequest(run.run_id, where=some)).count == 1
    text = b"".join(stream_csv(opened, NumbersRequest(run.run_id, sort=(RowOrder("order_id"),))).pieces).decode()
    assert [line.split(",")[0] for line in text.splitlines()] == ["order_id", "O-1", "O-2", "O-3"]


def test_rows_that_were_appended_are_those_of_their_run(spark: SparkSession, tmp_path: Path, catalog: str) -> None:
    folder = workspace(tmp_path / "w", spark, catalog, to_table("result", "db", mode="append"))
    runs = [folder.run("2026-01"), folder.run("2026-02"), folder.run("2026-01")]
    opened = open_workspace(folder.root, session=folder.session)
    assert [read_numbers(opened, NumbersRequest(run.run_id)).count for run in runs] == [3, 1, 3]


def test_what_a_run_wrote_is_computed_again_by_the_second_engine(
    spark: SparkSession, tmp_path: Path, catalog: str
) -> None:
    folder = workspace(tmp_path / "w", spark, catalog)
    run = folder.run("2026-01")
    assert recompute(open_workspace(folder.root, session=folder.session), run.run_id).is_same


def test_a_run_that_read_tables_by_name_is_computed_again_from_what_it_read(
    spark: SparkSession, tmp_path: Path, catalog: str
) -> None:
    folder = workspace(tmp_path / "w", spark, catalog)
    folder.run("2026-01")
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {DELTA}.views").collect()
    spark.sql(f"CREATE OR REPLACE VIEW {DELTA}.views.rates AS SELECT 'EMEA' AS region, 2.00 AS amount").collect()
    columns = [{"name": "region", "type": "string"}, {"name": "amount", "type": "decimal(10,2)"}]
    folder.datasource("own", "spark_catalog", catalog=DELTA, schema="views")
    folder.dataset("rates", columns, {"datasource_id": "own", "table": "rates"})
    append = {"type": "append", "arguments": {"source": {"dataset_id": "rates"}}}
    folder.project(append, to_table("summary", "db"), id_="next", input_="booked")
    run = folder.run("2026-01", "next")
    spark.sql(f"DROP VIEW {DELTA}.views.rates").collect()
    first = folder.csv_rows("data/orders.csv")[0]
    folder.write_csv("data/orders.csv", [{**first, "amount": "999.00"}])
    folder.run("2026-01")
    done = recompute(open_workspace(folder.root, session=folder.session), run.run_id)
    # Three orders and one rate, as they were: the view is gone, and the table has another version.
    assert (done.is_same, [output.rows_computed for output in done.outputs]) == (True, [4])


@pytest.mark.usefixtures("small_pieces")
def test_what_was_sent_is_computed_again_also_when_the_file_has_changed(
    spark: SparkSession, tmp_path: Path, catalog: str
) -> None:
    folder = workspace(tmp_path / "w", spark, catalog)
    first = folder.csv_rows("data/orders.csv")[0]
    # Twenty orders are there twice, so that ids need a number among equal rows.
    folder.write_csv("data/orders.csv", [{**first, "order_id": f"N-{number % 180}"} for number in range(200)])
    run = folder.run("2026-01")
    folder.write_csv("data/orders.csv", [first])
    done = recompute(open_workspace(folder.root, session=folder.session), run.run_id)
    assert (done.is_same, [output.rows_computed for output in done.outputs]) == (True, [200])


def test_drafts_write_into_a_schema_and_read_each_other_there(
    spark: SparkSession, tmp_path: Path, catalog: str
) -> None:
    sandbox = {"datasource_id": "db", "schema": "drafts"}
    operations = (to_table("result", "db", register_as_dataset="booked"), to_path("out/result.csv"))
    folder = workspace(tmp_path / "w", spark, catalog, *operations, sandbox=sandbox)
    folder.apply()
    folder.activate()
    folder.run("2026-01")
    folder.project(to_table("summary", "db"), id_="next", input_="booked")
    live = rows(spark, catalog)
    first = folder.csv_rows("data/orders.csv")[0]
    folder.write_csv("data/orders.csv", [{**first, "amount": "999.00"}])
    draft = folder.run("2026-01", is_draft=True)
    assert rows(spark, catalog) == live
    assert len(folder.csv_rows("out/result.csv")) == 3
    drafts = [name.rpartition("_")[0] for name in tables(spark, catalog, "drafts")]
    assert drafts == ["db_close_result", "out_result_csv"]
    following = folder.run("2026-01", "next", is_draft=True)
    opened = open_workspace(folder.root, session=folder.session)
    assert read_numbers(opened, NumbersRequest(following.run_id)).totals == {"amount": Decimal("999.00")}
    assert folder.replay(draft.run_id).is_same
    assert folder.replay(following.run_id).is_same
    assert "summary" not in tables(spark, catalog, "close")


def test_replays_of_runs_that_are_forgotten_are_removed(spark: SparkSession, tmp_path: Path, catalog: str) -> None:
    folder = workspace(tmp_path / "w", spark, catalog)
    first = folder.run("2026-01")
    folder.replay(first.run_id, keep=True)
    assert any("replays" in name for name in tables(spark, catalog, "state"))
    folder.run("2026-01")
    with folder.around() as around:
        collect_garbage(around, RetentionSettings(runs="0d"))
    assert not any("replays" in name for name in tables(spark, catalog, "state"))


def test_sealed_rows_of_delta_are_copied_since_nothing_holds_their_version(
    spark: SparkSession, tmp_path: Path, catalog: str
) -> None:
    folder = workspace(tmp_path / "w", spark, catalog)
    folder.apply()
    folder.activate()
    before = folder.run("2026-01")
    (order, *others) = folder.csv_rows("data/orders.csv")
    folder.write_csv("data/orders.csv", [{**order, "amount": "101.00"}, *others])
    run = folder.run("2026-01")
    is_warned = [notice.code for notice in run.notices] == ["IO_083"]
    assert is_warned == (catalog == DELTA)
    opened = open_workspace(folder.root, session=folder.session)
    lock_period(opened, "2026-01", reason="closed")
    make_key("cfo", tmp_path / "keys")
    seal_period(opened, "2026-01", key=f"file://{tmp_path / 'keys/cfo.key'}", out=tmp_path / "sealed.json")
    copies = [name for name in tables(spark, catalog, "state") if "sealed" in name]
    assert len(copies) == (1 if catalog == DELTA else 0)
    if catalog == DELTA:
        spark.sql(f"DROP TABLE {catalog}.close.result").collect()
        page = read_numbers(opened, NumbersRequest(run.run_id))
        # The order of 100.00 has 101.00 now.
        assert (page.count, page.totals) == (3, {"amount": Decimal("151.00")})
        difference = diff_runs(opened, DiffRequest(before.run_id, run.run_id))
        assert (difference.rows.added, difference.rows.removed, difference.rows.same) == (1, 1, 2)
        # The rows of the first run are gone with the table, so they are computed again.
        assert [side.is_computed for side in (difference.a, difference.b)] == [True, False]
