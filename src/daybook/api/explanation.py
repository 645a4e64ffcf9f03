"""Where the rows of an operation came from, for a notebook."""

import datetime
from collections.abc import Mapping
from decimal import Decimal
from html import escape
from typing import TYPE_CHECKING, Any

from daybook.api.run_page import html_table

if TYPE_CHECKING:
    from daybook.expression.quoting import Value
    from daybook.runs.explanation import Explanation as Result
    from daybook.runs.explanation import ShownRows


class Explanation:
    """The rows that one operation picked, and the summary rows it made of them; a notebook shows them as tables."""

    def __init__(self, result: "Result") -> None:
        self.result = result

    @property
    def rows(self) -> tuple[Mapping[str, Any], ...]:
        """The first rows that it picked, by column."""
        return self.result.rows.rows

    @property
    def count(self) -> int:
        """How many rows it picked."""
        return self.result.rows.count

    @property
    def summary_rows(self) -> tuple[Mapping[str, Any], ...]:
        """The first rows that it made of groups; none where it groups nothing."""
        return self.result.summary_rows.rows if self.result.summary_rows else ()

    def __repr__(self) -> str:
        found = self.result
        return f"<Explanation of operation {found.seq} ({found.name}) of run {found.run_id}: {self.count:,} rows>"

    def _repr_html_(self) -> str:
        found = self.result
        head = f"operation {found.seq} ({found.name}) of run {found.run_id} · {found.project_id} · {found.period}"
        tables = [found.summary_rows] if found.summary_rows else []
        return f"<div><p><b>{escape(head)}</b></p>{''.join(map(_page, (*tables, found.rows)))}</div>"


def _page(shown: "ShownRows") -> str:
    rows = [tuple("NULL" if row[name] is None else str(row[name]) for name in shown.columns) for row in shown.rows]
    return f"<p>{len(rows):,} of {shown.count:,} rows</p>{html_table(shown.columns, rows)}"


def as_text(value: "Value") -> str | None:
    """A value as it would stand in a file; None is NULL."""
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case Decimal():
            return f"{value:f}"
        case datetime.date():
            return value.isoformat()
        case _:
            return str(value)
