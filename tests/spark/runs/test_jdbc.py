"""Slices of tables behind a JDBC driver: owned, dropped, and found again after the store was lost."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from daybook.errors import DaybookError
from daybook.io.formats.jdbc.table import jdbc_transaction
from daybook.model.datasource import JdbcOptions, JdbcSource
from daybook.runs.run_result import RunFailedError
from daybook.store.database.connection import back_up
from daybook.workspace.maintenance import drop_slice, list_slices, restore_store, take_over_slices
from daybook.workspace.open_workspace import OpenedWorkspace, open_workspace
from daybook.workspace.periods import lock_period
from tests.postgres import jdbc_driver, server_for_java
from tests.spark.io.cases import DERBY
from tests.workspaces import Folder, assign, to_table


@pytest.fixture(scope="module")
def postgresql() -> Iterator[dict[str, str]]:
    if jdbc_driver() is None:
        pytest.skip("PostgreSQL's JDBC driver is not here")
    with server_for_java() as url:
        yield {"url": url, "driver": "org.postgresql.Driver", "user": "postgres"}


DERBY_AND_POSTGRESQL = ["derby", pytest.param("postgresql", marks=pytest.mark.slow)]


@pytest.fixture(scope="module")
def derby(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return {"url": f"jdbc:derby:{tmp_path_factory.mktemp('derby')}/derby;create=true", "driver": DERBY}


@pytest.fixture
def database(request: pytest.FixtureRequest, is_connect: bool) -> Iterator[JdbcSource]:
    """A database with nothing in it."""
    if is_connect:
        pytest.skip("JDBC commits need a classic session")
    options = request.getfixturevalue(request.param)
    source = JdbcSource(id="db", name="db", type="jdbc", options=JdbcOptions(**options))
    yield source
    with connection(request.getfixturevalue("spark"), source) as opened:
        for table in ("result", "daybook_ledger"):
            opened.execute(f'drop table "{table}"')
        opened.commit()


def connection(spark: SparkSession, source: JdbcSource) -> Any:
    return jdbc_transaction(spark, source, Path())


def workspace(root: Path, spark: SparkSession, source: JdbcSource) -> Folder:
    """A workspace named like all the others, with its own store."""
    folder = Folder.new(root, lambda: spark)
    folder.datasource("db", "jdbc", **source.options.model_dump(exclude_none=True))
    folder.project(to_table("result", "db", register_as_dataset="booked"))
    return folder


def opened(folder: Folder) -> OpenedWorkspace:
    return open_workspace(folder.root, session=folder.session)


def rows(spark: SparkSession, source: JdbcSource) -> list[tuple[str, str]]:
    """(period of the slice, order), by Spark's own reader."""
    given = {name: str(value) for name, value in source.options.model_dump(exclude_none=True).items()}
    found = spark.read.format("jdbc").options(**given, dbtable='"result"').load()
    return sorted(tuple(row) for row in found.select("_run_period", "order_id").collect())


def refusal(folder: Folder, period: str = "2026-01", project: str = "p") -> DaybookError:
    with pytest.raises(RunFailedError) as caught:
        folder.run(period, project)
    (cause,) = caught.value.error.causes
    assert cause.code == "STORE_016"
    return cause


def own_id(folder: Folder) -> str:
    with folder.around() as around, around.store.read() as transaction:
        return transaction.identity.ids().own


@pytest.mark.parametrize("database", ["postgresql", pytest.param("derby", marks=pytest.mark.slow)], indirect=True)
def test_a_slice_has_one_owner(spark: SparkSession, tmp_path: Path, database: JdbcSource) -> None:
    first, second = (workspace(tmp_path / name, spark, database) for name in ("first", "second"))
    first.run("2026-01")
    before = rows(spark, database)
    assert own_id(first) in str(refusal(second).parameters["owner"])
    # Another project, and other spellings of the name.
    for name in ("RESULT", "app.result" if "derby" in database.options.url else "public.result"):
        first.project(to_table(name, "db"), id_="other")
        assert refusal(first, project="other").parameters["owner"] == "operation op-1 of project p"
    assert rows(spark, database) == before
    second.run("2026-02")
    assert {period for period, _ in rows(spark, database)} == {"2026-01", "2026-02"}
    taken = take_over_slices(opened(second), own_id(first), reason="retired")
    assert [each.period for each in taken.slices] == ["2026-01"]
    second.run("2026-01")
    refusal(first)


