"""A workspace is known by the id in its store: neither its name nor its folder makes it the owner of a slice."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

from daybook.errors import DaybookError
from daybook.store import open_store
from daybook.store.database.connection import back_up, list_backups, restore_backup
from daybook.workspace.maintenance import list_slices, take_over_slices
from daybook.workspace.open_workspace import open_workspace
from tests.unit.store.test_store_migrations import make_first_store
from tests.workspaces import Folder, no_session, to_table
from tests.written_runs import write_run

EVERY_TABLE = pytest.mark.parametrize(
    ("type_", "path"), [("delta", "lake"), ("parquet", "files"), ("csv", "files"), ("sqlite", "data.db")]
)


def workspace(root: Path, type_: str = "delta", path: str = "lake", name: str = "close") -> Folder:
    """A workspace with its own store whose project writes to a table beside it."""
    folder = Folder.new(root, no_session, name=name)
    folder.datasource("shared", type_, path=str(root.parent / path))
    folder.project(to_table("result", "shared", columns=["order_id"]))
    return folder


def write(folder: Folder, period: str = "2026-01", *ids: str) -> str:
    return write_run(folder, {1: pa.table({"order_id": pa.array(ids or ("a",), pa.string())})}, period)


def refusal(folder: Folder, period: str = "2026-01") -> DaybookError:
    with pytest.raises(DaybookError) as caught:
        write(folder, period)
    assert caught.value.code == "STORE_016"
    return caught.value


def own_id(folder: Folder) -> str:
    with folder.around() as around, around.store.read() as transaction:
        return transaction.identity.ids().own


@EVERY_TABLE
def test_a_second_workspace_of_the_same_name_is_another_owner(tmp_path: Path, type_: str, path: str) -> None:
    first, second = (workspace(tmp_path / name, type_, path) for name in ("first", "second"))
    write(first)
    error = refusal(second)
    assert error.parameters["owner"] == f"operation op-1 of project p of workspace close (id {own_id(first)})"
    assert f"daybook slices take-over {own_id(first)}" in (error.hint or "")
    # Other periods are free, and the owner goes on.
    write(second, "2026-02")
    write(first)
    refusal(first, "2026-02")


@EVERY_TABLE
def test_slices_are_taken_over_deliberately(tmp_path: Path, type_: str, path: str) -> None:
    first, second = (workspace(tmp_path / name, type_, path) for name in ("first", "second"))
    written = {period: write(first, period) for period in ("2026-01", "2026-02")}
    second.apply()
    opened = open_workspace(second.root)
    taken = take_over_slices(opened, own_id(first), reason="the first one is retired")
    assert {(each.period, each.run_id) for each in taken.slices} == set(written.items())
    assert {(each.table, each.run_id) for each in list_slices(opened)} == {
        ("shared.result", run) for run in written.values()
    }
    write(second)
    # What the second has written since is no longer the first one's.
    refusal(first)
    with second.around() as around, around.store.read() as transaction:
        (record,) = transaction.actions.latest(5)
    assert (record.name, record.subject, record.done_by) == ("take-over", own_id(first), opened.user)
    assert record.details == {"reason": "the first one is retired"}


def test_only_a_workspace_that_wrote_a_table_of_the_projects_is_taken_over(tmp_path: Path) -> None:
    first, second = workspace(tmp_path / "first"), workspace(tmp_path / "second")
    write(first)
    second.apply()
    for wrong in ("close", own_id(second), "0" * 32):
        with pytest.raises(DaybookError) as caught:
            take_over_slices(open_workspace(second.root), wrong, reason="r")
        assert caught.value.code == "STORE_046"
        assert f"{own_id(first)} (close)" in (caught.value.hint or "")
    with pytest.raises(DaybookError) as caught:
        take_over_slices(open_workspace(second.root), own_id(first), reason=" ")
    assert caught.value.code == "STORE_032"
    refusal(second)


def move(folder: Folder) -> Folder:
    return Folder(folder.root.rename(folder.root.with_name("moved")), no_session)


def rename(folder: Folder) -> Folder:
    (folder.root / "daybook.yaml").write_text("name: another\n")
    return folder


def restore(folder: Folder) -> Folder:
    """The store is put back as it was before the slice was written for the last time."""
    store = folder.root / ".daybook/store.db"
    back_up(store)
    write(folder)
    store.write_bytes(b"no database any more" * 1000)
    for suffix in ("-wal", "-shm"):
        store.with_name(store.name + suffix).unlink(missing_ok=True)
    restore_backup(store)
    return folder


@pytest.mark.parametrize("change", [move, rename, restore])
def test_a_workspace_keeps_its_slices(tmp_path: Path, change: Callable[[Folder], Folder]) -> None:
    folder = workspace(tmp_path / "w")
    write(folder)
    id_ = own_id(folder)
    changed = change(folder)
    write(changed)
    assert own_id(changed) == id_


def test_a_copy_beside_its_original_is_another_workspace_but_for_the_tables_in_it(tmp_path: Path) -> None:
    original = workspace(tmp_path / "w")
    write(original)
    original.project(to_table("inside", "lake", columns=["order_id"]), id_="inner")
    write_run(original, {1: pa.table({"order_id": ["a"]})}, project="inner")
    copy = Folder(original.root.with_name("copy"), no_session)
    shutil.copytree(original.root, copy.root)
    write_run(copy, {1: pa.table({"order_id": ["b"]})}, project="inner")
    refusal(copy)
    assert own_id(copy) != own_id(original)
    # Once a copy, it keeps its id.
    assert own_id(copy) == own_id(copy)
    write(original)


def test_a_workspace_whose_store_is_lost_takes_its_slices_over(tmp_path: Path) -> None:
    folder = workspace(tmp_path / "w")
    lost = write(folder)
    id_ = own_id(folder)
    shutil.rmtree(folder.root / ".daybook")
    refusal(folder)
    assert list_slices(open_workspace(folder.root)) == ()
    take_over_slices(open_workspace(folder.root), id_, reason="its store is lost")
    (found,) = list_slices(open_workspace(folder.root))
    assert (found.table, found.run_id) == ("shared.result", lost)
    write(folder)


def forget_ids(lake: Path) -> None:
    """The log as a Daybook wrote it that kept the names of workspaces only."""
    for file in lake.glob("result/_delta_log/*.json"):
        actions = [json.loads(line) for line in file.read_text().splitlines()]
        for action in actions:
            if "daybook" in action.get("commitInfo", {}):
                info = json.loads(action["commitInfo"]["daybook"])
                del info["workspace_id"]
                action["commitInfo"]["daybook"] = json.dumps(info)
        file.write_text("\n".join(json.dumps(action) for action in actions))


def test_a_table_without_ids_goes_by_names_as_before(tmp_path: Path) -> None:
    first, second = workspace(tmp_path / "first"), workspace(tmp_path / "second")
    stranger = workspace(tmp_path / "stranger", name="stranger")
    write(first)
    forget_ids(tmp_path / "lake")
    assert "take-over close " in (refusal(stranger).hint or "")
    stranger.apply()
    take_over_slices(open_workspace(stranger.root), "close", reason="it is gone")
    write(second)
    # From here on the id counts.
    refusal(stranger)
    refusal(first)


def test_a_ledger_without_ids_gets_the_column(tmp_path: Path) -> None:
    folder = workspace(tmp_path / "w", "sqlite", "data.db")
    write(folder)
    with closing(sqlite3.connect(tmp_path / "data.db")) as database, database:
        database.execute("alter table _daybook_ledger drop column workspace_id")
    write(folder)
    with closing(sqlite3.connect(tmp_path / "data.db")) as database, database:
        found = database.execute("select workspace_id from _daybook_ledger order by id").fetchall()
    assert found == [(None,), (own_id(folder),)]


@pytest.mark.usefixtures("stores_by_alembic")
def test_the_backup_that_a_migration_leaves_has_the_id(tmp_path: Path) -> None:
    folder = workspace(tmp_path / "w")
    store = folder.root / ".daybook/store.db"
    store.parent.mkdir()
    make_first_store("sqlite:///.daybook/store.db", folder.root)
    with open_store("sqlite:///.daybook/store.db", root=folder.root):
        pass
    with closing(sqlite3.connect(list_backups(store)[0])) as database, database:
        assert database.execute("select id from workspace_identity").fetchall() == [(own_id(folder),)]
