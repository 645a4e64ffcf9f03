"""A run costs what its outputs cost: one job of Spark per output, counts and checks included."""

import uuid
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame
from sqlalchemy import Connection, Engine, event

from daybook.engine.java.connect import is_connect
from daybook.engine.jobs import tag_jobs
from daybook.io.writer import FingerprintObserver
from daybook.model.definition import TableVersion
from daybook.runs.attempt.run_request import RunRequest
from daybook.workspace.execution import run_project
from daybook.workspace.open_workspace import open_workspace
from tests.unit.runs.counting import Counts
from tests.workspaces import Folder, assign, to_path, to_table

# Adaptive execution decides how many jobs a query takes.
pytestmark = pytest.mark.usefixtures("product_settings")


def jobs(folder: Folder, action: Callable[[], object] | None = None) -> int:
    """How many jobs an action, by default one run, takes."""
    spark = folder.session()
    if is_connect(spark):
        pytest.skip("a Connect server does not tell its jobs")
    tag = f"cost-{uuid.uuid4()}"
    with tag_jobs(spark, tag):
        (action or folder.run)()
    return len(spark.sparkContext._jsc.sc().statusTracker().getJobIdsForTag(tag))


def test_one_job_per_output(folder: Folder) -> None:
    folder.project(
        assign("tax", "amount * 2", selector='region = "EMEA"'),
        {"type": "delete", "selector": "amount = 0"},
        to_table(register_as_dataset="booked"),
        to_path("out/x.csv"),
    )
    assert jobs(folder) == 2
    assert jobs(folder) == 2


def test_one_job_where_the_input_is_delta(folder: Folder) -> None:
    folder.project(to_table(register_as_dataset="booked"))
    folder.run()
    folder.project(assign("tax", "amount * 2"), to_table("copy"), input_="booked")
    assert jobs(folder) == 1


def test_a_run_plans_its_project_once_and_no_project_that_reads_what_it_registers_again(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = ["order_id", "region", "amount"]
    folder.project(assign("tax", "amount * 2"), to_table(columns=columns, register_as_dataset="booked"))
    folder.run()
    folder.activate()
    folder.project(to_path("out/x.csv"), id_="reader", input_="booked")
    folder.run(project="reader")
    folder.activate("reader")
    counts = Counts(monkeypatch)
    folder.run("2026-02")
    assert counts.plans == {"p": 1}
    assert counts.expressions == {"amount * 2": 1}


def test_a_small_run_takes_eight_transactions_of_the_store(folder: Folder) -> None:
    """Three only read: the store, the files that are applied already, and what is prepared.

    Five write, of which each waits for the disk: the run, its beginning, what it reads, the permission to commit, and
    the commit, which ends the run.
    """
    folder.project(assign("tax", "amount * 2"), to_table(register_as_dataset="booked"))
    folder.run()
    folder.activate()
    folder.run()
    begun = Counter[str]()

    def count(connection: Connection) -> None:
        begun["read" if connection.get_execution_options().get("daybook_read", False) else "write"] += 1

    event.listen(Engine, "begin", count)
    try:
        result = run_project(
            open_workspace(folder.root, session=folder.session), RunRequest("p", "2026-01"), repeat_plan_warnings=False
        )
    finally:
        event.remove(Engine, "begin", count)
    assert result.is_ok
    assert begun == {"read": 3, "write": 5}


@pytest.mark.parametrize("is_new", [True, False])
def test_the_log_of_a_table_is_opened_to_prepare_to_stage_and_to_commit(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, is_new: bool
) -> None:
    folder.project(assign("tax", "amount * 2"), to_table(register_as_dataset="booked"))
    if not is_new:
        folder.run()
    opened: list[Any] = []

    class CountedTable(DeltaTable):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            opened.append(arguments)
            super().__init__(*arguments, **named)

    monkeypatch.setattr("daybook.io.formats.delta.table.DeltaTable", CountedTable)
    result = folder.run()
    # A table that is not there has no log.
    assert len(opened) == (0 if is_new else 3)
    assert result.outputs[0].table_version == TableVersion("delta", "0" if is_new else "1")


def test_a_replay_of_files_hashes_the_rows_once(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.project(assign("tax", "amount * 2"), to_path("out/x.csv"), to_table())
    run_id = folder.run().run_id
    hashed: list[object] = []
    original = FingerprintObserver.on

    def on(observer: FingerprintObserver, df: DataFrame) -> DataFrame:
        hashed.append(df)
        return original(observer, df)

    monkeypatch.setattr(FingerprintObserver, "on", on)
    assert folder.replay(run_id).is_same
    # The file once; the table by its writer, and as its stored rows are compared.
    assert len(hashed) == 3


def test_rows_that_are_not_shown_are_counted_while_the_shown_ones_are_sought(folder: Folder) -> None:
    folder.project(assign("tax", "amount * 2"), to_table())
    run_id = folder.run().run_id
    shown: list[tuple[int, int]] = []

    def look(limit: int) -> None:
        rows = folder.explain(run_id, 1, limit=limit).rows
        shown.append((rows.count, len(rows.rows)))

    assert jobs(folder, lambda: look(20)) == jobs(folder, lambda: look(1))
    assert shown == [(3, 3), (3, 1)]
