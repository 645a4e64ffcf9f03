"""A run costs what its outputs cost: one job of Spark per output, counts and checks included."""

import uuid
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from daybook.engine.java.connect import is_connect
from daybook.engine.jobs import tag_jobs
from daybook.store.store import MetadataStore
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


def test_a_run_of_what_is_applied_writes_six_times_to_the_store(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run, its beginning, what it reads, the permission to commit, the commit, its end; each waits for the disk."""
    folder.project(assign("tax", "amount * 2"), to_table())
    folder.run()
    used = Counter[str]()

    def count(name: str) -> None:
        original = getattr(MetadataStore, name)

        def counting(store: MetadataStore) -> Any:
            used[name] += 1
            return original(store)

        monkeypatch.setattr(MetadataStore, name, counting)

    count("read")
    count("write")
    folder.run()
    assert used["write"] == 6
    assert used["read"] <= 5


def test_rows_that_are_not_shown_are_counted_while_the_shown_ones_are_sought(folder: Folder) -> None:
    folder.project(assign("tax", "amount * 2"), to_table())
    run_id = folder.run().run_id
    shown: list[tuple[int, int]] = []

    def look(limit: int) -> None:
        rows = folder.explain(run_id, 1, limit=limit).rows
        shown.append((rows.count, len(rows.rows)))

    assert jobs(folder, lambda: look(20)) == jobs(folder, lambda: look(1))
    assert shown == [(3, 3), (3, 1)]