@pytest.mark.parametrize("database", DERBY_AND_POSTGRESQL, indirect=True)
def test_one_slice_is_dropped_and_the_others_stay(spark: SparkSession, tmp_path: Path, database: JdbcSource) -> None:
    folder = workspace(tmp_path / "w", spark, database)
    for period in ("2026-01", "2026-02"):
        folder.run(period)
    done = drop_slice(opened(folder), "db.result", "2026-01", reason="delivered twice")
    assert (done.rows, done.datasets) == (3, (("booked", 3),))
    assert rows(spark, database) == [("2026-02", "O-4")]
    assert [each.period for each in list_slices(opened(folder))] == ["2026-02"]
    # It is nobody's now.
    folder.project(to_table("result", "db"), id_="other")
    folder.run("2026-01", "other")
    assert [(each.period, each.project_id) for each in list_slices(opened(folder))] == [
        ("2026-01", "other"),
        ("2026-02", "p"),
    ]
    lock_period(opened(folder), "2026-02", reason="audited")
    with pytest.raises(DaybookError) as caught:
        drop_slice(opened(folder), "db.result", "2026-02", reason="wrong")
    assert caught.value.code == "RUN_002"


@pytest.mark.parametrize("database", DERBY_AND_POSTGRESQL, indirect=True)
def test_what_was_committed_after_the_backup_is_found_again(
    spark: SparkSession, tmp_path: Path, database: JdbcSource
) -> None:
    folder = workspace(tmp_path / "w", spark, database)
    for period in ("2026-01", "2026-02"):
        folder.run(period)
    store = folder.root / ".daybook/store.db"
    back_up(store)
    again = folder.run("2026-01").run_id
    drop_slice(opened(folder), "db.result", "2026-02", reason="wrong")
    store.write_bytes(b"no database any more" * 1000)
    for suffix in ("-wal", "-shm"):
        store.with_name(store.name + suffix).unlink(missing_ok=True)
    done = restore_store(opened(folder))
    assert done.recovery.unread == ()
    assert [(each.period, each.run_id) for each in done.recovery.slices] == [("2026-01", again)]
    assert [period for _, period in done.recovery.dropped] == ["2026-02"]
    (found,) = list_slices(opened(folder))
    assert (found.table, found.period, found.project_id, found.run_id, found.rows) == (
        "db.result",
        "2026-01",
        "p",
        again,
        3,
    )
    folder.run("2026-01")
    assert [period for period, _ in rows(spark, database)] == ["2026-01"] * 3


@pytest.mark.parametrize("database", ["derby"], indirect=True)
def test_fewer_places_than_the_table_has_lose_nothing(
    spark: SparkSession, tmp_path: Path, database: JdbcSource
) -> None:
    folder = workspace(tmp_path / "w", spark, database)
    for period, places in (("2026-01", 2), ("2026-02", 1)):
        share = assign("amount", f"CASE WHEN region = 'APAC' THEN ROUND(amount / 3, {places}) ELSE amount END")
        folder.project(share, to_table("result", "db", columns=["order_id", "amount"]))
        folder.run(period)
    given = {name: str(value) for name, value in database.options.model_dump(exclude_none=True).items()}
    found = spark.read.format("jdbc").options(**given, dbtable='"result"').load()
    assert {row.order_id: str(row.amount) for row in found.collect()} == {
        "O-1": "100.00",
        "O-2": "50.00",
        "O-3": "0.00",
        "O-4": "23.30",
    }
