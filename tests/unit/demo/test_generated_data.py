"""The generated data: balanced, dirty in the ways the close deals with, and the same every time."""

import csv
import datetime
import json
from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from daybook.demo.generated_data import write_data

JOURNALS = 900


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "data"
    write_data(folder, JOURNALS)
    return folder


@pytest.fixture(scope="module")
def january(data: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(data / "ledger" / "2026-01.parquet").to_pylist()
    return rows


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_there_is_a_file_for_every_month(data: Path) -> None:
    months = [f"2026-{month:02d}.parquet" for month in range(1, 13)]
    assert sorted(path.name for path in (data / "ledger").glob("*.parquet")) == months


def test_the_full_ledger_has_a_few_hundred_thousand_lines(tmp_path: Path) -> None:
    assert 250_000 < write_data(tmp_path / "data") < 350_000


def test_every_journal_balances_in_one_currency(data: Path) -> None:
    for path in (data / "ledger").glob("*.parquet"):
        balance: dict[str, Decimal] = defaultdict(Decimal)
        currencies: dict[str, set[str]] = defaultdict(set)
        for row in pq.read_table(path).to_pylist():
            balance[row["journal_id"]] += row["amount"]
            currencies[row["journal_id"]].add(row["currency"])
        assert set(balance.values()) == {Decimal(0)}
        assert all(len(found) == 1 for found in currencies.values())


def test_line_numbers_identify_lines(january: list[dict[str, Any]]) -> None:
    keys = Counter((row["journal_id"], row["line_number"]) for row in january)
    assert max(keys.values()) == 1


def test_postings_are_dated_in_their_month(january: list[dict[str, Any]]) -> None:
    assert min(row["posting_date"] for row in january) >= datetime.date(2026, 1, 1)
    assert max(row["posting_date"] for row in january) <= datetime.date(2026, 1, 31)


def test_what_the_close_deals_with_is_there(data: Path) -> None:
    lines = [row for path in (data / "ledger").glob("*.parquet") for row in pq.read_table(path).to_pylist()]
    centres = {row["cost_centre"] for row in lines} - {None}
    assert any(centre.strip().upper() == "CC-777" for centre in centres)
    assert any(centre != centre.strip() for centre in centres)
    assert {row["currency"] for row in lines} == {"EUR", "USD", "GBP", "CHF"}
    assert {row["status"] for row in lines} == {"posted", "reversed", "reversal"}
    assert any(row["amount"] == 0 for row in lines)
    texts = {row["description"] for row in lines if row["cost_centre"]}
    assert None in texts
    assert "" in texts


def test_reversals_undo_what_was_reversed(january: list[dict[str, Any]]) -> None:
    totals: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
    for row in january:
        if row["status"] != "posted":
            totals[row["account_code"], row["currency"]] += row["amount"]
    assert set(totals.values()) == {Decimal(0)}


def test_one_invoice_a_month_is_shared_to_the_cent(data: Path) -> None:
    heads = {row["cost_centre"]: int(row["headcount"]) for row in rows_of(data / "cost_centres.csv")}
    served = heads.pop("CC-900")
    assert sum(heads.values()) == served
    for path in (data / "ledger").glob("*.parquet"):
        invoices = [row for row in pq.read_table(path).to_pylist() if row["account_code"] == "6800"]
        assert [(row["cost_centre"], row["currency"]) for row in invoices] == [("CC-900", "EUR")]
        shares = [invoices[0]["amount"] * count / served for count in heads.values()]
        assert all(share == round(share, 2) for share in shares)


def test_one_rate_is_valid_on_every_day(data: Path) -> None:
    lines = (data / "exchange_rates.json").read_text(encoding="utf-8").splitlines()
    rates = [json.loads(line) for line in lines]
    day = datetime.date(2026, 1, 1)
    while day.year == 2026:
        valid = Counter(rate["currency"] for rate in rates if rate["valid_from"] <= day.isoformat() < rate["valid_to"])
        assert valid == {"EUR": 1, "USD": 1, "GBP": 1, "CHF": 1}
        day += datetime.timedelta(days=1)


def test_the_dollar_was_corrected_in_january(data: Path) -> None:
    lines = (data / "exchange_rates.json").read_text(encoding="utf-8").splitlines()
    rates = [json.loads(line) for line in lines]
    january = [rate for rate in rates if rate["currency"] == "USD" and rate["valid_from"].startswith("2026-01")]
    assert [rate["source"] for rate in january] == ["published", "correction"]
    assert january[0]["rate"] != january[1]["rate"]


def test_budgets_are_for_known_accounts_and_cost_centres(data: Path) -> None:
    types = {row["account_code"]: row["account_type"] for row in rows_of(data / "accounts.csv")}
    centres = {row["cost_centre"] for row in rows_of(data / "cost_centres.csv")}
    budgets = rows_of(data / "budgets.csv")
    assert {row["_period"] for row in budgets} == {f"2026-{month:02d}" for month in range(1, 13)}
    assert all(types[row["account_code"]] == row["account_type"] for row in budgets)
    assert {row["cost_centre"] for row in budgets} <= centres
    assert {row["budget_version"] for row in budgets} == {"approved", "draft"}


def test_the_data_is_the_same_every_time(data: Path, tmp_path: Path) -> None:
    again = tmp_path / "data"
    write_data(again, JOURNALS)
    for path in data.glob("*.*"):
        assert (again / path.name).read_bytes() == path.read_bytes()
    for path in (data / "ledger").glob("*.parquet"):
        assert pq.read_table(again / "ledger" / path.name).equals(pq.read_table(path))


def test_the_ledger_says_how_much_it_exported(data: Path) -> None:
    for path in (data / "ledger").glob("*.parquet"):
        (control,) = rows_of(path.with_suffix(".control.csv"))
        amounts = [row["amount"] for row in pq.read_table(path).to_pylist()]
        assert (int(control["rows"]), Decimal(control["total_amount"])) == (len(amounts), sum(amounts))
