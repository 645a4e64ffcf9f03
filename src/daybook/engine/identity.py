"""Row ids: version 7 UUIDs whose time is the start of the run's period and whose other bits hash what the row is."""

import datetime
from collections.abc import Sequence

from daybook.expression import quote_literal
from daybook.model.period import Period
from daybook.model.types import STRING

# What a carried `_row_id` must look like; upper case is accepted as RFC 9562 asks.
PATTERN = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-7[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$"


def row_id(period: Period, kind: str, known: Sequence[str], parts: Sequence[str]) -> str:
    """SQL of an id: `known` are texts fixed for all rows, `parts` SQL of what tells one row from another.

    MD5 is a published standard, so ids stay the same across Spark versions, and 74 of its bits make a collision
    among a billion rows a matter of 1 to 38,000.
    """
    head = "".join(f"{len(text.encode())}:{text}" for text in (kind, *known))
    digest = f"MD5(CONCAT({quote_literal(head, STRING)}, {', '.join(_tagged(part) for part in parts)}))"
    return (
        f"CONCAT({quote_literal(_time_part(period.start_date), STRING)}, SUBSTR({digest}, 1, 3), '-', "
        f"TRANSLATE(SUBSTR({digest}, 4, 1), '0123456789abcdef', '89ab89ab89ab89ab'), SUBSTR({digest}, 5, 3), '-', "
        f"SUBSTR({digest}, 8, 12))"
    )


def _tagged(part: str) -> str:
    """Length before text, so that no two lists of parts read the same; NULL is a tag no length looks like."""
    text = f"CAST({part} AS STRING)"
    return f"COALESCE(CONCAT(OCTET_LENGTH({text}), ':', {text}), '-')"


def _time_part(start: datetime.date) -> str:
    """The first 13 hex digits of the id with their hyphens: 48 bits of milliseconds and the version."""
    midnight = datetime.datetime.combine(start, datetime.time(), datetime.UTC)
    milliseconds = max(0, int(midnight.timestamp() * 1000)) & 0xFFFF_FFFF_FFFF
    digits = f"{milliseconds:012x}"
    return f"{digits[:8]}-{digits[8:]}-7"
