"""What the status of a period means for a run, and how long things are kept."""

import datetime
from collections.abc import Iterator
from pathlib import Path

import pytest

from daybook.errors import DaybookError
from daybook.resolve.calendars.calendar import GREGORIAN
from daybook.resolve.calendars.periods import period_of
from daybook.runs.garbage import parse_duration
from daybook.runs.permissions import check_period
from daybook.runs.snapshot import new_run_id
from daybook.store import open_store
from daybook.store.store import Transaction

NOW = datetime.datetime(2026, 3, 1, 8, 5, 2, tzinfo=datetime.UTC)


@pytest.fixture
def transaction(tmp_path: Path) -> Iterator[Transaction]:
    with open_store("sqlite:///store.db", root=tmp_path) as store, store.write() as transaction:
        yield transaction


def codes(transaction: Transaction, identifier: str, *, is_sandboxed: bool = False) -> list[str]:
    period = period_of(identifier, GREGORIAN)
    return [notice.code for notice in check_period(transaction, period, is_sandboxed=is_sandboxed)]


def test_an_open_period_says_nothing(transaction: Transaction) -> None:
    assert codes(transaction, "2026-01") == []


def test_a_closed_period_warns(transaction: Transaction) -> None:
    transaction.periods.advance(period_of("2026-01", GREGORIAN), "closed", now=NOW)
    assert codes(transaction, "2026-01") == ["RUN_003"]
    assert codes(transaction, "2026-02") == []


def test_a_lock_covers_what_is_inside(transaction: Transaction) -> None:
    transaction.periods.advance(period_of("2026-Q1", GREGORIAN), "locked", now=NOW)
    with pytest.raises(DaybookError) as refused:
        codes(transaction, "2026-02")
    assert (refused.value.code, refused.value.parameters["because_of"]) == ("RUN_002", "2026-Q1")
    assert codes(transaction, "2026-04") == []
    # The year holds more than the locked quarter.
    assert codes(transaction, "2026") == []


def test_a_draft_into_the_sandbox_is_allowed_on_a_locked_period(transaction: Transaction) -> None:
    transaction.periods.advance(period_of("2026-01", GREGORIAN), "locked", now=NOW)
    assert codes(transaction, "2026-01", is_sandboxed=True) == []


@pytest.mark.parametrize(("text", "hours"), [("12h", 12), ("90d", 2160), ("4w", 672)])
def test_durations(text: str, hours: int) -> None:
    assert parse_duration(text) == datetime.timedelta(hours=hours)


def test_run_ids_sort_by_time() -> None:
    assert new_run_id(NOW).startswith("20260301-080502-")
    assert new_run_id(NOW) != new_run_id(NOW)
    assert new_run_id(NOW) < new_run_id(NOW + datetime.timedelta(seconds=1))
