"""From an expression's type to a declared column's."""

import re
from urllib.parse import quote, unquote

from daybook.errors import DaybookError
from daybook.expression.kinds import fits, spark_type
from daybook.model.types import MAX_DIGITS, ColumnType, DecimalType, FloatType, IntegerType

# Every whole number of so many digits fits 64 bits.
_DIGITS_OF_ANY_INTEGER = 18

_LABEL = re.compile(r"/\* DAYBOOK:(\S*) \*/")


def fit(sql: str, source: ColumnType, target: ColumnType, *, label: str | None = None) -> str:
    """SQL of exactly the target type: widened, or rounded half away from zero to its scale.

    A value that does not fit fails the run as ANSI casts do. Spark's error quotes the failing fragment of SQL,
    so a `label` goes into it as a comment: it costs nothing per row, and `label_of` reads it back.
    """
    if source == target:
        return sql
    if not fits(source, target):
        raise DaybookError("EXPR_029", source=source, target=target)
    comment = "" if label is None else f" /* DAYBOOK:{quote(label, safe='')} */"
    match source, target:
        case FloatType(), DecimalType():
            return _cast(_as_text(sql), target, comment)
        case FloatType(), IntegerType():
            whole = _cast(_as_text(sql), DecimalType(MAX_DIGITS, 0), comment)
            return _cast(_as_text(whole), target, comment)
        case DecimalType(precision, scale), IntegerType():
            whole = f"ROUND({sql}, 0)" if scale else sql
            fits_always = precision - scale < _DIGITS_OF_ANY_INTEGER
            return _cast(whole if fits_always else _as_text(whole), target, comment)
        case _:
            return _cast(sql, target, comment)


def _cast(sql: str, target: ColumnType, comment: str) -> str:
    return f"CAST({sql} AS {spark_type(target)}{comment})"


def _as_text(sql: str) -> str:
    """Casts from text always fail with the fragment quoted; those of doubles make NULL of NaN without a word."""
    return f"CAST({sql} AS STRING)"


def label_of(fragment: str) -> str | None:
    """The label in a fragment of SQL that Spark's error quotes."""
    found = _LABEL.search(fragment)
    return unquote(found[1]) if found else None
