"""The functions of the language: what each gives for which arguments."""

import datetime
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from daybook.model.types import BOOLEAN, DATE, FLOAT, INTEGER, MAX_DIGITS, STRING, TIMESTAMP, ColumnType, DecimalType
from tests.reference import dates, numbers, texts
from tests.reference.numbers import ValueFailureError, arithmetic_type, as_type, calculate
from tests.reference.tree import (
    Expression,
    Row,
    Value,
    at_midnight,
    comparable,
    compare,
    conjunction,
    disjunction,
    negate,
)
from tests.reference.widening import common_type, widen

# When every run of the reference takes place, and so what NOW() is.
RUN_TIMESTAMP = datetime.datetime(2026, 2, 3, 4, 5, 6, 789, tzinfo=datetime.UTC)
Arguments = Sequence[Expression]
TypeRule = Callable[[Arguments], ColumnType]


@dataclass(frozen=True)
class Function:
    """`evaluate` gets the values and the call's type, and no NULLs unless it is `lenient`."""

    type_rule: TypeRule
    evaluate: Callable[[Sequence[Any], ColumnType], Value]
    lenient: bool = False


@dataclass(frozen=True)
class Call(Expression):
    name: str
    arguments: tuple[Expression, ...]

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.arguments

    @property
    def function(self) -> Function:
        return FUNCTIONS[self.name.upper()]

    @cached_property
    def type(self) -> ColumnType:
        return self.function.type_rule(self.arguments)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.arguments))})"

    def value(self, row: Row) -> Value:
        match self.name.upper():
            case "IF":
                return widen(self.arguments[1 if self.arguments[0].value(row) else 2].value(row), self.type)
            case "COALESCE":
                for argument in self.arguments:
                    if (value := argument.value(row)) is not None:
                        return widen(value, self.type)
                return None
        values = [argument.value(row) for argument in self.arguments]
        if not self.function.lenient and None in values:
            return None
        return self.function.evaluate(values, self.type)


def always(type_: ColumnType) -> TypeRule:
    return lambda arguments: type_


def first(arguments: Arguments) -> ColumnType:
    return arguments[0].type


def common(arguments: Arguments) -> ColumnType:
    return common_type(*((argument.type, argument.digits) for argument in arguments))


def branches(arguments: Arguments) -> ColumnType:
    return common(arguments[1:])


def remainder(arguments: Arguments) -> ColumnType:
    left, right = arguments
    return arithmetic_type("%", left.type, right.type, (left.digits, right.digits))


def rounded(arguments: Arguments) -> ColumnType:
    type_ = arguments[0].type
    if not isinstance(type_, DecimalType):
        return type_
    places = arguments[1].value({}) if len(arguments) > 1 else 0
    scale = min(max(places, 0), type_.scale)
    whole = type_.precision - type_.scale + 1
    return DecimalType(min(MAX_DIGITS, max(whole, 1 - places) + scale), scale)


def whole(arguments: Arguments) -> ColumnType:
    type_ = arguments[0].type
    if not isinstance(type_, DecimalType):
        return type_
    room = 1 if type_.scale else 0
    return DecimalType(min(MAX_DIGITS, type_.precision - type_.scale + room), 0)


def _round(values: Sequence[Any], type_: ColumnType) -> Value:
    places = values[1] if len(values) > 1 else 0
    value = values[0]
    if isinstance(value, float) and not math.isfinite(value):
        return value
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    return as_type(numbers.round_to(exact, places), type_)


def _power(values: Sequence[Any], type_: ColumnType) -> Value:
    """As IEEE 754 has it, where Python raises instead."""
    base, exponent = map(float, values)
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return math.inf if base > 0 or exponent % 2 == 0 else -math.inf
    except ValueError:
        return math.inf if base == 0 else math.nan


def number_type(arguments: Arguments) -> ColumnType:
    return DecimalType(MAX_DIGITS, int(arguments[1].value({})) if len(arguments) > 1 else 10)


def _to_number(values: Sequence[Any], type_: ColumnType) -> Value:
    written = values[0].strip(" ")
    found = re.fullmatch(r"[+-]?([0-9]+)(?:\.([0-9]+))?", written)
    assert isinstance(type_, DecimalType)
    if not found:
        raise ValueFailureError(f"{values[0]!r} is no number")
    if len(found[1]) > type_.precision - type_.scale or len(found[2] or "") > type_.scale:
        raise ValueFailureError(f"{values[0]!r} has too many digits")
    return as_type(Decimal(written), type_)


