"""The group close of the examples by its business rules, in plain Python: every number of every month.

It shares nothing with the product, and reads the CSV files of the workspace only; the budget is given to it.
"""

import calendar
import csv
import datetime
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import NamedTuple

MONTHS = ("2025-11", "2025-12", "2026-01", "2026-02")
CURRENCIES = {"de01": "EUR", "uk01": "GBP", "us01": "USD"}
TOTAL = "Operating result"
_ZERO = Decimal("0.00")
_CENT = Decimal("0.01")
_THRESHOLD = Decimal(5)
_TOLERANCE = Decimal(250)

Cells = tuple[object, ...]
# Budgets by month and account type.
Budgets = Mapping[tuple[str, str], Decimal]


class Line(NamedTuple):
    """A line of an entity's ledger."""

    entity: str
    currency: str
    journal_id: str
    line_number: int
    posting_date: datetime.date
    account: str
    account_type: str
    statement: str
    cost_centre: str | None
    partner: str | None
    invoice_eur: Decimal | None
    amount: Decimal
    description: str
    is_late: bool | None


class Balance(NamedTuple):
    opening: Decimal
    movement: Decimal
    closing: Decimal
    opening_eur: Decimal
    movement_eur: Decimal
    closing_eur: Decimal


@dataclass
class Month:
    """What every project writes for a month; rows by their keys."""

    ledgers: dict[str, list[Line]] = field(default_factory=dict)
    amounts_eur: dict[tuple[str, str, int], Decimal] = field(default_factory=dict)
    balances: dict[tuple[str, str], Balance] = field(default_factory=dict)
    results: dict[tuple[str, str, str], Decimal] = field(default_factory=dict)
    page: dict[str, Cells] = field(default_factory=dict)


def close_by_hand(data: Path, budgets: Budgets, months: Iterable[str] = MONTHS) -> dict[str, Month]:
    """Every month after the one before it."""
    chart = {row["account"]: row for row in _csv(data / "accounts.csv")}
    old_results = [
        (row["_period"], row["account_type"], Decimal(row["result_eur"])) for row in _csv(data / "old_results.csv")
    ]
    before = {
        (row["entity"], row["account"]): (Decimal(row["balance"]), Decimal(row["balance_eur"]))
        for row in _csv(data / "old_balances.csv")
    }
    closed: dict[str, Month] = {}
    for name in months:
        month = closed[name] = Month()
        rates = _average_rates(data, name)
        for entity in CURRENCIES:
            month.ledgers[entity] = _ledger(data, entity, name, chart)
        lines = [line for ledger in month.ledgers.values() for line in ledger]
        month.amounts_eur = {
            (line.entity, line.journal_id, line.line_number): _round(line.amount / rates[line.currency])
            for line in lines
        }
        month.balances = _balances(month, lines, before, name, _closing_rates(data, name), chart)
        before = {key: (balance.closing, balance.closing_eur) for key, balance in month.balances.items()}
        month.results = _results(month, lines)
        year = [(other, key[0], amount) for other, done in closed.items() for key, amount in done.results.items()]
        month.page = _page(name, [*old_results, *year], budgets)
        books = -sum(
            (
                balance.closing_eur
                for (_, account), balance in month.balances.items()
                if chart[account]["statement"] == "result"
            ),
            _ZERO,
        )
        assert month.page[TOTAL][3] == books
    return closed


class _Books(NamedTuple):
    entity: str
    chart: dict[str, dict[str, str]]

    def line(
        self,
        journal: str,
        number: int,
        day: datetime.date,
        account: str,
        centre: str | None,
        amount: Decimal,
        text: str | None,
        partner: str | None = None,
        invoice: Decimal | None = None,
        is_late: bool | None = None,
    ) -> Line:
        facts = self.chart[account]
        if facts["statement"] == "result" and centre is None:
            centre = "NONE"
        return Line(
            self.entity, CURRENCIES[self.entity], journal, number, day,
            account, facts["account_type"], facts["statement"],
            centre, partner, invoice, amount, text or "(no text)", is_late,
        )  # fmt: skip


