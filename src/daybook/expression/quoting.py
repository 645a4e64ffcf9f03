"""The only two ways in which text of a user reaches Spark: a quoted identifier or an escaped literal."""

import datetime
import math
from decimal import Decimal

from daybook.expression import type_rules
from daybook.expression.type_rules import spark_type
from daybook.model.types import (
    BooleanType,
    ColumnType,
    DateType,
    DecimalType,
    FloatType,
    IntegerType,
    NullType,
    StringType,
    TimestampType,
    Value,
)


def quote_identifier(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def quote_literal(value: Value, column_type: ColumnType) -> str:
    """A literal of exactly this type; TypeError when the value is not one of it."""
    match column_type, value:
        case _, None:
            return "NULL" if isinstance(column_type, NullType) else f"CAST(NULL AS {spark_type(column_type)})"
        case StringType(), str():
            return quote_text(value)
        case BooleanType(), bool():
            return "TRUE" if value else "FALSE"
        case _, bool():
            pass
        case IntegerType(), int():
            return f"{value}L"
        case DecimalType(), int() | Decimal():
            return _quote_decimal(Decimal(value), column_type)
        case FloatType(), int() | float() | Decimal():
            return _quote_float(float(value))
        case TimestampType(), datetime.datetime():
            return f"TIMESTAMP_LTZ'{value.astimezone(datetime.UTC).isoformat(sep=' ').removesuffix('+00:00')}Z'"
        case DateType(), datetime.date() if not isinstance(value, datetime.datetime):
            return f"DATE'{value.isoformat()}'"
    raise TypeError(f"{value!r} is not a {column_type}")


def quote_text(text: str) -> str:
    """Backslashes and quotes are escaped, and `${`, which a session with variable substitution would expand.

    So are line ends: of what failed, Spark quotes no more than the line it begins on.
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("${", "\\u0024{").replace("\n", "\\n")
    return f"'{escaped}'"


def _quote_decimal(value: Decimal, column_type: DecimalType) -> str:
    text = f"{value:f}BD"
    return text if type_rules.of_literal(value) == column_type else f"CAST({text} AS {spark_type(column_type)})"


def _quote_float(value: float) -> str:
    return f"{value!r}D" if math.isfinite(value) else f"CAST('{value}' AS DOUBLE)"
