"""A dry run checks everything and changes nothing."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from daybook.errors import DaybookError, flatten
from daybook.runs.opening import rehearsing, surroundings
from daybook.runs.running import DryRun, dry_run, run
from daybook.runs.starting import RunWish
from tests.unit.runs.prepared import new_folder
from tests.workspaces import Folder, assign, no_session, to_table


def rehearsed(folder: Folder) -> tuple[DryRun, ...]:
    with rehearsing(folder.load()) as workspace, surroundings(workspace, no_session) as around:
        return tuple(dry_run(workspace, around, RunWish("p", "2026-01..2026-02")))


def versions(folder: Folder) -> tuple[int, ...]:
    with folder.around() as around, around.store.read() as transaction:
        return transaction.definitions.versions("project", "p")


def test_without_a_store_none_is_made(tmp_path: Path) -> None:
    folder = new_folder(tmp_path)
    folder.project(to_table())
    assert [each.prepared.snapshot.period.identifier for each in rehearsed(folder)] == ["2026-01", "2026-02"]
    assert not (folder.root / ".daybook").exists()


def test_the_store_stays_as_it_was(tmp_path: Path) -> None:
    folder = new_folder(tmp_path)
    folder.project(to_table())
    workspace = folder.load()
    with folder.around(workspace) as around:
        tuple(dry_run(workspace, around, RunWish("p", "2026-01")))
    folder.project(assign("x", "1"), to_table())
    (first, _) = rehearsed(folder)
    assert first.prepared.snapshot.project_version == 2
    assert versions(folder) == (1,)


def test_what_is_wrong_is_found(tmp_path: Path) -> None:
    folder = new_folder(tmp_path)
    folder.project(assign("x", "nowhere"), to_table())
    with pytest.raises(DaybookError) as refused:
        rehearsed(folder)
    assert refused.value.code == "UPDATE_006"


def test_what_writers_refuse_is_found_before_a_run_exists(tmp_path: Path) -> None:
    folder = new_folder(tmp_path)
    folder.datasource("db", "sqlite", path="out.db")
    write_deltalake(folder.root / "lake" / "result", pa.table({"order_id": ["O-1"], "_run_period": ["2025-12"]}))
    with closing(sqlite3.connect(folder.root / "out.db")) as connection:
        connection.execute("create table result (order_id integer, _run_period text)")
    folder.project(to_table(columns=["order_id"], mode="error"), to_table("result", "db", columns=["order_id"]))
    with pytest.raises(DaybookError) as refused:
        rehearsed(folder)
    found = flatten(refused.value)
    assert [(error.code, error.operation_seq) for error in found] == [("OUTPUT_006", 1), ("OUTPUT_006", 2)]
    assert [cause.code for error in found for cause in error.causes] == ["IO_020", "IO_021"]
    workspace = folder.load()
    with folder.around(workspace) as around, pytest.raises(DaybookError):
        tuple(run(workspace, around, RunWish("p", "2026-01")))
    with folder.around() as around, around.store.read() as transaction:
        assert transaction.runs.page().runs == ()


def test_a_database_behind_jdbc_is_not_asked(tmp_path: Path) -> None:
    folder = new_folder(tmp_path)
    folder.datasource("db", "jdbc", url="jdbc:derby:nowhere", driver="org.apache.derby.iapi.jdbc.AutoloadedDriver")
    folder.project(to_table("result", "db"))
    assert len(rehearsed(folder)) == 2
