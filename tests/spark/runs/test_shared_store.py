"""A team's store on PostgreSQL, through the whole life of a project."""

import datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from daybook.resolve.calendars.calendar import GREGORIAN
from daybook.resolve.calendars.periods import period_of
from daybook.runs.lifecycle.activation import deactivate
from daybook.runs.lifecycle.apply import apply
from daybook.runs.run_result import RunFailedError
from daybook.store import open_store
from daybook.store.records import SliceTable
from tests.postgres import PostgresServer
from tests.workspaces import Folder, assign, to_table

NOW = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)

pytestmark = pytest.mark.postgres


@pytest.fixture
def folder(spark: SparkSession, postgres_server: PostgresServer, tmp_path: Path) -> Folder:
    url = postgres_server.create_database()
    open_store(url, root=tmp_path, migrate=True).close()
    return Folder.new(tmp_path / "w", lambda: spark, store=url)


def bring(folder: Folder, *projects: str) -> None:
    """Apply all definitions and activate projects."""
    workspace = folder.load()
    definitions = [each for kind in workspace.definitions.values() for each in kind.values()]
    with folder.around(workspace) as around:
        apply(around.store, definitions, workspace="tests", now=NOW)
    for project in projects:
        folder.activate(project)


def failure(folder: Folder, period: str, project: str) -> str:
    """The code of what a run failed by, of the cause where the output's own code stands before it."""
    with pytest.raises(RunFailedError) as caught:
        folder.run(period, project)
    error = caught.value.error
    return error.causes[0].code if error.causes else error.code


def test_a_project_runs_again_and_again(folder: Folder) -> None:
    folder.project(to_table(columns=["order_id"], register_as_dataset="booked"))
    bring(folder, "p")
    first = folder.run()
    again = folder.run()
    assert [output.rows_written for output in again.outputs] == [3]
    folder.run("2026-02")
    assert folder.ids() == [("2026-01", "O-1"), ("2026-01", "O-2"), ("2026-01", "O-3"), ("2026-02", "O-4")]
    assert folder.replay(first.run_id).is_same
    assert folder.dataset_versions("booked") == (1, 2, 3)


@pytest.mark.slow
def test_an_operation_put_in_before_an_output_leaves_it_its_slices(folder: Folder) -> None:
    folder.project(to_table(columns=["order_id"]))
    bring(folder, "p")
    folder.run()
    folder.project(assign("amount", "amount * 2"), to_table(columns=["order_id"]))
    bring(folder, "p")
    folder.run()
    assert folder.ids() == [("2026-01", "O-1"), ("2026-01", "O-2"), ("2026-01", "O-3")]


@pytest.mark.parametrize(
    "mode", ["replace", *(pytest.param(mode, marks=pytest.mark.slow) for mode in ("replace_period", "append"))]
)
def test_what_another_project_wrote_stays(folder: Folder, mode: str) -> None:
    folder.project(to_table(columns=["order_id"]))
    folder.project(to_table(columns=["order_id"], mode=mode), id_="other")
    bring(folder, "p", "other")
    folder.run()
    before = folder.ids()
    assert failure(folder, "2026-01", "other") == "STORE_016"
    assert folder.ids() == before


def test_a_locked_slice_is_not_replaced_with_its_table(folder: Folder) -> None:
    folder.project(to_table(columns=["order_id"], mode="replace"))
    bring(folder, "p")
    folder.run()
    folder.project(to_table(columns=["order_id"]))
    bring(folder, "p")
    folder.run()
    folder.project(to_table(columns=["order_id"], mode="replace"))
    bring(folder, "p")
    with folder.around() as around, around.store.write() as transaction:
        transaction.periods.advance(period_of("2026-Q1", GREGORIAN), "locked", now=NOW)
        place = str(folder.root / "lake/result")
        assert [each.period for each in transaction.slices.of(SliceTable(place, place))] == ["2026-01"]
    before = folder.ids()
    assert failure(folder, "2026-04", "p") == "RUN_002"
    assert folder.ids() == before


def test_an_inactive_project_gives_its_slices_up(folder: Folder) -> None:
    folder.project(to_table(columns=["order_id"]))
    folder.project(to_table(columns=["order_id"], selector="amount > 60"), id_="other")
    bring(folder, "p", "other")
    folder.run()
    with folder.around() as around:
        deactivate(around.store, "p", now=NOW)
    folder.run(project="other")
    assert folder.ids() == [("2026-01", "O-1")]
