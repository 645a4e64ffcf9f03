"""Holding a run: the fence, and what the heartbeat says."""

import datetime
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from daybook.errors import DaybookError
from daybook.runs.attempt.lease import LeaseKeeper
from daybook.store import open_store
from daybook.store.process import current_process
from daybook.store.records import Lease
from daybook.store.store import MetadataStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MetadataStore]:
    with open_store("sqlite:///store.db", root=tmp_path) as store:
        yield store


@pytest.fixture
def lease(store: MetadataStore) -> Lease:
    with store.write() as transaction:
        new = ("r1", "p", 1, "2026-01", "{}")
        return transaction.runs.start(*new, process=current_process(), now=transaction.now())


def take_over(store: MetadataStore, lease: Lease) -> None:
    """As another process does when the lease ran out."""
    with store.write() as transaction:
        later = transaction.now() + datetime.timedelta(seconds=60)
        transaction.runs.start("r2", "p", 1, "2026-01", "{}", process=current_process(), now=later)


def request_cancel(store: MetadataStore) -> None:
    with store.write() as transaction:
        transaction.runs.request_cancel("r1", now=transaction.now())


def stopped(store: MetadataStore, lease: Lease) -> tuple[LeaseKeeper, bool]:
    """Whether the heartbeat stops a keeper."""
    event = threading.Event()
    with LeaseKeeper(store, lease, event.set, interval=0.01) as keeper:
        return keeper, event.wait(10)


def test_the_fence_renews_the_lease(store: MetadataStore, lease: Lease) -> None:
    keeper = LeaseKeeper(store, lease, lambda: None)
    keeper.fence()
    assert keeper.lease.expires_at >= lease.expires_at
    assert keeper.stopped_by is None
    keeper.check()


def test_a_lost_lease_is_refused(store: MetadataStore, lease: Lease) -> None:
    take_over(store, lease)
    keeper = LeaseKeeper(store, lease, lambda: None)
    with pytest.raises(DaybookError) as refused:
        keeper.fence()
    assert refused.value.code == "STORE_013"
    assert keeper.is_lost
    with pytest.raises(DaybookError):
        keeper.check()


def test_the_heartbeat_notices_a_lost_lease(store: MetadataStore, lease: Lease) -> None:
    take_over(store, lease)
    keeper, was_stopped = stopped(store, lease)
    assert was_stopped
    assert keeper.is_lost


def test_the_heartbeat_notices_a_wish_to_cancel(store: MetadataStore, lease: Lease) -> None:
    request_cancel(store)
    keeper, was_stopped = stopped(store, lease)
    assert was_stopped
    assert keeper.stopped_by is not None
    assert keeper.stopped_by.code == "RUN_004"
    assert not keeper.is_lost


def test_whoever_cancels_is_heard_at_once_and_until_the_end(store: MetadataStore, lease: Lease) -> None:
    calls: list[None] = []
    twice = threading.Event()

    def stop() -> None:
        calls.append(None)
        if len(calls) == 2:
            twice.set()

    with LeaseKeeper(store, lease, stop, interval=60) as keeper:
        keeper.cancel()
        assert twice.wait(10)
        with pytest.raises(DaybookError) as refused:
            keeper.fence()
    assert refused.value.code == "RUN_004"


def test_a_refusal_of_its_companion_leaves_the_lease(store: MetadataStore, lease: Lease) -> None:
    keeper = LeaseKeeper(store, lease, lambda: None)

    def refuse(_: object) -> None:
        raise DaybookError("RUN_002", period="2026-01", because_of="2026")

    with pytest.raises(DaybookError) as refused:
        keeper.fence(refuse)
    assert refused.value.code == "RUN_002"
    assert keeper.stopped_by is None


def test_a_store_that_stumbles_does_not_end_the_heartbeat(
    store: MetadataStore, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, calls = store.write, 0

    def stumbling() -> object:
        nonlocal calls
        calls += 1
        if calls < 3:
            raise ConnectionError("out of reach")
        return write()

    request_cancel(store)
    monkeypatch.setattr(store, "write", stumbling)
    assert stopped(store, lease)[1]
