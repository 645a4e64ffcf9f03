"""Who wrote what stood at a destination at some time."""

from daybook.model.definition import TableVersion
from daybook.store.records import OutputCommit
from daybook.store.store import MetadataStore
from tests.unit.store.samples import PROCESS, later, new_run, nobody_is_dead


def write(store: MetadataStore, run_id: str, period: str, at: int, mode: str = "replace_period") -> None:
    """A run that commits one version of the table at a second."""
    version = TableVersion("delta", str(at))
    with store.write() as transaction:
        lease = transaction.runs.start(
            **new_run(run_id, period=period),
            process=PROCESS,
            now=later(at),
            is_dead=nobody_is_dead,
        )
        commit = OutputCommit(20, "op-20", "lake/net", mode, table_version=version, rows=1)
        transaction.outcomes.record_commit(lease, commit, now=later(at))
        transaction.runs.finish(lease, "completed", now=later(at))


def writers(store: MetadataStore, before: int, version: str | None = None) -> dict[str | None, str]:
    wanted = TableVersion("delta", version) if version else None
    with store.read() as transaction:
        return transaction.outcomes.writers("lake/net", before=later(before), version=wanted)


def test_the_last_run_before_a_time_wrote_a_slice(store: MetadataStore) -> None:
    write(store, "r1", "2026-01", 1)
    write(store, "r2", "2026-02", 2)
    write(store, "r3", "2026-01", 3)
    assert writers(store, 0) == {}
    assert writers(store, 2) == {"2026-01": "r1", "2026-02": "r2"}
    assert writers(store, 9) == {"2026-01": "r3", "2026-02": "r2"}


def test_a_version_has_the_slices_of_its_time(store: MetadataStore) -> None:
    write(store, "r1", "2026-01", 1)
    write(store, "r2", "2026-02", 2)
    write(store, "r3", "2026-01", 3)
    assert writers(store, 9, version="2") == {"2026-01": "r1", "2026-02": "r2"}
    # A version that no run made holds what was there before.
    assert writers(store, 9, version="77") == {"2026-01": "r3", "2026-02": "r2"}


def test_a_run_that_replaces_everything_wrote_all_of_it(store: MetadataStore) -> None:
    write(store, "r1", "2026-01", 1)
    write(store, "r2", "2026-02", 2, mode="replace")
    assert writers(store, 9) == {None: "r2"}


def test_nobody_knows_who_wrote_a_row_that_one_of_two_runs_appended(store: MetadataStore) -> None:
    write(store, "r1", "2026-01", 1, mode="append")
    assert writers(store, 9) == {"2026-01": "r1"}
    write(store, "r2", "2026-01", 2, mode="append")
    write(store, "r3", "2026-02", 3, mode="append")
    assert writers(store, 9) == {"2026-02": "r3"}
