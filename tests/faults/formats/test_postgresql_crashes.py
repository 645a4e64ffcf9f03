"""A PostgreSQL server that dies for real: the old rows after its recovery, the new ones once after a retry."""

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Literal

import psycopg
import pytest
from psycopg import sql
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from daybook.errors import DaybookError
from daybook.io.formats.postgresql.format import PostgresqlDatabase
from daybook.io.formats.postgresql.table import connection_uri
from daybook.io.registry import writer_for
from daybook.io.target import TableTarget
from daybook.model.datasource import PostgresqlOptions, PostgresqlSource
from tests.faults.formats.checks import COLUMNS, PERIOD, rows, sweep
from tests.faults.formats.staged_by_hand import stage_for
from tests.postgres import CrashingServer, crashing_server
from tests.spark.io.cases import Case, Place, write

Crash = Literal["server killed", "stopped at once", "backend killed"]
CRASHES: tuple[Crash, ...] = ("server killed", "stopped at once", "backend killed")
OLD, NEW = 90, 20_000
_PATIENCE = 600.0


@pytest.fixture(scope="module")
def server() -> Iterator[CrashingServer]:
    with crashing_server() as running:
        yield running


@pytest.fixture
def place(server: CrashingServer, tmp_path: Path) -> Place:
    options = PostgresqlOptions(host=str(server.folder), database="postgres", user="postgres")
    source = PostgresqlSource(id="pg", name="PostgreSQL", type="postgresql", options=options)
    return Place(Case("postgresql", "postgresql"), tmp_path, source)


def connect(place: Place) -> psycopg.Connection:
    """Waits for a server that is still recovering."""
    assert place.postgresql is not None
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            return psycopg.connect(connection_uri(place.postgresql, Path()), autocommit=True)
        except psycopg.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def held(place: Place, target: TableTarget) -> dict[str, int]:
    """Rows by key; a row that is there twice counts twice."""
    with closing(connect(place)) as connection:
        query = sql.SQL("select key, count(*) from {} group by key").format(sql.Identifier(target.table))
        return dict(connection.execute(query).fetchall())


def crash(server: CrashingServer, place: Place, kind: Crash, backend: int) -> None:
    """Returns when the server is there again, or recovering."""
    match kind:
        case "server killed":
            server.kill()
            server.start()
        case "stopped at once":
            server.stop_immediately()
            server.start()
        case "backend killed":
            with closing(connect(place)) as bystander:
                os.kill(backend, signal.SIGKILL)
                wait_until_lost(bystander)


def wait_until_lost(connection: psycopg.Connection) -> None:
    """The server ends all connections when it notices that a backend died."""
    until = time.monotonic() + _PATIENCE
    with suppress(psycopg.OperationalError):
        while time.monotonic() < until:
            connection.execute("select 1")
        raise AssertionError("the server did not notice")


def backend_when(place: Place, query: str) -> int:
    """The backend that does what the query looks for, as soon as one does."""
    until = time.monotonic() + _PATIENCE
    with closing(connect(place)) as connection:
        while time.monotonic() < until:
            if row := connection.execute(query.encode()).fetchone():
                return int(row[0])
    raise AssertionError(f"nothing found by {query}")


def crash_when(server: CrashingServer, place: Place, kind: Crash, query: str) -> threading.Thread:
    """Crashes from another thread at the moment the query finds a backend."""

    def wait_and_crash() -> None:
        crash(server, place, kind, backend_when(place, query))

    thread = threading.Thread(target=wait_and_crash)
    thread.start()
    return thread


def write_old(place: Place) -> None:
    target = place.target(COLUMNS, mode="replace_period", run_period=PERIOD)
    with closing(connect(place)) as connection:
        PostgresqlDatabase(connection, "public").create_ledger()
        staged = stage_for(connection, target, "old", OLD)
    writer_for("postgresql").commit(staged, target)


def retry(place: Place, target: TableTarget, expected: dict[str, int]) -> None:
    """What a retry does: ask whether it is done, otherwise begin anew; then once more, which changes nothing."""
    writer = writer_for("postgresql")
    if writer.committed(target) is None:
        writer.discard(target)
        with closing(connect(place)) as connection:
            staged = stage_for(connection, target, "new", NEW)
        assert not writer.commit(staged, target).is_repeat
        assert writer.commit(staged, target).is_repeat
    assert held(place, target) == expected
    writer.discard(target)
    assert sweep(place, target) == 0


