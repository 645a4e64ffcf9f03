"""Our integers have 64 bits; where Spark's functions want fewer, a value that does not fit fails the run."""

from daybook.expression.functions.declaration import Argument

_LARGEST_INT = 2**31 - 1


def as_int(argument: Argument) -> str:
    """A length or a position, 32 bits."""
    if isinstance(argument.literal, int) and abs(argument.literal) <= _LARGEST_INT:
        return str(argument.literal)
    return f"CAST({argument.sql} AS INT)"


def as_shift(argument: Argument) -> str:
    """A number of days or months: seven digits, since Spark adds days without noticing that they overflow."""
    if isinstance(argument.literal, int) and abs(argument.literal) < 10**7:
        return str(argument.literal)
    return f"CAST(CAST({argument.sql} AS DECIMAL(7,0)) AS INT)"
