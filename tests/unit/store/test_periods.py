"""Period statuses, on both back ends."""

import datetime

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DatabaseError

from daybook.errors import DaybookError
from daybook.model.calendar import Period
from daybook.store.database.periods import EffectiveStatus
from daybook.store.records import SliceTable, StatusChange
from daybook.store.store import MetadataStore, Transaction
from tests.unit.store.samples import NOW, later


def period(identifier: str, level: str, start: str, end: str, calendar_id: str = "gregorian") -> Period:
    return Period(identifier, level, datetime.date.fromisoformat(start), datetime.date.fromisoformat(end), calendar_id)


YEAR = period("2026", "year", "2026-01-01", "2026-12-31")
QUARTER = period("2026-Q1", "quarter", "2026-01-01", "2026-03-31")
JANUARY = period("2026-01", "month", "2026-01-01", "2026-01-31")
APRIL = period("2026-04", "month", "2026-04-01", "2026-04-30")


def test_periods_are_open_until_told(store: MetadataStore) -> None:
    with store.read() as transaction:
        assert transaction.periods.status(JANUARY) == EffectiveStatus("open")


def test_open_closed_locked(store: MetadataStore) -> None:
    with store.write() as transaction:
        assert transaction.periods.advance(JANUARY, "closed", now=NOW)
        assert not transaction.periods.advance(JANUARY, "closed", now=NOW)
        assert transaction.periods.status(JANUARY).status == "closed"
        assert transaction.periods.advance(JANUARY, "locked", now=NOW, user="ann")
        assert transaction.periods.status(JANUARY) == EffectiveStatus("locked", "2026-01", NOW, "ann")


def test_an_open_period_may_be_locked_directly(store: MetadataStore) -> None:
    with store.write() as transaction:
        assert transaction.periods.advance(JANUARY, "locked", now=NOW)


@pytest.mark.parametrize("status", ["open", "closed"])
def test_nothing_goes_back(store: MetadataStore, status: str) -> None:
    with store.write() as transaction:
        transaction.periods.advance(JANUARY, "locked", now=NOW)
        with pytest.raises(DaybookError) as caught:
            transaction.periods.advance(JANUARY, status, now=NOW)  # type: ignore[arg-type]
    assert (caught.value.code, caught.value.parameters["status"]) == ("STORE_017", "locked")


def test_a_lock_covers_the_periods_inside_and_no_others(store: MetadataStore) -> None:
    with store.write() as transaction:
        transaction.periods.advance(QUARTER, "locked", now=NOW)
        assert transaction.periods.status(JANUARY) == EffectiveStatus("locked", "2026-Q1", NOW)
        assert transaction.periods.status(APRIL).status == "open"
        assert transaction.periods.status(YEAR).status == "open"
        other = period("FY26-01", "month", "2026-01-01", "2026-01-31", "fiscal")
        assert transaction.periods.status(other).status == "open"


def test_a_covered_period_cannot_be_closed_behind_its_lock(store: MetadataStore) -> None:
    with store.write() as transaction:
        transaction.periods.advance(YEAR, "locked", now=NOW)
        with pytest.raises(DaybookError) as caught:
            transaction.periods.advance(JANUARY, "closed", now=NOW)
    assert caught.value.code == "STORE_017"


def test_a_locked_period_is_reopened_with_a_reason_and_every_change_is_kept(store: MetadataStore) -> None:
    with store.write() as transaction:
        periods = transaction.periods
        periods.advance(JANUARY, "locked", now=NOW, user="ann", reason="signed off")
        assert periods.reopen(JANUARY, reason="late invoice", now=later(60), user="bob")
        assert periods.status(JANUARY).status == "open"
        assert not periods.reopen(JANUARY, reason="again", now=later(61))
        periods.advance(JANUARY, "closed", now=later(62))
        assert periods.history(JANUARY) == (
            StatusChange("locked", NOW, "ann", "signed off"),
            StatusChange("open", later(60), "bob", "late invoice"),
            StatusChange("closed", later(62)),
        )
        assert periods.history(APRIL) == ()


def test_a_period_inside_a_locked_one_is_reopened_by_reopening_that_one(store: MetadataStore) -> None:
    with store.write() as transaction:
        transaction.periods.advance(JANUARY, "closed", now=NOW)
        transaction.periods.advance(QUARTER, "locked", now=NOW)
    with pytest.raises(DaybookError) as caught, store.write() as transaction:
        transaction.periods.reopen(JANUARY, reason="late invoice", now=NOW)
    assert (caught.value.code, caught.value.parameters["because_of"]) == ("STORE_031", "2026-Q1")
    with store.write() as transaction:
        assert [change.status for change in transaction.periods.history(JANUARY)] == ["closed"]
        assert transaction.periods.reopen(QUARTER, reason="late invoice", now=NOW)
        # What was closed by itself stays closed.
        assert transaction.periods.status(JANUARY) == EffectiveStatus("closed", "2026-01", NOW)


@pytest.mark.parametrize("statement", ["UPDATE period_change SET reason = 'none'", "DELETE FROM period_change"])
def test_the_history_of_a_period_cannot_be_changed(store: MetadataStore, statement: str) -> None:
    with store.write() as transaction:
        transaction.periods.advance(JANUARY, "locked", now=NOW)
    with pytest.raises(DatabaseError, match="immutable"), store.write() as transaction:
        transaction._connection.execute(text(statement))


def test_a_table_is_one_in_every_spelling_and_in_stores_that_kept_its_label(store: MetadataStore) -> None:
    by_label, by_identity = SliceTable("wh.net", "wh.net"), SliceTable("sqlite:/data/wh.db/net", "wh.net")
    other_label = SliceTable("sqlite:/data/wh.db/net", "again.NET")

    def take(transaction: Transaction, table: SliceTable, period: str, project_id: str) -> None:
        transaction.slices.take(
            table, period, project_id=project_id, operation_id="op", run_id="r", rows=1, now=NOW, instead_of=None
        )

    with store.write() as transaction:
        for period in ("2026-01", "2026-02"):
            take(transaction, by_label, period, "close")
        assert [each.period for each in transaction.slices.of(by_identity)] == ["2026-01", "2026-02"]
        take(transaction, by_identity, "2026-01", "close")
        known = transaction.slices.owner(other_label, "2026-01")
        assert known is not None
        assert (known.destination, known.project_id) == ("sqlite:/data/wh.db/net", "close")
        with pytest.raises(DaybookError) as caught:
            take(transaction, other_label, "2026-01", "other")
        assert caught.value.code == "STORE_016"
        transaction.slices.forget(by_identity)
        assert transaction.slices.of(by_label) == ()
