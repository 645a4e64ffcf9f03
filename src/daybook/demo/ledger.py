"""The company of the demo and its journal lines of one month, the same on every machine."""

import calendar
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

YEAR = 2026
MONTHS = range(1, 13)

SHARED_CENTRE = "CC-900"
SHARED_ACCOUNT = "6800"
UNKNOWN_CENTRE = "CC-777"
PAYABLES = "2000"


@dataclass(frozen=True, slots=True)
class Account:
    code: str
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class CostCentre:
    """`headcount` is who works there; for shared services, how many people they serve."""

    code: str
    name: str
    charged_by: str | None
    headcount: int


@dataclass(frozen=True, slots=True)
class Posting:
    """A kind of journal: what it books, against which account, how often and how much (in cents)."""

    account: str
    counter_account: str
    weight: int
    lowest: int
    highest: int
    centres: tuple[str, ...]
    texts: tuple[str, ...]
    is_credit: bool = False


ACCOUNTS = (
    Account("1200", "Trade receivables", "Assets"),
    Account("2000", "Trade payables", "Liabilities"),
    Account("2100", "Payroll liabilities", "Liabilities"),
    Account("4000", "Product sales", "Revenue"),
    Account("4100", "Services", "Revenue"),
    Account("4200", "Licences", "Revenue"),
    Account("5000", "Materials", "Cost of sales"),
    Account("5100", "Freight", "Cost of sales"),
    Account("6000", "Salaries", "Personnel"),
    Account("6100", "Social security", "Personnel"),
    Account("6200", "Training", "Personnel"),
    Account("6300", "Advertising", "Marketing"),
    Account("6310", "Trade fairs", "Marketing"),
    Account("6400", "Software and cloud", "Technology"),
    Account("6410", "Hardware", "Technology"),
    Account("6500", "Rent", "Facilities"),
    Account("6510", "Energy", "Facilities"),
    Account("6600", "Travel", "Travel"),
    Account("6800", "Shared services", "Shared services"),
)

COST_CENTRES = (
    CostCentre("CC-110", "Sales Europe", SHARED_CENTRE, 64),
    CostCentre("CC-120", "Sales Americas", SHARED_CENTRE, 48),
    CostCentre("CC-130", "Marketing", SHARED_CENTRE, 22),
    CostCentre("CC-210", "Production", SHARED_CENTRE, 120),
    CostCentre("CC-220", "Logistics", SHARED_CENTRE, 46),
    CostCentre("CC-310", "Engineering", SHARED_CENTRE, 70),
    CostCentre("CC-410", "Finance", SHARED_CENTRE, 18),
    CostCentre("CC-420", "People", SHARED_CENTRE, 12),
    CostCentre(SHARED_CENTRE, "Shared services", None, 400),
)

