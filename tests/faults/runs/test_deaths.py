"""A run that dies at any point of any format is completed by a retry, exactly once."""

from collections import Counter
from typing import NoReturn
from unittest.mock import patch

import pytest

from daybook.runs.leftovers import find_workspace_leftovers, remove_workspace_leftovers
from daybook.runs.run_result import RunResult
from tests.faults.runs.conftest import NewWorkspace
from tests.faults.runs.dying import POINTS, Died, Point, as_if_dead, dying_at
from tests.faults.runs.every_format import FORMATS, NEW, OLD, ONE_OF_A_KIND, held, staged_in_databases, write_orders
from tests.workspaces import Folder

OLD_ROWS, NEW_ROWS = Counter(old=OLD), Counter(new=NEW)


def die() -> NoReturn:
    raise Died


def run_and_die(folder: Folder, point: Point, format_: str) -> str:
    with dying_at(point, format_, die), as_if_dead(), pytest.raises(Died):
        folder.run()
    return folder.last_run().id


def retry_dead(folder: Folder, run_id: str) -> RunResult:
    """The process of the tests stands for one that is dead."""
    with patch("daybook.store.database.runs._is_abandoned", lambda *_: True):
        return folder.retry(run_id)


def check_completed(folder: Folder, run: RunResult, formats: tuple[str, ...]) -> None:
    assert held(folder, formats) == dict.fromkeys(formats, NEW_ROWS)
    assert [output.rows_written for output in run.outputs] == [NEW] * len(formats)
    assert folder.staged() == []
    assert staged_in_databases(folder) == []
    workspace = folder.load()
    with folder.around(workspace) as around:
        assert find_workspace_leftovers(workspace, around.store) == ()
        with around.store.read() as transaction:
            commits = transaction.outcomes.commits(run.run_id)
            operations = transaction.outcomes.operations(run.run_id)
    assert [commit.rows for commit in commits] == [NEW] * len(formats)
    assert [each.rows_written for each in operations[1:]] == [NEW] * len(formats)
    assert operations[0].rows_added == NEW
    if "delta" in formats:
        assert folder.dataset_versions("booked") == (1, 2)
        assert run.outputs[formats.index("delta")].dataset_version == 2
    if len(formats) == 1:
        assert folder.replay(run.run_id).is_same


@pytest.mark.parametrize(
    "format_",
    [pytest.param(each, marks=() if each in ONE_OF_A_KIND else pytest.mark.slow) for each in FORMATS],
)
def test_between_the_commit_and_its_acknowledgement(workspace: NewWorkspace, format_: str) -> None:
    folder = workspace((format_,))
    write_orders(folder, "new", NEW)
    run_id = run_and_die(folder, "after commit", format_)
    assert held(folder, (format_,)) == {format_: NEW_ROWS}
    run = retry_dead(folder, run_id)
    assert [output.is_repeat for output in run.outputs] == [True]
    check_completed(folder, run, (format_,))


def cases(is_long: bool) -> list[tuple[Point, str]]:
    """In the long campaign every point of every format, otherwise one between two commits."""
    if is_long:
        return [(point, format_) for point in POINTS for format_ in FORMATS]
    return [("before commit", "csv")]


def test_anywhere_among_outputs_of_every_format(workspace: NewWorkspace, is_long: bool) -> None:
    for point, format_ in cases(is_long):
        folder = workspace()
        write_orders(folder, "new", NEW)
        run_id = run_and_die(folder, point, format_)
        found = held(folder)
        assert all(rows in (OLD_ROWS, NEW_ROWS) for rows in found.values()), (point, format_, found)
        committed = FORMATS.index(format_) + (point in ("after commit", "after record"))
        if point in ("before write", "after write"):
            committed = 0
        assert [rows == NEW_ROWS for rows in found.values()] == [index < committed for index in range(len(FORMATS))]
        if (point, format_) == ("after record", FORMATS[-1]):
            assert folder.last_run().status == "completed"
            continue
        run = retry_dead(folder, run_id)
        check_completed(folder, run, FORMATS)


def test_the_record_of_the_last_output_completes_the_run(workspace: NewWorkspace) -> None:
    folder = workspace(("csv",))
    write_orders(folder, "new", NEW)
    run_id = run_and_die(folder, "after record", "csv")
    assert held(folder, ("csv",)) == {"csv": NEW_ROWS}
    assert (folder.last_run().id, folder.last_run().status) == (run_id, "completed")


def test_what_a_dead_run_left_is_removed_by_the_doctor(workspace: NewWorkspace) -> None:
    folder = workspace(ONE_OF_A_KIND)
    write_orders(folder, "new", NEW)
    run_id = run_and_die(folder, "before commit", "delta")
    assert len(folder.staged()) + len(staged_in_databases(folder)) >= len(ONE_OF_A_KIND)
    loaded = folder.load()
    # The process that died is this one.
    dead = (
        patch("daybook.store.database.runs._is_abandoned", lambda *_: True),
        patch("daybook.runs.live_runs.is_surely_running", lambda _: False),
    )
    with dead[0], dead[1], folder.around(loaded) as around:
        litter = find_workspace_leftovers(loaded, around.store)
        assert {each.run_id for each in litter} == {run_id}
        remove_workspace_leftovers(loaded, litter)
        assert find_workspace_leftovers(loaded, around.store) == ()
    assert folder.staged() == []
    assert staged_in_databases(folder) == []
    assert held(folder, ONE_OF_A_KIND) == dict.fromkeys(ONE_OF_A_KIND, OLD_ROWS)
