"""Exchange rates to the euro, month by month, with two that were corrected later."""

import datetime
from collections.abc import Iterator
from dataclasses import dataclass

from daybook.demo.chances import Chances
from daybook.demo.company import MONTHS, YEAR

# In ten-thousandths of a euro.
_MIDDLE = {"EUR": 10_000, "USD": 9_240, "GBP": 11_650, "CHF": 10_420}
_SPREAD = 240


@dataclass(frozen=True, slots=True)
class Rate:
    """What one unit is worth in euro (in ten-thousandths) while it was the published rate."""

    currency: str
    ten_thousandths: int
    valid_from: datetime.date
    valid_to: datetime.date
    source: str


@dataclass(frozen=True, slots=True)
class _Correction:
    day: int
    difference: int


# The bank had mixed up two days; who asks as of a later day gets the corrected rate.
_CORRECTIONS = {("USD", 1): _Correction(16, -310), ("GBP", 3): _Correction(12, 185)}


def rates(chances: Chances) -> Iterator[Rate]:
    for number, (currency, middle) in enumerate(_MIDDLE.items()):
        for month in MONTHS:
            drift = chances.of(number).of(month).number(2 * _SPREAD + 1) - _SPREAD if currency != "EUR" else 0
            yield from _month(currency, middle + drift, month)


def opening_rate(all_rates: "list[Rate]", currency: str, month: int) -> int:
    """The rate on the first day of a month."""
    first = datetime.date(YEAR, month, 1)
    return next(rate.ten_thousandths for rate in all_rates if rate.currency == currency and rate.valid_from == first)


def _month(currency: str, rate: int, month: int) -> Iterator[Rate]:
    first, end = datetime.date(YEAR, month, 1), datetime.date(YEAR + month // 12, month % 12 + 1, 1)
    correction = _CORRECTIONS.get((currency, month))
    if correction is None:
        yield Rate(currency, rate, first, end, "published")
        return
    corrected_on = first.replace(day=correction.day)
    yield Rate(currency, rate, first, corrected_on, "published")
    yield Rate(currency, rate + correction.difference, corrected_on, end, "correction")
