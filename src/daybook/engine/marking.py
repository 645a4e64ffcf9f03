"""Comments in SQL that tell where an expression comes from; Spark quotes them when it fails."""

import re
from collections.abc import Iterator

SELECTOR = "selector"
ON = "on"
VALUE = "value"
CONDITION = "condition"

_MARK = re.compile(r"/\* (\d+):(\w+)(?:\.(\d+))? \*/")

# Quoted texts and names, and the places where something that may fail begins: it has one of these in it or before it.
_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*'|`[^`]*`|[(,]|\b(?:WHEN|THEN|ELSE)\b", re.DOTALL)

# Spark quotes what failed and 32 characters before it.
_REACH = 30


def mark(sql: str, seq: int, what: str, number: int | None = None) -> str:
    """`what` is selector, on, value or condition; `number` says which of several."""
    place = what if number is None else f"{what}.{number}"
    return "".join(_marked(sql, f"/* {seq}:{place} */ "))


def _marked(sql: str, comment: str) -> Iterator[str]:
    """The comment stands before the expression, and again wherever the one before is out of reach."""
    yield comment
    written, reach = 0, _REACH - len(comment)
    for token in _TOKEN.finditer(sql):
        if token[0][0] not in "'`" and token.end() - written > reach:
            yield f"{sql[written : token.end()]} {comment}"
            written = token.end()
    yield sql[written:]


def last_mark(sql: str) -> tuple[int, str, int] | None:
    """The operation, the kind and the number of the last expression that begins in a text."""
    marks = list(_MARK.finditer(sql))
    return (int(marks[-1][1]), marks[-1][2], int(marks[-1][3] or 0)) if marks else None