_SALES_CENTRES = ("CC-110", "CC-120")
# Big cost centres post more often.
_CENTRES_BY_HEADCOUNT = tuple(
    centre.code for centre in COST_CENTRES if centre.charged_by for _ in range(centre.headcount // 6)
)

POSTINGS = (
    Posting(
        "4000", "1200", 230, 90_000, 640_000, _SALES_CENTRES, ("Invoice", "Invoice, web shop", "Framework order"), True
    ),
    Posting("4100", "1200", 90, 60_000, 420_000, (*_SALES_CENTRES, "CC-310"), ("Consulting", "Installation"), True),
    Posting(
        "4200", "1200", 60, 45_000, 320_000, (*_SALES_CENTRES, "CC-310"), ("Annual licence", "Monthly licence"), True
    ),
    Posting("5000", PAYABLES, 150, 50_000, 640_000, ("CC-210",), ("Steel", "Components", "Packaging")),
    Posting("5100", PAYABLES, 70, 8_000, 110_000, ("CC-220",), ("Freight", "Customs")),
    Posting("6000", "2100", 120, 70_000, 230_000, _CENTRES_BY_HEADCOUNT, ("Salaries", "Overtime", "Bonus accrual")),
    Posting("6100", "2100", 60, 20_000, 90_000, _CENTRES_BY_HEADCOUNT, ("Social security", "Pension")),
    Posting("6200", PAYABLES, 20, 10_000, 80_000, _CENTRES_BY_HEADCOUNT, ("Training", "Conference")),
    Posting("6300", PAYABLES, 45, 20_000, 240_000, (*_SALES_CENTRES, "CC-130"), ("Online campaign", "Print")),
    Posting("6310", PAYABLES, 15, 40_000, 380_000, ("CC-130",), ("Trade fair", "Booth")),
    Posting("6400", PAYABLES, 55, 5_000, 190_000, ("CC-210", "CC-310", "CC-410"), ("Cloud", "Subscriptions")),
    Posting("6410", PAYABLES, 25, 30_000, 210_000, ("CC-210", "CC-310"), ("Laptops", "Test equipment")),
    Posting("6500", PAYABLES, 15, 90_000, 460_000, ("CC-110", "CC-210", "CC-220"), ("Rent", "Warehouse")),
    Posting("6510", PAYABLES, 15, 30_000, 250_000, ("CC-210", "CC-220"), ("Electricity", "Gas")),
    Posting("6600", PAYABLES, 30, 6_000, 150_000, _CENTRES_BY_HEADCOUNT, ("Flight", "Train", "Hotel")),
)

# Of a hundred journals, so many are in this currency.
CURRENCIES = {"EUR": 58, "USD": 22, "GBP": 12, "CHF": 8}

ACCOUNT_TYPES = {account.code: account.type for account in ACCOUNTS}


Integers: TypeAlias = NDArray[np.int64]
_Words: TypeAlias = NDArray[np.uint64]

_GOLDEN_STEP = 0x9E3779B97F4A7C15
_WORD_MASK = (1 << 64) - 1
# Non-negative numbers that fit int64.
_SIGN_SHIFT = np.uint64(1)


@dataclass(frozen=True, slots=True)
class RandomStream:
    """A stream of random numbers; `of` gives an independent stream for each key."""

    seed: int

    def of(self, key: int) -> "RandomStream":
        return RandomStream((self.seed * 31 + key + 1) * _GOLDEN_STEP & _WORD_MASK)

    def draw(self, count: int) -> Integers:
        """`count` whole numbers from 0 to 2**63 - 1."""
        counters = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(_GOLDEN_STEP) + np.uint64(self.seed)
        return (_splitmix64(counters) >> _SIGN_SHIFT).astype(np.int64)

    def below(self, limit: int, count: int) -> Integers:
        return self.draw(count) % limit

    def within(self, lowest: Integers, highest: Integers) -> Integers:
        """One number per pair of bounds, both included."""
        return lowest + self.draw(len(lowest)) % (highest - lowest + 1)

    def one_in(self, odds: int, count: int) -> NDArray[np.bool_]:
        return np.equal(self.below(odds, count), 0)

    def weighted(self, weights: Sequence[int], count: int) -> Integers:
        """Positions in the list of weights, each as often as its weight says."""
        ends = np.cumsum(np.array(weights, dtype=np.int64))
        return np.searchsorted(ends, self.below(int(ends[-1]), count), side="right").astype(np.int64)

    def number(self, limit: int) -> int:
        return int(self.below(limit, 1)[0])


def _splitmix64(words: _Words) -> _Words:
    """The finishing steps of splitmix64; multiplication wraps by design."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


POSTING_STATUSES = ("posted", "reversed", "reversal")
POSTED, _REVERSED, _REVERSAL = range(3)

ACCOUNT_CODES = tuple(account.code for account in ACCOUNTS)
CURRENCY_CODES = tuple(CURRENCIES)
CENTRE_CODES = (*(centre.code for centre in COST_CENTRES), UNKNOWN_CENTRE)
# Typed carelessly; the project corrects them.
CENTRE_TEXTS = (*CENTRE_CODES, *(f" {code.lower()}" for code in CENTRE_CODES))
POSTING_TEXTS = (*dict.fromkeys(text for posting in POSTINGS for text in posting.texts), "Shared services invoice", "")

NULL_INDEX = -1
_BLANK_TEXT = POSTING_TEXTS.index("")
_UNKNOWN_CENTRE_INDEX = CENTRE_CODES.index(UNKNOWN_CENTRE)

_ONE_LINE, _TWO_LINES, _THREE_LINES = 50, 25, 25


@dataclass(frozen=True, slots=True)
class JournalLines:
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

    def where(self, picked: NDArray[np.bool_]) -> "JournalLines":
        return JournalLines(*(getattr(self, name)[picked] for name in self.__slots__))


def generate_journal_lines(month: int, journals: int, chances: RandomStream) -> JournalLines:
    """The ledger of a month: what was posted, the reversals, and the invoice for shared services."""
    posted = _posted_lines(month, journals, chances)
    shared = _shared_invoice_lines(month, journals, chances.of(100))
    return _concatenate([posted, _reversal_lines(posted, journals + 1, _days_in_month(month)), shared])


def shared_invoice_cents(month: int, chances: RandomStream) -> int:
    """The invoice for shared services; a multiple of 4.00, so that 400 heads share it to the cent."""
    return 16_400_000 + 400 * chances.of(month).number(6_000)


def _posted_lines(month: int, journals: int, chances: RandomStream) -> JournalLines:
    kind = chances.of(1).weighted([posting.weight for posting in POSTINGS], journals)
    booked = 1 + chances.of(2).weighted((_ONE_LINE, _TWO_LINES, _THREE_LINES), journals)
    of_journal = np.repeat(np.arange(journals), booked)
    count = len(of_journal)
    kinds = kind[of_journal]
    cents = _draw_amounts(kinds, chances)
    number = np.arange(count) - np.repeat(np.cumsum(booked) - booked, booked) + 1
    accounts = _indexes_of([posting.account for posting in POSTINGS], ACCOUNT_CODES)
    counters = _indexes_of([posting.counter_account for posting in POSTINGS], ACCOUNT_CODES)
    totals = np.add.reduceat(cents, np.cumsum(booked) - booked)
    reversed_ = np.where(chances.of(3).one_in(90, journals), _REVERSED, POSTED)
    currency = chances.of(4).weighted(tuple(CURRENCIES.values()), journals)
    day = 1 + chances.of(5).below(_days_in_month(month), journals)
    lines = JournalLines(
        journal=of_journal,
        line_number=number,
        day=day[of_journal],
        account=accounts[kinds],
        centre=_draw_centres(kinds, chances),
        currency=currency[of_journal],
        cents=cents,
        text=_draw_texts(kinds, chances),
        status=reversed_[of_journal],
    )
    counter_lines = JournalLines(
        journal=np.arange(journals),
        line_number=booked + 1,
        day=day,
        account=counters[kind],
        centre=np.full(journals, NULL_INDEX),
        currency=currency,
        cents=-totals,
        text=np.full(journals, NULL_INDEX),
        status=reversed_,
    )
    return _sort_by_journal(_concatenate([lines, counter_lines]))


def _draw_amounts(kinds: Integers, chances: RandomStream) -> Integers:
    """Debits are positive, credits negative; a few lines are zero."""
    lowest = np.array([posting.lowest for posting in POSTINGS])
    highest = np.array([posting.highest for posting in POSTINGS])
    signs = np.array([-1 if posting.is_credit else 1 for posting in POSTINGS])
    cents = signs[kinds] * chances.of(6).within(lowest[kinds], highest[kinds])
    return np.where(chances.of(7).one_in(400, len(kinds)), 0, cents)


def _draw_centres(kinds: Integers, chances: RandomStream) -> Integers:
    """Mostly as the master data spells them, some misspelled, a few unknown."""
    count = len(kinds)
    centres = _draw_choice([_indexes_of(posting.centres, CENTRE_CODES) for posting in POSTINGS], kinds, chances.of(8))
    centres = np.where(chances.of(9).one_in(350, count), _UNKNOWN_CENTRE_INDEX, centres)
    return np.where(chances.of(10).one_in(120, count), centres + len(CENTRE_CODES), centres)


def _draw_texts(kinds: Integers, chances: RandomStream) -> Integers:
    texts = _draw_choice([_indexes_of(posting.texts, POSTING_TEXTS) for posting in POSTINGS], kinds, chances.of(11))
    texts = np.where(chances.of(12).one_in(150, len(kinds)), _BLANK_TEXT, texts)
    return np.where(chances.of(13).one_in(150, len(kinds)), NULL_INDEX, texts)


def _reversal_lines(posted: JournalLines, first_journal: int, days: int) -> JournalLines:
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


def _shared_invoice_lines(month: int, journal: int, chances: RandomStream) -> JournalLines:
    cents = shared_invoice_cents(month, chances)
    both = np.ones(2, dtype=np.int64)
    return JournalLines(
        journal=both * journal,
        line_number=np.array([1, 2]),
        day=both * 5,
        account=_indexes_of((SHARED_ACCOUNT, PAYABLES), ACCOUNT_CODES),
        centre=np.array([CENTRE_CODES.index(SHARED_CENTRE), NULL_INDEX]),
        currency=both * CURRENCY_CODES.index("EUR"),
        cents=np.array([cents, -cents]),
        text=np.array([POSTING_TEXTS.index("Shared services invoice"), NULL_INDEX]),
        status=both * POSTED,
    )


def _indexes_of(values: Sequence[str], distinct: Sequence[str]) -> Integers:
    return np.array([distinct.index(value) for value in values], dtype=np.int64)


def _draw_choice(choices: Sequence[Integers], kinds: Integers, chances: RandomStream) -> Integers:
    """For each line one of the choices that its kind has."""
    sizes = np.array([len(choice) for choice in choices])
    starts = np.cumsum(sizes) - sizes
    chosen: Integers = np.concatenate(choices)[starts[kinds] + chances.draw(len(kinds)) % sizes[kinds]]
    return chosen


def _concatenate(parts: Sequence[JournalLines]) -> JournalLines:
    return JournalLines(*(np.concatenate([getattr(part, name) for part in parts]) for name in JournalLines.__slots__))


def _sort_by_journal(lines: JournalLines) -> JournalLines:
    order = np.lexsort((lines.line_number, lines.journal))
    return JournalLines(*(getattr(lines, name)[order] for name in JournalLines.__slots__))


def _days_in_month(month: int) -> int:
    return calendar.monthrange(YEAR, month)[1]
