"""The names of what is counted, and the SQL that counts it."""

from daybook.engine.hidden import FAULT

INPUT = "input"
# The text of a failed check, or how many rows failed one where a text would be too slow to carry.
FAULT_TEXT = "fault"
FAULTY = "faulty"

INPUT_ROWS = "COUNT(IF(`_operation_seq` = 0, 1, NULL))"
FIRST_FAULT = f"MIN({FAULT})"
FAULTY_ROWS = f"COUNT({FAULT})"

_PICKED = "picked_"
_ADDED = "added_"


def picked_by(seq: int) -> str:
    return f"{_PICKED}{seq}"


def added_by(seq: int) -> str:
    return f"{_ADDED}{seq}"


def picking_seq(name: str) -> int | None:
    """The operation whose picked rows a metric counts."""
    return int(name.removeprefix(_PICKED)) if name.startswith(_PICKED) else None
