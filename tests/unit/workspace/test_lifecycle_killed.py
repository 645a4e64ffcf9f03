"""SIGKILL in the middle of `apply` and `activate --all`: all or nothing, and the next command completes it."""

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from daybook.store import open_store
from daybook.store.database.connection import find_damage
from tests.dying import activate_all, apply_files
from tests.forked import forked
from tests.workspaces import Folder, assign, no_session, to_table

PROJECTS = 4
STORE = "sqlite:///.daybook/store.db"
STEPS = [pytest.param(30, id="30"), pytest.param(5, id="5", marks=pytest.mark.slow)]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Projects of which each reads what the one before registers."""
    folder = Folder.new(tmp_path / "w", no_session)
    source = "orders"
    for number in range(PROJECTS):
        output = to_table(f"t{number}", register_as_dataset=f"d{number}")
        folder.project(assign(f"x{number}", "1"), output, id_=f"p{number}", input_=source)
        source = f"d{number}"
    open_store(STORE, root=folder.root).close()
    return folder


def active_projects(folder: Folder) -> set[str]:
    with open_store(STORE, root=folder.root) as store, store.read() as transaction:
        states = {f"p{number}": transaction.projects.find(f"p{number}") for number in range(PROJECTS)}
    return {name for name, state in states.items() if state is not None and state.status == "active"}


def stored_definitions(folder: Folder) -> int:
    with open_store(STORE, root=folder.root) as store, store.read() as transaction:
        return len(transaction.definitions.heads())


def kill_until_done(folder: Folder, target: Callable[..., None], step: int, check: Callable[[], None]) -> int:
    """Kills processes at later and later statements until one of them completes; how many were killed."""
    for killed, number in enumerate(itertools.count(1, step)):
        process = forked(target, folder.root, number)
        is_done = process.answer() == "done"
        process.wait()
        assert find_damage(folder.root / ".daybook" / "store.db") is None
        if is_done:
            return killed
        check()
    raise AssertionError


@pytest.mark.parametrize("step", STEPS)
def test_apply_stores_everything_or_nothing(folder: Folder, step: int) -> None:
    def check() -> None:
        assert stored_definitions(folder) in (0, complete)

    complete = len(list(folder.load().all()))
    assert kill_until_done(folder, apply_files, step, check) >= 2
    assert stored_definitions(folder) == complete


@pytest.mark.parametrize("step", STEPS)
def test_activating_all_projects_activates_all_or_none(folder: Folder, step: int) -> None:
    names = {f"p{number}" for number in range(PROJECTS)}

    def check() -> None:
        assert active_projects(folder) in (set(), names)

    assert kill_until_done(folder, activate_all, step, check) >= 2
    assert active_projects(folder) == names
