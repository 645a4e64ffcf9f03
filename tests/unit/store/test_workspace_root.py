"""A store inside of its workspace can be moved and copied with it."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from daybook.model.definition import RegisteredDataPin, TableVersion
from daybook.store import open_store
from daybook.store.database.workspace_root import WorkspaceRoot
from daybook.store.records import OperationResult, OutputCommit, Registration, SliceTable
from tests.unit.store.samples import NOW, PROCESS, make_dataset, new_run

URL = "sqlite:///.daybook/store.db"


def fill(root: Path, url: str = URL) -> None:
    """What a run that wrote and registered a table leaves in the store."""
    lake = f"{root}/lake/net"
    with open_store(url, root=root) as store, store.write() as transaction:
        run = {**new_run("r1"), "snapshot": f'{{"root": "{root}", "uri": "{lake}", "other": "{root}-else/x"}}'}
        lease = transaction.runs.start(**run, process=PROCESS, now=NOW)
        pins = {"pins": {"input": [{"kind": "delta", "uri": lake, "version": "0", "table_id": "t"}]}}
        transaction.outcomes.record_operations(lease, OperationResult(0, "load", "load", details=pins))
        details = {"identity": lake, "format": "delta"}
        commit = OutputCommit(
            20, "op-20", lake, "replace_period", table_version=TableVersion("delta", "1"), rows=1, details=details
        )
        transaction.outcomes.record_commit(lease, commit, now=NOW, period="2026-01")
        pin = RegisteredDataPin(lake, TableVersion("delta", "1"))
        transaction.definitions.register(
            make_dataset({"a": "string"}, dataset_id="net"), Registration("close", "r1", 20, pin), now=NOW
        )


def everything_kept(root: Path) -> str:
    """All texts in the tables of the store."""
    with closing(sqlite3.connect(root / ".daybook/store.db")) as database, database:
        return "\n".join(line for line in database.iterdump() if not line.startswith('INSERT INTO "workspace_root'))


def check(root: Path) -> None:
    lake = f"{root}/lake/net"
    with open_store(URL, root=root) as store, store.read() as transaction:
        (commit,) = transaction.outcomes.commits("r1")
        assert (commit.destination, commit.table.identity) == (lake, lake)
        assert transaction.slices.owner(commit.table, "2026-01") is not None
        assert transaction.slices.of(SliceTable(lake, lake))[0].destination == lake
        assert transaction.outcomes.has_versions(lake)
        pin = transaction.definitions.pin("net", 1)
        assert pin is not None
        assert pin.uri == lake
        (load, *_) = transaction.outcomes.operations("r1")
        assert load.details["pins"]["input"][0]["uri"] == lake


@pytest.mark.parametrize("name", ["moved", 'Größe "quoted"', "a [b] (c)"])
def test_a_moved_workspace_finds_its_tables(tmp_path: Path, name: str) -> None:
    root = tmp_path / "close"
    root.mkdir()
    fill(root)
    check(root)
    assert f"{root}/" not in everything_kept(root)
    moved = root.rename(tmp_path / name)
    check(moved)
    with open_store(URL, root=moved) as store:
        assert store.moved_from == str(root)
        with store.read() as transaction:
            # Another folder whose name begins alike is another folder.
            assert f"{root}-else/x" in transaction.runs.snapshot("r1")
        store.settle(moved)
    with open_store(URL, root=moved) as store:
        assert store.moved_from is None


def test_a_copy_has_tables_of_its_own(tmp_path: Path) -> None:
    root = tmp_path / "close"
    root.mkdir()
    fill(root)
    shutil.copytree(root, tmp_path / "copy")
    check(tmp_path / "copy")
    check(root)


def test_a_workspace_is_the_same_through_a_link(tmp_path: Path) -> None:
    root = tmp_path / "close"
    root.mkdir()
    fill(root)
    (tmp_path / "link").symlink_to(root)
    with open_store(URL, root=tmp_path / "link") as store, store.read() as transaction:
        assert store.moved_from is None
        (commit,) = transaction.outcomes.commits("r1")
        assert commit.destination == f"{tmp_path}/link/lake/net"
        assert transaction.slices.owner(commit.table, "2026-01") is not None


def test_a_store_outside_of_the_workspace_keeps_absolute_locations(tmp_path: Path) -> None:
    root = tmp_path / "close"
    root.mkdir()
    url = f"sqlite:///{tmp_path}/store.db"
    fill(root, url)
    with open_store(url, root=tmp_path / "other") as store, store.read() as transaction:
        assert transaction.outcomes.commits("r1")[0].destination == f"{root}/lake/net"


@pytest.mark.parametrize(
    ("location", "kept"),
    [
        ("/w/close/lake", "{workspace}/lake"),
        ("/w/close", "{workspace}"),
        ("sqlite:/w/close/data.db/t", "sqlite:{workspace}/data.db/t"),
        ("/w/closed/lake", "/w/closed/lake"),
        ("/other/w/close/lake", "/other/w/close/lake"),
        ("s3://w/close", "s3://w/close"),
        ("wh.net", "wh.net"),
    ],
)
def test_only_what_lies_below_the_workspace_is_relative(location: str, kept: str) -> None:
    root = WorkspaceRoot("/w/close", "/w/close")
    assert root.shorten(location) == kept
    assert root.extend(kept) == location
