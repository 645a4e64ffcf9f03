"""Values of columns as Python has them."""

import datetime
from decimal import Decimal

Value = str | int | Decimal | float | bool | datetime.date | datetime.datetime | None

_WRITTEN_OUT_DIGITS = 100


def value_text(value: Value, *, null: str = "NULL") -> str:
    """A value as it stands in a file: exact decimals, ISO 8601 dates, times in UTC end in Z."""
    match value:
        case None:
            return null
        case bool():
            return "true" if value else "false"
        case Decimal():
            # Written out, the zeros of 1e999999999 would fill the memory.
            return f"{value:f}" if abs(value.adjusted()) < _WRITTEN_OUT_DIGITS else str(value)
        case datetime.datetime():
            return value.isoformat().replace("+00:00", "Z")
        case datetime.date():
            return value.isoformat()
        case _:
            return str(value)
