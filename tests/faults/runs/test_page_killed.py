"""A server of the page that is killed during an action leaves a run that the next server can continue."""

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from daybook.demo.data_files import write_workspace

SECONDS = 120


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


def test_a_run_of_a_server_that_is_killed_goes_on_in_the_next(tmp_path: Path) -> None:
    write_workspace("starter", tmp_path)
    with (tmp_path / "daybook.yaml").open("a") as settings:
        settings.write("engine: {master: 'local[1]', conf: {spark.driver.memory: 1g}}\n")
    with served(tmp_path) as page:
        page.ask("/projects/monthly-sales/activate", {})
        run_id = page.ask("/runs", {"project": "monthly-sales", "period": "2026-01"})["run"]
        page.process.kill()
    with served(tmp_path) as page:
        assert page.ask(f"/runs/{run_id}")["status"] == "failed"
        assert page.ask(f"/runs/{run_id}/retry", {})["run"] == run_id
        deadline = time.monotonic() + SECONDS
        while (run := page.ask(f"/runs/{run_id}"))["status"] != "completed":
            assert run["status"] in ("queued", "running"), run
            assert time.monotonic() < deadline
            time.sleep(0.2)
        assert run["attempt"] == 2
        names = [(action["name"], action["subject"]) for action in page.ask("/actions")]
    assert (names[0], names[-1]) == (("retry", run_id), ("activate", "monthly-sales"))
    assert (tmp_path / "out" / "sales-2026-01.csv").exists()
