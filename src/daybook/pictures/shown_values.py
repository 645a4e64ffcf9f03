"""Numbers, values, times and counts as texts for people."""

import datetime
from decimal import Decimal
from typing import Any, Literal, get_args

from daybook.model.types import value_text

Negatives = Literal["minus", "parentheses"]
NEGATIVES: tuple[Negatives, ...] = get_args(Negatives)
NOTHING = "\N{EN DASH}"
_MINUS = "\N{MINUS SIGN}"


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def format_number(value: int | float | Decimal, negatives: Negatives = "minus") -> str:
    """All digits that the value has; nothing is rounded."""
    if isinstance(value, float):
        text = value_text(value)
        return text.replace("-", _MINUS, 1) if text.startswith("-") else text
    # `abs` of a decimal rounds to the precision of the context.
    shown = f"{value.copy_abs():,f}" if isinstance(value, Decimal) else f"{abs(value):,}"
    if value >= 0:
        return shown
    return f"({shown})" if negatives == "parentheses" else f"{_MINUS}{shown}"


def format_value(value: Any, negatives: Negatives = "minus", *, is_key: bool = False) -> str:
    """Any value of a row; whole numbers that identify something have no separators."""
    if value is None:
        return NOTHING
    if is_number(value) and not (is_key and isinstance(value, int)):
        return format_number(value, negatives)
    return value_text(value)


def format_moment(value: datetime.datetime | None) -> str:
    return "" if value is None else f"{value:%Y-%m-%d %H:%M:%S}"


def format_duration(milliseconds: int | None) -> str:
    if milliseconds is None:
        return ""
    if milliseconds < 60_000:
        return f"{milliseconds / 1000:.1f} s"
    minutes, seconds = divmod(round(milliseconds / 1000), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {seconds:02} s"


def plural(count: int, one: str, many: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"
