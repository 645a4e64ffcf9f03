"""Writes the data of this workspace again, always the same: `python make_data.py`. Needs openpyxl for the budgets.

All names and amounts are made up. What real ledgers have is in there: journals that were reversed, journals of the
month before that came late, cost centres that people typed as they liked or left out, lines of zero, a corrected rate.
"""

import calendar
import csv
import datetime
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from openpyxl import Workbook
from openpyxl.worksheet.table import Table

DATA = Path(__file__).parent / "data"
MONTHS = ("2025-11", "2025-12", "2026-01", "2026-02")
# Size of an entity's amounts in its own currency.
ENTITIES = {"de01": ("EUR", 10), "uk01": ("GBP", 4), "us01": ("USD", 7)}
CENTRES = ("OPS", "SAL", "ADM", "IT")
CLOSING = {
    "EUR": {"2025-10": "1.0000"},
    "GBP": {"2025-10": "0.8779", "2025-11": "0.8761", "2025-12": "0.8726", "2026-01": "0.8663", "2026-02": "0.8718"},
    "USD": {"2025-10": "1.1554", "2025-11": "1.1566", "2025-12": "1.1750", "2026-01": "1.1893", "2026-02": "1.1805"},
}
AVERAGE = {
    "GBP": {"2025-11": "0.8798", "2025-12": "0.8752", "2026-01": "0.8681", "2026-02": "0.8695"},
    "USD": {"2025-11": "1.1560", "2025-12": "1.1709", "2026-01": "1.1738", "2026-02": "1.1824"},
}
# Published two days after November, corrected two days later.
WRONG_GBP_OF_NOVEMBER = "0.8978"
ACCOUNTS = (
    ("0400", "Equipment", "Assets", "balance"),
    ("1000", "Bank", "Assets", "balance"),
    ("1200", "Receivables", "Assets", "balance"),
    ("1400", "Intercompany receivables", "Assets", "balance"),
    ("2000", "Payables", "Liabilities", "balance"),
    ("2300", "Accrued liabilities", "Liabilities", "balance"),
    ("2400", "Intercompany payables", "Liabilities", "balance"),
    ("3000", "Share capital", "Equity", "equity"),
    ("3100", "Retained earnings", "Equity", "equity"),
    ("3900", "Translation difference", "Equity", "equity"),
    ("4000", "Revenue", "Revenue", "result"),
    ("4800", "Intercompany revenue", "Revenue", "result"),
    ("5000", "Cost of sales", "Cost of sales", "result"),
    ("5800", "Intercompany cost of sales", "Cost of sales", "result"),
    ("6000", "Personnel", "Personnel", "result"),
    ("6100", "Rent", "Other costs", "result"),
    ("6200", "Software", "Other costs", "result"),
    ("6300", "Travel", "Other costs", "result"),
    ("6900", "Shared services", "Shared services", "result"),
    ("7900", "Intercompany differences", "Intercompany differences", "result"),
)
TYPE = {account: account_type for account, _, account_type, _ in ACCOUNTS}
# Seller and buyer.
TRADE = (("de01", "uk01"), ("de01", "us01"), ("uk01", "us01"))
JOURNAL_COLUMNS = (
    "_period", "journal_id", "line_number", "posting_date", "account", "cost_centre", "partner", "invoice_eur",
    "amount", "description", "status",
)  # fmt: skip

Row = Sequence[object]


def cents(value: Decimal) -> Decimal:
    return value.quantize(Decimal("0.01"), ROUND_HALF_UP)


def first_day(month: str) -> datetime.date:
    return datetime.date.fromisoformat(f"{month}-01")


def last_day(month: str) -> datetime.date:
    first = first_day(month)
    return first.replace(day=calendar.monthrange(first.year, first.month)[1])


def next_month(month: str) -> str:
    return (last_day(month) + datetime.timedelta(1)).isoformat()[:7]