def _ledger(data: Path, entity: str, month: str, chart: dict[str, dict[str, str]]) -> list[Line]:
    """Posted lines, tidied; accruals of the month and those of the month before with the opposite sign; IT divided."""
    start, end = _days(month)
    new_line = _Books(entity, chart).line
    lines = []
    for row in _csv(data / "ledger" / f"{entity}-{month}.csv"):
        if row["status"] != "posted":
            continue
        day = datetime.date.fromisoformat(row["posting_date"])
        lines.append(
            new_line(
                row["journal_id"],
                int(row["line_number"]),
                day,
                row["account"],
                row["cost_centre"].strip().upper() or None,
                Decimal(row["amount"]),
                row["description"].strip(),
                row["partner"].strip().lower() or None,
                Decimal(row["invoice_eur"]) if row["invoice_eur"] else None,
                day < start,
            )
        )
    previous = (start - datetime.timedelta(1)).isoformat()[:7]
    for row in _csv(data / "accruals.csv"):
        if row["entity"] != entity or row["_period"] not in (month, previous):
            continue
        amount, centre = Decimal(row["amount"]), row["cost_centre"] or None
        journal, day, text = row["accrual_id"], end, row["description"]
        if row["_period"] == previous:
            # What was accrued a month ago is taken back.
            amount, journal, day = -amount, f"{journal}-R", start
            text = f"Reversal: {text or '(no text)'}"
        # Nobody can tell whether accruals are late: they have no voucher.
        lines.append(new_line(journal, 1, day, row["account"], centre, amount, text))
        lines.append(new_line(journal, 2, day, "2300", None, -amount, text))
    lines += _shared_services(data, entity, month, lines, chart)
    assert sum((line.amount for line in lines), _ZERO) == 0
    return [line for line in lines if line.amount != 0]


def _shared_services(
    data: Path, entity: str, month: str, lines: list[Line], chart: dict[str, dict[str, str]]
) -> Iterator[Line]:
    _, end = _days(month)
    new_line = _Books(entity, chart).line
    pool = sum((line.amount for line in lines if line.statement == "result" and line.cost_centre == "IT"), _ZERO)
    heads = {
        row["cost_centre"]: int(row["headcount"] or 0)
        for row in _csv(data / "headcount.csv")
        if row["_period"] == month and row["entity"] == entity and row["cost_centre"] != "IT"
    }
    for centre, share in _divide(pool, heads).items():
        yield new_line(f"SHARED-{centre}", 1, end, "6900", centre, share, "Shared services")
    yield new_line("SHARED-IT", 1, end, "6900", "IT", -pool, "Shared services")


