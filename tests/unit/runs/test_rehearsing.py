"""A dry run checks everything and changes nothing."""

from pathlib import Path

import pytest

from daybook.errors import DaybookError
from daybook.runs.opening import rehearsing, surroundings
from daybook.runs.running import DryRun, dry_run
from daybook.runs.starting import RunWish
from tests.unit.runs.prepared import new_folder, no_session
from tests.workspaces import Folder, assign, to_table


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
