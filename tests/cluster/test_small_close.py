"""A workspace runs on a cluster as it does on one machine, also when executors die."""

import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import psycopg
import pytest

from benchmarks.cluster import Cluster
from daybook.engine.java.launch import spark_home
from tests.cluster.conftest import LINES, Expected
from tests.cluster.small_close import SmallClose, result_of
from tests.postgres import PostgresServer

pytestmark = pytest.mark.postgres

_SECONDS = 900


def test_on_a_standalone_cluster(
    cluster: Cluster, expected: Expected, tmp_path: Path, postgres_server: PostgresServer
) -> None:
    close = SmallClose(tmp_path, cluster.master, LINES, postgres=postgres_server.create_database())
    expected.check(close, close.run())


def test_on_a_cluster_inside_one_process(expected: Expected, tmp_path: Path, postgres_server: PostgresServer) -> None:
    close = SmallClose(tmp_path, "local-cluster[2,1,1024]", LINES, postgres=postgres_server.create_database())
    try:
        expected.check(close, close.run())
    finally:
        # Workers inside the driver keep their executors' logs beside Spark itself, and cannot be told otherwise.
        shutil.rmtree(spark_home() / "work", ignore_errors=True)


def test_an_executor_killed_while_it_writes_files(
    cluster: Cluster, expected: Expected, tmp_path: Path, postgres_server: PostgresServer
) -> None:
    close = SmallClose(tmp_path, cluster.master, LINES, postgres=postgres_server.create_database())
    table = close.root / "lake" / "lines"

    def has_written() -> bool:
        """A task has committed its file, whose shuffled input came from both executors."""
        return any(table.glob("daybook-*/*/_temporary/0/task_*"))

    text = _run_with_a_kill(close, cluster, has_written)
    expected.check(close, result_of(text))


def test_an_executor_killed_while_it_copies_into_postgresql(
    cluster: Cluster, expected: Expected, tmp_path: Path, postgres_server: PostgresServer
) -> None:
    database = postgres_server.create_database()
    close = SmallClose(tmp_path, cluster.master, LINES, postgres=database)
    with psycopg.connect(database, autocommit=True) as connection:

        def is_copying() -> bool:
            query = "select count(*) from pg_stat_activity where datname = current_database() and query like 'COPY %'"
            row = connection.execute(query).fetchone()
            return row is not None and row[0] > 0

        text = _run_with_a_kill(close, cluster, is_copying)
    expected.check(close, result_of(text))


def _run_with_a_kill(close: SmallClose, cluster: Cluster, is_time: Callable[[], bool]) -> str:
    """The run's report, after one of its executors was killed when it was time and before it had committed."""
    output = close.root / "output.json"
    with output.open("wb") as stream, subprocess.Popen(close.command(), stdout=stream) as process:
        try:
            _wait_for(is_time, process)
            victim = cluster.executors()[0]
            victim.kill()
            victim.wait()
            assert not (close.root / "lake" / "lines" / "_delta_log").exists(), "the run had committed already"
            code = process.wait(_SECONDS)
        finally:
            process.kill()
    assert code == 0, output.read_text()
    return output.read_text()


def _wait_for(is_time: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _SECONDS
    while not is_time():
        assert process.poll() is None, "the run ended before it was time"
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_the_cluster_has_ended_its_executors(cluster: Cluster) -> None:
    """Applications that end give their executors back."""
    _, alive = psutil.wait_procs(cluster.executors(), timeout=60)
    assert alive == []
