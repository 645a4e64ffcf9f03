"""Columns that the engine carries beside the user's and that no output shows."""

from daybook.expression import quote_identifier

# One bit for every update and delete that picked the row.
PICKED = "__daybook_picked"
BITS = 62

# The first check that the row failed.
FAULT = "__daybook_fault"


def picked_words(operations: int) -> tuple[str, ...]:
    """The columns that hold a bit for each of so many operations."""
    return tuple(f"{PICKED}_{word}" for word in range(-(-operations // BITS)))


def quoted(*names: str) -> list[str]:
    return [quote_identifier(name) for name in names]
