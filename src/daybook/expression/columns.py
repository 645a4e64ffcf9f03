"""Columns written on one line, as `daybook parse` takes them: `amount decimal(18,2), status string`."""

import re

from daybook.errors import DaybookError, Span
from daybook.model.types import ColumnType, parse_type

_COLUMN = re.compile(
    r"\s*(?:`(?P<quoted>[^`]+)`|(?P<plain>[^\s,`]+))\s*:?\s+(?P<type>[a-z]+\s*(?:\([^)]*\))?)\s*(?:,|$)"
)


def parse_columns(text: str) -> dict[str, ColumnType]:
    """Names and types in the order they were written."""
    columns: dict[str, ColumnType] = {}
    position = 0
    while text[position:].strip():
        found = _COLUMN.match(text, position)
        if found is None:
            raise DaybookError("EXPR_060", span=Span(text, position, len(text)))
        name = found["quoted"] or found["plain"]
        try:
            columns[name] = parse_type(found["type"].replace(" ", ""))
        except ValueError as error:
            raise DaybookError("EXPR_061", span=Span(text, *found.span("type")), reason=str(error)) from None
        position = found.end()
    return columns
