"""Who may write a slice, and when it becomes theirs."""

import datetime
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from daybook.errors import DaybookError
from daybook.io.target import FileTarget, OutputColumn, SliceOwner, Target, WrittenSlice
from daybook.model.definition import TableVersion
from daybook.model.operation import OutputMode
from daybook.model.types import STRING
from daybook.resolve.location import Location
from daybook.runs.permissions import claim_slice, require_log, require_slice, unknown_run_notices
from daybook.store import open_store
from daybook.store.records import OutputCommit
from daybook.store.store import Transaction
from tests.unit.store.samples import PROCESS, new_run

NOW = datetime.datetime(2026, 2, 1, tzinfo=datetime.UTC)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Transaction]:
    with open_store("sqlite:///store.db", root=tmp_path) as store, store.write() as transaction:
        yield transaction


def target(
    project: str = "a",
    operation: str = "op-1",
    mode: OutputMode = "replace_period",
    period: str | None = "2026-01",
    workspace: str = "here",
) -> Target:
    columns = (OutputColumn("x", STRING),)
    return FileTarget(
        location=Location("delta", uri="/t"),
        mode=mode,
        columns=columns,
        run_id="run",
        operation_seq=1,
        owner=SliceOwner(project, operation, workspace),
        run_period=period,
    )


def is_refused(store: Transaction, wanted: Target, *written: WrittenSlice) -> bool:
    try:
        require_slice(store, wanted, written)
    except DaybookError as error:
        return error.code == "STORE_016"
    return False


def test_a_slice_belongs_to_whoever_claims_it_first(store: Transaction) -> None:
    claim_slice(store, target(), (), NOW)
    claim_slice(store, target(), (), NOW)
    assert not is_refused(store, target())
    assert is_refused(store, target("b"))
    assert not is_refused(store, target("b", period="2026-02"))
    with pytest.raises(DaybookError):
        claim_slice(store, target("b"), (), NOW)


def test_an_appended_slice_is_shared_and_never_replaced(store: Transaction) -> None:
    claim_slice(store, target(mode="append"), (), NOW)
    claim_slice(store, target("b", mode="append"), (), NOW)
    assert is_refused(store, target())
    assert is_refused(store, target("b"))


def test_only_its_own_project_appends_to_an_owned_slice(store: Transaction) -> None:
    claim_slice(store, target(), (), NOW)
    assert not is_refused(store, target("a", "op-2", "append"))
    assert is_refused(store, target("b", mode="append"))


def test_an_operation_that_moved_keeps_the_slices_of_its_project(store: Transaction) -> None:
    claim_slice(store, target(), (), NOW)
    assert not is_refused(store, target("a", "op-2"))


def test_a_table_is_not_replaced_with_the_slices_of_another_project_in_it(store: Transaction) -> None:
    claim_slice(store, target(), (), NOW)
    assert is_refused(store, target("b", mode="replace", period="2026-02"))
    assert is_refused(store, target("b", mode="replace", period=None))
    assert not is_refused(store, target("a", mode="replace", period="2026-02"))
    assert not is_refused(store, target("b", mode="error"))


def written(project: str | None, workspace: str = "here") -> WrittenSlice:
    """What the data says of January: whose it is, or that all who append share it."""
    return WrittenSlice("2026-01", "r", SliceOwner(project, "op-9", workspace) if project else None)


def test_what_the_data_says_counts_and_not_what_the_store_remembers(store: Transaction) -> None:
    claim_slice(store, target("a"), (), NOW)
    assert is_refused(store, target("a"), written("b"))
    assert not is_refused(store, target("b"), written("b"))
    claim_slice(store, target("b"), (written("b"),), NOW)
    assert is_refused(store, target("a"))


def test_a_project_of_another_workspace_is_another_owner(store: Transaction) -> None:
    assert is_refused(store, target("a"), written("a", workspace="elsewhere"))
    assert is_refused(store, target("a", mode="append"), written("a", workspace="elsewhere"))
    # Commits made before workspaces were kept.
    assert not is_refused(store, target("a"), written("a", workspace=""))
    assert not is_refused(store, target("a", workspace=""), written("a", workspace="elsewhere"))


def test_a_slice_that_the_data_calls_shared_is_appended_to_and_not_replaced(store: Transaction) -> None:
    assert is_refused(store, target("a"), written(None))
    assert not is_refused(store, target("a", mode="append"), written(None))
    claim_slice(store, target("a", mode="append"), (written(None),), NOW)
    assert is_refused(store, target("a"))


def test_the_owner_appends_to_its_slice_and_keeps_it(store: Transaction) -> None:
    claim_slice(store, target("a", mode="append"), (written("a"),), NOW)
    assert not is_refused(store, target("a"))
    assert is_refused(store, target("b", mode="append"))


def test_a_slice_of_a_run_that_the_store_does_not_know_is_noted(store: Transaction) -> None:
    (found,) = unknown_run_notices(store, target("a"), (written("a"),))
    assert (found.code, "run r," in found.message) == ("RUN_041", True)
    assert list(unknown_run_notices(store, target("a"), (written("b"), written(None)))) == []


def test_a_table_that_lost_its_log_is_not_begun_anew(store: Transaction, tmp_path: Path) -> None:
    place = tmp_path / "lake/orders"
    given = replace(target(), location=Location("delta", uri=str(place)))
    require_log(store, given)
    lease = store.runs.start(**new_run("run"), process=PROCESS, now=NOW)
    version = TableVersion("delta", "3")
    commit = OutputCommit(1, "op-1", str(place), "replace_period", table_version=version)
    store.outcomes.record_commit(lease, commit, now=NOW)
    # The whole table was moved away: a new one begins.
    require_log(store, given)
    (place / "daybook-run.1.0a1b2c3d").mkdir(parents=True)
    with pytest.raises(DaybookError) as caught:
        require_log(store, given)
    assert caught.value.code == "IO_041"
