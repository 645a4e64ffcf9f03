"""What may be collected, on both back ends."""

import pytest

from daybook.errors import DaybookError
from daybook.model.definition import RegisteredDataPin, TableVersion
from daybook.runs.lifecycle.apply import apply
from daybook.store.records import OutputCommit, Registration
from daybook.store.store import MetadataStore
from tests.unit.store.samples import (
    NOW,
    PROCESS,
    PROJECT,
    definitions,
    later,
    make_dataset,
    new_run,
    nobody_is_dead,
)


def finished(store: MetadataStore, run_id: str, at: float, *, period: str = "2026-01", has_slice: bool = False) -> None:
    with store.write() as transaction:
        lease = transaction.runs.start(
            **new_run(run_id, period=period), process=PROCESS, now=later(at), is_dead=nobody_is_dead
        )
        if has_slice:
            commit = OutputCommit(20, "op-20", "lake/net", "replace_period")
            transaction.outcomes.record_commit(lease, commit, now=later(at), period=period)
        transaction.runs.finish(lease, "completed", now=later(at))


def test_old_runs_expire_unless_their_slice_is_in_place(store: MetadataStore) -> None:
    finished(store, "old", 0)
    finished(store, "replaced", 1, has_slice=True)
    finished(store, "current", 2, has_slice=True)
    finished(store, "new", 100, period="2026-02")
    with store.write() as transaction:
        transaction.runs.start(**new_run("running", period="2026-03"), process=PROCESS, now=NOW, is_dead=nobody_is_dead)
        expired = [run.id for run in transaction.retention.expired_runs(later(50))]
    assert expired == ["old", "replaced"]


def test_a_forgotten_run_is_gone_with_all_it_had(store: MetadataStore) -> None:
    finished(store, "old", 0, has_slice=True)
    with store.write() as transaction:
        transaction.retention.forget_runs(["old"])
    with store.read() as transaction:
        assert transaction.runs.find("old") is None
        assert transaction.outcomes.commits("old") == ()
        with pytest.raises(DaybookError):
            transaction.runs.snapshot("old")


def test_a_live_run_is_never_forgotten(store: MetadataStore) -> None:
    with store.write() as transaction:
        transaction.runs.start(**new_run("live"), process=PROCESS, now=NOW, is_dead=nobody_is_dead)
        transaction.retention.forget_runs(["live"])
        assert transaction.runs.find("live") is not None


def register(store: MetadataStore, count: int) -> None:
    with store.write() as transaction:
        for number in range(count):
            registration = Registration(
                "maker", f"r{number}", 5, RegisteredDataPin("/lake/net", TableVersion("delta", str(number)))
            )
            transaction.definitions.register(make_dataset({"amount": "float"}, dataset_id="net"), registration, now=NOW)


def test_data_beyond_the_newest_versions_expires(store: MetadataStore) -> None:
    register(store, 5)
    with store.write() as transaction:
        expired = transaction.retention.expired_versions(keep=2)
        assert [(item.version, item.pin.version.number) for item in expired] == [(1, 0), (2, 1), (3, 2)]
        transaction.retention.mark_expired(expired, now=NOW)
        assert transaction.retention.expired_versions(keep=2) == ()
        assert transaction.definitions.versions("dataset", "net") == (1, 2, 3, 4, 5)


def test_a_version_that_a_project_is_pinned_to_stays(store: MetadataStore) -> None:
    register(store, 5)
    pinned = PROJECT.replace("{dataset_id: orders}", "{dataset_id: net, dataset_version: 2}")
    apply(store, definitions(pinned), workspace="w", now=NOW)
    with store.read() as transaction:
        assert [item.version for item in transaction.retention.expired_versions(keep=2)] == [1, 3]
    # Once neither the latest nor the active version of the project is pinned, nobody needs it any more.
    apply(
        store,
        definitions(pinned.replace("dataset_version: 2", "dataset_version: 5")),
        workspace="w",
        now=NOW,
    )
    with store.read() as transaction:
        assert [item.version for item in transaction.retention.expired_versions(keep=2)] == [1, 2, 3]
