"""Comments in SQL that tell where an expression comes from; Spark quotes them when it fails."""

import re

SELECTOR = "selector"
ON = "on"
VALUE = "value"

_MARK = re.compile(r"/\* (\d+):(\w+)(?:\.(\d+))? \*/")


def mark(sql: str, seq: int, what: str, number: int | None = None) -> str:
    """`what` is selector, on or value; `number` says which of several."""
    place = what if number is None else f"{what}.{number}"
    return f"/* {seq}:{place} */ {sql}"


def last_mark(sql: str) -> tuple[int, str, int] | None:
    """The operation, the kind and the number of the last expression that begins in a text."""
    marks = list(_MARK.finditer(sql))
    return (int(marks[-1][1]), marks[-1][2], int(marks[-1][3] or 0)) if marks else None
