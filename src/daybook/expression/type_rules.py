"""Which types go together, and how an expression's type fits a declared column's."""

from collections.abc import Iterable

from daybook.errors import DaybookError
from daybook.expression import decimals
from daybook.model.types import (
    BOOLEAN,
    DATE,
    FLOAT,
    INTEGER,
    MAX_DIGITS,
    NULL,
    STRING,
    TIMESTAMP,
    BooleanType,
    ColumnType,
    DateType,
    DecimalType,
    FloatType,
    IntegerType,
    NullType,
    StringType,
    TimestampType,
)

_DIGITS_OF_EXACT_MINUS = 34

NUMBER_TYPES = (IntegerType, DecimalType, FloatType)


def is_number(column_type: ColumnType) -> bool:
    return isinstance(column_type, NUMBER_TYPES)


def common_type(types: Iterable[ColumnType]) -> ColumnType | None:
    """The narrowest type that holds all values of these types; None when their kinds do not go together."""
    common: ColumnType | None = NULL
    for each in types:
        common = _common_type_of_two(common, each)
    return common


def _common_type_of_two(left: ColumnType | None, right: ColumnType) -> ColumnType | None:
    match left, right:
        case None, _:
            return None
        case (NullType(), other) | (other, NullType()):
            return other
        case (FloatType(), IntegerType() | DecimalType()) | (IntegerType() | DecimalType(), FloatType()):
            return FLOAT
        case (DecimalType() as value, IntegerType()) | (IntegerType(), DecimalType() as value):
            return decimals.common(value, decimals.INTEGER_AS_DECIMAL)
        case DecimalType() as one, DecimalType() as other:
            return decimals.common(one, other)
        case _:
            return left if left == right else None


def fits(source: ColumnType, target: ColumnType) -> bool:
    """Whether values of one type can stand in a column of another: widened, or rounded to its scale."""
    return source == target or isinstance(source, NullType) or (is_number(source) and is_number(target))


def spark_type(column_type: ColumnType) -> str:
    """The type's name in Spark SQL."""
    match column_type:
        case DecimalType(precision, scale):
            return f"DECIMAL({precision},{scale})"
        case NullType():
            return "VOID"
        case _:
            return _SPARK_NAMES[column_type]


_SPARK_NAMES: dict[ColumnType, str] = {
    STRING: "STRING",
    INTEGER: "BIGINT",
    FLOAT: "DOUBLE",
    BOOLEAN: "BOOLEAN",
    DATE: "DATE",
    TIMESTAMP: "TIMESTAMP",
}


def describe_type(column_type: ColumnType) -> str:
    """The type in a message: what a user calls such a value."""
    match column_type:
        case StringType():
            return "a text"
        case IntegerType():
            return "an integer"
        case DecimalType() | FloatType():
            return f"a {column_type}"
        case BooleanType():
            return "a boolean"
        case DateType():
            return "a date"
        case TimestampType():
            return "a timestamp"
        case NullType():
            return "NULL"


def is_negated_exactly(column_type: ColumnType) -> bool:
    """Spark's unary minus rounds decimals of more than 34 digits without a word."""
    return not isinstance(column_type, DecimalType) or column_type.precision <= _DIGITS_OF_EXACT_MINUS


def negate_sql(sql: str, column_type: ColumnType) -> str:
    """The SQL of unary minus, exact for every number."""
    if isinstance(column_type, IntegerType):
        # Where there is nothing on the other side of the smallest number, only a difference fails with its place.
        return f"0L - ({sql})"
    if is_negated_exactly(column_type):
        return f"-({sql})"
    # Below 38 digits the difference is one digit wider than the number.
    difference = f"0BD - ({sql})"
    return (
        f"CAST({difference} AS {spark_type(column_type)})" if column_type != _widest_type(column_type) else difference
    )


def _widest_type(column_type: ColumnType) -> ColumnType:
    return DecimalType(MAX_DIGITS, column_type.scale) if isinstance(column_type, DecimalType) else column_type


def comparison_hint(left: ColumnType, right: ColumnType) -> str | None:
    """How two kinds that do not compare can be brought together."""
    match left, right:
        case (DateType(), TimestampType()) | (TimestampType(), DateType()):
            return "DATE(timestamp) is its day, TIMESTAMP(date) is its start"
        case (StringType(), DateType() | TimestampType()) | (DateType() | TimestampType(), StringType()):
            return 'write dates as DATE("2026-01-31"), timestamps as TIMESTAMP("2026-01-31T00:00:00Z")'
        case (StringType(), other) | (other, StringType()) if is_number(other):
            return "write texts in quotes and numbers without; TO_NUMBER reads a number from a text"
        case _:
            return None


# Every whole number of so many digits fits 64 bits.
_DIGITS_OF_ANY_INTEGER = 18


def cast_sql(sql: str, source: ColumnType, target: ColumnType) -> str:
    """SQL of exactly the target type: widened, or rounded half away from zero to its scale.

    A value that does not fit fails the run as ANSI casts do.
    """
    if source == target:
        return sql
    if not fits(source, target):
        raise DaybookError("EXPR_029", source=source, target=target)
    match source, target:
        case FloatType(), DecimalType():
            return _cast(_cast_to_text(sql), target)
        case FloatType(), IntegerType():
            whole = _cast(_cast_to_text(sql), DecimalType(MAX_DIGITS, 0))
            return _cast(_cast_to_text(whole), target)
        case DecimalType(precision, scale), IntegerType():
            whole = f"ROUND({sql}, 0)" if scale else sql
            fits_always = precision - scale < _DIGITS_OF_ANY_INTEGER
            return _cast(whole if fits_always else _cast_to_text(whole), target)
        case _:
            return _cast(sql, target)


def _cast(sql: str, target: ColumnType) -> str:
    return f"CAST({sql} AS {spark_type(target)})"


def _cast_to_text(sql: str) -> str:
    """Casts from text always fail with the fragment quoted; those of doubles make NULL of NaN without a word."""
    return f"CAST({sql} AS STRING)"