def _to_string(values: Sequence[Any], type_: ColumnType) -> Value:
    if len(values) > 1:
        return dates.in_format(values[0], values[1])
    match values[0]:
        case bool(value):
            return str(value).lower()
        case datetime.datetime() as value:
            written = value.strftime("%Y-%m-%d %H:%M:%S.%f")
            return written.rstrip("0").rstrip(".")
        case Decimal() as value:
            return f"{value:f}"
        case value:
            return str(value)


def _nullif(values: Sequence[Any], type_: ColumnType) -> Value:
    return None if compare("=", *values) else values[0]


def _whole(rounding: Callable[[Decimal], Decimal]) -> Callable[[Sequence[Any], ColumnType], Value]:
    def evaluate(values: Sequence[Any], type_: ColumnType) -> Value:
        if isinstance(values[0], float) and not math.isfinite(values[0]):
            return values[0]
        return as_type(rounding(Decimal(values[0])), type_)

    return evaluate


def _sign(values: Sequence[Any], type_: ColumnType) -> Value:
    if values[0] != values[0]:
        raise ValueFailureError("NaN has no sign")
    return as_type((values[0] > 0) - (values[0] < 0), type_)


def spread(function: Callable[..., Value]) -> Callable[[Sequence[Any], ColumnType], Value]:
    """For a function that does not need to know the type."""
    return lambda values, type_: function(*values)


FUNCTIONS: dict[str, Function] = {
    "IF": Function(branches, lambda values, type_: None, lenient=True),
    "COALESCE": Function(common, lambda values, type_: None, lenient=True),
    "AND": Function(always(BOOLEAN), lambda values, type_: conjunction(list(values)), lenient=True),
    "OR": Function(always(BOOLEAN), lambda values, type_: disjunction(list(values)), lenient=True),
    "NOT": Function(always(BOOLEAN), spread(negate)),
    "ISNULL": Function(always(BOOLEAN), lambda values, type_: values[0] is None, lenient=True),
    "NULLIF": Function(first, _nullif, lenient=True),
    "ABS": Function(first, lambda values, type_: as_type(numbers.magnitude(values[0]), type_)),
    "ROUND": Function(rounded, _round),
    "FLOOR": Function(whole, _whole(numbers.floor)),
    "CEIL": Function(whole, _whole(numbers.ceiling)),
    "MOD": Function(remainder, lambda values, type_: calculate("%", values[0], values[1], type_)),
    "MIN": Function(common, lambda values, type_: min((widen(value, type_) for value in values), key=comparable)),
    "MAX": Function(common, lambda values, type_: max((widen(value, type_) for value in values), key=comparable)),
    "POWER": Function(always(FLOAT), _power),
    "SIGN": Function(always(INTEGER), _sign),
    "CONCAT": Function(always(STRING), lambda values, type_: "".join(values)),
    "LEN": Function(always(INTEGER), spread(len)),
    "CONTAINS": Function(always(BOOLEAN), lambda values, type_: values[1] in values[0]),
    "STARTS_WITH": Function(always(BOOLEAN), spread(str.startswith)),
    "ENDS_WITH": Function(always(BOOLEAN), spread(str.endswith)),
    "DATE": Function(always(DATE), spread(dates.make_date)),
    "TIMESTAMP": Function(always(TIMESTAMP), spread(at_midnight)),
    "TODAY": Function(always(DATE), lambda values, type_: RUN_TIMESTAMP.date()),
    "NOW": Function(always(TIMESTAMP), lambda values, type_: RUN_TIMESTAMP),
    "YEAR": Function(always(INTEGER), lambda values, type_: values[0].year),
    "QUARTER": Function(always(INTEGER), spread(dates.quarter)),
    "MONTH": Function(always(INTEGER), lambda values, type_: values[0].month),
    "DAY": Function(always(INTEGER), lambda values, type_: values[0].day),
    "DATEDIFF": Function(always(INTEGER), spread(dates.days_between)),
    "DATEADD": Function(always(DATE), spread(dates.add_days)),
    "ADD_MONTHS": Function(always(DATE), spread(dates.add_months)),
    "EOMONTH": Function(always(DATE), spread(dates.end_of_month)),
    "TO_STRING": Function(always(STRING), _to_string),
    "TO_NUMBER": Function(number_type, _to_number),
    "TO_DATE": Function(always(DATE), spread(dates.parse_date)),
    **{name: Function(always(STRING), spread(function)) for name, function in texts.TEXT_FUNCTIONS.items()},
}
