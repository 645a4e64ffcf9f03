"""The generated data of the demonstration: rates, budgets, balances and journals."""

import csv
import datetime
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from daybook.demo.ledger import (
    ACCOUNT_CODES,
    ACCOUNT_TYPES,
    ACCOUNTS,
    CENTRE_CODES,
    CENTRE_TEXTS,
    COST_CENTRES,
    CURRENCY_CODES,
    MONTHS,
    POSTED,
    POSTING_STATUSES,
    POSTING_TEXTS,
    SHARED_ACCOUNT,
    SHARED_CENTRE,
    UNKNOWN_CENTRE,
    YEAR,
    Integers,
    JournalLines,
    RandomStream,
    generate_journal_lines,
)

# In ten-thousandths of a euro.
_MIDDLE_RATES = {"EUR": 10_000, "USD": 9_240, "GBP": 11_650, "CHF": 10_420}
_RATE_SPREAD = 240


@dataclass(frozen=True, slots=True)
class ExchangeRate:
    """What one unit is worth in euro (in ten-thousandths) while it was the published rate."""

    currency: str
    ten_thousandths: int
    valid_from: datetime.date
    valid_to: datetime.date
    source: str


@dataclass(frozen=True, slots=True)
class _RateCorrection:
    day: int
    difference: int


# The bank had exchanged two days; as of a later day, the corrected rate is read.
_RATE_CORRECTIONS = {("USD", 1): _RateCorrection(16, -310), ("GBP", 3): _RateCorrection(12, 185)}


def generate_rates(chances: RandomStream) -> Iterator[ExchangeRate]:
    for number, (currency, middle) in enumerate(_MIDDLE_RATES.items()):
        for month in MONTHS:
            drift = chances.of(number).of(month).number(2 * _RATE_SPREAD + 1) - _RATE_SPREAD if currency != "EUR" else 0
            yield from _rates_of_month(currency, middle + drift, month)


def rate_on_first_day(all_rates: "list[ExchangeRate]", currency: str, month: int) -> int:
    """The rate on the first day of a month."""
    first = datetime.date(YEAR, month, 1)
    return next(rate.ten_thousandths for rate in all_rates if rate.currency == currency and rate.valid_from == first)


