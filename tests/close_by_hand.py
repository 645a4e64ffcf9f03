"""The demonstration's close in plain Python over the generated files: no Spark, no expressions, no project."""

import csv
import datetime
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

CENT = Decimal("0.01")
BALANCE_SHEET = {"Assets", "Liabilities"}


@dataclass
class Compared:
    actual: Decimal = Decimal(0)
    budget: Decimal = Decimal(0)
    lines: int = 0


Table = dict[tuple[str, str], Compared]


def close_by_hand(data: Path, period: str, as_of: datetime.date | None = None) -> Table:
    """Actual and budget by account type and cost centre."""
    day = as_of or datetime.date.fromisoformat(f"{period}-01")
    table: Table = defaultdict(Compared)
    types = {row["account_code"]: row["account_type"] for row in _csv(data / "accounts.csv")}
    centres = {row["cost_centre"]: row for row in _csv(data / "cost_centres.csv")}
    rates = _rates(data / "exchange_rates.json", day)
    for line in pq.read_table(data / "ledger" / f"{period}.parquet").to_pylist():
        if line["status"] != "posted" or line["amount"] == 0 or types[line["account_code"]] in BALANCE_SHEET:
            continue
        centre = line["cost_centre"].strip().upper()
        if centre == "CC-900":
            _allocate(line["amount"], centres, table)
            continue
        cell = table[types[line["account_code"]], centre if centre in centres else "CC-000"]
        cell.actual -= (line["amount"] * rates[line["currency"]]).quantize(CENT, ROUND_HALF_UP)
        cell.lines += 1
    for row in _csv(data / "budgets.csv"):
        if row["_period"] == period and row["budget_version"] == "approved":
            table[row["account_type"], row["cost_centre"]].budget += Decimal(row["amount"])
    return dict(table)


def by_account_type(table: Table) -> dict[str, Compared]:
    totals: dict[str, Compared] = defaultdict(Compared)
    for (account_type, _), cell in table.items():
        for name in (account_type, "Operating result"):
            totals[name].actual += cell.actual
            totals[name].budget += cell.budget
    return dict(totals)


def _allocate(invoice: Decimal, centres: dict[str, dict[str, str]], table: Table) -> None:
    charged = {code: int(row["headcount"]) for code, row in centres.items() if row["charged_by"] == "CC-900"}
    heads = sum(charged.values())
    for code, headcount in charged.items():
        table["Shared services", code].actual -= (invoice * headcount / heads).quantize(CENT, ROUND_HALF_UP)


def _rates(path: Path, day: datetime.date) -> dict[str, Decimal]:
    rows: Iterator[dict[str, Any]] = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {
        row["currency"]: Decimal(row["rate"]) for row in rows if row["valid_from"] <= day.isoformat() < row["valid_to"]
    }


def _csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def balances_by_hand(data: Path, periods: list[str]) -> dict[tuple[str, str], tuple[Decimal, ...]]:
    """Opening, movement, closing, last year and change of every balance-sheet account, month after month."""
    types = {row["account_code"]: row["account_type"] for row in _csv(data / "accounts.csv")}
    old = {(row["_period"], row["account_code"]): Decimal(row["balance"]) for row in _csv(data / "last_year.csv")}
    balances = {account: amount for (period, account), amount in old.items() if period == "2025-12"}
    found: dict[tuple[str, str], tuple[Decimal, ...]] = {}
    for period in periods:
        rates = _rates(data / "exchange_rates.json", datetime.date.fromisoformat(f"{period}-01"))
        moved: dict[str, Decimal] = defaultdict(Decimal)
        for line in pq.read_table(data / "ledger" / f"{period}.parquet").to_pylist():
            if types[line["account_code"]] in BALANCE_SHEET:
                moved[line["account_code"]] += (line["amount"] * rates[line["currency"]]).quantize(CENT, ROUND_HALF_UP)
        for account in sorted({*balances, *moved}):
            opening = balances.get(account, Decimal(0))
            closing = opening + moved[account]
            before = old[period.replace("2026", "2025"), account]
            found[period, account] = (opening, moved[account], closing, before, closing - before)
            balances[account] = closing
    return found
