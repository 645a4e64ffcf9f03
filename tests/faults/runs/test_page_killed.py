"""A server of the page that is killed during an action leaves what the next server can continue."""

import http.client
import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from daybook.demo.workspace_files import write_workspace

SECONDS = 600


@dataclass(frozen=True)
class Page:
    process: "subprocess.Popen[str]"
    port: int
    token: str

    def ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        try:
            method = "GET" if body is None else "POST"
            connection.request(method, f"/api/v1{path}", json.dumps(body or {}), headers)
            answer = connection.getresponse()
            assert answer.status in (200, 202), answer.read()
            return json.load(answer)
        finally:
            connection.close()


@contextmanager
def served(root: Path) -> Iterator[Page]:
    command = [sys.executable, "-m", "daybook", "-w", str(root), "serve", "--port", "0", "--allow-actions"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        port = urlsplit(process.stdout.readline().strip()).port
        token = process.stdout.readline().removeprefix("token: ").strip()
        try:
            yield Page(process, port or 0, token)
        finally:
            process.terminate()


def write_starter(root: Path) -> None:
    write_workspace("starter", root)
    with (root / "daybook.yaml").open("a") as settings:
        settings.write("engine: {master: 'local[1]', conf: {spark.driver.memory: 1g}}\n")


def completed(page: Page, run_id: str) -> Any:
    """The run, once it is completed."""
    deadline = time.monotonic() + SECONDS
    while (run := page.ask(f"/runs/{run_id}"))["status"] != "completed":
        assert run["status"] in ("queued", "running"), run
        assert time.monotonic() < deadline
        time.sleep(0.2)
    return run


def test_a_run_of_a_server_that_is_killed_goes_on_in_the_next(tmp_path: Path) -> None:
    write_starter(tmp_path)
    with served(tmp_path) as page:
        page.ask("/projects/monthly-sales/activate", {})
        run_id = page.ask("/runs", {"project": "monthly-sales", "period": "2026-01"})["run"]
        page.process.kill()
    with served(tmp_path) as page:
        assert page.ask(f"/runs/{run_id}")["status"] == "failed"
        assert page.ask(f"/runs/{run_id}/retry", {})["run"] == run_id
        assert completed(page, run_id)["attempt"] == 2
        names = [(action["name"], action["subject"]) for action in page.ask("/actions")]
    assert (names[0], names[-1]) == (("retry", run_id), ("activate", "monthly-sales"))
    assert (tmp_path / "out" / "sales-2026-01.csv").exists()


@pytest.mark.slow
def test_a_build_of_a_server_that_is_killed_is_done_by_the_next(tmp_path: Path) -> None:
    write_starter(tmp_path)
    with served(tmp_path) as page:
        page.ask("/projects/monthly-sales/activate", {})
        page.ask("/builds", {"period": "2026-01"})
        page.process.kill()
    with served(tmp_path) as page:
        page.ask("/builds", {"period": "2026-01"})
        deadline = time.monotonic() + SECONDS
        while (node := page.ask("/status?period=2026-01")["nodes"][0])["state"] != "fresh":
            assert node["state"] in ("never", "running", "failed", "stale"), node
            assert time.monotonic() < deadline
            time.sleep(0.2)
        runs = page.ask("/runs")["runs"]
        names = [(action["name"], action["subject"]) for action in page.ask("/actions")]
    assert [run["status"] for run in runs].count("completed") == 1
    assert names == [("build", "2026-01"), ("build", "2026-01"), ("activate", "monthly-sales")]
    assert len((tmp_path / "out" / "sales-2026-01.csv").read_text().splitlines()) > 1


def test_an_act_whose_server_is_killed_has_happened_with_its_record_or_not_at_all(
    tmp_path: Path, is_long: bool
) -> None:
    chance = random.Random(11)
    write_starter(tmp_path)
    happened: set[bool] = set()
    periods = [f"20{year}-{month:02}" for year in range(10, 26) for month in range(1, 13)]
    with served(tmp_path) as page:
        begun = time.monotonic()
        page.ask("/periods/2026-01/lock", {"reason": "the month is over"})
        duration = time.monotonic() - begun
    for period in periods[: 12 if is_long else 1]:
        with served(tmp_path) as page:
            asking = threading.Thread(target=_ask_until_it_dies, args=(page, f"/periods/{period}/lock"))
            asking.start()
            asking.join(chance.uniform(0, 2 * duration))
            page.process.kill()
            asking.join()
        with served(tmp_path) as page:
            locked = {row["identifier"] for row in page.ask(f"/periods?year={period[:4]}") if row["status"] == "locked"}
            actions = {action["subject"] for action in page.ask("/actions?limit=1000")}
            logged = {line["subject"] for line in page.ask("/log")["lines"] if line["act"] == "lock"}
            assert page.ask("/log/verification")["problems"] == []
        assert (period in locked) == (period in actions) == (period in logged)
        happened.add(period in locked)
    assert not is_long or happened == {False, True}


def _ask_until_it_dies(page: Page, path: str) -> None:
    with suppress(OSError, http.client.HTTPException):
        page.ask(path, {"reason": "the month is over"})
