"""Literals with the text that stands for them."""

import datetime
from decimal import Decimal

from daybook.model.types import BOOLEAN, DATE, INTEGER, NULL, STRING, TIMESTAMP, DecimalType
from daybook.recompute.tree import Literal, Negation, Node
from tests.reference.evaluate import RUN_TIMESTAMP


def text(value: str, quote: str = '"') -> Literal:
    return Literal(value, STRING, quote + value.replace(quote, quote * 2) + quote)


def integer(value: int) -> Node:
    literal = Literal(abs(value), INTEGER, str(abs(value)))
    return Negation(literal) if value < 0 else literal


def decimal(written: str) -> Node:
    """`written` has a point, and digits on both sides of it."""
    unsigned = Decimal(written.lstrip("-"))
    _, digits, exponent = unsigned.as_tuple()
    scale = -int(exponent)
    literal = Literal(unsigned, DecimalType(max(len(digits), scale), scale), written.lstrip("-"))
    return Negation(literal) if written.startswith("-") else literal


def boolean(value: bool) -> Literal:
    return Literal(value, BOOLEAN, str(value).upper())


def date(value: datetime.date) -> Literal:
    return Literal(value, DATE, f'DATE("{value.isoformat()}")')


def timestamp(value: datetime.datetime) -> Literal:
    written = value.astimezone(datetime.UTC).isoformat().replace("+00:00", "Z")
    return Literal(value, TIMESTAMP, f'TIMESTAMP("{written}")')


def null() -> Literal:
    return Literal(None, NULL, "NULL")


NOW = Literal(RUN_TIMESTAMP, TIMESTAMP, "NOW()")
TODAY = Literal(RUN_TIMESTAMP.date(), DATE, "TODAY()")
# Of the period that every run of the reference is for.
PERIOD_IDENTIFIER = Literal("2026-01", STRING, "period.identifier")
PERIOD_LEVEL = Literal("month", STRING, "period.level")
PERIOD_START = Literal(datetime.date(2026, 1, 1), DATE, "period.start_date")
PERIOD_END = Literal(datetime.date(2026, 1, 31), DATE, "period.end_date")
