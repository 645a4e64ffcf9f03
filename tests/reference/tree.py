"""Expressions as trees that know their type, their text and their value on a row."""

import datetime
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from daybook.model.types import BOOLEAN, ColumnType
from tests.reference.numbers import arithmetic_type, as_type, calculate, exact, negated
from tests.reference.widening import common_type, widen

Value = Any
Row = Mapping[str, Value]

OR, AND, NOT, COMPARISON, ADDITIVE, MULTIPLICATIVE, SIGN, ATOM = range(1, 9)


class Expression(ABC):
    """A node; `row` maps `column` and `alias.column` to values, None being NULL."""

    precedence: int = ATOM

    @property
    @abstractmethod
    def type(self) -> ColumnType: ...

    @abstractmethod
    def __str__(self) -> str: ...

    @abstractmethod
    def value(self, row: Row) -> Value: ...

    @property
    def children(self) -> tuple["Expression", ...]:
        return ()

    @property
    def digits(self) -> int | None:
        """Of an integer literal; None for anything else."""
        return None

    @property
    def type_alone(self) -> ColumnType:
        """Of a new column that is this alone."""
        return self.type

    def inside(self, precedence: int) -> str:
        """The text as an operand of an operator that binds with `precedence`."""
        return str(self) if self.precedence >= precedence else f"({self})"

    def walk(self) -> Iterator["Expression"]:
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class Column(Expression):
    name: str
    column_type: ColumnType
    qualifier: str | None = None
    alias: bool = False

    @property
    def type(self) -> ColumnType:
        return self.column_type

    @property
    def key(self) -> str:
        return f"{self.qualifier}.{self.name}" if self.alias else self.name

    def __str__(self) -> str:
        name = self.name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", self.name) else f"`{self.name}`"
        return f"{self.qualifier}.{name}" if self.qualifier else name

    def value(self, row: Row) -> Value:
        return row[self.key]


@dataclass(frozen=True)
class Literal(Expression):
    literal: Value
    literal_type: ColumnType
    text: str

    @property
    def type(self) -> ColumnType:
        return self.literal_type

    @property
    def digits(self) -> int | None:
        if isinstance(self.literal, int) and not isinstance(self.literal, bool):
            return len(str(abs(self.literal)))
        return None

    def __str__(self) -> str:
        return self.text

    def value(self, row: Row) -> Value:
        return self.literal


@dataclass(frozen=True)
class Negation(Expression):
    operand: Expression
    precedence = SIGN

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.operand,)

    @property
    def type(self) -> ColumnType:
        return self.operand.type

    @property
    def digits(self) -> int | None:
        return self.operand.digits

    def __str__(self) -> str:
        # Two signs in a row would be the start of a comment in SQL, so the inner one gets parentheses.
        return f"-{self.operand.inside(ATOM)}"

    def value(self, row: Row) -> Value:
        value = self.operand.value(row)
        return None if value is None else as_type(negated(value), self.type)


@dataclass(frozen=True)
class Arithmetic(Expression):
    operator: str
    left: Expression
    right: Expression

    @property
    def precedence(self) -> int:  # type: ignore[override]
        return ADDITIVE if self.operator in "+-" else MULTIPLICATIVE

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.left, self.right)

    @cached_property
    def type(self) -> ColumnType:
        return arithmetic_type(self.operator, self.left.type, self.right.type, (self.left.digits, self.right.digits))

    def __str__(self) -> str:
        return f"{self.left.inside(self.precedence)} {self.operator} {self.right.inside(self.precedence + 1)}"

    def value(self, row: Row) -> Value:
        left, right = self.left.value(row), self.right.value(row)
        if left is None or right is None:
            return None
        return calculate(self.operator, left, right, self.type)


def comparable(value: Value) -> Value:
    """The value in a form that orders exactly among all values of its kind; NaN is above every other float."""
    if isinstance(value, float):
        return (True, 0.0) if math.isnan(value) else (False, value)
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        return value
    return exact(value)


def at_midnight(value: Value) -> Value:
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return datetime.datetime.combine(value, datetime.time(), datetime.UTC)
    return value


def compare(operator: str, left: Value, right: Value) -> bool | None:
    if left is None or right is None:
        return None
    if isinstance(left, datetime.datetime) or isinstance(right, datetime.datetime):
        left, right = at_midnight(left), at_midnight(right)
    if isinstance(left, float) or isinstance(right, float):
        a, b = comparable(float(left)), comparable(float(right))
    else:
        a, b = comparable(left), comparable(right)
    match operator:
        case "=":
            return bool(a == b)
        case "<>" | "!=":
            return bool(a != b)
        case "<":
            return bool(a < b)
        case "<=":
            return bool(a <= b)
        case ">":
            return bool(a > b)
        case _:
            return bool(a >= b)


class Predicate(Expression, ABC):
    @property
    def type(self) -> ColumnType:
        return BOOLEAN


