"""What runs committed after the last backup of the store is found again in the tables themselves."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

from daybook.errors import DaybookError
from daybook.store import open_store
from daybook.store.database.connection import back_up
from daybook.workspace.maintenance import StoreRestoration, drop_slice, list_slices, restore_store
from daybook.workspace.open_workspace import open_workspace
from tests.workspaces import Folder, no_session, to_table
from tests.written_runs import write_run


def orders(*ids: str) -> dict[int, pa.Table]:
    return {1: pa.table({"order_id": pa.array(ids, pa.string())})}


def new_folder(root: Path, type_: str, path: str, **output: str) -> Folder:
    folder = Folder.new(root, no_session)
    folder.datasource("to", type_, path=path)
    folder.project(to_table("result", "to", columns=["order_id"], **output))
    return folder


def lose(folder: Folder) -> None:
    """The store is overwritten by something else."""
    store = folder.root / ".daybook/store.db"
    store.write_bytes(b"no database any more" * 1000)
    for suffix in ("-wal", "-shm"):
        store.with_name(store.name + suffix).unlink(missing_ok=True)
    with pytest.raises(DaybookError) as caught:
        folder.apply()
    assert caught.value.code == "STORE_041"


def restore(folder: Folder) -> StoreRestoration:
    return restore_store(open_workspace(folder.root))


def slices(folder: Folder) -> dict[str, tuple[str | None, str, int | None]]:
    found = list_slices(open_workspace(folder.root))
    return {each.period: (each.project_id, each.run_id, each.rows) for each in found}


@pytest.mark.parametrize(
    ("type_", "path"), [("delta", "lake"), ("parquet", "files"), ("csv", "files"), ("sqlite", "data.db")]
)
def test_slices_and_versions_written_since_the_backup_are_known_again(tmp_path: Path, type_: str, path: str) -> None:
    folder = new_folder(tmp_path / "w", type_, path, register_as_dataset="booked")
    write_run(folder, orders("a"), "2026-01")
    assert back_up(folder.root / ".daybook/store.db") is not None
    again = write_run(folder, orders("a", "b", "c"), "2026-01")
    other = write_run(folder, orders("d"), "2026-02")
    before = slices(folder)
    lose(folder)
    done = restore(folder)
    assert {(each.period, each.run_id, each.project_id) for each in done.recovery.slices} == {
        ("2026-01", again, "p"),
        ("2026-02", other, "p"),
    }
    assert done.recovery.unread == ()
    assert slices(folder) == before == {"2026-01": ("p", again, 3), "2026-02": ("p", other, 1)}
    if type_ == "delta":
        assert done.recovery.datasets == (("booked", 2), ("booked", 3))
        assert folder.dataset_versions("booked") == (1, 2, 3)
    assert Path(done.damaged).read_bytes().startswith(b"no database any more")


@pytest.mark.parametrize(("type_", "path"), [("delta", "lake"), ("parquet", "files"), ("sqlite", "data.db")])
def test_a_table_that_was_first_written_since_is_found_by_the_project_that_names_it(
    tmp_path: Path, type_: str, path: str
) -> None:
    """The first backup of a workspace is taken before its first run."""
    folder = new_folder(tmp_path / "w", type_, path)
    folder.apply()
    assert back_up(folder.root / ".daybook/store.db") is not None
    first = write_run(folder, orders("a", "b"), "2026-01")
    lose(folder)
    done = restore(folder)
    assert [(each.period, each.run_id, each.project_id) for each in done.recovery.slices] == [("2026-01", first, "p")]
    assert slices(folder) == {"2026-01": ("p", first, 2)}
    assert [each.table for each in list_slices(open_workspace(folder.root))] == ["to.result"]
    # Whoever activated it did so after the backup.
    assert done.recovery.inactive == ("p",)


def test_a_slice_that_was_appended_to_since_belongs_to_all(tmp_path: Path) -> None:
    folder = new_folder(tmp_path / "w", "delta", "lake", mode="append")
    write_run(folder, orders("a"), "2026-01")
    back_up(folder.root / ".daybook/store.db")
    write_run(folder, orders("b"), "2026-02")
    lose(folder)
    restore(folder)
    assert {period: owner for period, (owner, _, _) in slices(folder).items()} == {"2026-01": None, "2026-02": None}


def test_a_slice_of_another_workspace_is_not_taken(tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")
    folder = new_folder(tmp_path / "w", "delta", lake)
    write_run(folder, orders("a"), "2026-01")
    back_up(folder.root / ".daybook/store.db")
    stranger = Folder.new(tmp_path / "x", no_session, name="stranger")
    stranger.datasource("to", "delta", path=lake)
    stranger.project(to_table("result", "to", columns=["order_id"]))
    write_run(stranger, orders("b"), "2026-02")
    lose(folder)
    assert restore(folder).recovery.slices == ()
    assert list(slices(folder)) == ["2026-01"]


def test_a_table_that_cannot_be_asked_is_named(tmp_path: Path) -> None:
    folder = new_folder(tmp_path / "w", "sqlite", "data.db")
    write_run(folder, orders("a"), "2026-01")
    back_up(folder.root / ".daybook/store.db")
    lose(folder)
    (folder.root / "data.db").write_bytes(b"no database either" * 100)
    ((table, reason),) = restore(folder).recovery.unread
    assert (table, "not a database" in reason) == ("to.result", True)
    with closing(sqlite3.connect(folder.root / "data.db")) as database, pytest.raises(sqlite3.DatabaseError):
        database.execute("select 1 from result")


@pytest.mark.parametrize(("type_", "path"), [("delta", "lake"), ("csv", "files"), ("sqlite", "data.db")])
def test_a_slice_that_was_dropped_since_stays_dropped(tmp_path: Path, type_: str, path: str) -> None:
    folder = new_folder(tmp_path / "w", type_, path)
    for period in ("2026-01", "2026-02"):
        write_run(folder, orders("a"), period)
    back_up(folder.root / ".daybook/store.db")
    drop_slice(open_workspace(folder.root), "to.result", "2026-01", reason="wrong")
    lose(folder)
    done = restore(folder)
    assert [period for _, period in done.recovery.dropped] == ["2026-01"]
    assert list(slices(folder)) == ["2026-02"]


@pytest.mark.parametrize(
    ("type_", "path"), [("delta", "lake"), ("parquet", "files"), ("csv", "files"), ("sqlite", "data.db")]
)
@pytest.mark.parametrize("mode", ["replace_period", "append"])
def test_a_slice_that_was_found_again_can_be_dropped_before_its_project_runs(
    tmp_path: Path, type_: str, path: str, mode: str
) -> None:
    """The file of the project says how the slice is written; the run that wrote it is gone."""
    folder = new_folder(tmp_path / "w", type_, path, mode=mode)
    write_run(folder, orders("a"), "2026-01")
    back_up(folder.root / ".daybook/store.db")
    write_run(folder, orders("b", "c"), "2026-02")
    lose(folder)
    restore(folder)
    done = drop_slice(open_workspace(folder.root), "to.result", "2026-02", reason="wrong")
    assert done.rows == 2
    assert list(slices(folder)) == ["2026-01"]


def test_a_slice_that_was_found_again_and_that_no_project_writes_any_more_cannot_be_dropped(tmp_path: Path) -> None:
    folder = new_folder(tmp_path / "w", "delta", "lake")
    write_run(folder, orders("a"), "2026-01")
    back_up(folder.root / ".daybook/store.db")
    write_run(folder, orders("b"), "2026-02")
    lose(folder)
    restore(folder)
    folder.project(to_table("elsewhere", "to", columns=["order_id"]))
    workspace = open_workspace(folder.root)
    (table,) = (each.location for each in list_slices(workspace) if each.period == "2026-02")
    with pytest.raises(DaybookError) as caught:
        drop_slice(workspace, table, "2026-02", reason="wrong")
    assert caught.value.code == "STORE_038"
    assert set(slices(folder)) == {"2026-01", "2026-02"}


def test_stores_of_two_workspaces_have_two_names_wherever_they_are_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = []
    for workspace in ("a", "b"):
        (tmp_path / workspace).mkdir()
        monkeypatch.chdir(tmp_path / workspace)
        for root in (Path(), tmp_path / workspace):
            with open_store("sqlite:///store.db", root=root) as store:
                names.append(store.identity)
    assert names[0] == names[1] != names[2] == names[3]
