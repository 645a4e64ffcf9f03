"""A store made by an earlier Daybook opens, and what it knew is read back."""

import json
import sqlite3
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text

from daybook.model.definition import RegisteredDataPin, TableVersion
from daybook.store import open_store
from daybook.store.address import parse_address
from daybook.store.database.connection import connect_store, write_transaction
from daybook.store.records import SliceTable
from daybook.store.store import MIGRATIONS

TIME = "2026-02-01T08:00:00.000000+00:00"


def insert(connection: Connection, table: str, **values: object) -> None:
    names = ", ".join(values)
    marks = ", ".join(f":{name}" for name in values)
    connection.execute(text(f"INSERT INTO {table} ({names}) VALUES ({marks})"), values)


def make_first_store(url: str, root: Path) -> None:
    """A store with the first schema: a dataset registered on Delta and one on CSV, and the run that wrote both."""
    address = parse_address(url, root)
    (root / "state").mkdir(exist_ok=True)
    engine = connect_store(address, root)
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with write_transaction(engine, address) as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        insert(
            connection,
            "run",
            id="run-1",
            project_id="close",
            project_version=1,
            calendar_id="gregorian",
            period="2026-01",
            status="completed",
            is_draft=False,
            is_sandboxed=False,
            created_at=TIME,
            attempt=1,
            token=1,
            host_name="h",
            host_id="h",
            pid=1,
            process_started="x",
        )
        for seq, dataset_id, uri, version in ((10, "net", "/lake/net", 7), (20, "report", None, None)):
            insert(
                connection,
                "definition",
                kind="dataset",
                id=dataset_id,
                name=dataset_id,
                body="{}",
                text_digest="t",
                structure_digest="s",
                latest_version=1,
                status="active",
                is_default=False,
                updated_at=TIME,
            )
            insert(
                connection,
                "definition_version",
                kind="dataset",
                id=dataset_id,
                version=1,
                body="{}",
                structure_digest="s",
                created_at=TIME,
                run_id="run-1",
                operation_seq=seq,
                pin_uri=uri,
                pin_delta_version=version,
            )
            insert(
                connection,
                "output_commit",
                run_id="run-1",
                operation_seq=seq,
                operation_id=f"op-{seq}",
                destination=uri or "/out/report.csv",
                mode="replace",
                delta_version=version,
                rows=3,
                details="{}",
                token=1,
                committed_at=TIME,
            )
    engine.dispose()


def test_the_versions_of_a_first_store_are_read_as_versions_of_delta(store_url: str, tmp_path: Path) -> None:
    make_first_store(store_url, tmp_path)
    with open_store(store_url, root=tmp_path, migrate=True) as store, store.read() as transaction:
        pin = RegisteredDataPin("/lake/net", TableVersion("delta", "7"))
        assert transaction.definitions.pin("net", 1) == pin
        assert transaction.definitions.pin("report", 1) is None
        assert [each.pin for each in transaction.retention.kept_versions()] == [pin]
        assert transaction.retention.versioned_tables() == (("delta", "/lake/net"),)
        commits = transaction.outcomes.commits("run-1")
        assert [each.table_version for each in commits] == [TableVersion("delta", "7"), None]


@pytest.mark.parametrize("table", ["definition_version", "output_commit"])
def test_what_must_not_change_is_still_protected(store_url: str, tmp_path: Path, table: str) -> None:
    make_first_store(store_url, tmp_path)
    with (
        open_store(store_url, root=tmp_path, migrate=True) as store,
        pytest.raises(Exception, match=f"{table} is immutable"),
        store.write() as transaction,
    ):
        transaction._connection.execute(text(f"UPDATE {table} SET operation_seq = 30"))


def test_locations_of_a_first_store_become_relative_to_its_workspace(tmp_path: Path) -> None:
    root = tmp_path / "close"
    root.mkdir()
    url = "sqlite:///state/store.db"
    make_first_store(url, root)
    lake, old = f"{root}/lake/net", sqlite3.connect(root / "state/store.db")
    old.execute("DROP TRIGGER output_commit_is_immutable")
    old.execute("UPDATE output_commit SET destination = ? WHERE operation_seq = 10", (lake,))
    old.execute("INSERT INTO slice VALUES (?, '2026-01', 'close', 'op-10', 'run-1', 3, ?)", (lake, TIME))
    old.execute("INSERT INTO run_snapshot VALUES ('run-1', ?)", (json.dumps({"uri": lake, "text": f'a "{lake}"'}),))
    old.execute(
        "CREATE TRIGGER output_commit_is_immutable BEFORE UPDATE ON output_commit "
        "BEGIN SELECT RAISE(ABORT, 'output_commit is immutable'); END"
    )
    old.commit()
    old.close()
    open_store(url, root=root).close()
    moved = root.rename(tmp_path / "moved")
    with open_store(url, root=moved) as store, store.read() as transaction:
        place = f"{moved}/lake/net"
        assert store.moved_from == str(root)
        assert [each.period for each in transaction.slices.of(SliceTable(place, place))] == ["2026-01"]
        assert [each.destination for each in transaction.outcomes.commits("run-1")] == [place, "/out/report.csv"]
        snapshot = json.loads(transaction.runs.snapshot("run-1"))
        # What somebody wrote is left as it was.
        assert snapshot == {"uri": place, "text": f'a "{lake}"'}
