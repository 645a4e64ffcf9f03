"""Column types in Arrow and in Spark, and typed values from their text.

Whatever is not precisely a value of the type is refused. No library is given a number before its length and exponent
are known: Arrow computes wrong decimals from more than 38 digits and from more digits before the point than the type
has, and exponents of many digits end the process.
"""

import datetime
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Generic, TypeVar, assert_never, get_args

import pyarrow as pa
import pyarrow.compute as pc

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

if TYPE_CHECKING:
    # Values are read and compared without Spark, too.
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType

EntryT = TypeVar("EntryT")
_DECLARED_TYPES = frozenset(get_args(ColumnType)) - {NullType}


class TypeTable(Generic[EntryT]):
    """What a format knows of every declared type; a type that is missing fails when the table is made."""

    def __init__(self, entries: Mapping[type, EntryT]) -> None:
        if missing := _DECLARED_TYPES.difference(entries):
            raise TypeError(f"no entry for {', '.join(sorted(type_.__name__ for type_ in missing))}")
        self._entries = dict(entries)

    def __getitem__(self, type_: ColumnType) -> EntryT:
        try:
            return self._entries[type(type_)]
        except KeyError:
            raise TypeError(f"no column has the type {type_}") from None


@dataclass(frozen=True, slots=True)
class _PhysicalType:
    arrow: Callable[[Any], pa.DataType]
    # The name of the class of Spark; only decimals take arguments.
    spark: str
    # Whether every value of an Arrow type is one of the declared type.
    holds: Callable[[pa.DataType, Any], bool]


def arrow_frame(session: "SparkSession", table: pa.Table) -> "DataFrame":
    """Rows of Arrow as a DataFrame; Spark Connect refuses a table without rows unless the schema is given."""
    from pyspark.sql.pandas.types import from_arrow_schema

    if table.num_rows:
        return session.createDataFrame(table)
    return session.createDataFrame(table, from_arrow_schema(table.schema))


_TYPES = TypeTable(
    {
        StringType: _PhysicalType(
            lambda _: pa.string(),
            "StringType",
            lambda kind, _: pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind),
        ),
        IntegerType: _PhysicalType(
            lambda _: pa.int64(),
            "LongType",
            lambda kind, _: pa.types.is_integer(kind) and kind != pa.uint64(),
        ),
        DecimalType: _PhysicalType(
            lambda type_: pa.decimal128(type_.precision, type_.scale),
            "DecimalType",
            lambda kind, type_: pa.types.is_decimal(kind) and holds_digits(type_, kind.precision, kind.scale),
        ),
        FloatType: _PhysicalType(
            lambda _: pa.float64(),
            "DoubleType",
            lambda kind, _: pa.types.is_float64(kind) or pa.types.is_float32(kind),
        ),
        BooleanType: _PhysicalType(lambda _: pa.bool_(), "BooleanType", lambda kind, _: pa.types.is_boolean(kind)),
        DateType: _PhysicalType(lambda _: pa.date32(), "DateType", lambda kind, _: pa.types.is_date32(kind)),
        TimestampType: _PhysicalType(
            lambda _: pa.timestamp("us", tz="UTC"),
            "TimestampType",
            lambda kind, _: pa.types.is_timestamp(kind) and kind.unit in ("us", "ms"),
        ),
        NullType: _PhysicalType(lambda _: pa.null(), "NullType", lambda kind, _: False),
    }
)


def arrow_type(type_: ColumnType) -> pa.DataType:
    return _TYPES[type_].arrow(type_)


def spark_data_type(type_: ColumnType) -> "DataType":
    from pyspark.sql import types

    arguments = (type_.precision, type_.scale) if isinstance(type_, DecimalType) else ()
    data_type: DataType = getattr(types, _TYPES[type_].spark)(*arguments)
    return data_type


_STORED_TYPES = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us", tz="UTC"),
}


