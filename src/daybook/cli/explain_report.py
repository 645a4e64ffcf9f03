"""The rows of an operation as people read them, and as data."""

import datetime
import shlex
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from daybook.cli.terminal import console, remark, say

if TYPE_CHECKING:
    from rich.table import Table

    from daybook.runs.explanation import Explanation, ShownRows

_MOST_HINTS = 3
_GAP = 2

_PICKED = {
    "update": "the rows it changed, as they were before",
    "aggregate": "the rows it summed up, as they were then",
    "append": "the rows it read",
    "delete": "the rows it deleted, as they were before",
    "check": "the rows that fail it",
    "output": "the rows it wrote",
}


def as_data(found: "Explanation") -> dict[str, Any]:
    return {
        "run_id": found.run_id,
        "project_id": found.project_id,
        "period": found.period,
        "operation": {"seq": found.seq, "id": found.operation_id, "name": found.name, "type": found.type},
        "keys": {column: _plain(value) for column, value in found.keys.items()},
        "summary_rows": _rows_as_data(found.summary_rows) if found.summary_rows else None,
        "rows": _rows_as_data(found.rows),
    }


def show(found: "Explanation") -> None:
    from daybook.runs.row_keys import as_words

    say(f"operation {found.seq} of run {found.run_id}: {found.name} ({found.type})")
    named = " and ".join(
        f"{column} is NULL" if value is None else f"{column} = {_text(value)}" for column, value in found.keys.items()
    )
    say(f"{found.project_id} for {found.period}" + (f", where {named}" if named else ""))
    if found.summary_rows is not None:
        _show_rows("what it computed", found.summary_rows)
    _show_rows(_PICKED[found.type], found.rows)
    for number, (seq, keys) in enumerate(list(found.leads.items())[:_MOST_HINTS]):
        command = shlex.join(("daybook", "explain", found.run_id, str(seq), *as_words(keys)))
        line = f"operation {seq} made some of them; `{command}` shows of what"
        remark(line if number else f"\n{line}")


def _rows_as_data(shown: "ShownRows") -> dict[str, Any]:
    rows = [{name: _plain(value) for name, value in row.items()} for row in shown.rows]
    return {"count": shown.count, "columns": list(shown.columns), "shown": rows}


def _plain(value: Any) -> Any:
    """Exact numbers and times as texts, so that no reader of JSON rounds them."""
    match value:
        case Decimal() | datetime.date():
            return _text(value)
        case _:
            return value


def _show_rows(title: str, shown: "ShownRows") -> None:
    count = "no rows" if not shown.count else "1 row" if shown.count == 1 else f"{shown.count:,} rows"
    if len(shown.rows) < shown.count:
        count = f"{len(shown.rows):,} of {count}"
    say(f"\n{title}: {count}\n")
    if not shown.rows:
        return
    screen = console()
    if _width(shown) <= screen.width:
        screen.print(_table(shown))
    else:
        _show_records(shown)


def _width(shown: "ShownRows") -> int:
    from rich.cells import cell_len

    cells = [[_line(name), *(_text(row[name]) for row in shown.rows)] for name in shown.columns]
    return sum(max(map(cell_len, column)) + _GAP for column in cells)


def _table(shown: "ShownRows") -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="dim")
    for name in shown.columns:
        values = [row[name] for row in shown.rows]
        is_number = any(isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in values)
        table.add_column(Text(_line(name)), justify="right" if is_number else "left", no_wrap=True)
    for row in shown.rows:
        table.add_row(*(Text(_text(row[name])) for name in shown.columns))
    return table


def _show_records(shown: "ShownRows") -> None:
    """One line a value where a row does not fit on a line."""
    width = max(len(_line(name)) for name in shown.columns)
    for number, row in enumerate(shown.rows):
        if number:
            say("")
        for name in shown.columns:
            say(f"{_line(name):<{width}}  {_text(row[name])}")


def _text(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case Decimal():
            return f"{value:f}"
        case datetime.datetime():
            return value.isoformat().replace("+00:00", "Z")
        case datetime.date():
            return value.isoformat()
        case _:
            return _line(str(value))


def _line(text: str) -> str:
    """On one line, without signs that steer a terminal."""
    return "".join(character if character.isprintable() else " " for character in text)
