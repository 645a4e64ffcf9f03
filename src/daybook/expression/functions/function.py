"""How a function is declared: types, SQL, one sentence and one example in one place."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Literal

from daybook.model.types import (
    BooleanType,
    ColumnType,
    DateType,
    DecimalType,
    FloatType,
    IntegerType,
    StringType,
    TimestampType,
    Value,
)

if TYPE_CHECKING:
    from daybook.expression.typed_tree import TypedNode


class ParameterKind(Enum):
    """The kinds of arguments, as the reference names them."""

    NUMBER = "number"
    INTEGER = "integer"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    DATE_OR_TIMESTAMP = "date or timestamp"
    EXACT_NUMBER = "integer or decimal"
    ORDERED = "number, text, date or timestamp"
    DATE_SOURCE = "text, timestamp or year"
    TIMESTAMP_SOURCE = "text or date"
    ANY = "any"


ACCEPTED_TYPES: dict[ParameterKind, tuple[type[ColumnType], ...]] = {
    ParameterKind.NUMBER: (IntegerType, DecimalType, FloatType),
    ParameterKind.INTEGER: (IntegerType,),
    ParameterKind.EXACT_NUMBER: (IntegerType, DecimalType),
    ParameterKind.TEXT: (StringType,),
    ParameterKind.BOOLEAN: (BooleanType,),
    ParameterKind.DATE: (DateType,),
    ParameterKind.DATE_OR_TIMESTAMP: (DateType, TimestampType),
    ParameterKind.ORDERED: (IntegerType, DecimalType, FloatType, StringType, DateType, TimestampType),
    ParameterKind.DATE_SOURCE: (StringType, TimestampType, DateType, IntegerType),
    ParameterKind.TIMESTAMP_SOURCE: (StringType, DateType, TimestampType),
    ParameterKind.ANY: (IntegerType, DecimalType, FloatType, StringType, BooleanType, DateType, TimestampType),
}


@dataclass(frozen=True, slots=True)
class FunctionParameter:
    """`repeats` is how often the argument occurs in the SQL.

    `written`: the argument must be written out, since its value goes into the type or the SQL.
    """

    name: str
    accepts: ParameterKind
    is_optional: bool = False
    is_repeated: bool = False
    repeats: int = 1
    written: "LiteralRule | None" = None


@dataclass(frozen=True, slots=True)
class LiteralRule:
    """An argument that must be written out, and the check its value must pass."""

    expected: str
    check: Callable[[Value], bool]


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument as the function sees it; `literal` is the value where one was written out."""

    sql: str
    type: ColumnType
    literal: Value = None


@dataclass(frozen=True, slots=True)
class Example:
    """`value` was worked out by hand; `rows` are the values of column x that an aggregate runs over."""

    text: str
    value: Value
    rows: tuple[Value, ...] = ()


Arguments = tuple[Argument, ...]


class OperandError(Exception):
    """What a function finds wrong with its arguments beyond their types; the checker adds the span."""

    def __init__(
        self, code: str, *, position: int | None = None, hint: str | None = None, **parameters: object
    ) -> None:
        super().__init__(code)
        self.code = code
        self.position = position
        self.hint = hint
        self.parameters = parameters


@dataclass(frozen=True, slots=True)
class Function:
    """`sql` is a template with {0}, {1} … or a callable.

    `rewrite` turns a call into another node where it can (DATE("2026-01-01") into a literal).
    `is_common`: the values share one type, which is also the result's.
    `repeats` is how often an argument occurs once Spark has the expression: it bounds the size of nested calls.
    `is_window`: it is used with OVER only; `window_order` is whether that OVER has ORDER BY.
    `window_sql` puts the OVER into the SQL where it does not simply follow.
    """

    name: str
    parameters: tuple[FunctionParameter, ...]
    returns: ColumnType | Callable[[Arguments], ColumnType]
    sql: str | Callable[[Arguments], str]
    sentence: str
    example: Example
    result: str = ""
    is_aggregate: bool = False
    is_common: bool = False
    is_window: bool = False
    window_order: Literal["none", "optional", "required"] = "optional"
    window_sql: Callable[[Arguments, str], str] | None = None
    takes_star: bool = False
    rewrite: "Callable[[tuple[TypedNode, ...]], TypedNode | None] | None" = None
    repeats: int | Callable[[Arguments], int] = 1

    def result_type(self, arguments: Arguments) -> ColumnType:
        return self.returns(arguments) if callable(self.returns) else self.returns

    def repetitions(self, arguments: Arguments) -> int:
        return self.repeats(arguments) if callable(self.repeats) else self.repeats

    def to_sql(self, arguments: Arguments) -> str:
        if callable(self.sql):
            return self.sql(arguments)
        return self.sql.format(*(argument.sql for argument in arguments))

    def to_window_sql(self, arguments: Arguments, over: str) -> str:
        """The SQL of a call with OVER; `over` is that OVER."""
        return self.window_sql(arguments, over) if self.window_sql else f"{self.to_sql(arguments)} {over}"

    @property
    def takes_over(self) -> bool:
        """Whether it is computed of several rows, so that it may stand with OVER."""
        return self.is_aggregate or self.is_window

    @property
    def least(self) -> int:
        return sum(not parameter.is_optional for parameter in self.parameters)

    @property
    def most(self) -> int | None:
        if self.parameters and self.parameters[-1].is_repeated:
            return None
        return len(self.parameters)

    def parameter(self, position: int) -> FunctionParameter:
        return self.parameters[min(position, len(self.parameters) - 1)]

    @property
    def signature(self) -> str:
        parts = []
        for parameter in self.parameters:
            name = f"{parameter.name}, …" if parameter.is_repeated else parameter.name
            parts.append(f"[{name}]" if parameter.is_optional else name)
        call = f"{self.name}({', '.join(parts)})"
        return f"{call} OVER (…)" if self.is_window else call


_LARGEST_INT = 2**31 - 1


def as_int32_sql(argument: Argument) -> str:
    """A length or a position: no text is longer than 32 bits can count, so whatever is beyond stops there."""
    if isinstance(argument.literal, int):
        return str(max(-_LARGEST_INT, min(_LARGEST_INT, argument.literal)))
    number = argument.sql
    high = f"WHEN {number} > {_LARGEST_INT}L THEN {_LARGEST_INT}L"
    low = f"WHEN {number} < -{_LARGEST_INT}L THEN -{_LARGEST_INT}L"
    return f"CAST(CASE {high} {low} ELSE {number} END AS INT)"


def as_shift_sql(argument: Argument) -> str:
    """A number of days or months: more than seven digits fail the run, since Spark adds days past every date."""
    if isinstance(argument.literal, int) and abs(argument.literal) < 10**7:
        return str(argument.literal)
    return f"CAST(CAST({argument.sql} AS DECIMAL(7,0)) AS INT)"
