"""Budgets by account and cost centre, planned from what usually happens and wrong in believable ways."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from daybook.demo.chances import Chances
from daybook.demo.company import ACCOUNT_TYPES, COST_CENTRES, MONTHS, SHARED_ACCOUNT, SHARED_CENTRE, UNKNOWN_CENTRE
from daybook.demo.ledger import ACCOUNT_CODES, CENTRE_CODES, CURRENCY_CODES, POSTED, Lines
from daybook.demo.rates import Rate, opening_rate

APPROVED, DRAFT = "approved", "draft"

_HUNDRED_EURO = 10_000
# How far off the plan is, in percent of what happened on average: planned too high or too low on purpose.
_TILT = {
    "Revenue": 2,
    "Cost of sales": -1,
    "Personnel": 1,
    "Marketing": -7,
    "Technology": -9,
    "Facilities": 4,
    "Travel": 12,
    "Shared services": -3,
}
_NOISE = 4


@dataclass(frozen=True, slots=True)
class Budget:
    """`cents` is the effect on the result: revenue positive, costs negative."""

    month: int
    version: str
    account: str
    centre: str
    cents: int


def budgets(ledger: Mapping[int, Lines], rates: list[Rate], chances: Chances) -> Iterator[Budget]:
    """The approved plan and the draft before it, for every account and cost centre that sees postings."""
    usual = _usual(ledger, rates)
    for number, ((account, centre), cents) in enumerate(sorted(usual.items())):
        tilt = _TILT[ACCOUNT_TYPES[account]]
        for month in MONTHS:
            draws = chances.of(number).of(month)
            planned = cents * (100 + tilt + draws.number(2 * _NOISE + 1) - _NOISE) // 100
            yield Budget(month, APPROVED, account, centre, _rounded(planned))
            yield Budget(month, DRAFT, account, centre, _rounded(planned * (94 + draws.of(1).number(5)) // 100))


def _usual(ledger: Mapping[int, Lines], rates: list[Rate]) -> dict[tuple[str, str], int]:
    """The average month in euro cents, shared services already spread by headcount."""
    totals = np.zeros((len(ACCOUNT_CODES), len(CENTRE_CODES)), dtype=np.int64)
    for month, lines in ledger.items():
        monthly = np.array([opening_rate(rates, code, month) for code in CURRENCY_CODES])
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


def _rounded(cents: int) -> int:
    return (cents + _HUNDRED_EURO // 2) // _HUNDRED_EURO * _HUNDRED_EURO