def _rates_of_month(currency: str, rate: int, month: int) -> Iterator[ExchangeRate]:
    first, end = datetime.date(YEAR, month, 1), datetime.date(YEAR + month // 12, month % 12 + 1, 1)
    correction = _RATE_CORRECTIONS.get((currency, month))
    if correction is None:
        yield ExchangeRate(currency, rate, first, end, "published")
        return
    corrected_on = first.replace(day=correction.day)
    yield ExchangeRate(currency, rate, first, corrected_on, "published")
    yield ExchangeRate(currency, rate + correction.difference, corrected_on, end, "correction")


APPROVED_BUDGET, DRAFT_BUDGET = "approved", "draft"
_HUNDRED_EURO = 10_000

# How far off the plan is, in percent of what happened on average: planned too high or too low on purpose.
_BUDGET_BIAS_PERCENT = {
    "Revenue": 2,
    "Cost of sales": -1,
    "Personnel": 1,
    "Marketing": -7,
    "Technology": -9,
    "Facilities": 4,
    "Travel": 12,
    "Shared services": -3,
}

_BUDGET_NOISE_PERCENT = 4


@dataclass(frozen=True, slots=True)
class Budget:
    """`cents` is the effect on the result: revenue positive, costs negative."""

    month: int
    version: str
    account: str
    centre: str
    cents: int


def generate_budgets(
    ledger: Mapping[int, JournalLines], rates: list[ExchangeRate], chances: RandomStream
) -> Iterator[Budget]:
    """The approved plan and the draft before it, for every account and cost centre that sees postings."""
    usual = _average_month(ledger, rates)
    for number, ((account, centre), cents) in enumerate(sorted(usual.items())):
        tilt = _BUDGET_BIAS_PERCENT[ACCOUNT_TYPES[account]]
        for month in MONTHS:
            draws = chances.of(number).of(month)
            planned = cents * (100 + tilt + draws.number(2 * _BUDGET_NOISE_PERCENT + 1) - _BUDGET_NOISE_PERCENT) // 100
            yield Budget(month, APPROVED_BUDGET, account, centre, _round_to_hundred_euro(planned))
            yield Budget(
                month,
                DRAFT_BUDGET,
                account,
                centre,
                _round_to_hundred_euro(planned * (94 + draws.of(1).number(5)) // 100),
            )


def _average_month(ledger: Mapping[int, JournalLines], rates: list[ExchangeRate]) -> dict[tuple[str, str], int]:
    """The average month in euro cents, shared services already spread by headcount."""
    totals = np.zeros((len(ACCOUNT_CODES), len(CENTRE_CODES)), dtype=np.int64)
    for month, lines in ledger.items():
        monthly = np.array([rate_on_first_day(rates, code, month) for code in CURRENCY_CODES])
        picked = lines.where((lines.centre >= 0) & (lines.status == POSTED))
        place = (picked.account, picked.centre % len(CENTRE_CODES))
        np.subtract.at(totals, place, picked.cents * monthly[picked.currency])
    totals //= 10_000 * len(ledger)
    usual = {
        (account, centre): int(totals[row, column])
        for row, account in enumerate(ACCOUNT_CODES)
        for column, centre in enumerate(CENTRE_CODES)
        if totals[row, column] and centre != UNKNOWN_CENTRE
    }
    shared = usual.pop((SHARED_ACCOUNT, SHARED_CENTRE), 0)
    served = next(centre.headcount for centre in COST_CENTRES if centre.code == SHARED_CENTRE)
    charged = (centre for centre in COST_CENTRES if centre.charged_by)
    return usual | {(SHARED_ACCOUNT, centre.code): shared * centre.headcount // served for centre in charged}


def _round_to_hundred_euro(cents: int) -> int:
    return (cents + _HUNDRED_EURO // 2) // _HUNDRED_EURO * _HUNDRED_EURO


SEED = 20260101
JOURNALS_A_MONTH = 9_000
_AMOUNT_TYPE = pa.decimal128(18, 2)


def write_data(folder: Path, journals: int = JOURNALS_A_MONTH) -> int:
    """Write everything the demonstration reads; returns the number of journal lines."""
    chances = RandomStream(SEED)
    ledger = {month: generate_journal_lines(month, journals, chances.of(month)) for month in MONTHS}
    published = list(generate_rates(chances.of(200)))
    (folder / "ledger").mkdir(parents=True)
    for month, lines in ledger.items():
        export = folder / "ledger" / f"{_period_identifier(month)}.parquet"
        pq.write_table(ledger_table(month, lines), export)
        control = [(len(lines), _cents_text(int(lines.cents.sum())))]
        _write_csv(export.with_suffix(".control.csv"), ("rows", "total_amount"), control)
    _write_csv(
        folder / "accounts.csv",
        ("account_code", "account_name", "account_type"),
        ((account.code, account.name, account.type) for account in ACCOUNTS),
    )
    _write_csv(
        folder / "cost_centres.csv",
        ("cost_centre", "cost_centre_name", "charged_by", "headcount"),
        ((centre.code, centre.name, centre.charged_by, centre.headcount) for centre in COST_CENTRES),
    )
    _write_rates(folder / "exchange_rates.json", published)
    _write_csv(
        folder / "budgets.csv",
        ("_period", "budget_version", "account_code", "account_type", "cost_centre", "amount"),
        map(_budget_row, generate_budgets(ledger, published, chances.of(300))),
    )
    _write_csv(
        folder / "last_year.csv",
        ("_period", "account_code", "balance"),
        (
            (f"{YEAR - 1}-{month:02d}", account, _cents_text(cents))
            for month, account, cents in generate_last_year(chances.of(400))
        ),
    )
    return sum(map(len, ledger.values()))


# Balances at the end of the year before, in cents, and how much they move in a month.
_OLD_BALANCES = {"1200": 412_000_000, "2000": -286_000_000, "2100": -97_000_000}
_OLD_MOVEMENT = 9_000_000


def generate_last_year(chances: RandomStream) -> Iterator[tuple[int, str, int]]:
    """Month, account and balance in cents of the year before the ledger begins."""
    for number, (account, cents) in enumerate(_OLD_BALANCES.items()):
        for month in MONTHS:
            yield month, account, cents + chances.of(number).of(month).number(2 * _OLD_MOVEMENT) - _OLD_MOVEMENT


def _cents_text(cents: int) -> str:
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02d}"


def ledger_table(month: int, lines: JournalLines) -> pa.Table:
    """One month; the file says which, so the rows need no period of their own."""
    number_of_journals = int(lines.journal.max()) + 1 if len(lines) else 0
    journal_ids = [f"{_period_identifier(month)}-{number:05d}" for number in range(1, number_of_journals + 1)]
    first = datetime.date(YEAR, month, 1)
    days = (np.datetime64(first, "D") + (lines.day - 1)).astype("datetime64[D]")
    return pa.table(
        {
            "journal_id": _texts_at(journal_ids, lines.journal),
            "line_number": pa.array(lines.line_number),
            "posting_date": pa.array(days, pa.date32()),
            "account_code": _texts_at(ACCOUNT_CODES, lines.account),
            "cost_centre": _texts_at(CENTRE_TEXTS, lines.centre),
            "currency": _texts_at(CURRENCY_CODES, lines.currency),
            "amount": _cents_as_decimals(lines.cents),
            "description": _texts_at(POSTING_TEXTS, lines.text),
            "status": _texts_at(POSTING_STATUSES, lines.status),
        }
    )


def _texts_at(values: Sequence[str], positions: Integers) -> pa.Array:
    """The texts at these positions; NULL where the position is negative."""
    indices = pa.array(positions, mask=positions < 0)
    return pa.array(values, pa.string()).take(indices)


def _cents_as_decimals(cents: Integers) -> pa.Array:
    """Cents as exact decimals: the low word of a decimal is the number, the high word its sign."""
    words = np.stack([cents, cents >> 63], axis=1).astype("<i8")
    return pa.Array.from_buffers(_AMOUNT_TYPE, len(cents), [None, pa.py_buffer(words.tobytes())])


def _budget_row(budget: Budget) -> tuple[str, ...]:
    return (
        _period_identifier(budget.month),
        budget.version,
        budget.account,
        ACCOUNT_TYPES[budget.account],
        budget.centre,
        f"{budget.cents // 100}.00",
    )


def _write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def _write_rates(path: Path, published: Iterable[ExchangeRate]) -> None:
    lines = (
        json.dumps(
            {
                "currency": rate.currency,
                "rate": f"{rate.ten_thousandths // 10_000}.{rate.ten_thousandths % 10_000:04d}",
                "valid_from": rate.valid_from.isoformat(),
                "valid_to": rate.valid_to.isoformat(),
                "source": rate.source,
            }
        )
        for rate in published
    )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _period_identifier(month: int) -> str:
    return f"{YEAR}-{month:02d}"
