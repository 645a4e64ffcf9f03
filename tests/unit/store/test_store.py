"""Opening stores: made, migrated, refused."""

import re
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from daybook.errors import DaybookError
from daybook.store import open_store
from daybook.store.database.tables import METADATA
from daybook.store.store import KNOWN_SCHEMAS, LATEST_SCHEMA, MIGRATIONS, MetadataStore
from tests.new_stores import BY_ALEMBIC, copy_schema, made_by
from tests.postgres import PostgresServer

pytestmark = pytest.mark.usefixtures("stores_by_alembic")


def test_the_code_knows_the_migrations_it_ships() -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    script = ScriptDirectory.from_config(config)
    assert script.get_current_head() == LATEST_SCHEMA
    assert sorted(revision.revision for revision in script.walk_revisions()) == sorted(KNOWN_SCHEMAS)


def test_migrations_make_the_tables_the_code_uses(store: MetadataStore) -> None:
    with store.read() as transaction:
        context = MigrationContext.configure(transaction._connection)
        difference = compare_metadata(context, METADATA)
        tables = set(inspect(transaction._connection).get_table_names())
    # Alembic cannot read the condition of a partial index back from SQLite.
    assert [item for item in difference if "uq_run_active" not in str(item)] == []
    assert tables == {*METADATA.tables, "alembic_version"}


def test_stores_that_tests_copy_are_what_alembic_makes(tmp_path: Path) -> None:
    """All but the id of a workspace, its root, and the first line of its log with the head."""
    stores = []
    for name, upgrade in (("made", BY_ALEMBIC), ("copied", copy_schema)):
        with made_by(upgrade):
            open_store("sqlite:///store.db", root=tmp_path / name).close()
        with closing(sqlite3.connect(tmp_path / name / "store.db")) as connection:
            ((identity,),) = connection.execute("SELECT id FROM workspace_identity").fetchall()
            dumped = (re.sub(r'(INSERT INTO "log_\w+") .*', r"\1", line) for line in connection.iterdump())
            lines = sorted(line.replace(identity, "ID") for line in dumped)
            stores.append([line.replace(str((tmp_path / name).resolve()), "ROOT") for line in lines])
    assert stores[0] == stores[1]


def test_an_embedded_store_is_made_where_it_is_missing(tmp_path: Path) -> None:
    open_store("sqlite:///.daybook/store.db", root=tmp_path).close()
    with closing(sqlite3.connect(tmp_path / ".daybook" / "store.db")) as connection, connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_store_in_another_journal_mode_is_switched_back(tmp_path: Path) -> None:
    open_store("sqlite:///store.db", root=tmp_path).close()
    connection = sqlite3.connect(tmp_path / "store.db")
    assert connection.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",)
    connection.close()
    open_store("sqlite:///store.db", root=tmp_path).close()
    connection = sqlite3.connect(tmp_path / "store.db")
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_many_openers_of_a_new_store_all_succeed(tmp_path: Path) -> None:
    def opened(_: int) -> str | None:
        with open_store("sqlite:///store.db", root=tmp_path) as store, store.read() as transaction:
            return str(transaction._connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one())

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(opened, range(16))) == [LATEST_SCHEMA] * 16


@pytest.mark.postgres
def test_a_shared_store_is_set_up_only_when_asked(postgres_server: PostgresServer, tmp_path: Path) -> None:
    url = postgres_server.create_database()
    with pytest.raises(DaybookError) as caught:
        open_store(url, root=tmp_path)
    assert (caught.value.code, caught.value.parameters["found"]) == ("STORE_004", "none")
    with ThreadPoolExecutor(4) as pool:
        stores = list(pool.map(lambda _: open_store(url, root=tmp_path, migrate=True), range(4)))
    for store in stores:
        assert store.is_shared
        store.close()
    open_store(url, root=tmp_path).close()


def test_a_store_of_a_newer_daybook_is_refused(store_url: str, tmp_path: Path) -> None:
    with open_store(store_url, root=tmp_path, migrate=True) as store, store.write() as transaction:
        transaction._connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(DaybookError) as caught:
        open_store(store_url, root=tmp_path, migrate=True)
    assert (caught.value.code, caught.value.parameters["found"]) == ("STORE_005", "9999")


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_text("name: not a database, although it is long enough to have a header" * 20)
    with pytest.raises(DaybookError) as caught:
        open_store("sqlite:///store.db", root=tmp_path)
    assert caught.value.code == "STORE_003"


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    with pytest.raises(DaybookError) as caught:
        open_store("sqlite:///state/store.db", root=tmp_path)
    assert caught.value.code == "STORE_003"


def test_a_server_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DaybookError) as caught:
        open_store(f"postgresql://nobody@/nothing?host={tmp_path}", root=tmp_path)
    assert caught.value.code == "STORE_003"


def test_the_package_is_cheap_to_import() -> None:
    program = "import sys, daybook.store, daybook.cli.app; print('sqlalchemy' in sys.modules, 'alembic' in sys.modules)"
    asked = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert asked.stdout.split() == ["False", "False"]


def test_an_up_to_date_store_opens_without_alembic(tmp_path: Path) -> None:
    open_store("sqlite:///store.db", root=tmp_path).close()
    program = (
        "import sys; from pathlib import Path; from daybook.store import open_store; "
        "open_store('sqlite:///store.db', root=Path(sys.argv[1])).close(); print('alembic' in sys.modules)"
    )
    asked = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    assert asked.stdout.strip() == "False"


def test_mistakes_in_our_sql_are_not_the_user_s(store: MetadataStore) -> None:
    with pytest.raises(Exception, match="nowhere") as caught, store.read() as transaction:
        transaction._connection.execute(text("SELECT * FROM nowhere"))
    assert not isinstance(caught.value, DaybookError)


def test_the_store_has_a_clock(store: MetadataStore) -> None:
    with store.read() as transaction:
        first = transaction.now()
        assert first.utcoffset() is not None
        assert transaction.now() >= first


def test_a_store_that_another_process_holds_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daybook.store.database.connection.BUSY_SECONDS", 0)
    with (
        open_store("sqlite:///store.db", root=tmp_path) as store,
        closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DaybookError) as caught, store.write():
            pass
    assert caught.value.code == "STORE_006"
