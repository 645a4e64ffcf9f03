"""A server of Spark Connect and a client that cannot open each other's folders: all goes through the session.

The server runs as another user in a closed folder, where possible in a network of its own; the client is an owner
without the right to open what belongs to others, and its workspace is closed, too.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.catalogs import DELTA, ICEBERG, MISSING, catalog_jars
from tests.close_by_hand import close_by_hand
from tests.close_by_name import PROJECTS, write_close
from tests.connect_server import CLOSED, NOBODY, ConnectServer, can_be_another_user, connect_server, line_to, watched
from tests.workspaces import ORDERS, Folder, no_session, to_path, to_table

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not catalog_jars(), reason=MISSING),
    pytest.mark.skipif(not can_be_another_user(), reason="another user needs root and setpriv"),
]
ROOT = Path(__file__).parents[3]
PROGRAM = (sys.executable, "-m", "daybook")
COMMAND_SECONDS = 600


@pytest.fixture(scope="module")
def server() -> Iterator[ConnectServer]:
    with connect_server() as running:
        yield running


@dataclass
class Client:
    """The program in a closed workspace, without the right to open what belongs to others."""

    folder: Folder
    remote: str
    catalog: str
    schema: str

    def daybook(self, *words: str, before: Sequence[str] = ()) -> str:
        done = self.start(*PROGRAM, *words, before=before)
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
        return done.stdout

    def start(self, *command: str, before: Sequence[str] = ()) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*before, "setpriv", *CLOSED, *command],
            cwd=self.folder.root,
            env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )

    def sql(self, *statements: str) -> list[list[Any]]:
        """The rows of the last statement, by a client of its own."""
        program = (
            "import json, sys; from pyspark.sql import SparkSession as S;"
            "s = S.builder.remote(sys.argv[1]).getOrCreate();"
            "rows = [s.sql(text).collect() for text in sys.argv[2:]][-1];"
            "print(json.dumps([[str(value) for value in row] for row in rows])); s.stop()"
        )
        command = [sys.executable, "-c", program, self.remote, *statements]
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=True)
        rows: list[list[Any]] = json.loads(done.stdout.splitlines()[-1])
        return rows

    def last_run(self, project: str) -> str:
        return next(run.id for run in self.folder.all_runs() if run.project_id == project)


def new_client(root: Path, server: ConnectServer, catalog: str, schema: str) -> Client:
    folder = Folder(root, no_session)
    client = Client(folder, server.remote, catalog, schema)
    client.sql(*(f"CREATE NAMESPACE {catalog}.{name}" for name in (schema, f"{schema}_state", f"{schema}_drafts")))
    return client


def settings_of(remote: str, schema: str) -> dict[str, Any]:
    return {
        "engine": {"remote": remote},
        "state": {"datasource_id": "warehouse", "schema": f"{schema}_state"},
        "sandbox": {"datasource_id": "warehouse", "schema": f"{schema}_drafts"},
    }


@dataclass
class BuiltClose:
    """The close of the demonstration, built once for the tests that look at it; `run` is that of its main project."""

    client: Client
    data: Path
    run: str

    @property
    def root(self) -> Path:
        return self.client.folder.root


@pytest.fixture(scope="module")
def close(server: ConnectServer, tmp_path_factory: pytest.TempPathFactory) -> BuiltClose:
    folder = tmp_path_factory.mktemp("demo")
    root, data = folder / "w", folder / "data"
    client = new_client(root, server, ICEBERG, "demo")
    write_close(root, data, ICEBERG, "demo", settings_of(server.remote, "demo"))
    root.chmod(0o700)
    for project in PROJECTS:
        client.daybook("activate", project)
    client.daybook("build", "--period", "2026-01", "--jobs", "2")
    return BuiltClose(client, data, client.last_run("close"))


def test_neither_side_opens_the_folder_of_the_other(server: ConnectServer, close: BuiltClose) -> None:
    as_server = ["setpriv", f"--reuid={NOBODY}", "--clear-groups", "ls", str(close.root)]
    assert subprocess.run(as_server, capture_output=True, check=False).returncode != 0
    assert close.client.start("ls", str(server.folder)).returncode != 0


def test_the_close_of_the_demonstration_is_built_as_by_hand(close: BuiltClose) -> None:
    expected = {key: (cell.actual, cell.budget) for key, cell in close_by_hand(close.data, "2026-01").items()}
    rows = close.client.sql(f"SELECT account_type, cost_centre, actual, budget FROM {ICEBERG}.demo.actual_vs_budget")
    assert {(row[0], row[1]): (Decimal(row[2]), Decimal(row[3])) for row in rows} == expected
    assert (close.root / "out/management-summary-2026-01.xlsx").is_file()
    # Two nodes at once read the same files, and what they landed twice was dropped.
    assert "Left behind: nothing" in close.client.daybook("doctor")
    assert not list((close.root / ".daybook").glob("landing*"))


def test_what_was_built_is_explained_replayed_and_recomputed(close: BuiltClose) -> None:
    client, run = close.client, close.run
    type_, centre = sorted(close_by_hand(close.data, "2026-01"))[0]
    assert centre in client.daybook("explain", run, "120", f"account_type={type_}", f"cost_centre={centre}")
    client.daybook("replay", run)
    client.daybook("recompute", run)


def test_a_draft_is_compared_with_what_was_built(close: BuiltClose) -> None:
    client, run = close.client, close.run
    client.daybook("run", "close", "--period", "2026-01", "--as-of", "2026-01-31", "--draft")
    draft = client.last_run("close")
    assert draft != run
    client.daybook("diff", run, draft)
    client.daybook("bridge", run, draft, "--measure", "actual")


def test_what_was_built_is_reported_and_kept(close: BuiltClose) -> None:
    client = close.client
    client.daybook("report", close.run)
    client.daybook("gc")
    assert "fresh" in client.daybook("status", "--ask", "--period", "2026-01")
    client.daybook("replay", close.run)


def test_the_notebook_of_the_examples_runs_on_a_session_that_it_is_given(server: ConnectServer, tmp_path: Path) -> None:
    client = new_client(tmp_path, server, ICEBERG, "notebook")
    program = (
        "import sys; from pyspark.sql import SparkSession; from tests.notebook import EXAMPLES, run_notebook;"
        "spark = SparkSession.builder.remote(sys.argv[1]).getOrCreate();"
        "names = run_notebook(EXAMPLES / 'close.ipynb', {'spark': spark}); spark.stop()"
    )
    places = (f"DAYBOOK_CATALOG={ICEBERG}", "DAYBOOK_SCHEMA=notebook", "DAYBOOK_STATE_SCHEMA=notebook_state")
    done = client.start("env", *places, f"DAYBOOK_WORKSPACE={tmp_path}", sys.executable, "-c", program, server.remote)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    rows = client.sql(f"SELECT region, sales FROM {ICEBERG}.notebook.notebook_sales")
    # After the correction: 100 + 55, 70.25 + 20, and the order without a region.
    assert sorted(rows) == [["North", "155.00"], ["South", "90.25"], ["unknown", "9.99"]]


def orders_client(root: Path, server: ConnectServer, remote: str, catalog: str, schema: str) -> Client:
    """A workspace of many orders that two pieces cannot hold, with a table that has January."""
    client = new_client(root, server, catalog, schema)
    folder = Folder.new(root, no_session, **settings_of(remote, schema))
    folder.datasource("warehouse", "spark_catalog", catalog=catalog, schema=schema)
    folder.project(to_table("result", "warehouse"), to_path("out/{{identifier}}.csv"))
    folder.write_csv("data/orders.csv", [{**ORDERS[0], "order_id": f"J-{number}"} for number in range(20)])
    root.chmod(0o700)
    client.daybook("activate", "p")
    client.daybook("run", "p", "--period", "2026-01")
    more = [{**ORDERS[3], "order_id": f"F-{number}", "amount": "1.00"} for number in range(300)]
    folder.write_csv("data/orders.csv", [*folder.csv_rows("data/orders.csv"), *more])
    return client


BROKEN = [
    (point, action, catalog)
    for point in ("landing", "statement", "committed")
    for action in ("die", "cut", "server")
    for catalog in ((ICEBERG, DELTA) if action == "die" else (ICEBERG,))
]


@pytest.mark.parametrize(("point", "action", "catalog"), BROKEN)
def test_what_breaks_is_continued_and_every_row_is_there_once(
    server: ConnectServer, tmp_path: Path, point: str, action: str, catalog: str
) -> None:
    """The client dies, its connection is cut, or the server dies; then the run is retried."""
    schema = f"{point}_{action}"
    with line_to(server) as line:
        remote = line.remote if action == "cut" else server.remote
        client = orders_client(tmp_path / "w", server, remote, catalog, schema)
        assert server.process is not None
        told = {"die": "die", "cut": f"cut:{line.control}", "server": f"server:{server.process.pid}"}[action]
        script = str(Path(__file__).with_name("broken_client.py"))
        done = client.start(sys.executable, script, point, told, "run", "p", "--period", "2026-02")
        if action == "server":
            assert done.returncode != 0, done.stdout
            server.kill()
            server.start()
        if done.returncode != 0:
            client.daybook("retry", client.last_run("p"))
        counted = f"SELECT _run_period, COUNT(*), COUNT(DISTINCT order_id) FROM {catalog}.{schema}.result GROUP BY 1"
        assert sorted(client.sql(counted)) == [["2026-01", "20", "20"], ["2026-02", "300", "300"]]
        assert len(client.folder.csv_rows("out/2026-02.csv")) == 300
        client.daybook("doctor", "--fix")
        client.daybook("gc")
        assert client.sql(f"SHOW TABLES IN {catalog}.{schema}") == [[schema, "result", "False"]]
        client.daybook("replay", client.last_run("p"))


@pytest.mark.skipif(shutil.which("strace") is None, reason="what a process opens is seen by strace")
def test_no_path_of_one_side_is_asked_for_by_the_other(tmp_path: Path) -> None:
    """Every path that either of them asks the system for is written down while a close is run and explained."""
    seen = {side: tmp_path / f"{side}.paths" for side in ("client", "server")}
    with connect_server(watched(seen["server"])) as server:
        root = tmp_path / "w"
        client = orders_client(root, server, server.remote, ICEBERG, "watched")
        before = watched(seen["client"])
        client.daybook("run", "p", "--period", "2026-02", before=before)
        own_folder = str(server.folder)
    quoted = {side: set(re.findall(r'"(/[^"]*)"', file.read_text(errors="replace"))) for side, file in seen.items()}
    assert any(path.startswith(str(root)) for path in quoted["client"])
    assert any(path.startswith(own_folder) for path in quoted["server"])
    assert not [path for path in quoted["client"] if path.startswith(own_folder)]
    assert not [path for path in quoted["server"] if path.startswith(str(root))]
