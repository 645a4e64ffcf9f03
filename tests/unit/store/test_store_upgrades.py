"""Two versions of Daybook on one store: migrated once and completely, or refused; real processes, really killed."""

import itertools
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import text

from daybook.errors import DaybookError
from daybook.model.definition import RegisteredDataPin, TableVersion
from daybook.store import open_store
from daybook.store.address import EmbeddedStore, parse_address
from daybook.store.database.connection import back_up, find_damage, list_backups, restore_backup
from daybook.store.store import LATEST_SCHEMA
from tests.dying import migrate, migrate_when_told
from tests.forked import forked
from tests.unit.store.samples import PROCESS, new_run
from tests.unit.store.test_store_migrations import make_first_store

pytestmark = pytest.mark.usefixtures("stores_by_alembic")

# How many statements lie between two moments at which a process is killed.
STEPS = [pytest.param(12, id="12"), pytest.param(3, id="3", marks=pytest.mark.slow)]


def require_migrated(url: str, root: Path) -> None:
    """Everything that the first store had, once, in the newest schema."""
    with open_store(url, root=root) as store, store.read() as transaction:
        connection = transaction._connection
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalars().all() == [LATEST_SCHEMA]
        assert transaction.definitions.pin("net", 1) == RegisteredDataPin("/lake/net", TableVersion("delta", "7"))
        commits = transaction.outcomes.commits("run-1")
        assert [each.table_version for each in commits] == [TableVersion("delta", "7"), None]
        assert transaction.identity.ids().own


def test_processes_that_migrate_at_the_same_time_migrate_once(store_url: str, tmp_path: Path) -> None:
    make_first_store(store_url, tmp_path)
    processes = [forked(migrate_when_told, store_url, tmp_path) for _ in range(4)]
    assert [process.answer() for process in processes] == ["ready"] * 4
    for process in processes:
        process.tell("go")
    assert [process.answer() for process in processes] == ["done"] * 4
    assert [process.wait() for process in processes] == [0] * 4
    require_migrated(store_url, tmp_path)


@pytest.mark.parametrize("step", STEPS)
def test_a_process_killed_while_it_migrates_leaves_the_store_as_it_was(
    store_url: str, tmp_path: Path, step: int
) -> None:
    make_first_store(store_url, tmp_path)
    address = parse_address(store_url, tmp_path)
    killed = 0
    for number in itertools.count(1, step):
        process = forked(migrate, store_url, tmp_path, number)
        is_done = process.answer() == "done"
        process.wait()
        if isinstance(address, EmbeddedStore):
            assert find_damage(address.path) is None
            assert {find_damage(backup) for backup in list_backups(address.path)} <= {None}
        if is_done:
            break
        killed += 1
    assert killed >= 3
    require_migrated(store_url, tmp_path)


def test_a_process_that_has_the_store_open_writes_nothing_after_a_newer_daybook_migrated_it(
    store_url: str, tmp_path: Path
) -> None:
    with (
        open_store(store_url, root=tmp_path, migrate=True) as store,
        open_store(store_url, root=tmp_path) as newer,
    ):
        with newer.write() as transaction:
            transaction._connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
        with pytest.raises(DaybookError) as caught, store.write() as transaction:
            transaction.runs.start(**new_run("r1"), process=PROCESS, now=transaction.now())
        assert (caught.value.code, caught.value.parameters["found"]) == ("STORE_005", "9999")
        with store.read() as transaction:
            assert transaction.runs.find("r1") is None


def test_an_embedded_store_is_as_it_was_after_a_newer_one_was_refused(tmp_path: Path) -> None:
    open_store("sqlite:///store.db", root=tmp_path).close()
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        before = list(connection.iterdump())
    with pytest.raises(DaybookError) as caught:
        open_store("sqlite:///store.db", root=tmp_path)
    assert (caught.value.code, caught.value.hint) == ("STORE_005", "upgrade Daybook")
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        assert list(connection.iterdump()) == before


def test_a_sound_store_of_an_earlier_daybook_is_not_replaced_by_a_backup(tmp_path: Path) -> None:
    make_first_store("sqlite:///state/store.db", tmp_path)
    store = tmp_path / "state" / "store.db"
    back_up(store)
    with pytest.raises(DaybookError) as caught:
        restore_backup(store)
    assert caught.value.code == "STORE_043"
