"""Expressions as trees that know their type and their text, and become Python functions of a row.

A row is a tuple. A layout says at which position of it a column stands: a working column by its name, a joined one
by alias and name, and the value of an aggregate or a window by its node, once it has been computed. NULL is None.
"""

import datetime
import math
import operator as operators
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from daybook.model.types import BOOLEAN, FLOAT, INTEGER, NULL, TIMESTAMP, ColumnType, DecimalType
from daybook.recompute.arithmetic import (
    arithmetic_type,
    as_type,
    calculation,
    common_type,
    fitting,
    negated,
)

Value = Any
Row = tuple[Value, ...]
Layout = Mapping[Hashable, int]
RowFunction = Callable[[Row], Value]

OR, AND, NOT, COMPARISON, ADDITIVE, MULTIPLICATIVE, SIGN, ATOM = range(1, 9)


class Node(ABC):
    """A part of an expression."""

    precedence: int = ATOM

    @property
    @abstractmethod
    def type(self) -> ColumnType: ...

    @abstractmethod
    def __str__(self) -> str: ...

    @abstractmethod
    def function(self, layout: Layout) -> RowFunction:
        """The function that computes its value on a row of a layout."""
        ...

    @property
    def children(self) -> tuple["Node", ...]:
        return ()

    @property
    def digits(self) -> int | None:
        """Of an integer literal; None for anything else."""
        return None

    @property
    def type_alone(self) -> ColumnType:
        """Of a new column that is this alone."""
        return self.type

    def for_column(self, type_: ColumnType) -> "Node":
        """The same as the value of a column of a type."""
        return self

    def inside(self, precedence: int) -> str:
        """The text as an operand of an operator that binds with `precedence`."""
        return str(self) if self.precedence >= precedence else f"({self})"

    def walk(self) -> Iterator["Node"]:
        yield self
        for child in self.children:
            yield from child.walk()


def retyped(node: Any, types: Mapping[str, ColumnType]) -> Any:
    """The same tree with working columns of these types."""
    match node:
        case Column():
            return node if node.alias else replace(node, column_type=types.get(node.name, node.column_type))
        case tuple():
            return tuple(retyped(part, types) for part in node)
        case Node():
            return replace(node, **{f.name: retyped(getattr(node, f.name), types) for f in fields(node)})  # type: ignore[arg-type, type-var]
        case _:
            return node


def fitted(node: Node, target: ColumnType, layout: Layout) -> RowFunction:
    """The value of a node in another type."""
    value, convert = node.function(layout), fitting(node.type, target)
    return value if convert is None else lambda row: convert(value(row))


@dataclass(frozen=True)
class Column(Node):
    """`alias`: the qualifier names a join, not the main table."""

    name: str
    column_type: ColumnType
    qualifier: str | None = None
    alias: bool = False

    @property
    def type(self) -> ColumnType:
        return self.column_type

    @property
    def key(self) -> Hashable:
        return (self.qualifier, self.name) if self.alias else self.name

    def __str__(self) -> str:
        name = self.name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", self.name) else f"`{self.name}`"
        return f"{self.qualifier}.{name}" if self.qualifier else name

    def function(self, layout: Layout) -> RowFunction:
        return operators.itemgetter(layout[self.key])


@dataclass(frozen=True)
class Literal(Node):
    """A value that is written out, or one that the run has: only the first counts by its digits beside decimals."""

    literal: Value
    literal_type: ColumnType
    text: str
    is_written: bool = True

    @property
    def precedence(self) -> int:  # type: ignore[override]
        return SIGN if self.text.startswith("-") else ATOM

    @property
    def type(self) -> ColumnType:
        return self.literal_type

    @property
    def digits(self) -> int | None:
        if self.is_written and isinstance(self.literal, int) and self.literal_type == INTEGER:
            return len(str(abs(self.literal)))
        return None

    def __str__(self) -> str:
        return self.text

    def function(self, layout: Layout) -> RowFunction:
        literal = self.literal
        return lambda row: literal


