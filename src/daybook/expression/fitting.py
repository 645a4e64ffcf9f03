"""From an expression's type to a declared column's."""

import re

from daybook.errors import DaybookError
from daybook.expression.kinds import fits, spark_type
from daybook.model.types import ColumnType, DecimalType, FloatType, IntegerType, NullType

_LABEL = re.compile(r"[A-Za-z0-9_.:-]{1,200}")


def fit(sql: str, source: ColumnType, target: ColumnType, *, label: str | None = None) -> str:
    """SQL of exactly the target type: widened, or rounded half away from zero to its scale.

    A value that does not fit fails the run as ANSI casts do. Spark's error quotes the failing fragment of SQL,
    so a `label` is put into it as a comment: it costs nothing per row and tells which column and operation it was.
    """
    if source == target:
        return sql
    if not fits(source, target):
        raise DaybookError("EXPR_029", source=source, target=target)
    match source, target:
        case NullType(), _:
            value = sql
        case FloatType(), DecimalType():
            # A cast from double makes NULL of NaN and infinity without a word; by way of text it fails.
            value = f"CAST({sql} AS STRING)"
        case FloatType() | DecimalType(), IntegerType():
            value = f"ROUND({sql}, 0)"
        case _:
            value = sql
    return f"CAST({value} AS {spark_type(target)}{_comment(label)})"


def _comment(label: str | None) -> str:
    if label is None:
        return ""
    if not _LABEL.fullmatch(label):
        raise ValueError(f"{label!r} cannot be a label: letters, digits and _ . : - only")
    return f" /* {label} */"
