"""Certificates of sealed periods are kept for good, also in a store that was made before there were any."""

import datetime
from pathlib import Path

import pytest
from sqlalchemy import text

from daybook.model.calendar import Period
from daybook.store import open_store
from daybook.store.records import Seal
from daybook.store.store import MetadataStore
from tests.unit.store.test_store_migrations import make_first_store

JANUARY = Period("2026-01", "month", datetime.date(2026, 1, 1), datetime.date(2026, 1, 31))
AT = datetime.datetime(2026, 2, 3, 8, tzinfo=datetime.UTC)


def seal(payload: str, *, runs: tuple[str, ...] = ("run-1",)) -> Seal:
    return Seal(
        payload * 64,
        JANUARY.calendar_id,
        JANUARY.identifier,
        JANUARY.level,
        JANUARY.start_date,
        JANUARY.end_date,
        AT,
        "anna",
        "key",
        "{}",
        runs,
    )


@pytest.fixture
def migrated(store_url: str, tmp_path: Path) -> MetadataStore:
    make_first_store(store_url, tmp_path)
    return open_store(store_url, root=tmp_path, migrate=True)


def test_the_last_certificate_of_a_period_comes_last(migrated: MetadataStore) -> None:
    with migrated as store:
        for payload in "ba":
            with store.write() as transaction:
                transaction.seals.record(seal(payload))
        with store.read() as transaction:
            assert transaction.seals.of(JANUARY) == (seal("b"), seal("a"))
            assert transaction.seals.of_run("run-1") == transaction.seals.all() == (seal("b"), seal("a"))
            assert transaction.seals.of_run("run-2") == ()
            assert [destination for _, destination in transaction.seals.held_versions()] == ["/lake/net"]


@pytest.mark.parametrize("statement", ["UPDATE seal SET sealed_by = 'bert'", "DELETE FROM sealed_run"])
def test_a_certificate_never_changes(migrated: MetadataStore, statement: str) -> None:
    with migrated as store:
        with store.write() as transaction:
            transaction.seals.record(seal("a"))
        with pytest.raises(Exception, match="immutable"), store.write() as transaction:
            transaction._connection.execute(text(statement))


def test_sealed_runs_and_their_versions_do_not_expire(migrated: MetadataStore) -> None:
    later = datetime.datetime(2027, 1, 1, tzinfo=datetime.UTC)
    with migrated as store:
        with store.write() as transaction:
            transaction._connection.execute(text(f"UPDATE run SET finished_at = '{AT.isoformat()}'"))
            assert [run.id for run in transaction.retention.expired_runs(later)] == ["run-1"]
        with store.write() as transaction:
            transaction.seals.record(seal("a"))
            assert transaction.retention.expired_runs(later) == ()
            assert transaction.retention.expired_versions(0) == ()
