"""Nodes that are built side by side do not disturb each other."""

import threading
from typing import Any

import pytest

from daybook.graph.build import NodeResult
from daybook.graph.nodes import Node
from daybook.runs.attempt.recorder import RunRecorder
from daybook.store.records import OperationResult
from tests.spark.graph.test_build import Events, built, ran
from tests.workspaces import Folder, assign, to_table

BOTH = "2026-01..2026-02"
WAIT_SECONDS = 60


@pytest.fixture
def booked(folder: Folder) -> Folder:
    """Orders of two months into one table, which is registered and read."""
    total = {"group_by": ["region"], "aggregations": [{"column": "total", "expression": "SUM(amount)"}]}
    folder.project(
        assign("net", "amount * 2", selector='region = "EMEA"'),
        {"type": "aggregate", "arguments": total},
        to_table(register_as_dataset="booked"),
        id_="maker",
    )
    folder.project(to_table("copy"), id_="reader", input_="booked")
    folder.apply()
    folder.activate("maker")
    return folder


def counts(folder: Folder, run_id: str | None) -> list[tuple[Any, ...]]:
    def count(each: OperationResult) -> tuple[Any, ...]:
        return (each.seq, each.rows_picked, each.rows_added, each.rows_deleted, each.rows_written)

    with folder.around() as around, around.store.read() as transaction:
        return [count(each) for each in transaction.outcomes.operations(run_id or "")]


def by_period(result: Any) -> dict[str, NodeResult]:
    return {each.node.period.identifier: each for each in result.nodes}


@pytest.mark.parametrize("first", ["2026-01", pytest.param("2026-02", marks=pytest.mark.slow)])
@pytest.mark.parametrize("time", [0, *(pytest.param(time, marks=pytest.mark.slow) for time in range(1, 25))])
def test_registrations_of_one_table_in_any_order_lose_no_slice(
    booked: Folder, first: str, time: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both commit, then one registers, then the other."""
    committed, registered = threading.Barrier(2, timeout=WAIT_SECONDS), threading.Event()
    record = RunRecorder.record

    def interleaved(self: RunRecorder, *arguments: Any, **options: Any) -> Any:
        period = self._prepared.snapshot.period.identifier
        committed.wait()
        if period != first:
            assert registered.wait(WAIT_SECONDS)
        try:
            return record(self, *arguments, **options)
        finally:
            registered.set()

    monkeypatch.setattr(RunRecorder, "record", interleaved)
    together = built(booked, BOTH, "maker", jobs=2)
    monkeypatch.undo()
    assert ran(together) == {"maker@2026-01", "maker@2026-02"}
    booked.runs(BOTH, "reader")
    assert sorted({row["_run_period"] for row in booked.table("copy")}) == ["2026-01", "2026-02"]
    assert len(booked.table("copy")) == len(booked.table("result"))
    side_by_side = {period: counts(booked, each.run) for period, each in by_period(together).items()}
    alone = {period: counts(booked, booked.run(period, "maker").run_id) for period in ("2026-01", "2026-02")}
    assert side_by_side == alone


class CancelOne(Events):
    """Cancels one node while it reads; the other one goes on when that one has ended."""

    def __init__(self, folder: Folder, period: str) -> None:
        super().__init__()
        self._folder, self._period = folder, period
        self._runs: dict[Node, str] = {}
        self._has_ended = threading.Event()
        self._both = threading.Barrier(2, timeout=WAIT_SECONDS)

    def started(self, node: Node, run_id: str) -> None:
        self._runs[node] = run_id

    def stage(self, node: Node, text: str) -> None:
        if text.startswith("writing"):
            self._both.wait()
            if node.period.identifier == self._period:
                with self._folder.around() as around, around.store.write() as transaction:
                    transaction.runs.request_cancel(self._runs[node], now=transaction.now())
            else:
                assert self._has_ended.wait(WAIT_SECONDS)

    def finished(self, result: NodeResult) -> None:
        self._has_ended.set()


def test_cancelling_one_node_does_not_touch_the_other(booked: Folder) -> None:
    result = built(booked, BOTH, "maker", jobs=2, keep_going=True, events=CancelOne(booked, "2026-01"))
    found = by_period(result)
    assert (found["2026-01"].result, found["2026-02"].result) == ("failed", "ran")
    assert "RUN_004" in (found["2026-01"].reason or "")
    assert {row["_run_period"] for row in booked.table("result")} == {"2026-02"}
    assert booked.staged() == []
    again = built(booked, BOTH, "maker")
    assert ran(again) == {"maker@2026-01"}


def test_a_registered_path_of_its_own_per_period_is_read_per_period(folder: Folder) -> None:
    output = {"location": {"path": "out/{{identifier}}", "format": "delta"}}
    arguments = {"destination": output, "register_as_dataset": "listed"}
    folder.project({"type": "output", "arguments": arguments}, id_="lists")
    folder.project(to_table("copy"), id_="reads", input_="listed")
    folder.runs(BOTH, "lists")
    folder.runs(BOTH, "reads")
    assert folder.ids("copy") == [("2026-01", "O-1"), ("2026-01", "O-2"), ("2026-01", "O-3"), ("2026-02", "O-4")]
    folder.write_csv("data/orders.csv", [{"order_id": "O-9", "region": "EMEA", "amount": "1.00", "_period": "2026-01"}])
    folder.run("2026-01", "lists")
    folder.project(to_table("then"), id_="then", input={"dataset_id": "listed", "dataset_version": 2})
    folder.run("2026-01", "then")
    assert folder.ids("then") == [("2026-01", "O-1"), ("2026-01", "O-2"), ("2026-01", "O-3")]
