"""Events of runs that another process executes, as a program reads them."""

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from daybook.store import open_store
from daybook.store.records import Lease, OperationResult
from tests.page import RUN, TOKEN, client, page_folder, record_run, served
from tests.unit.store.samples import later
from tests.workspaces import Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = page_folder(tmp_path)
    record_run(made, status=None)
    return made


def events(stream: Any) -> Iterator[tuple[str, Any]]:
    name = ""
    for line in stream:
        text = line.decode().rstrip("\n")
        if text.startswith("event: "):
            name = text.removeprefix("event: ")
        elif text.startswith("data: "):
            yield name, json.loads(text.removeprefix("data: "))


def open_stream(address: str, path: str) -> Any:
    request = urllib.request.Request(f"{address}{path}", headers={"Authorization": f"Bearer {TOKEN}"})
    return urllib.request.urlopen(request, timeout=30)


def test_steps_come_as_they_finish_and_the_events_end_with_the_run(folder: Folder) -> None:
    with served(folder) as address, open_stream(address, f"/api/v1/runs/{RUN}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        heard = events(stream)
        name, first = next(heard)
        assert (name, first["status"]) == ("run", "running")
        assert first == client(folder).get(f"/api/v1/runs/{RUN}").json()
        lease = Lease(RUN, "p", "2026-01", first["token"], later(3600))
        with open_store("sqlite:///.daybook/store.db", root=folder.root) as store:
            with store.write() as transaction:
                transaction.outcomes.record_operations(lease, OperationResult(2, "op-2", "output", rows_written=77))
            _, second = next(heard)
            assert second["operations"][2]["rows_written"] == 77
            with store.write() as transaction:
                transaction.runs.finish(lease, "completed", now=later(9))
        _, third = next(heard)
        assert third["status"] == "completed"
        assert next(heard) == ("end", {})


def test_the_list_of_runs_changes_with_them(folder: Folder) -> None:
    with served(folder) as address, open_stream(address, "/api/v1/runs/events") as stream:
        heard = events(stream)
        assert [run["status"] for run in next(heard)[1]["runs"]] == ["running"]
        record_run(folder, "20260302-093000-abcdef", period="2026-02")
        assert sorted(run["status"] for run in next(heard)[1]["runs"]) == ["completed", "running"]


def test_events_of_what_is_not_there_are_a_problem(folder: Folder) -> None:
    assert client(folder).get("/api/v1/runs/nothing/events").json()["code"] == "STORE_014"
    assert client(folder).get("/api/v1/questions/nothing/events").json()["code"] == "WEB_013"