def arrow_equivalent(type_: "DataType") -> pa.DataType:
    """The type of Arrow that holds what Spark reads from a table; binary for what no column is declared as."""
    from pyspark.sql import types

    if isinstance(type_, types.DecimalType):
        return pa.decimal128(type_.precision, type_.scale)
    if isinstance(type_, types.StringType):
        return pa.string()
    return _STORED_TYPES.get(type_.simpleString(), pa.binary())


def stored_type_fits(stored: pa.DataType, declared: ColumnType) -> bool:
    """Whether every value of the stored type is a value of the declared one; times without a zone are UTC."""
    kind = stored.value_type if pa.types.is_dictionary(stored) else stored
    return bool(_TYPES[declared].holds(kind, declared))


def holds_digits(type_: DecimalType, precision: int, scale: int) -> bool:
    """Whether a decimal type has the digits of another on both sides of the point."""
    return scale <= type_.scale and precision - scale <= type_.precision - type_.scale


# No number, date or truth value has a longer text.
_MAX_TEXT_BYTES = 1000
# Arrow converts decimals of up to this many digits without an exponent exactly.
_ARROW_DIGITS = 38
_INTEGER_PATTERN = r"^[+-]?[0-9]+$"
_NUMBER = re.compile(r"([+-]?)(?=\.?[0-9])([0-9]*)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]+))?")
_FLOAT_PATTERN = r"^([+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|NaN|[+-]?Infinity)$"
_BOOLEAN_PATTERN = r"^(?i:true|false)$"
_DAY_PATTERN = r"([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])-[0-9]{2}-[0-9]{2}"
_DATE_PATTERN = f"^{_DAY_PATTERN}$"
_TIMESTAMP_PATTERN = (
    f"^{_DAY_PATTERN}" + r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?$"
)
_ZONE_PATTERN = r"(Z|[+-][0-9]{2}:?[0-9]{2})$"
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_FIRST_DAY = 1 - _EPOCH
_AFTER_LAST_DAY = datetime.date.max.toordinal() - _EPOCH + 1
_DAY_MICROSECONDS = 86_400_000_000


class BadValueError(ValueError):
    """The first value that is not of the type."""

    def __init__(self, index: int, value: object) -> None:
        super().__init__(f"{value!r} at {index}")
        self.index = index
        self.value = value


def parse_texts(texts: pa.Array, type_: ColumnType) -> pa.Array:
    """The texts as values of the type, NULL staying NULL; BadValueError names the first that is none."""
    match type_:
        case StringType():
            return texts
        case IntegerType():
            return _convert(texts, _INTEGER_PATTERN, lambda values: pc.cast(_without_plus(values), pa.int64()))
        case DecimalType():
            return _parse_decimals(texts, type_)
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


def with_decimal_point(texts: pa.Array, type_: ColumnType) -> pa.Array:
    """Numbers that are written with a decimal comma; a point in them stays no number."""
    if not isinstance(type_, DecimalType | FloatType):
        return texts
    return pc.replace_substring(pc.replace_substring(texts, ".", "?"), ",", ".")


def _convert(texts: pa.Array, pattern: str, conversion: Callable[[pa.Array], pa.Array]) -> pa.Array:
    matches = _match(texts, pattern, _MAX_TEXT_BYTES)
    if (bad := pc.index(matches, False).as_py()) >= 0:
        raise BadValueError(bad, texts[bad].as_py())
    try:
        return conversion(texts)
    except pa.ArrowInvalid:
        bad = _first_failing(texts, conversion)
        raise BadValueError(bad, texts[bad].as_py()) from None


def _match(texts: pa.Array, pattern: str, max_bytes: int) -> pa.Array:
    """Which texts are short enough and have the pattern; NULL has it."""
    is_short = pc.less_equal(pc.binary_length(texts), max_bytes)
    if not pc.all(is_short).as_py():
        texts = pc.if_else(is_short, texts, pa.scalar("too long", pa.string()))
    return pc.fill_null(pc.match_substring_regex(texts, pattern), True)


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