@dataclass(frozen=True)
class Comparison(Predicate):
    operator: str
    left: Expression
    right: Expression
    precedence = COMPARISON

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.left, self.right)

    def __str__(self) -> str:
        return f"{self.left.inside(ADDITIVE)} {self.operator} {self.right.inside(ADDITIVE)}"

    def value(self, row: Row) -> Value:
        return compare(self.operator, self.left.value(row), self.right.value(row))


def conjunction(values: list[bool | None]) -> bool | None:
    if False in values:
        return False
    return None if None in values else True


def disjunction(values: list[bool | None]) -> bool | None:
    if True in values:
        return True
    return None if None in values else False


def negate(value: bool | None) -> bool | None:
    return None if value is None else not value


@dataclass(frozen=True)
class Logic(Predicate):
    operator: str
    left: Expression
    right: Expression

    @property
    def precedence(self) -> int:  # type: ignore[override]
        return AND if self.operator == "AND" else OR

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.left, self.right)

    def __str__(self) -> str:
        return f"{self.left.inside(self.precedence)} {self.operator} {self.right.inside(self.precedence + 1)}"

    def value(self, row: Row) -> Value:
        values = [self.left.value(row), self.right.value(row)]
        return conjunction(values) if self.operator == "AND" else disjunction(values)


@dataclass(frozen=True)
class Not(Predicate):
    operand: Expression
    precedence = NOT

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def __str__(self) -> str:
        return f"NOT {self.operand.inside(NOT)}"

    def value(self, row: Row) -> Value:
        return negate(self.operand.value(row))


@dataclass(frozen=True)
class In(Predicate):
    operand: Expression
    options: tuple[Expression, ...]
    negated: bool
    precedence = COMPARISON

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.operand, *self.options)

    def __str__(self) -> str:
        word = "NOT IN" if self.negated else "IN"
        return f"{self.operand.inside(ADDITIVE)} {word} ({', '.join(map(str, self.options))})"

    def value(self, row: Row) -> Value:
        operand = self.operand.value(row)
        found = disjunction([compare("=", operand, option.value(row)) for option in self.options])
        return negate(found) if self.negated else found


@dataclass(frozen=True)
class Between(Predicate):
    operand: Expression
    low: Expression
    high: Expression
    negated: bool
    precedence = COMPARISON

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.operand, self.low, self.high)

    def __str__(self) -> str:
        word = "NOT BETWEEN" if self.negated else "BETWEEN"
        return f"{self.operand.inside(ADDITIVE)} {word} {self.low.inside(ADDITIVE)} AND {self.high.inside(ADDITIVE)}"

    def value(self, row: Row) -> Value:
        operand = self.operand.value(row)
        low, high = self.low.value(row), self.high.value(row)
        between = conjunction([compare(">=", operand, low), compare("<=", operand, high)])
        return negate(between) if self.negated else between


@dataclass(frozen=True)
class Like(Predicate):
    operand: Expression
    pattern: Expression
    negated: bool
    precedence = COMPARISON

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.operand, self.pattern)

    def __str__(self) -> str:
        word = "NOT LIKE" if self.negated else "LIKE"
        return f"{self.operand.inside(ADDITIVE)} {word} {self.pattern.inside(ADDITIVE)}"

    def value(self, row: Row) -> Value:
        text, pattern = self.operand.value(row), self.pattern.value(row)
        if text is None or pattern is None:
            return None
        regex = "".join({"%": ".*", "_": "."}.get(letter, re.escape(letter)) for letter in pattern)
        matches = re.fullmatch(regex, text, re.DOTALL) is not None
        return matches != self.negated


@dataclass(frozen=True)
class IsNull(Predicate):
    operand: Expression
    negated: bool
    precedence = COMPARISON

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def __str__(self) -> str:
        return f"{self.operand.inside(ADDITIVE)} IS {'NOT ' if self.negated else ''}NULL"

    def value(self, row: Row) -> Value:
        return (self.operand.value(row) is None) != self.negated


@dataclass(frozen=True)
class Case(Expression):
    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression | None

    @property
    def children(self) -> tuple[Expression, ...]:
        parts = [part for branch in self.branches for part in branch]
        return (*parts, self.otherwise) if self.otherwise else tuple(parts)

    @cached_property
    def type(self) -> ColumnType:
        results = [result for _, result in self.branches]
        if self.otherwise:
            results.append(self.otherwise)
        return common_type(*((result.type, result.digits) for result in results))

    def __str__(self) -> str:
        branches = " ".join(f"WHEN {condition} THEN {result}" for condition, result in self.branches)
        return f"CASE {branches}{f' ELSE {self.otherwise}' if self.otherwise else ''} END"

    def value(self, row: Row) -> Value:
        for condition, result in self.branches:
            if condition.value(row):
                return widen(result.value(row), self.type)
        return widen(self.otherwise.value(row), self.type) if self.otherwise else None
