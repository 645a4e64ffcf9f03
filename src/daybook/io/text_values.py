"""Typed values from their text, exactly; whatever is not precisely a value of the type is refused."""

from collections.abc import Callable, Mapping, Sequence
from typing import assert_never

import pyarrow as pa
import pyarrow.compute as pc

from daybook.errors import DaybookError
from daybook.io.column_types import arrow_type
from daybook.io.tables import Binding
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

_INTEGER = r"^[+-]?[0-9]+$"
_NUMBER = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_FLOAT = r"^([+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|NaN|[+-]?Infinity)$"
_BOOLEAN = r"^(?i:true|false)$"
_DAY = r"([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])-[0-9]{2}-[0-9]{2}"
_DATE = f"^{_DAY}$"
_TIMESTAMP = f"^{_DAY}" + r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?$"
_ZONE = r"(Z|[+-][0-9]{2}:?[0-9]{2})$"


class BadValue(ValueError):
    """The first value that is not of the type."""

    def __init__(self, index: int, value: object) -> None:
        super().__init__(f"{value!r} at {index}")
        self.index = index
        self.value = value


def parse(texts: pa.Array, type_: ColumnType) -> pa.Array:
    """The texts as values of the type, NULL staying NULL; BadValue names the first that is none."""
    match type_:
        case StringType():
            return texts
        case IntegerType():
            return _convert(texts, _INTEGER, lambda values: pc.cast(_without_plus(values), pa.int64()))
        case DecimalType():
            target = arrow_type(type_)
            return _convert(texts, _NUMBER, lambda values: pc.cast(_without_plus(values), target))
        case FloatType():
            return _convert(texts, _FLOAT, _floats)
        case BooleanType():
            return _convert(texts, _BOOLEAN, lambda values: pc.equal(pc.utf8_lower(values), "true"))
        case DateType():
            return _convert(texts, _DATE, lambda values: pc.cast(values, pa.date32()))
        case TimestampType():
            return _convert(texts, _TIMESTAMP, _timestamps)
        case NullType():
            raise TypeError("no column has the type null")
        case _:
            assert_never(type_)


def _convert(texts: pa.Array, pattern: str, conversion: Callable[[pa.Array], pa.Array]) -> pa.Array:
    matches = pc.fill_null(pc.match_substring_regex(texts, pattern), True)
    if (bad := pc.index(matches, False).as_py()) >= 0:
        raise BadValue(bad, texts[bad].as_py())
    try:
        return conversion(texts)
    except pa.ArrowInvalid:
        bad = _first_failing(texts, conversion)
        raise BadValue(bad, texts[bad].as_py()) from None


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


def _floats(values: pa.Array) -> pa.Array:
    numbers = pc.cast(pc.replace_substring(_without_plus(values), "Infinity", "inf"), pa.float64())
    if pc.any(pc.and_not(pc.is_inf(numbers), pc.match_substring(values, "Infinity"))).as_py():
        raise pa.ArrowInvalid("beyond the range of a float")
    return numbers


def _timestamps(values: pa.Array) -> pa.Array:
    """Times that name an offset are moved to UTC, the others are UTC."""
    utc = pa.timestamp("us", tz="UTC")
    has_zone = pc.match_substring_regex(values, _ZONE)
    zoned = pc.if_else(has_zone, values, pa.scalar(None, pa.string()))
    plain = pc.if_else(has_zone, pa.scalar(None, pa.string()), values)
    return pc.coalesce(pc.cast(zoned, utc), pc.cast(pc.cast(plain, pa.timestamp("us")), utc))


def check_partition_values(
    bindings: Sequence[Binding], values: Mapping[str, str | None], file: str
) -> list[DaybookError]:
    """Partition values that are not of their column's declared type."""
    errors = []
    for binding in bindings:
        if (text := values.get(binding.stored)) is None:
            continue
        try:
            parse(pa.array([text], pa.string()), binding.type)
        except BadValue:
            declared = str(binding.type)
            errors.append(DaybookError("IO_015", file=file, column=binding.stored, declared=declared, value=text))
    return errors