def previous_month(month: str) -> str:
    return (first_day(month) - datetime.timedelta(1)).isoformat()[:7]


def write(name: str, columns: Sequence[str], rows: Iterable[Row]) -> None:
    path = DATA / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_text(cell) for cell in row] for row in rows)


def _text(cell: object) -> str:
    match cell:
        case None:
            return ""
        case Decimal():
            return str(cents(cell))
        case _:
            return str(cell)


class Journal:
    """The lines of an entity and a month."""

    def __init__(self, chance: random.Random, entity: str, month: str) -> None:
        self.chance, self.entity, self.month = chance, entity, month
        self.currency, self.size = ENTITIES[entity]
        self.rows: list[Row] = []
        self._number = 0

    def amount(self, low: int, high: int) -> Decimal:
        return Decimal(self.chance.randint(low * self.size * 100, high * self.size * 100)) / 100

    def day(self) -> datetime.date:
        return first_day(self.month) + datetime.timedelta(self.chance.randrange(last_day(self.month).day))

    def book(
        self,
        debit: str,
        credit: str,
        amount: Decimal,
        text: str | None,
        *,
        centre: str | None = None,
        partner: str | None = None,
        invoice: Decimal | None = None,
        day: datetime.date | None = None,
        status: str = "posted",
    ) -> None:
        self._number += 1
        journal_id = f"{self.entity[0].upper()}{self.month[2:4]}{self.month[5:]}-{self._number:03}"
        day = day or self.day()
        for line, account, sign in ((1, debit, 1), (2, credit, -1)):
            has_centre = account >= "4000"
            self.rows.append((
                self.month, journal_id, line, day, account, self._typed(centre) if has_centre else None, partner,
                None if invoice is None else sign * invoice, sign * amount, text, status,
            ))  # fmt: skip

    def _typed(self, centre: str | None) -> str | None:
        if centre is None:
            return None
        # The shared cost centre is filled in by a program.
        kind = 9 if centre == "IT" else self.chance.randrange(12)
        return {0: centre.lower(), 1: f" {centre}", 2: centre.title(), 3: None}.get(kind, centre)

    def text(self, text: str) -> str | None:
        return {0: None, 1: "   ", 2: f" {text} "}.get(self.chance.randrange(15), text)

    def fill(self) -> None:
        for _ in range(9):
            self.book("1200", "4000", self.amount(300, 1600), self.text("Invoice to a customer"), centre="SAL")
        for _ in range(5):
            self.book("5000", "2000", self.amount(200, 900), self.text("Goods"), centre="OPS")
        for centre in CENTRES:
            self.book(
                "6000", "1000", self.amount(250, 500), self.text("Salaries"), centre=centre, day=last_day(self.month)
            )
        self.book("6100", "2000", self.amount(200, 210), self.text("Rent"), centre="ADM", day=first_day(self.month))
        for _ in range(2):
            self.book("6200", "2000", self.amount(30, 90), self.text("Licences"), centre="IT")
        for _ in range(3):
            centre = self.chance.choice(("SAL", "ADM", "OPS"))
            self.book("6300", "2000", self.amount(5, 40), self.text("Travel"), centre=centre)
        for _ in range(3):
            self.book("1000", "1200", self.amount(800, 2500), self.text("A customer paid"))
        for _ in range(2):
            self.book("2000", "1000", self.amount(500, 1500), self.text("Paid to a supplier"))
        self.book("1200", "4000", Decimal("0.00"), "Sample, free of charge", centre="SAL")
        wrong, day = self.amount(500, 900), self.day()
        self.book("5000", "2000", wrong, "Booked twice", centre="OPS", day=day, status="reversed")
        self.book("2000", "5000", wrong, "Booked twice", centre="OPS", day=day, status="reversal")
        before = last_day(previous_month(self.month)) - datetime.timedelta(self.chance.randrange(6))
        self.book("6300", "2000", self.amount(10, 60), "Travel of last month", centre="SAL", day=before)

    def trade(self, partner: str, invoice: Decimal, day: datetime.date, rate: Decimal, *, is_seller: bool) -> None:
        amount = cents(invoice * rate)
        typed = partner.upper() if self.chance.randrange(4) == 0 else partner
        accounts = ("1400", "4800") if is_seller else ("5800", "2400")
        self.book(*accounts, amount, "Services within the group", centre="OPS", partner=typed, invoice=invoice, day=day)

    def write(self) -> None:
        name = f"ledger/{self.entity}-{self.month}"
        write(f"{name}.csv", JOURNAL_COLUMNS, self.rows)
        write(f"{name}.control.csv", ("rows", "total_amount"), [(len(self.rows), sum(row[8] for row in self.rows))])  # type: ignore[misc]


