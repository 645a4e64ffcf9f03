"""Runs that begin while `doctor` and `gc` look for what may go."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from daybook.io.leftovers import find_landing_leftovers
from daybook.io.storage import Storage
from daybook.model.settings import RetentionSettings
from daybook.resolve.project_files import CheckedFiles
from daybook.runs import garbage, leftovers
from daybook.runs.attempt.prepare import prepare_runs
from daybook.runs.attempt.run_request import RunRequest, check_request
from daybook.runs.attempt.start import start_run
from daybook.runs.garbage import collect_garbage
from daybook.runs.leftovers import find_workspace_leftovers
from tests.workspaces import Folder, no_session, to_table


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder.new(tmp_path / "w", no_session)
    made.project(to_table())
    made.apply()
    return made


def test_no_run_begins_while_a_landing_is_removed(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    landing = folder.root / ".daybook/landing/files/unused"
    landing.mkdir(parents=True)
    removed: list[str] = []

    def remove(uri: str, storage: Storage) -> None:
        other = sqlite3.connect(folder.root / ".daybook/store.db", timeout=0, isolation_level=None)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
        other.close()
        removed.append(uri)

    monkeypatch.setattr(garbage, "remove_folder", remove)
    with folder.around() as around:
        collected = collect_garbage(around, RetentionSettings())
    assert collected.landings == tuple(removed) == (str(landing),)


def test_what_a_run_stages_that_began_during_the_search_is_no_leftover(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = folder.load()
    begun: list[str] = []
    search = find_landing_leftovers

    with folder.around(workspace) as around:
        (prepared,) = prepare_runs(around, check_request(CheckedFiles(workspace), RunRequest("p", "2026-01")))

        def search_while_a_run_begins(*arguments: Any) -> Any:
            lease = start_run(around.store, prepared)
            (folder.root / f".daybook/staging/{lease.run_id}.{lease.token}").mkdir(parents=True)
            begun.append(lease.run_id)
            return search(*arguments)

        monkeypatch.setattr(leftovers, "find_landing_leftovers", search_while_a_run_begins)
        assert find_workspace_leftovers(workspace, around.store) == ()
    assert len(begun) == 1
