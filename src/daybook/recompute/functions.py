"""The functions of the language: the type of each, and what it gives for which arguments."""

import datetime
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from daybook.model.types import (
    BOOLEAN,
    DATE,
    FLOAT,
    INTEGER,
    MAX_DIGITS,
    NULL,
    STRING,
    TIMESTAMP,
    ColumnType,
    DecimalType,
)
from daybook.recompute import arithmetic, dates, texts
from daybook.recompute.arithmetic import ValueFailureError, arithmetic_type, as_type, common_type, fitting, is_numeric
from daybook.recompute.tree import (
    Layout,
    Literal,
    Negation,
    Node,
    Row,
    RowFunction,
    Value,
    all_of,
    any_of,
    at_midnight,
    comparable,
    comparison,
    fitted,
    negate,
)

Arguments = Sequence[Node]
TypeRule = Callable[[Arguments], ColumnType]
Evaluation = Callable[..., Value]


@dataclass(frozen=True)
class Function:
    """`evaluation` gives the function of the values of a call; it gets no NULLs, for which the result is NULL."""

    type_rule: TypeRule
    evaluation: Callable[["Call"], Evaluation]


@dataclass(frozen=True)
class Call(Node):
    name: str
    arguments: tuple[Node, ...]

    @property
    def children(self) -> tuple[Node, ...]:
        return self.arguments

    @cached_property
    def type(self) -> ColumnType:
        return TYPE_RULES[self.name.upper()](self.arguments)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.arguments))})"

    def function(self, layout: Layout) -> RowFunction:
        name = self.name.upper()
        if lenient := LENIENT_FUNCTIONS.get(name):
            return lenient(self, layout)
        arguments = [argument.function(layout) for argument in self.arguments]
        evaluate = FUNCTIONS[name].evaluation(self)
        match arguments:
            case [argument]:
                return lambda row: None if (value := argument(row)) is None else evaluate(value)
            case _:

                def compute(row: Row) -> Value:
                    values = [argument(row) for argument in arguments]
                    return None if None in values else evaluate(*values)

                return compute


def always(type_: ColumnType) -> TypeRule:
    return lambda arguments: type_


def nullif(arguments: Arguments) -> ColumnType:
    """That of the first value; a number that is written out, or NULL, takes the type of what it meets."""
    value, other = arguments
    if value.type == NULL:
        return other.type
    if value.digits is not None and isinstance(other.type, DecimalType):
        return DecimalType(value.digits, 0)
    written = value.operand if isinstance(value, Negation) else value
    is_written = isinstance(written, Literal) and written.is_written
    return FLOAT if other.type == FLOAT and is_written and is_numeric(value.type) else value.type


def first_number(arguments: Arguments) -> ColumnType:
    return INTEGER if arguments[0].type == NULL else arguments[0].type


def common(arguments: Arguments) -> ColumnType:
    return common_type(*((argument.type, argument.digits) for argument in arguments))


def branches(arguments: Arguments) -> ColumnType:
    return common(arguments[1:])


def remainder(arguments: Arguments) -> ColumnType:
    left, right = arguments
    return arithmetic_type("%", left.type, right.type, (left.digits, right.digits))


def rounded(arguments: Arguments) -> ColumnType:
    type_ = first_number(arguments)
    if not isinstance(type_, DecimalType):
        return type_
    places = written_number(arguments, 0)
    scale = min(max(places, 0), type_.scale)
    whole = type_.precision - type_.scale + 1
    return DecimalType(min(MAX_DIGITS, max(whole, 1 - places) + scale), scale)


def whole(arguments: Arguments) -> ColumnType:
    type_ = first_number(arguments)
    if not isinstance(type_, DecimalType):
        return type_
    room = 1 if type_.scale else 0
    return DecimalType(min(MAX_DIGITS, type_.precision - type_.scale + room), 0)


def written_number(arguments: Arguments, otherwise: int) -> int:
    """The second argument, a number that is written out."""
    return int(arguments[1].function({})(())) if len(arguments) > 1 else otherwise


def number_type(arguments: Arguments) -> ColumnType:
    return DecimalType(MAX_DIGITS, written_number(arguments, DecimalType().scale))


