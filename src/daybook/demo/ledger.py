"""Journal lines of one month: balanced in their own currency, with the dirt a real ledger has."""

import calendar
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from daybook.demo.chances import Chances, Integers
from daybook.demo.company import (
    ACCOUNTS,
    COST_CENTRES,
    CURRENCIES,
    PAYABLES,
    POSTINGS,
    SHARED_ACCOUNT,
    SHARED_CENTRE,
    UNKNOWN_CENTRE,
    YEAR,
)

STATUSES = ("posted", "reversed", "reversal")
POSTED, _REVERSED, _REVERSAL = range(3)

ACCOUNT_CODES = tuple(account.code for account in ACCOUNTS)
CURRENCY_CODES = tuple(CURRENCIES)
CENTRE_CODES = (*(centre.code for centre in COST_CENTRES), UNKNOWN_CENTRE)
# As typed by people in a hurry; the project tidies them up.
CENTRE_TEXTS = (*CENTRE_CODES, *(f" {code.lower()}" for code in CENTRE_CODES))
TEXTS = (*dict.fromkeys(text for posting in POSTINGS for text in posting.texts), "Shared services invoice", "")

NONE = -1
_BLANK = TEXTS.index("")
_UNKNOWN = CENTRE_CODES.index(UNKNOWN_CENTRE)

_ONE_LINE, _TWO_LINES, _THREE_LINES = 50, 25, 25


@dataclass(frozen=True, slots=True)
class Lines:
    """Columns of equal length; texts are positions in the lists above, NONE for NULL, amounts are cents."""

    journal: Integers
    line_number: Integers
    day: Integers
    account: Integers
    centre: Integers
    currency: Integers
    cents: Integers
    text: Integers
    status: Integers

    def __len__(self) -> int:
        return len(self.journal)

    def where(self, picked: NDArray[np.bool_]) -> "Lines":
        return Lines(*(getattr(self, name)[picked] for name in self.__slots__))


def journal_lines(month: int, journals: int, chances: Chances) -> Lines:
    """The ledger of a month: what was posted, the reversals, and the invoice for shared services."""
    posted = _posted(month, journals, chances)
    shared = _shared_invoice(month, journals, chances.of(100))
    return _joined([posted, _reversals(posted, journals + 1, _days(month)), shared])


def shared_cents(month: int, chances: Chances) -> int:
    """The invoice for shared services; a multiple of 4.00, so that 400 heads share it to the cent."""
    return 16_400_000 + 400 * chances.of(month).number(6_000)


def _posted(month: int, journals: int, chances: Chances) -> Lines:
    kind = chances.of(1).weighted([posting.weight for posting in POSTINGS], journals)
    booked = 1 + chances.of(2).weighted((_ONE_LINE, _TWO_LINES, _THREE_LINES), journals)
    of_journal = np.repeat(np.arange(journals), booked)
    count = len(of_journal)
    kinds = kind[of_journal]
    cents = _amounts(kinds, chances)
    number = np.arange(count) - np.repeat(np.cumsum(booked) - booked, booked) + 1
    accounts = _positions([posting.account for posting in POSTINGS], ACCOUNT_CODES)
    counters = _positions([posting.counter_account for posting in POSTINGS], ACCOUNT_CODES)
    totals = np.add.reduceat(cents, np.cumsum(booked) - booked)
    reversed_ = np.where(chances.of(3).one_in(90, journals), _REVERSED, POSTED)
    currency = chances.of(4).weighted(tuple(CURRENCIES.values()), journals)
    day = 1 + chances.of(5).below(_days(month), journals)
    lines = Lines(
        journal=of_journal,
        line_number=number,
        day=day[of_journal],
        account=accounts[kinds],
        centre=_centres(kinds, chances),
        currency=currency[of_journal],
        cents=cents,
        text=_texts(kinds, chances),
        status=reversed_[of_journal],
    )
    counter_lines = Lines(
        journal=np.arange(journals),
        line_number=booked + 1,
        day=day,
        account=counters[kind],
        centre=np.full(journals, NONE),
        currency=currency,
        cents=-totals,
        text=np.full(journals, NONE),
        status=reversed_,
    )
    return _ordered(_joined([lines, counter_lines]))


def _amounts(kinds: Integers, chances: Chances) -> Integers:
    """Debits are positive, credits negative; a few lines are zero."""
    lowest = np.array([posting.lowest for posting in POSTINGS])
    highest = np.array([posting.highest for posting in POSTINGS])
    signs = np.array([-1 if posting.is_credit else 1 for posting in POSTINGS])
    cents = signs[kinds] * chances.of(6).within(lowest[kinds], highest[kinds])
    return np.where(chances.of(7).one_in(400, len(kinds)), 0, cents)


def _centres(kinds: Integers, chances: Chances) -> Integers:
    """Mostly as the master data spells them, some sloppy, a few that nobody knows."""
    count = len(kinds)
    centres = _choice([_positions(posting.centres, CENTRE_CODES) for posting in POSTINGS], kinds, chances.of(8))
    centres = np.where(chances.of(9).one_in(350, count), _UNKNOWN, centres)
    return np.where(chances.of(10).one_in(120, count), centres + len(CENTRE_CODES), centres)


def _texts(kinds: Integers, chances: Chances) -> Integers:
    texts = _choice([_positions(posting.texts, TEXTS) for posting in POSTINGS], kinds, chances.of(11))
    texts = np.where(chances.of(12).one_in(150, len(kinds)), _BLANK, texts)
    return np.where(chances.of(13).one_in(150, len(kinds)), NONE, texts)


def _reversals(posted: Lines, first_journal: int, days: int) -> Lines:
    """Every reversed journal again with the signs turned, a few days later."""
    picked = posted.where(posted.status == _REVERSED)
    _, order = np.unique(picked.journal, return_inverse=True)
    return replace(
        picked,
        journal=first_journal + order,
        day=np.minimum(picked.day + 3, days),
        cents=-picked.cents,
        status=np.full(len(picked), _REVERSAL),
    )


def _shared_invoice(month: int, journal: int, chances: Chances) -> Lines:
    cents = shared_cents(month, chances)
    both = np.ones(2, dtype=np.int64)
    return Lines(
        journal=both * journal,
        line_number=np.array([1, 2]),
        day=both * 5,
        account=_positions((SHARED_ACCOUNT, PAYABLES), ACCOUNT_CODES),
        centre=np.array([CENTRE_CODES.index(SHARED_CENTRE), NONE]),
        currency=both * CURRENCY_CODES.index("EUR"),
        cents=np.array([cents, -cents]),
        text=np.array([TEXTS.index("Shared services invoice"), NONE]),
        status=both * POSTED,
    )


def _positions(values: Sequence[str], known: Sequence[str]) -> Integers:
    return np.array([known.index(value) for value in values], dtype=np.int64)


def _choice(choices: Sequence[Integers], kinds: Integers, chances: Chances) -> Integers:
    """For each line one of the choices that its kind has."""
    sizes = np.array([len(choice) for choice in choices])
    starts = np.cumsum(sizes) - sizes
    chosen: Integers = np.concatenate(choices)[starts[kinds] + chances.draw(len(kinds)) % sizes[kinds]]
    return chosen


def _joined(parts: Sequence[Lines]) -> Lines:
    return Lines(*(np.concatenate([getattr(part, name) for part in parts]) for name in Lines.__slots__))


def _ordered(lines: Lines) -> Lines:
    order = np.lexsort((lines.line_number, lines.journal))
    return Lines(*(getattr(lines, name)[order] for name in Lines.__slots__))


def _days(month: int) -> int:
    return calendar.monthrange(YEAR, month)[1]
