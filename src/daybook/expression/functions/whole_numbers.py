"""Our integers have 64 bits; Spark's functions often want fewer."""

from daybook.expression.functions.declaration import Argument

_LARGEST_INT = 2**31 - 1


def as_int(argument: Argument) -> str:
    """A length or a position: no text is longer than 32 bits can count, so whatever is beyond stops there."""
    if isinstance(argument.literal, int):
        return str(max(-_LARGEST_INT, min(_LARGEST_INT, argument.literal)))
    number = argument.sql
    high = f"WHEN {number} > {_LARGEST_INT}L THEN {_LARGEST_INT}L"
    low = f"WHEN {number} < -{_LARGEST_INT}L THEN -{_LARGEST_INT}L"
    return f"CAST(CASE {high} {low} ELSE {number} END AS INT)"


def as_shift(argument: Argument) -> str:
    """A number of days or months: more than seven digits fail the run, since Spark adds days past every date."""
    if isinstance(argument.literal, int) and abs(argument.literal) < 10**7:
        return str(argument.literal)
    return f"CAST(CAST({argument.sql} AS DECIMAL(7,0)) AS INT)"