def _round(call: Call) -> Evaluation:
    type_, places = call.type, written_number(call.arguments, 0)
    if isinstance(type_, DecimalType) and 0 <= places <= type_.scale:
        # Rounding to the places of the type is all there is to do.
        bounded = arithmetic.bounded_decimal(type_)
        return lambda value, _=0: bounded(value)

    def evaluate(value: Any, _: int = 0) -> Value:
        if isinstance(value, float):
            if not math.isfinite(value):
                return value
            value = Decimal(repr(value))
        return as_type(arithmetic.round_to(Decimal(value), places), type_)

    return evaluate


def _whole(rounding: Callable[[Decimal], Decimal]) -> Callable[[Call], Evaluation]:
    def evaluation(call: Call) -> Evaluation:
        type_ = call.type

        def evaluate(value: Any) -> Value:
            if isinstance(value, float) and not math.isfinite(value):
                return value
            return as_type(rounding(Decimal(value)), type_)

        return evaluate

    return evaluation


def _magnitude(call: Call) -> Evaluation:
    type_ = call.type
    if isinstance(type_, DecimalType):
        return Decimal.copy_abs
    return lambda value: as_type(arithmetic.magnitude(value), type_)


def _remainder(call: Call) -> Evaluation:
    return arithmetic.calculation("%", call.type)


def _extreme(choose: Callable[..., Value]) -> Callable[[Call], Evaluation]:
    def evaluation(call: Call) -> Evaluation:
        conversions = [fitting(argument.type, call.type) for argument in call.arguments]

        def evaluate(*values: Value) -> Value:
            converted = (
                convert(value) if convert else value for convert, value in zip(conversions, values, strict=True)
            )
            return choose(converted, key=comparable)

        return evaluate

    return evaluation


def _power(base: Any, exponent: Any) -> Value:
    """As IEEE 754 has it, where Python raises instead."""
    base, exponent = float(base), float(exponent)
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return math.inf if base > 0 or exponent % 2 == 0 else -math.inf
    except ValueError:
        return math.inf if base == 0 else math.nan


def _sign(value: Any) -> Value:
    if value != value:
        raise ValueFailureError("NaN has no sign")
    return (value > 0) - (value < 0)


def _to_number(call: Call) -> Evaluation:
    type_ = call.type
    assert isinstance(type_, DecimalType)
    whole_digits, places = type_.precision - type_.scale, type_.scale

    def evaluate(text: str, _: int = 0) -> Value:
        written = text.strip(" ")
        parts = re.fullmatch(r"[+-]?([0-9]+)(?:\.([0-9]+))?", written)
        if not parts:
            raise ValueFailureError(f"{text!r} is no number")
        if len(parts[1].lstrip("0")) > whole_digits or len(parts[2] or "") > places:
            raise ValueFailureError(f"{text!r} has too many digits")
        return as_type(Decimal(written), type_)

    return evaluate


