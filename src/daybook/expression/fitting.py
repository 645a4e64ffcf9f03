"""From an expression's type to a declared column's."""

import re
from urllib.parse import quote, unquote

from daybook.errors import DaybookError
from daybook.expression.kinds import fits, spark_type
from daybook.model.types import ColumnType, DecimalType, FloatType, IntegerType

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
    match source, target:
        case FloatType(), DecimalType():
            # A cast from double makes NULL of NaN and infinity without a word; by way of text it fails.
            value = f"CAST({sql} AS STRING)"
        case FloatType() | DecimalType(), IntegerType():
            value = f"ROUND({sql}, 0)"
        case _:
            value = sql
    comment = "" if label is None else f" /* DAYBOOK:{quote(label, safe='')} */"
    return f"CAST({value} AS {spark_type(target)}{comment})"


def label_of(fragment: str) -> str | None:
    """The label in a fragment of SQL that Spark's error quotes."""
    found = _LABEL.search(fragment)
    return unquote(found[1]) if found else None