def write_journals(chance: random.Random) -> None:
    for month in MONTHS:
        journals = {entity: Journal(chance, entity, month) for entity in ENTITIES}
        for journal in journals.values():
            journal.fill()
        for seller, buyer in TRADE:
            for _ in range(2):
                invoice, day = Decimal(chance.randint(80_000, 400_000)) / 100, journals[seller].day()
                for journal, partner in ((journals[seller], buyer), (journals[buyer], seller)):
                    # Each books at the rate of the day, which is somewhere around the average.
                    average = Decimal(AVERAGE.get(journal.currency, {}).get(month, "1"))
                    rate = average + (0 if journal.currency == "EUR" else Decimal(chance.randint(-60, 60)) / 10_000)
                    journal.trade(partner, invoice, day, rate, is_seller=journal is journals[seller])
        for journal in journals.values():
            journal.write()


def write_accruals(chance: random.Random) -> dict[str, Decimal]:
    """What the entities had accrued at the end of October."""
    rows: list[Row] = []
    accrued: dict[str, Decimal] = defaultdict(Decimal)
    for month in ("2025-10", *MONTHS):
        for entity, (_, size) in ENTITIES.items():
            for number, (account, centre, text) in enumerate(
                (("6200", "IT", "Licences not invoiced yet"), ("5000", "OPS", "Goods received"), ("6100", None, None)),
                1,
            ):
                amount = Decimal(chance.randint(20 * size * 100, 120 * size * 100)) / 100
                accrual = f"A{month[2:4]}{month[5:]}-{entity}-{number}"
                rows.append((month, accrual, entity, account, centre, amount, text))
                if month == "2025-10":
                    accrued[entity] += amount
    write("accruals.csv", ("_period", "accrual_id", "entity", "account", "cost_centre", "amount", "description"), rows)
    return accrued


def write_headcount(chance: random.Random) -> None:
    rows: list[Row] = []
    for month in MONTHS:
        for entity, (_, size) in ENTITIES.items():
            for centre in CENTRES:
                heads = chance.randint(size, 3 * size)
                # Nobody counted in one place in December.
                is_missing = (month, entity, centre) == ("2025-12", "uk01", "ADM")
                rows.append((month, entity, centre, None if is_missing else heads))
    write("headcount.csv", ("_period", "entity", "cost_centre", "headcount"), rows)


def write_rates() -> None:
    columns = ("currency", "rate", "valid_from", "valid_to")
    rows: list[Row] = []
    for currency, rates in CLOSING.items():
        for month, rate in rates.items():
            following = next_month(month)
            rows.append((currency, rate, last_day(month), last_day(following) if following in rates else None))
    write("closing_rates.csv", columns, rows)
    rows = [("EUR", "1.0000", "2025-01-01", None)]
    for currency, rates in AVERAGE.items():
        for month, rate in rates.items():
            published = first_day(next_month(month)) + datetime.timedelta(1)
            following = next_month(month)
            until = first_day(next_month(following)) + datetime.timedelta(1) if following in rates else None
            if (currency, month) == ("GBP", "2025-11"):
                corrected = published + datetime.timedelta(2)
                rows.append((currency, WRONG_GBP_OF_NOVEMBER, published, corrected))
                published = corrected
            rows.append((currency, rate, published, until))
    write("average_rates.csv", columns, rows)