def float_text(value: float) -> str:
    """As Java writes it: 2.5, 1.0E8."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    sign, digits, exponent = Decimal(repr(value)).normalize(arithmetic.EXACT).as_tuple()
    written = "".join(map(str, digits))
    point = len(written) + int(exponent)
    if -3 < point <= 7:
        whole = written[: max(point, 0)].ljust(point, "0") or "0"
        fraction = "0" * max(-point, 0) + written[max(point, 0) :]
        text = f"{whole}.{fraction or '0'}"
    else:
        text = f"{written[0]}.{written[1:] or '0'}E{point - 1}"
    return f"-{text}" if sign else text


def value_as_text(value: Value) -> str:
    """A value as TO_STRING writes it."""
    match value:
        case bool():
            return str(value).lower()
        case datetime.datetime():
            written = value.strftime("%Y-%m-%d %H:%M:%S").rjust(19, "0")
            return f"{written}.{value.microsecond:06}".rstrip("0") if value.microsecond else written
        case Decimal():
            return f"{value:f}"
        case float():
            return float_text(value)
        case _:
            return str(value)


def _to_string(call: Call) -> Evaluation:
    return dates.in_format if len(call.arguments) > 1 else value_as_text


def plain(function: Evaluation) -> Callable[[Call], Evaluation]:
    """For a function that does not depend on the types of its arguments."""
    return lambda call: function


def _if(call: Call, layout: Layout) -> RowFunction:
    condition = call.arguments[0].function(layout)
    then, otherwise = (fitted(argument, call.type, layout) for argument in call.arguments[1:])
    return lambda row: then(row) if condition(row) else otherwise(row)


def _coalesce(call: Call, layout: Layout) -> RowFunction:
    arguments = [fitted(argument, call.type, layout) for argument in call.arguments]

    def compute(row: Row) -> Value:
        for argument in arguments:
            if (value := argument(row)) is not None:
                return value
        return None

    return compute


def _nullif(call: Call, layout: Layout) -> RowFunction:
    first, second = fitted(call.arguments[0], call.type, layout), call.arguments[1].function(layout)
    compare = comparison("=", call.arguments[0].type, call.arguments[1].type)

    def compute(row: Row) -> Value:
        value = first(row)
        return None if compare(value, second(row)) else value

    return compute


def _is_null(call: Call, layout: Layout) -> RowFunction:
    argument = call.arguments[0].function(layout)
    return lambda row: argument(row) is None


def _logic(combine: Callable[[Sequence[RowFunction]], RowFunction]) -> Callable[[Call, Layout], RowFunction]:
    return lambda call, layout: combine([argument.function(layout) for argument in call.arguments])


# Functions that give something else than NULL for some NULL, or do not compute all of their arguments.
LENIENT_FUNCTIONS: dict[str, Callable[[Call, Layout], RowFunction]] = {
    "IF": _if,
    "COALESCE": _coalesce,
    "NULLIF": _nullif,
    "ISNULL": _is_null,
    "AND": _logic(all_of),
    "OR": _logic(any_of),
}

FUNCTIONS: dict[str, Function] = {
    "NOT": Function(always(BOOLEAN), plain(negate)),
    "ABS": Function(first_number, _magnitude),
    "ROUND": Function(rounded, _round),
    "FLOOR": Function(whole, _whole(arithmetic.floor)),
    "CEIL": Function(whole, _whole(arithmetic.ceiling)),
    "MOD": Function(remainder, _remainder),
    "MIN": Function(common, _extreme(min)),
    "MAX": Function(common, _extreme(max)),
    "POWER": Function(always(FLOAT), plain(_power)),
    "SIGN": Function(always(INTEGER), plain(_sign)),
    "CONCAT": Function(always(STRING), plain(lambda *values: "".join(values))),
    "LEN": Function(always(INTEGER), plain(len)),
    "CONTAINS": Function(always(BOOLEAN), plain(lambda text, part: part in text)),
    "STARTS_WITH": Function(always(BOOLEAN), plain(str.startswith)),
    "ENDS_WITH": Function(always(BOOLEAN), plain(str.endswith)),
    "DATE": Function(always(DATE), plain(dates.make_date)),
    "TIMESTAMP": Function(always(TIMESTAMP), plain(at_midnight)),
    "YEAR": Function(always(INTEGER), plain(lambda value: value.year)),
    "QUARTER": Function(always(INTEGER), plain(dates.quarter)),
    "MONTH": Function(always(INTEGER), plain(lambda value: value.month)),
    "DAY": Function(always(INTEGER), plain(lambda value: value.day)),
    "DATEDIFF": Function(always(INTEGER), plain(dates.days_between)),
    "DATEADD": Function(always(DATE), plain(dates.add_days)),
    "ADD_MONTHS": Function(always(DATE), plain(dates.add_months)),
    "EOMONTH": Function(always(DATE), plain(dates.end_of_month)),
    "TO_STRING": Function(always(STRING), _to_string),
    "TO_NUMBER": Function(number_type, _to_number),
    "TO_DATE": Function(always(DATE), plain(dates.parse_date)),
    **{name: Function(always(STRING), plain(function)) for name, function in texts.TEXT_FUNCTIONS.items()},
}

TYPE_RULES: dict[str, TypeRule] = {
    "IF": branches,
    "COALESCE": common,
    "NULLIF": nullif,
    "ISNULL": always(BOOLEAN),
    "AND": always(BOOLEAN),
    "OR": always(BOOLEAN),
    **{name: function.type_rule for name, function in FUNCTIONS.items()},
}