def _parse_decimals(texts: pa.Array, type_: DecimalType) -> pa.Array:
    """Plain numbers all at once, those with an exponent or many digits one by one."""
    target = pa.decimal128(type_.precision, type_.scale)
    whole_digits = type_.precision - type_.scale
    whole = f"[0-9]{{1,{whole_digits}}}" if whole_digits else "0"
    pattern = rf"^[+-]?0*({whole}(\.[0-9]*)?|\.[0-9]+)$"
    is_plain = _match(texts, pattern, _ARROW_DIGITS)
    plain = texts if pc.all(is_plain).as_py() else pc.if_else(is_plain, texts, pa.scalar(None, pa.string()))
    bad: list[int] = []
    values = None
    try:
        values = pc.cast(_without_plus(plain), target)
    except pa.ArrowInvalid:
        bad.append(_first_failing(plain, lambda part: pc.cast(_without_plus(part), target)))
    odd: list[Decimal] = []
    for index in pc.indices_nonzero(pc.invert(is_plain)).to_pylist() if plain is not texts else ():
        value = _exact_decimal(texts[index].as_py(), type_)
        if value is None:
            bad.append(index)
            break
        odd.append(value)
    if bad:
        raise BadValueError(min(bad), texts[min(bad)].as_py())
    return pc.replace_with_mask(values, pc.invert(is_plain), pa.array(odd, target)) if odd else values


def _exact_decimal(text: str, type_: DecimalType) -> Decimal | None:
    """The number in a text; None if it is not a number or does not fit the type."""
    match = _NUMBER.fullmatch(text) if len(text) <= _MAX_TEXT_BYTES else None
    if match is None:
        return None
    sign, whole, fraction, exponent = match[1], match[2], match[3] or "", int(match[4] or 0)
    digits = (whole + fraction).lstrip("0")
    significant = digits.rstrip("0")
    if not significant:
        return Decimal(0)
    exponent += len(digits) - len(significant) - len(fraction)
    if exponent < -type_.scale or len(significant) + exponent > type_.precision - type_.scale:
        return None
    return Decimal(f"{sign}{significant}e{exponent}")


def _parse_floats(values: pa.Array) -> pa.Array:
    numbers = pc.cast(pc.replace_substring(_without_plus(values), "Infinity", "inf"), pa.float64())
    if pc.any(pc.and_not(pc.is_inf(numbers), pc.match_substring(values, "Infinity"))).as_py():
        raise pa.ArrowInvalid("beyond the range of a float")
    return numbers


def _parse_timestamps(values: pa.Array) -> pa.Array:
    """Times that name an offset are moved to UTC, the others are UTC; the offset may not lead out of the calendar."""
    utc = pa.timestamp("us", tz="UTC")
    has_zone = pc.match_substring_regex(values, _ZONE_PATTERN)
    zoned = pc.if_else(has_zone, values, pa.scalar(None, pa.string()))
    plain = pc.if_else(has_zone, pa.scalar(None, pa.string()), values)
    timestamps = pc.coalesce(pc.cast(zoned, utc), pc.cast(pc.cast(plain, pa.timestamp("us")), utc))
    if pc.any(_is_out_of_calendar(timestamps.cast(pa.int64()), _DAY_MICROSECONDS)).as_py():
        raise pa.ArrowInvalid("beyond the years 1 to 9999")
    return timestamps


def _is_out_of_calendar(numbers: pa.Array, units_a_day: int) -> pa.Array:
    low, high = _FIRST_DAY * units_a_day, _AFTER_LAST_DAY * units_a_day
    return pc.fill_null(pc.or_(pc.less(numbers, low), pc.greater_equal(numbers, high)), False)


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
    match type_:
        case DateType():
            numbers, units_a_day = column.cast(pa.int32()).cast(pa.int64()), 1
        case TimestampType():
            numbers, units_a_day = column.cast(pa.int64()), _DAY_MICROSECONDS
        case _:
            return
    if (index := pc.index(_is_out_of_calendar(numbers, units_a_day), True).as_py()) >= 0:
        raise BadValueError(index, f"a date beyond the years 1 to 9999 ({numbers[index].as_py()})")
