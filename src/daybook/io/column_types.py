"""A column's type in Arrow and in Spark.

Typed values from their text, exactly; whatever is not precisely a value of the type is refused.

Limits of values that databases hold and Daybook does not.
"""

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import assert_never

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types as spark

from daybook.errors import DaybookError
from daybook.io.bindings import Binding
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
)


def arrow_type(type_: ColumnType) -> pa.DataType:
    match type_:
        case StringType():
            return pa.string()
        case IntegerType():
            return pa.int64()
        case DecimalType(precision, scale):
            return pa.decimal128(precision, scale)
        case FloatType():
            return pa.float64()
        case BooleanType():
            return pa.bool_()
        case DateType():
            return pa.date32()
        case TimestampType():
            return pa.timestamp("us", tz="UTC")
        case NullType():
            return pa.null()
        case _:
            assert_never(type_)


def spark_data_type(type_: ColumnType) -> spark.DataType:
    match type_:
        case StringType():
            return spark.StringType()
        case IntegerType():
            return spark.LongType()
        case DecimalType(precision, scale):
            return spark.DecimalType(precision, scale)
        case FloatType():
            return spark.DoubleType()
        case BooleanType():
            return spark.BooleanType()
        case DateType():
            return spark.DateType()
        case TimestampType():
            return spark.TimestampType()
        case NullType():
            return spark.NullType()
        case _:
            assert_never(type_)


def stored_type_fits(stored: pa.DataType, declared: ColumnType) -> bool:
    """Whether every value of the stored type is a value of the declared one; times without a zone are UTC."""
    kind = stored.value_type if pa.types.is_dictionary(stored) else stored
    match declared:
        case StringType():
            fits = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
        case IntegerType():
            fits = pa.types.is_integer(kind) and kind != pa.uint64()
        case DecimalType(precision, scale):
            fits = (
                pa.types.is_decimal(kind) and kind.scale <= scale and kind.precision - kind.scale <= precision - scale
            )
        case FloatType():
            fits = pa.types.is_float64(kind) or pa.types.is_float32(kind)
        case BooleanType():
            fits = pa.types.is_boolean(kind)
        case DateType():
            fits = pa.types.is_date32(kind)
        case TimestampType():
            fits = pa.types.is_timestamp(kind) and kind.unit in ("us", "ms")
        case NullType():
            fits = False
        case _:
            assert_never(declared)
    return bool(fits)


_INTEGER_PATTERN = r"^[+-]?[0-9]+$"
_NUMBER_PATTERN = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_FLOAT_PATTERN = r"^([+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|NaN|[+-]?Infinity)$"
_BOOLEAN_PATTERN = r"^(?i:true|false)$"
_DAY_PATTERN = r"([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])-[0-9]{2}-[0-9]{2}"
_DATE_PATTERN = f"^{_DAY_PATTERN}$"
_TIMESTAMP_PATTERN = (
    f"^{_DAY_PATTERN}" + r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?$"
)
_ZONE_PATTERN = r"(Z|[+-][0-9]{2}:?[0-9]{2})$"


class BadValueError(ValueError):
    """The first value that is not of the type."""

    def __init__(self, index: int, value: object) -> None:
        super().__init__(f"{value!r} at {index}")
        self.index = index
        self.value = value


def parse_texts(texts: pa.Array, type_: ColumnType) -> pa.Array:
    """The texts as values of the type, NULL staying NULL; BadValue names the first that is none."""
    match type_:
        case StringType():
            return texts
        case IntegerType():
            return _convert(texts, _INTEGER_PATTERN, lambda values: pc.cast(_without_plus(values), pa.int64()))
        case DecimalType():
            target = arrow_type(type_)
            return _convert(texts, _NUMBER_PATTERN, lambda values: pc.cast(_without_plus(values), target))
        case FloatType():
            return _convert(texts, _FLOAT_PATTERN, _parse_floats)
        case BooleanType():
            return _convert(texts, _BOOLEAN_PATTERN, lambda values: pc.equal(pc.utf8_lower(values), "true"))
        case DateType():
            return _convert(texts, _DATE_PATTERN, lambda values: pc.cast(values, pa.date32()))
        case TimestampType():
            return _convert(texts, _TIMESTAMP_PATTERN, _parse_timestamps)
        case NullType():
            raise TypeError("no column has the type null")
        case _:
            assert_never(type_)


def _convert(texts: pa.Array, pattern: str, conversion: Callable[[pa.Array], pa.Array]) -> pa.Array:
    matches = pc.fill_null(pc.match_substring_regex(texts, pattern), True)
    if (bad := pc.index(matches, False).as_py()) >= 0:
        raise BadValueError(bad, texts[bad].as_py())
    try:
        return conversion(texts)
    except pa.ArrowInvalid:
        bad = _first_failing(texts, conversion)
        raise BadValueError(bad, texts[bad].as_py()) from None


def _first_failing(texts: pa.Array, conversion: Callable[[pa.Array], pa.Array]) -> int:
    """By halving, since the conversion says that a value fails and not which."""
    low, high = 0, len(texts)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            conversion(texts.slice(low, middle - low))
            low = middle
        except pa.ArrowInvalid:
            high = middle
    return low


def _without_plus(values: pa.Array) -> pa.Array:
    return pc.utf8_ltrim(values, "+")


def _parse_floats(values: pa.Array) -> pa.Array:
    numbers = pc.cast(pc.replace_substring(_without_plus(values), "Infinity", "inf"), pa.float64())
    if pc.any(pc.and_not(pc.is_inf(numbers), pc.match_substring(values, "Infinity"))).as_py():
        raise pa.ArrowInvalid("beyond the range of a float")
    return numbers


def _parse_timestamps(values: pa.Array) -> pa.Array:
    """Times that name an offset are moved to UTC, the others are UTC."""
    utc = pa.timestamp("us", tz="UTC")
    has_zone = pc.match_substring_regex(values, _ZONE_PATTERN)
    zoned = pc.if_else(has_zone, values, pa.scalar(None, pa.string()))
    plain = pc.if_else(has_zone, pa.scalar(None, pa.string()), values)
    return pc.coalesce(pc.cast(zoned, utc), pc.cast(pc.cast(plain, pa.timestamp("us")), utc))


def partition_value_errors(
    bindings: Sequence[Binding], values: Mapping[str, str | None], file: str
) -> list[DaybookError]:
    """Partition values that are not of their column's declared type."""
    errors = []
    for binding in bindings:
        if (text := values.get(binding.stored)) is None:
            continue
        try:
            parse_texts(pa.array([text], pa.string()), binding.type)
        except BadValueError:
            declared = str(binding.type)
            errors.append(DaybookError("IO_015", file=file, column=binding.stored, declared=declared, value=text))
    return errors


def refuse_dates_out_of_range(column: pa.Array, type_: ColumnType) -> None:
    """Dates outside the years 1 to 9999, infinity among them."""
    if not isinstance(type_, DateType | TimestampType):
        return
    whole = column.cast(pa.int32()).cast(pa.int64()) if isinstance(type_, DateType) else column.cast(pa.int64())
    scale = 1 if isinstance(type_, DateType) else 86_400_000_000
    epoch = datetime.date(1970, 1, 1).toordinal()
    low = (1 - epoch) * scale
    high = (datetime.date(9999, 12, 31).toordinal() - epoch + 1) * scale
    outside = pc.fill_null(pc.or_(pc.less(whole, low), pc.greater_equal(whole, high)), False)
    if (index := pc.index(outside, True).as_py()) >= 0:
        raise BadValueError(index, f"a date beyond the years 1 to 9999 ({whole[index].as_py()})")
