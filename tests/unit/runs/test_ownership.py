"""Who may write a slice, and when it becomes theirs."""

import datetime
from collections.abc import Iterator
from pathlib import Path

import pytest

from daybook.errors import DaybookError
from daybook.io.writing import OutputColumn, Owner, Target
from daybook.model.operation import OutputMode
from daybook.model.types import STRING
from daybook.runs.ownership import claim_slice, require_slice
from daybook.store import open_store
from daybook.store.slices import Slices

NOW = datetime.datetime(2026, 2, 1, tzinfo=datetime.UTC)


@pytest.fixture
def slices(tmp_path: Path) -> Iterator[Slices]:
    with open_store("sqlite:///store.db", root=tmp_path) as store, store.write() as transaction:
        yield transaction.slices


def target(
    project: str = "a", operation: str = "op-1", mode: OutputMode = "replace_period", period: str | None = "2026-01"
) -> Target:
    columns = (OutputColumn("x", STRING),)
    return Target("delta", mode, columns, "run", 1, Owner(project, operation), uri="/t", run_period=period)


def is_refused(slices: Slices, wanted: Target) -> bool:
    try:
        require_slice(slices, wanted)
    except DaybookError as error:
        return error.code == "STORE_016"
    return False


def test_a_slice_belongs_to_whoever_claims_it_first(slices: Slices) -> None:
    claim_slice(slices, target(), NOW)
    claim_slice(slices, target(), NOW)
    assert not is_refused(slices, target())
    assert is_refused(slices, target("b"))
    assert is_refused(slices, target("a", "op-2"))
    assert not is_refused(slices, target("b", period="2026-02"))
    with pytest.raises(DaybookError):
        claim_slice(slices, target("b"), NOW)


def test_an_appended_slice_is_shared_and_never_replaced(slices: Slices) -> None:
    claim_slice(slices, target(mode="append"), NOW)
    claim_slice(slices, target("b", mode="append"), NOW)
    assert is_refused(slices, target())
    assert is_refused(slices, target("b"))


def test_only_its_own_project_appends_to_an_owned_slice(slices: Slices) -> None:
    claim_slice(slices, target(), NOW)
    assert not is_refused(slices, target("a", "op-2", "append"))
    assert is_refused(slices, target("b", mode="append"))


@pytest.mark.parametrize("wanted", [target("b", mode="replace"), target("b", mode="error"), target("b", period=None)])
def test_whoever_replaces_the_table_asks_nobody(slices: Slices, wanted: Target) -> None:
    claim_slice(slices, target(), NOW)
    assert not is_refused(slices, wanted)
    claim_slice(slices, wanted, NOW)
    found = slices.owner("/t", "2026-01")
    assert found is not None
    assert found.project_id == "a"
