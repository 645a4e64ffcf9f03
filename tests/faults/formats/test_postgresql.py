"""PostgreSQL that goes away in the middle, and readers who watch tables being swapped."""

import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from daybook.errors import DaybookError
from daybook.io.formats.postgresql.format import PostgresqlDatabase
from daybook.io.formats.postgresql.table import connection_uri
from daybook.io.registry import writer_for
from daybook.io.target import TableTarget
from daybook.model.datasource import PostgresqlSource
from tests.faults.formats.checks import COLUMNS, PERIOD, found, rows, sweep
from tests.faults.formats.staged_by_hand import stage_by_hand
from tests.spark.io.cases import Case, Place, write


@pytest.fixture
def case() -> Case:
    return Case("postgresql", "postgresql")


@pytest.fixture
def connection(postgresql: PostgresqlSource) -> Iterator[psycopg.Connection]:
    with psycopg.connect(connection_uri(postgresql, Path()), autocommit=True) as opened:
        yield opened


def kill_others(connection: psycopg.Connection) -> int:
    """What a restart of the server does to everybody connected."""
    query = (
        "select count(pg_terminate_backend(pid)) from pg_stat_activity "
        "where pid <> pg_backend_pid() and backend_type = 'client backend'"
    )
    row = connection.execute(query).fetchone()
    return int(row[0]) if row else 0


def stage_until_it_fails(df: DataFrame, target: TableTarget) -> None:
    """Where the killer comes too late, there is another COPY to kill."""
    for _ in range(20):
        writer_for("postgresql").stage(df, target)


def test_killed_during_copy(spark: SparkSession, place: Place, connection: psycopg.Connection) -> None:
    write(rows(spark, "old"), place.target(COLUMNS, mode="replace_period", run_period=PERIOD))
    target = place.target(COLUMNS, mode="replace_period", run_period=PERIOD)
    writer = writer_for("postgresql")
    stop = threading.Event()
    killed = 0

    def killer() -> None:
        nonlocal killed
        while not stop.is_set():
            copying = "select count(*) from pg_stat_activity where query ilike 'copy%' and state = 'active'"
            row = connection.execute(copying).fetchone()
            if row and row[0]:
                killed += kill_others(connection)

    thread = threading.Thread(target=killer)
    thread.start()
    try:
        # Slow enough that a COPY is under way when the killer looks.
        slow = rows(spark, "new", 200_000).withColumn("key", sf.concat("key", sf.repeat(sf.lit("x"), 200)))
        with pytest.raises((PySparkException, DaybookError)):
            stage_until_it_fails(slow, target)
    finally:
        stop.set()
        thread.join()
    assert killed
    assert found(spark, target) == {"old": 90}
    writer.discard(target)
    writer.commit(writer.stage(rows(spark, "new"), target), target)
    assert found(spark, target) == {"new": 90}
    assert sweep(place, target) == 0


@pytest.mark.parametrize(
    "mode", ["replace_period", *(pytest.param(mode, marks=pytest.mark.slow) for mode in ("replace", "append"))]
)
def test_killed_during_the_swap(spark: SparkSession, place: Place, connection: psycopg.Connection, mode: str) -> None:
    write(rows(spark, "old"), place.target(COLUMNS, mode="replace_period", run_period=PERIOD))
    target = place.target(COLUMNS, mode=mode, run_period=PERIOD)
    writer = writer_for("postgresql")
    staged = writer.stage(rows(spark, "new"), target)

    def restart(slices: object) -> None:
        kill_others(connection)

    with pytest.raises(DaybookError) as caught:
        writer.commit(staged, target, restart)
    assert caught.value.code == "IO_026"
    assert writer.committed(target) is None
    assert found(spark, target) == {"old": 90}
    writer.commit(staged, target)
    assert found(spark, target) == ({"old": 90, "new": 90} if mode == "append" else {"new": 90})


def test_only_acknowledged_attempts_move(spark: SparkSession, place: Place, connection: psycopg.Connection) -> None:
    target = place.target(COLUMNS)
    writer = writer_for("postgresql")
    staged = writer.stage(rows(spark, "new"), target)
    stray = sql.SQL("insert into {} values ('stray', 1, -1)").format(sql.Identifier(staged.staging))
    connection.execute(stray)
    writer.commit(staged, target)
    assert found(spark, target) == {"new": 90}


def test_readers_see_old_or_new_during_swaps(
    place: Place, connection: psycopg.Connection, postgresql: PostgresqlSource, is_long: bool
) -> None:
    """Four readers at two isolation levels; every generation has its own number of rows."""
    writer = writer_for("postgresql")
    first = place.target(COLUMNS, mode="replace_period", run_period=PERIOD)
    PostgresqlDatabase(connection, "public").create_ledger()
    connection.commit()
    staged, target = stage_by_hand(connection, place, 0, 100)
    writer.commit(staged, target)
    table = sql.Identifier(first.table or "")
    query = sql.SQL("select key, count(*), count(distinct number) from {} group by key").format(table)
    stop = threading.Event()
    anomalies: list[object] = []
    seen: set[str] = set()

    def watch(level: psycopg.IsolationLevel) -> None:
        with psycopg.connect(connection_uri(postgresql, Path())) as reader:
            reader.isolation_level = level
            while not stop.is_set():
                first_look = reader.execute(query).fetchall()
                second_look = reader.execute(query).fetchall()
                reader.commit()
                for look in (first_look, second_look):
                    if len(look) != 1 or look[0][1] != 100 + int(look[0][0]) or look[0][1] != look[0][2]:
                        anomalies.append(look)
                    else:
                        seen.add(look[0][0])
                if level == psycopg.IsolationLevel.REPEATABLE_READ and first_look != second_look:
                    anomalies.append((first_look, second_look))

    levels = [psycopg.IsolationLevel.READ_COMMITTED, psycopg.IsolationLevel.REPEATABLE_READ] * 2
    threads = [threading.Thread(target=watch, args=(level,)) for level in levels]
    for thread in threads:
        thread.start()
    try:
        for generation in range(1, 201 if is_long else 16):
            staged, target = stage_by_hand(connection, place, generation, 100 + generation)
            writer.commit(staged, target)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert anomalies == []
    assert len(seen) > 1