def _divide(amount: Decimal, weights: dict[str, int]) -> dict[str, Decimal]:
    """In whole cents: everybody's part rounded down; the cents left over go to the largest remainders, then by name."""
    cents, sign = int(abs(amount) * 100), -1 if amount < 0 else 1
    total = sum(weights.values())
    parts = {name: cents * weight // total for name, weight in weights.items()}
    remainders = sorted((-(cents * weight % total), name) for name, weight in weights.items())
    left = cents - sum(parts.values())
    for _, name in remainders[:left]:
        parts[name] += 1
    return {name: Decimal(sign * part) / 100 for name, part in parts.items()}


def _balances(
    month: Month,
    lines: list[Line],
    before: dict[tuple[str, str], tuple[Decimal, Decimal]],
    name: str,
    rates: dict[str, Decimal],
    chart: dict[str, dict[str, str]],
) -> dict[tuple[str, str], Balance]:
    opening: dict[tuple[str, str], list[Decimal]] = defaultdict(lambda: [_ZERO, _ZERO])
    moved: dict[tuple[str, str], list[Decimal]] = defaultdict(lambda: [_ZERO, _ZERO])
    for (entity, account), (amount, amount_eur) in before.items():
        if account == "3900":
            continue
        # A new year: the result of the last one is retained.
        is_closed = name.endswith("-01") and chart[account]["statement"] == "result"
        sums = opening[entity, "3100" if is_closed else account]
        sums[0] += amount
        sums[1] += amount_eur
    for line in lines:
        sums = moved[line.entity, line.account]
        sums[0] += line.amount
        sums[1] += month.amounts_eur[line.entity, line.journal_id, line.line_number]
    balances: dict[tuple[str, str], Balance] = {}
    for key in {*opening, *moved}:
        closing = opening[key][0] + moved[key][0]
        closing_eur = opening[key][1] + moved[key][1]
        if chart[key[1]]["statement"] == "balance":
            closing_eur = _round(closing / rates[CURRENCIES[key[0]]])
        balances[key] = Balance(opening[key][0], moved[key][0], closing, opening[key][1], moved[key][1], closing_eur)
    for entity in CURRENCIES:
        own = [balance for (owner, _), balance in balances.items() if owner == entity]
        assert sum((balance.closing for balance in own), _ZERO) == 0
        difference = -sum((balance.closing_eur for balance in own), _ZERO)
        was = before[entity, "3900"][1]
        assert difference == 0 or CURRENCIES[entity] != "EUR"
        balances[entity, "3900"] = Balance(_ZERO, _ZERO, _ZERO, was, difference - was, difference)
    return balances


def _results(month: Month, lines: list[Line]) -> dict[tuple[str, str, str], Decimal]:
    """By account type, account and cost centre, without what entities sold to each other."""
    results: dict[tuple[str, str, str], Decimal] = defaultdict(Decimal)
    invoices: dict[frozenset[str], Decimal] = defaultdict(Decimal)
    left: dict[frozenset[str], Decimal] = defaultdict(Decimal)
    for line in lines:
        if line.statement != "result":
            continue
        amount = month.amounts_eur[line.entity, line.journal_id, line.line_number]
        if line.partner is None:
            results[line.account_type, line.account, line.cost_centre or ""] -= amount
            continue
        pair = frozenset({line.entity, line.partner})
        invoices[pair] += line.invoice_eur or 0
        left[pair] += amount
    assert set(invoices.values()) == {_ZERO}
    assert all(abs(amount) <= _TOLERANCE for amount in left.values())
    results["Intercompany differences", "7900", "NONE"] = -sum(left.values(), _ZERO)
    return dict(results)


def _page(month: str, results: list[tuple[str, str, Decimal]], budgets: Budgets) -> dict[str, Cells]:
    planned = [(other, account_type, amount) for (other, account_type), amount in budgets.items()]
    sums: dict[str, list[Decimal]] = defaultdict(lambda: [_ZERO, _ZERO, _ZERO, _ZERO])
    for column, rows in enumerate((results, planned)):
        for other, account_type, amount in rows:
            if other[:4] != month[:4] or other > month:
                continue
            for name in (account_type, TOTAL):
                sums[name][2 + column] += amount
                if other == month:
                    sums[name][column] += amount
    page: dict[str, Cells] = {}
    for name, (actual, budget, year_actual, year_budget) in sums.items():
        variance = year_actual - year_budget
        percent = None if year_budget == 0 else _round(100 * variance / abs(year_budget), Decimal("0.1"))
        remark = "explain" if abs(variance) * 100 > abs(year_budget) * _THRESHOLD else None
        page[name] = (actual, budget, actual - budget, year_actual, year_budget, variance, percent, remark)
    return page


def _average_rates(data: Path, month: str) -> dict[str, Decimal]:
    """As they are known five days after the month."""
    return _rates(data / "average_rates.csv", _days(month)[1] + datetime.timedelta(5))


def _closing_rates(data: Path, month: str) -> dict[str, Decimal]:
    return _rates(data / "closing_rates.csv", _days(month)[1])


def _rates(path: Path, day: datetime.date) -> dict[str, Decimal]:
    return {
        row["currency"]: Decimal(row["rate"])
        for row in _csv(path)
        if row["valid_from"] <= day.isoformat() and (not row["valid_to"] or day.isoformat() < row["valid_to"])
    }


def _days(month: str) -> tuple[datetime.date, datetime.date]:
    start = datetime.date.fromisoformat(f"{month}-01")
    return start, start.replace(day=calendar.monthrange(start.year, start.month)[1])


def _round(value: Decimal, unit: Decimal = _CENT) -> Decimal:
    return value.quantize(unit, ROUND_HALF_UP)


def _csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def tables_by_hand(data: Path, closed: Mapping[str, Month]) -> dict[str, Counter[Cells]]:
    """The rows of every table, each with its month first; columns in the order of the outputs."""
    chart = {row["account"]: (row["account_name"], row["statement"]) for row in _csv(data / "accounts.csv")}
    tables: dict[str, Counter[Cells]] = defaultdict(Counter)
    for name, month in closed.items():
        for entity, ledger in month.ledgers.items():
            tables[f"ledger_{entity}"].update((name, *line) for line in ledger)
            tables["group_ledger"].update(
                (
                    name, line.entity, line.currency, line.journal_id, line.line_number, line.account,
                    line.account_type, line.statement, line.cost_centre, line.partner, line.invoice_eur, line.amount,
                    month.amounts_eur[line.entity, line.journal_id, line.line_number],
                )
                for line in ledger
            )  # fmt: skip
        tables["balances"].update(
            (name, entity, CURRENCIES[entity], account, *chart[account], *balance)
            for (entity, account), balance in month.balances.items()
        )
        tables["group_result"].update((name, *key, amount) for key, amount in month.results.items())
        tables["board_pack"].update((name, account_type, *cells) for account_type, cells in month.page.items())
    return dict(tables)
