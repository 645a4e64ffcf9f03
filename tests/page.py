"""The page of a small workspace: runs that were written down without Spark, a client, and a real browser."""

import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.testclient import TestClient

from daybook.errors import DaybookError, error_to_record
from daybook.store import open_store
from daybook.store.records import FinalStatus, OperationResult, OutputCommit
from daybook.web.access import Site
from daybook.web.connections import PageProtocol
from daybook.web.server import ServeRequest, create_app, server_config
from daybook.workspace.open_workspace import open_workspace
from tests.unit.runs.prepared import new_folder, prepared
from tests.unit.store.samples import PROCESS, later, nobody_is_dead
from tests.workspaces import Folder, to_table

RUN = "20260202-093000-abcdef"
TOKEN = "a token of the tests, long enough"
OWN = {"127.0.0.1", "localhost", "::1", "testserver"}


def page_folder(root: Path) -> Folder:
    folder = new_folder(root)
    folder.project(
        {"name": "Leave out", "type": "delete", "selector": "amount = 0"}, to_table(register_as_dataset="booked")
    )
    folder.apply()
    folder.activate()
    return folder


def record_run(
    folder: Folder,
    run_id: str = RUN,
    *,
    status: FinalStatus | None = "completed",
    period: str = "2026-01",
    error: DaybookError | None = None,
    is_draft: bool = False,
) -> None:
    """A run that waited two seconds for Spark and worked three; without a status it is still running."""
    snapshot = prepared(folder, period).snapshot.to_json()
    with open_store("sqlite:///.daybook/store.db", root=folder.root) as store, store.write() as transaction:
        lease = transaction.runs.start(
            run_id,
            "p",
            1,
            period,
            snapshot,
            user="ann",
            process=PROCESS,
            now=later(0),
            is_dead=nobody_is_dead,
            is_draft=is_draft,
        )
        transaction.runs.mark_running(lease, now=later(2))
        for result in (
            OperationResult(0, "load", "load", rows_added=3, details={"pins": {}}),
            OperationResult(1, "op-1", "delete", rows_picked=1, rows_added=0, rows_deleted=1),
            OperationResult(2, "op-2", "output", rows_written=2, duration_ms=1200),
        ):
            transaction.outcomes.record_operations(lease, result)
        place = f"{folder.root.resolve()}/lake/result"
        commit = OutputCommit(2, "op-2", place, "replace_period", rows=2, details={"dataset_id": "booked"})
        transaction.outcomes.record_commit(lease, commit, now=later(4))
        if status is not None:
            transaction.runs.finish(lease, status, now=later(5), error=error_to_record(error) if error else None)


def site(**more: Any) -> Site:
    return Site({"controlling": TOKEN}, hosts=frozenset(OWN), **more)


def client(folder: Folder, *, token: str | None = TOKEN, **more: Any) -> TestClient:
    """A program that talks to the page of a folder, with its token unless told otherwise."""
    app = create_app(open_workspace(folder.root), site(**more))
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return TestClient(app, headers=headers, follow_redirects=False)


def log_in(browser: TestClient, token: str = TOKEN) -> None:
    """As the form does it; the client keeps the cookie."""
    answer = browser.post("/login", data={"token": token}, headers={"Origin": "http://testserver"})
    assert answer.status_code == 303, answer.text


@contextmanager
def served(folder: Folder, **more: Any) -> Iterator[str]:
    """The address of a real server on this machine, with the session of the folder."""
    with served_app(folder, **more) as (address, _):
        yield address


@contextmanager
def served_app(
    folder: Folder, *, protocol: type[PageProtocol] = PageProtocol, **more: Any
) -> Iterator[tuple[str, Starlette]]:
    """A real server's address and its application."""
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    app = create_app(open_workspace(folder.root, session=folder.session), site(port=port, **more))
    config = server_config(app, ServeRequest())
    config.http, config.timeout_graceful_shutdown = protocol, 1
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    # Otherwise it is loaded after the first page, and whoever waits for events waits for that, too.
    app.state.loader.load_api()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}", app
    finally:
        app.state.loader.load().state.served.watch.is_ending = True
        server.should_exit = True
        thread.join(10)
        listening.close()


def find_browser() -> str:
    """Chromium; a test that needs it is skipped where it is missing, and fails under CI."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is not None:
        return program
    reason = "Chromium is missing: apt-get install --no-install-recommends chromium"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