@dataclass(frozen=True)
class Negation(Node):
    operand: Node
    precedence = SIGN

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.operand,)

    @property
    def type(self) -> ColumnType:
        return INTEGER if self.operand.type == NULL else self.operand.type

    @property
    def digits(self) -> int | None:
        return self.operand.digits

    def __str__(self) -> str:
        # Two signs in a row would be the start of a comment in SQL, so the inner one gets parentheses.
        return f"-{self.operand.inside(ATOM)}"

    def function(self, layout: Layout) -> RowFunction:
        operand, type_ = self.operand.function(layout), self.type
        if isinstance(type_, DecimalType):
            # The other sign has as many digits; there is no negative zero.
            return lambda row: None if (value := operand(row)) is None else value.copy_negate() if value else value
        return lambda row: None if (value := operand(row)) is None else as_type(negated(value), type_)


@dataclass(frozen=True)
class Arithmetic(Node):
    operator: str
    left: Node
    right: Node

    @property
    def precedence(self) -> int:  # type: ignore[override]
        return ADDITIVE if self.operator in "+-" else MULTIPLICATIVE

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @cached_property
    def type(self) -> ColumnType:
        return arithmetic_type(self.operator, self.left.type, self.right.type, (self.left.digits, self.right.digits))

    def __str__(self) -> str:
        return f"{self.left.inside(self.precedence)} {self.operator} {self.right.inside(self.precedence + 1)}"

    def function(self, layout: Layout) -> RowFunction:
        left, right = self.left.function(layout), self.right.function(layout)
        calculate = calculation(self.operator, self.type)

        def compute(row: Row) -> Value:
            first, second = left(row), right(row)
            return None if first is None or second is None else calculate(first, second)

        return compute


def comparable(value: Value) -> Value:
    """The value in a form that orders exactly among all values of its type; NaN is above every other float."""
    if isinstance(value, float):
        return (True, 0.0) if math.isnan(value) else (False, value)
    return value


def at_midnight(value: Value) -> Value:
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return datetime.datetime.combine(value, datetime.time(), datetime.UTC)
    return value


_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operators.eq,
    "<>": operators.ne,
    "!=": operators.ne,
    "<": operators.lt,
    "<=": operators.le,
    ">": operators.gt,
    ">=": operators.ge,
}


def comparison(operator: str, left: ColumnType, right: ColumnType) -> Callable[[Value, Value], bool | None]:
    """The comparison of values of two types: numbers by value, a date as its midnight, texts by their characters."""
    compare = _COMPARISONS[operator]
    prepare: Callable[[Value], Value] | None = None
    if FLOAT in (left, right):
        prepare = _comparable_float
    elif left != right and TIMESTAMP in (left, right):
        prepare = at_midnight
    if prepare is None:
        return lambda first, second: None if first is None or second is None else compare(first, second)
    return lambda first, second: None if first is None or second is None else compare(prepare(first), prepare(second))


def _comparable_float(value: Value) -> Value:
    return comparable(float(value))


def negate(value: bool | None) -> bool | None:
    return None if value is None else not value


class Predicate(Node, ABC):
    @property
    def type(self) -> ColumnType:
        return BOOLEAN


@dataclass(frozen=True)
class Comparison(Predicate):
    operator: str
    left: Node
    right: Node
    precedence = COMPARISON

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    def __str__(self) -> str:
        return f"{self.left.inside(ADDITIVE)} {self.operator} {self.right.inside(ADDITIVE)}"

    def function(self, layout: Layout) -> RowFunction:
        left, right = self.left.function(layout), self.right.function(layout)
        compare = comparison(self.operator, self.left.type, self.right.type)
        return lambda row: compare(left(row), right(row))


def all_of(conditions: Sequence[RowFunction]) -> RowFunction:
    """AND: what follows a condition that is false is not computed."""

    def compute(row: Row) -> bool | None:
        result: bool | None = True
        for condition in conditions:
            value = condition(row)
            if value is False:
                return False
            if value is None:
                result = None
        return result

    return compute


def any_of(conditions: Sequence[RowFunction]) -> RowFunction:
    """OR: what follows a condition that is true is not computed."""

    def compute(row: Row) -> bool | None:
        result: bool | None = False
        for condition in conditions:
            value = condition(row)
            if value is True:
                return True
            if value is None:
                result = None
        return result

    return compute