@pytest.mark.parametrize("kind", [CRASHES[0], *(pytest.param(kind, marks=pytest.mark.slow) for kind in CRASHES[1:])])
def test_in_the_middle_of_copy(spark: SparkSession, server: CrashingServer, place: Place, kind: Crash) -> None:
    write_old(place)
    target = place.target(COLUMNS, mode="replace_period", run_period=PERIOD)
    writer = writer_for("postgresql")
    # More than can be copied before the crash; what a failed task leaves is computed for nothing.
    many = rows(spark, "new", 600_000).withColumn("key", sf.concat("key", sf.repeat(sf.lit("x"), 200)))
    copying = "select pid from pg_stat_progress_copy where tuples_processed > 2000"
    thread = crash_when(server, place, kind, copying)
    try:
        with pytest.raises((PySparkException, DaybookError)):
            writer.stage(many, target)
    finally:
        thread.join()
    assert held(place, target) == {"old": OLD}
    assert writer.committed(target) is None
    writer.discard(target)
    write(rows(spark, "new"), target)
    assert held(place, target) == {"new": 90}
    assert sweep(place, target) == 0


@pytest.mark.parametrize(
    ("kind", "mode"),
    [
        ("server killed", "replace_period"),
        pytest.param("stopped at once", "replace_period", marks=pytest.mark.slow),
        ("backend killed", "replace_period"),
        pytest.param("server killed", "replace", marks=pytest.mark.slow),
        pytest.param("server killed", "append", marks=pytest.mark.slow),
    ],
)
def test_in_the_middle_of_the_swap(server: CrashingServer, place: Place, kind: Crash, mode: str) -> None:
    """All rows have been moved, the transaction is open."""
    write_old(place)
    target = place.target(COLUMNS, mode=mode, run_period=PERIOD)
    writer = writer_for("postgresql")
    with closing(connect(place)) as connection:
        staged = stage_for(connection, target, "new", NEW)

    def at_the_worst_moment(slices: object) -> None:
        moving = "select pid from pg_stat_activity where state = 'idle in transaction' and pid <> pg_backend_pid()"
        crash(server, place, kind, backend_when(place, moving))

    with pytest.raises(DaybookError) as caught:
        writer.commit(staged, target, at_the_worst_moment)
    assert caught.value.code == "IO_026"
    assert held(place, target) == {"old": OLD}
    assert writer.committed(target) is None
    # What was staged did not survive, and is not taken for an empty result.
    with pytest.raises(DaybookError) as caught:
        writer.commit(staged, target)
    assert caught.value.code == "IO_026"
    assert held(place, target) == {"old": OLD}
    retry(place, target, {"old": OLD, "new": NEW} if mode == "append" else {"new": NEW})


@pytest.mark.parametrize("kind", ["server killed", pytest.param("backend killed", marks=pytest.mark.slow)])
def test_while_rows_are_moved(server: CrashingServer, place: Place, kind: Crash) -> None:
    """The server dies inside of INSERT … SELECT."""
    write_old(place)
    target = place.target(COLUMNS, mode="replace_period", run_period=PERIOD)
    writer = writer_for("postgresql")
    with closing(connect(place)) as connection:
        staged = stage_for(connection, target, "new", 500_000)
    moving = "select pid from pg_stat_activity where state = 'active' and query like 'insert into%select%daybook-%'"
    thread = crash_when(server, place, kind, moving)
    try:
        with pytest.raises(DaybookError) as caught:
            writer.commit(staged, target)
    finally:
        thread.join()
    assert caught.value.code == "IO_026"
    assert held(place, target) == {"old": OLD}
    retry(place, target, {"new": NEW})


def watching(place: Place, target: TableTarget, stop: threading.Event, anomalies: list[object]) -> Callable[[], None]:
    """A reader that comes back after every crash; it may find nobody, but never a mixture."""
    allowed: tuple[dict[str, int], ...] = ({"old": OLD}, {"new": NEW})

    def watch() -> None:
        while not stop.is_set():
            try:
                found = held(place, target)
            except psycopg.Error:
                continue
            if found not in allowed:
                anomalies.append(found)

    return watch


def test_at_random_moments_of_the_swap(server: CrashingServer, place: Place, is_long: bool) -> None:
    """Also in COMMIT itself, where only the ledger can tell what happened."""
    chance = random.Random(7)
    writer = writer_for("postgresql")
    stop, anomalies = threading.Event(), list[object]()
    began = time.monotonic()
    write_old(place)
    lasting = time.monotonic() - began
    reader = threading.Thread(target=watching(place, place.target(COLUMNS), stop, anomalies))
    reader.start()
    outcomes = set()
    try:
        for _ in range(40 if is_long else 1):
            target = place.target(COLUMNS, mode="replace_period", run_period=PERIOD)
            with closing(connect(place)) as connection:
                staged = stage_for(connection, target, "new", NEW)
            killer = threading.Timer(chance.uniform(0.0, 3 * lasting), server.kill)
            killer.start()
            with suppress(DaybookError):
                writer.commit(staged, target)
            killer.join()
            server.start()
            done = writer.committed(target)
            assert held(place, target) == ({"old": OLD} if done is None else {"new": NEW})
            outcomes.add(done is not None)
            retry(place, target, {"new": NEW})
            write_old(place)
    finally:
        stop.set()
        reader.join()
    assert anomalies == []
    assert outcomes == {True, False} or not is_long