def write_old_ledger(chance: random.Random, accrued: dict[str, Decimal]) -> None:
    rows: list[Row] = []
    results: dict[str, Decimal] = defaultdict(Decimal)
    for entity, (currency, size) in ENTITIES.items():
        closing = Decimal(CLOSING[currency]["2025-10"])
        year_average = {"EUR": Decimal(1), "GBP": Decimal("0.8561"), "USD": Decimal("1.1249")}[currency]

        def amount(low: int, high: int, size: int = size) -> Decimal:
            return Decimal(chance.randint(low * size * 100, high * size * 100)) / 100

        local = {
            "0400": amount(4000, 6000),
            "1000": amount(60_000, 64_000),
            "1200": amount(5000, 8000),
            "2000": -amount(3000, 5000),
            "2300": -accrued[entity],
            "3000": -Decimal(5000 * size),
            "4000": -amount(83_000, 87_000),
            "5000": amount(27_000, 31_000),
            "6000": amount(14_000, 16_000),
            "6100": amount(2100, 2200),
            "6200": amount(1500, 1700),
            "6300": amount(600, 700),
        }
        local["3100"] = -sum(local.values(), Decimal(0))
        in_euro: dict[str, Decimal] = {}
        for account, balance in sorted(local.items()):
            rate = closing if account < "3000" else year_average
            in_euro[account] = cents(balance / rate)
            if account >= "4000":
                results[TYPE[account]] -= in_euro[account]
        local["3900"], in_euro["3900"] = Decimal("0.00"), -sum(in_euro.values(), Decimal(0))
        rows += [("2025-10", entity, currency, account, local[account], in_euro[account]) for account in sorted(local)]
    write("old_balances.csv", ("_period", "entity", "currency", "account", "balance", "balance_eur"), rows)
    months = [f"2025-{number:02}" for number in range(1, 11)]
    rows = []
    for account_type, total in results.items():
        share = cents(total / len(months))
        rows += [(month, account_type, share) for month in months[:-1]]
        rows.append((months[-1], account_type, total - share * (len(months) - 1)))
    write("old_results.csv", ("_period", "account_type", "result_eur"), sorted(rows, key=str))


def write_budget(year: int, growth: Decimal) -> None:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Budget"
    sheet.append([f"Budget {year}, effects on the result in euro"])
    sheet.append([])
    sheet.append(["_period", "account_type", "amount"])
    base = {"Revenue": "196000", "Cost of sales": "-66500", "Personnel": "-31500.50", "Other costs": "-9200.25"}
    for number in range(1, 13):
        for account_type, amount in base.items():
            season = Decimal(100 + (number % 4)) / 100
            sheet.append([f"{year}-{number:02}", account_type, float(cents(Decimal(amount) * growth * season))])
    last = sheet.max_row
    # A sum below the table is no line of it.
    sheet.cell(last + 2, 2, "Sum")
    sheet.cell(
        last + 2,
        3,
        float(cents(sum((Decimal(str(sheet.cell(row, 3).value)) for row in range(4, last + 1)), Decimal(0)))),
    )
    sheet.add_table(Table(displayName="Budget", ref=f"A3:C{last}"))
    book.properties.created = book.properties.modified = datetime.datetime(year - 1, 12, 1, tzinfo=datetime.UTC)
    book.save(DATA / f"budget-{year}.xlsx")


def main() -> None:
    chance = random.Random(2026)
    write("accounts.csv", ("account", "account_name", "account_type", "statement"), ACCOUNTS)
    write_journals(chance)
    accrued = write_accruals(chance)
    write_headcount(chance)
    write_rates()
    write_old_ledger(chance, accrued)
    write_budget(2025, Decimal(1))
    write_budget(2026, Decimal("1.04"))


if __name__ == "__main__":
    main()