@dataclass(frozen=True)
class Logic(Predicate):
    operator: str
    left: Node
    right: Node

    @property
    def precedence(self) -> int:  # type: ignore[override]
        return AND if self.operator == "AND" else OR

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    def __str__(self) -> str:
        return f"{self.left.inside(self.precedence)} {self.operator} {self.right.inside(self.precedence + 1)}"

    def operands(self) -> list[Node]:
        """Those of a chain of one operator."""
        first = self.left
        before = first.operands() if isinstance(first, Logic) and first.operator == self.operator else [first]
        return [*before, self.right]

    def function(self, layout: Layout) -> RowFunction:
        conditions = [operand.function(layout) for operand in self.operands()]
        return all_of(conditions) if self.operator == "AND" else any_of(conditions)


@dataclass(frozen=True)
class Not(Predicate):
    operand: Node
    precedence = NOT

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.operand,)

    def __str__(self) -> str:
        return f"NOT {self.operand.inside(NOT)}"

    def function(self, layout: Layout) -> RowFunction:
        operand = self.operand.function(layout)
        return lambda row: negate(operand(row))


@dataclass(frozen=True)
class In(Predicate):
    operand: Node
    options: tuple[Node, ...]
    negated: bool
    precedence = COMPARISON

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.operand, *self.options)

    def __str__(self) -> str:
        word = "NOT IN" if self.negated else "IN"
        return f"{self.operand.inside(ADDITIVE)} {word} ({', '.join(map(str, self.options))})"

    def function(self, layout: Layout) -> RowFunction:
        is_in = any_of([Comparison("=", self.operand, option).function(layout) for option in self.options])
        return (lambda row: negate(is_in(row))) if self.negated else is_in


@dataclass(frozen=True)
class Between(Predicate):
    operand: Node
    low: Node
    high: Node
    negated: bool
    precedence = COMPARISON

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.operand, self.low, self.high)

    def __str__(self) -> str:
        word = "NOT BETWEEN" if self.negated else "BETWEEN"
        return f"{self.operand.inside(ADDITIVE)} {word} {self.low.inside(ADDITIVE)} AND {self.high.inside(ADDITIVE)}"

    def function(self, layout: Layout) -> RowFunction:
        least = Comparison(">=", self.operand, self.low).function(layout)
        most = Comparison("<=", self.operand, self.high).function(layout)
        between = all_of([least, most])
        return (lambda row: negate(between(row))) if self.negated else between


@dataclass(frozen=True)
class Like(Predicate):
    operand: Node
    pattern: Node
    negated: bool
    precedence = COMPARISON

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.operand, self.pattern)

    def __str__(self) -> str:
        word = "NOT LIKE" if self.negated else "LIKE"
        return f"{self.operand.inside(ADDITIVE)} {word} {self.pattern.inside(ADDITIVE)}"

    def function(self, layout: Layout) -> RowFunction:
        operand, pattern = self.operand.function(layout), self.pattern.function(layout)
        is_negated = self.negated
        patterns: dict[str, re.Pattern[str]] = {}

        def compute(row: Row) -> bool | None:
            text, written = operand(row), pattern(row)
            if text is None or written is None:
                return None
            if (compiled := patterns.get(written)) is None:
                signs = {"%": ".*", "_": "."}
                regex = "".join(signs.get(letter, re.escape(letter)) for letter in written)
                compiled = patterns[written] = re.compile(regex, re.DOTALL)
            return (compiled.fullmatch(text) is not None) != is_negated

        return compute


@dataclass(frozen=True)
class IsNull(Predicate):
    operand: Node
    negated: bool
    precedence = COMPARISON

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.operand,)

    def __str__(self) -> str:
        return f"{self.operand.inside(ADDITIVE)} IS {'NOT ' if self.negated else ''}NULL"

    def function(self, layout: Layout) -> RowFunction:
        operand, is_negated = self.operand.function(layout), self.negated
        return lambda row: (operand(row) is None) != is_negated


@dataclass(frozen=True)
class Case(Node):
    branches: tuple[tuple[Node, Node], ...]
    otherwise: Node | None

    @property
    def children(self) -> tuple[Node, ...]:
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

    def function(self, layout: Layout) -> RowFunction:
        branches = [
            (condition.function(layout), fitted(result, self.type, layout)) for condition, result in self.branches
        ]
        otherwise = fitted(self.otherwise, self.type, layout) if self.otherwise else None

        def compute(row: Row) -> Value:
            for condition, result in branches:
                if condition(row):
                    return result(row)
            return otherwise(row) if otherwise else None

        return compute
