"""Readers cost little: a page asks the store and the disk a few times, and again only for what can have changed."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine
from starlette.testclient import TestClient

from daybook.web.served import StoreWatch
from daybook.workspace.close import close_overview
from tests.page import client
from tests.workspaces import Folder, no_session, to_table
from tests.written_runs import write_run


@dataclass
class StoreUse:
    statements: int = 0
    listings: int = 0


_counting: list[tuple[str, StoreUse]] = []


def _audit(name: str, arguments: tuple[Any, ...]) -> None:
    if name in ("os.listdir", "os.scandir"):
        for root, use in _counting:
            use.listings += str(arguments[0]).startswith(root)


# An audit hook stays for as long as the process.
sys.addaudithook(_audit)


@contextmanager
def counted(folder: Folder) -> Iterator[StoreUse]:
    use = StoreUse()

    def count(*_: object) -> None:
        use.statements += 1

    event.listen(Engine, "before_cursor_execute", count)
    _counting.append((str(folder.root.resolve()), use))
    try:
        yield use
    finally:
        _counting.clear()
        event.remove(Engine, "before_cursor_execute", count)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder.new(tmp_path / "w", no_session)
    made.project(to_table(columns=["order_id", "region", "amount"]))
    return made


@pytest.fixture
def run(folder: Folder) -> str:
    amounts = pa.array([Decimal("100.00"), Decimal("50.00")], pa.decimal128(18, 2))
    run_id = write_run(
        folder, {1: pa.table({"order_id": ["O-1", "O-2"], "region": ["EMEA", "APAC"], "amount": amounts})}
    )
    folder.activate()
    return run_id


@pytest.fixture
def reader(folder: Folder) -> TestClient:
    return client(folder)


SHARED = ["/close", "/runs", "/numbers", "/compare", "/lineage", "/runs/{run}", "/runs/{run}/outputs/1"]
SHARED += ["/api/v1/status", "/api/v1/runs", "/api/v1/runs/{run}", "/api/v1/runs/{run}/outputs/1/rows"]


@pytest.mark.parametrize("path", SHARED)
def test_what_one_reader_has_just_seen_costs_the_next_nothing(
    reader: TestClient, folder: Folder, run: str, path: str
) -> None:
    address = path.format(run=run)
    assert reader.get(address).status_code == 200
    with counted(folder) as use:
        assert reader.get(address).status_code == 200
    assert use == StoreUse(0, 0)


@pytest.mark.parametrize(
    ("path", "most"),
    [
        ("/runs", 10),
        ("/runs/{run}", 15),
        ("/runs/{run}/outputs/1", 12),
        ("/definitions", 12),
        ("/definitions/project/p", 30),
        ("/api/v1/runs", 10),
        ("/api/v1/runs/{run}", 15),
    ],
)
def test_the_first_reader_asks_the_store_once(
    reader: TestClient, folder: Folder, run: str, path: str, most: int
) -> None:
    reader.get("/login")
    with counted(folder) as use:
        assert reader.get(path.format(run=run)).status_code == 200
    assert use.statements <= most
    assert use.listings <= 3


def test_a_run_that_can_change_is_read_again(reader: TestClient, folder: Folder, run: str) -> None:
    with counted(folder) as use:
        served = reader.app.state.loader.load().state.served  # type: ignore[attr-defined]
        served.runs(limit=5)
        first = use.statements
        served.watch.number += 1
        served.runs(limit=5)
        assert use.statements == 2 * first > 0
        served.run(run)
        seen = use.statements
        served.watch.number += 1
        served.run(run)
        assert use.statements == seen


def test_a_watch_that_begins_after_the_page_of_the_close_computes_nothing_again(
    reader: TestClient, folder: Folder, run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert reader.get("/close").status_code == 200
    served = reader.app.state.loader.load().state.served  # type: ignore[attr-defined]
    looks = threading.Semaphore(0)
    look = StoreWatch._look

    def count_look(watch: StoreWatch) -> Any:
        looks.release()
        return look(watch)

    monkeypatch.setattr(StoreWatch, "_look", count_look)
    served.watch.begin()
    try:
        # What the first look found is compared before the second one begins.
        assert all(looks.acquire(timeout=60) for _ in range(2))
        assert served.watch.number == 0
    finally:
        served.watch.end()


def test_a_server_reads_the_close_before_somebody_opens_its_page(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = client(folder)
    asked: list[Any] = []
    is_read = threading.Event()

    def overview(*arguments: Any, **options: Any) -> Any:
        asked.append(options["period"])
        answer = close_overview(*arguments, **options)
        is_read.set()
        return answer

    monkeypatch.setattr("daybook.workspace.close.close_overview", overview)
    monkeypatch.setattr("daybook.web.served._LEAST_SECONDS", 600.0)
    reader.app.state.loader.begin()  # type: ignore[attr-defined]
    assert is_read.wait(60)
    assert reader.get("/close").status_code == 200
    assert asked == [None]
