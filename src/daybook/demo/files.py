"""The generated data as files: the ledger as Parquet by month, the rest as CSV and JSON lines."""

import csv
import datetime
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from daybook.demo.budgets import Budget, budgets
from daybook.demo.chances import Chances, Integers
from daybook.demo.company import ACCOUNT_TYPES, ACCOUNTS, COST_CENTRES, MONTHS, YEAR
from daybook.demo.ledger import ACCOUNT_CODES, CENTRE_TEXTS, CURRENCY_CODES, STATUSES, TEXTS, Lines, journal_lines
from daybook.demo.rates import Rate, rates

SEED = 20260101
JOURNALS_A_MONTH = 9_000

_AMOUNT = pa.decimal128(18, 2)


def write_data(folder: Path, journals: int = JOURNALS_A_MONTH) -> int:
    """Write everything the demonstration reads; returns the number of journal lines."""
    chances = Chances(SEED)
    ledger = {month: journal_lines(month, journals, chances.of(month)) for month in MONTHS}
    published = list(rates(chances.of(200)))
    (folder / "ledger").mkdir(parents=True)
    for month, lines in ledger.items():
        pq.write_table(ledger_table(month, lines), folder / "ledger" / f"{_period(month)}.parquet")
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
        map(_budget_row, budgets(ledger, published, chances.of(300))),
    )
    return sum(map(len, ledger.values()))


def ledger_table(month: int, lines: Lines) -> pa.Table:
    """One month; the file says which, so the rows need no period of their own."""
    number_of_journals = int(lines.journal.max()) + 1 if len(lines) else 0
    journal_ids = [f"{_period(month)}-{number:05d}" for number in range(1, number_of_journals + 1)]
    first = datetime.date(YEAR, month, 1)
    days = (np.datetime64(first, "D") + (lines.day - 1)).astype("datetime64[D]")
    return pa.table(
        {
            "journal_id": _taken(journal_ids, lines.journal),
            "line_number": pa.array(lines.line_number),
            "posting_date": pa.array(days, pa.date32()),
            "account_code": _taken(ACCOUNT_CODES, lines.account),
            "cost_centre": _taken(CENTRE_TEXTS, lines.centre),
            "currency": _taken(CURRENCY_CODES, lines.currency),
            "amount": _decimals(lines.cents),
            "description": _taken(TEXTS, lines.text),
            "status": _taken(STATUSES, lines.status),
        }
    )


def _taken(values: Sequence[str], positions: Integers) -> pa.Array:
    """The texts at these positions; NULL where the position is negative."""
    indices = pa.array(positions, mask=positions < 0)
    return pa.array(values, pa.string()).take(indices)


def _decimals(cents: Integers) -> pa.Array:
    """Cents as exact decimals: the low word of a decimal is the number, the high word its sign."""
    words = np.stack([cents, cents >> 63], axis=1).astype("<i8")
    return pa.Array.from_buffers(_AMOUNT, len(cents), [None, pa.py_buffer(words.tobytes())])


def _budget_row(budget: Budget) -> tuple[str, ...]:
    return (
        _period(budget.month),
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


def _write_rates(path: Path, published: Iterable[Rate]) -> None:
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


def _period(month: int) -> str:
    return f"{YEAR}-{month:02d}"
