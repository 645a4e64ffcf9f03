"""Random well-typed expressions over a schema, by seed."""

import datetime
from collections.abc import Callable, Sequence
from random import Random

from daybook.model.types import BOOLEAN, DATE, FLOAT, INTEGER, MAX_DIGITS, STRING, TIMESTAMP, ColumnType, DecimalType
from daybook.recompute.arithmetic import decimal_of, is_numeric
from daybook.recompute.functions import Call
from daybook.recompute.tree import (
    Arithmetic,
    Between,
    Case,
    Comparison,
    In,
    IsNull,
    Like,
    Logic,
    Negation,
    Node,
    Not,
)
from tests.reference import literals

COMPARISONS = ("=", "<>", "!=", "<", "<=", ">", ">=")
TEXTS = (
    "",
    "a",
    "EMEA",
    "it's",
    'say "hi"',
    "back\\slash",
    "100%",
    "A_B",
    " pad ",
    "ä日本",
    "😀",
    "${env:HOME}",
    "`x`",
)
PATTERNS = ("%", "_", "a%", "%a", "%E%", "_M%", "A_B", "100%", "%\\%", "", "%.%", "😀", "[a-z]%")
INTEGERS = (0, 1, -1, 2, 3, 7, 10, 100, 12345, -250, 2**31, 2**63 - 1)
DECIMALS = ("0.0", "0.1", "0.25", "-0.05", "1.5", "2.50", "-2.5", "3.14159", "100.00", "99999.99", "0.0000000001")
DATES = (
    datetime.date(2024, 2, 29),
    datetime.date(2026, 1, 1),
    datetime.date(2026, 12, 31),
    datetime.date(1970, 1, 1),
    datetime.date(1999, 10, 31),
)
TIMESTAMPS = (
    datetime.datetime(2026, 1, 15, 12, 30, 45, tzinfo=datetime.UTC),
    datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
    datetime.datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=datetime.UTC),
)


def is_exact(expression: Node) -> bool:
    """Whether the type has room for the digits its rule asks for, so that no scale is cut off."""
    type_ = expression.type
    return not isinstance(type_, DecimalType) or type_.scale <= type_.precision <= MAX_DIGITS


def has_room(*expressions: Node) -> bool:
    """Whether one decimal holds all of these."""
    decimals = [decimal_of(e.type, e.digits) for e in expressions if is_numeric(e.type) and e.type != FLOAT]
    if not decimals or all(e.type == INTEGER for e in expressions):
        return True
    return max(d.precision - d.scale for d in decimals) + max(d.scale for d in decimals) <= MAX_DIGITS


class ExpressionGenerator:
    """Makes expressions of a wanted kind; `depth` bounds how far they nest."""

    def __init__(self, random: Random, columns: Sequence[Node], floats: bool = True) -> None:
        self.random = random
        self.columns = columns
        self.floats = floats

    def _spelled(self, name: str) -> str:
        """Names of functions may be written in any case."""
        return name if self.random.random() < 0.9 else self.random.choice((name.lower(), name.title()))

    def any(self, depth: int) -> Node:
        makers = [self.integer, self.decimal, self.decimal, self.text, self.boolean, self.boolean, self.date]
        makers += [self.timestamp] + ([self.floating] if self.floats else [])
        return self.random.choice(makers)(depth)

    def of(self, type_: ColumnType, depth: int) -> Node:
        """Of the kind of a type: any decimal for a decimal."""
        match type_:
            case DecimalType():
                return self.decimal(depth)
            case _:
                makers: dict[ColumnType, Callable[[int], Node]] = {
                    INTEGER: self.integer,
                    FLOAT: self.floating,
                    STRING: self.text,
                    BOOLEAN: self.boolean,
                    DATE: self.date,
                    TIMESTAMP: self.timestamp,
                }
                return makers[type_](depth)

    def column(self, *types: ColumnType | type) -> Node | None:
        def is_wanted(column: Node) -> bool:
            return any(isinstance(column.type, t) if isinstance(t, type) else column.type == t for t in types)

        wanted = [column for column in self.columns if is_wanted(column)]
        return self.random.choice(wanted) if wanted else None

    def _leaf(self, literal: Callable[[], Node], *types: ColumnType | type) -> Node:
        column = self.column(*types)
        return column if column is not None and self.random.random() < 0.7 else literal()

    def _choose(self, depth: int, leaf: Callable[[], Node], makers: Sequence[Callable[[int], Node]]) -> Node:
        if depth <= 0 or self.random.random() < 0.12:
            return leaf()
        made = self.random.choice(makers)(depth - 1)
        return made if is_exact(made) else leaf()

    def _alternatives(self, make: Callable[[int], Node]) -> list[Callable[[int], Node]]:
        """What every kind has: conditionals and the like over values of the kind."""

        def case(depth: int) -> Node:
            branches = tuple((self.boolean(depth), make(depth)) for _ in range(self.random.randint(1, 2)))
            otherwise = make(depth) if self.random.random() < 0.7 else None
            results = [result for _, result in branches] + ([otherwise] if otherwise else [])
            return Case(branches, otherwise) if has_room(*results) else results[0]

        def choice(depth: int) -> Node:
            left, right = make(depth), make(depth)
            return Call(self._spelled("IF"), (self.boolean(depth), left, right)) if has_room(left, right) else left

        def coalesce(depth: int) -> Node:
            values = tuple(make(depth) for _ in range(self.random.randint(2, 3)))
            return Call(self._spelled("COALESCE"), values) if has_room(*values) else values[0]

        def nullif(depth: int) -> Node:
            return Call(self._spelled("NULLIF"), (make(depth), make(depth)))

        return [case, choice, coalesce, nullif]

    def _extremes(self, make: Callable[[int], Node]) -> Callable[[int], Node]:
        def extreme(depth: int) -> Node:
            values = tuple(make(depth) for _ in range(self.random.randint(2, 3)))
            return Call(self._spelled(self.random.choice(("MIN", "MAX"))), values) if has_room(*values) else values[0]

        return extreme

    def integer(self, depth: int) -> Node:
        def arithmetic(depth: int) -> Node:
            return Arithmetic(self.random.choice("+-*%"), self.integer(depth), self.integer(depth))

        def function(depth: int) -> Node:
            name = self.random.choice(("ABS", "SIGN", "LEN", "MOD", "YEAR", "QUARTER", "MONTH", "DAY", "DATEDIFF"))
            match name:
                case "ABS":
                    return Call(self._spelled(name), (self.integer(depth),))
                case "SIGN":
                    return Call(self._spelled(name), (self.number(depth),))
                case "LEN":
                    return Call(self._spelled(name), (self.text(depth),))
                case "MOD":
                    return Call(self._spelled(name), (self.integer(depth), self.integer(depth)))
                case "DATEDIFF":
                    return Call(self._spelled(name), (self.date(depth), self.date(depth)))
                case _:
                    return Call(self._spelled(name), (self.date(depth),))

        def minus(depth: int) -> Node:
            return Negation(self.integer(depth))

        makers = [arithmetic, arithmetic, function, function, minus, self._extremes(self.integer)]
        return self._choose(depth, self._integer_leaf, [*makers, *self._alternatives(self.integer)])

    def _integer_leaf(self) -> Node:
        return self._leaf(lambda: literals.integer(self.random.choice(INTEGERS)), INTEGER)

    def decimal(self, depth: int) -> Node:
        def mixed(depth: int) -> tuple[Node, Node]:
            pair = [self.decimal(depth), self.integer(depth) if self.random.random() < 0.3 else self.decimal(depth)]
            self.random.shuffle(pair)
            return pair[0], pair[1]

        def arithmetic(depth: int) -> Node:
            return Arithmetic(self.random.choice("+-*/%"), *mixed(depth))

        def ratio(depth: int) -> Node:
            return Arithmetic("/", self.integer(depth), self.integer(depth))

        def function(depth: int) -> Node:
            match self.random.choice(("ABS", "ROUND", "FLOOR", "CEIL", "MOD")):
                case "ROUND":
                    places = () if self.random.random() < 0.3 else (literals.integer(self.random.randint(-2, 6)),)
                    return Call(self._spelled("ROUND"), (self.decimal(depth), *places))
                case "MOD":
                    return Call(self._spelled("MOD"), mixed(depth))
                case name:
                    return Call(self._spelled(name), (self.decimal(depth),))

        def minus(depth: int) -> Node:
            return Negation(self.decimal(depth))

        def either(depth: int) -> Node:
            return self.random.choice(mixed(depth)) if depth > 3 else self.decimal(depth)

        makers = [arithmetic, arithmetic, arithmetic, ratio, function, minus, self._extremes(self.decimal)]
        return self._choose(depth, self._decimal_leaf, [*makers, *self._alternatives(self.decimal)])

    def _decimal_leaf(self) -> Node:
        return self._leaf(lambda: literals.decimal(self.random.choice(DECIMALS)), DecimalType)

    def floating(self, depth: int) -> Node:
        def arithmetic(depth: int) -> Node:
            pair = [self.floating(depth), self.number(depth)]
            self.random.shuffle(pair)
            return Arithmetic(self.random.choice("+-*/"), *pair)

        def function(depth: int) -> Node:
            return Call(self._spelled("ABS"), (self.floating(depth),))

        makers = [arithmetic, arithmetic, function, *self._alternatives(self.floating)]
        return self._choose(depth, self._float_leaf, makers)

    def _float_leaf(self) -> Node:
        column = self.column(FLOAT)
        assert column is not None
        return column

    def number(self, depth: int) -> Node:
        makers = [self.integer, self.decimal] + ([self.floating] if self.floats else [])
        return self.random.choice(makers)(depth)

    def text(self, depth: int) -> Node:
        def small() -> Node:
            return literals.integer(self.random.choice((-2, -1, 0, 1, 2, 3, 5, 9)))

        def function(depth: int) -> Node:
            name = self.random.choice(
                (
                    "CONCAT",
                    "UPPER",
                    "LOWER",
                    "TRIM",
                    "LEFT",
                    "RIGHT",
                    "SUBSTRING",
                    "REPLACE",
                    "LPAD",
                    "RPAD",
                    "TO_STRING",
                )
            )
            text = self.text(depth)
            match name:
                case "CONCAT":
                    return Call(
                        self._spelled(name), (text, *(self.text(depth) for _ in range(self.random.randint(1, 2))))
                    )
                case "LEFT" | "RIGHT":
                    return Call(self._spelled(name), (text, small()))
                case "SUBSTRING":
                    return Call(self._spelled(name), (text, small(), small()))
                case "REPLACE":
                    return Call(self._spelled(name), (text, self.text(depth), self.text(depth)))
                case "LPAD" | "RPAD":
                    return Call(
                        self._spelled(name), (text, literals.integer(self.random.choice((0, 1, 3, 9))), self.text(0))
                    )
                case "TO_STRING":
                    return Call(
                        name, (self.random.choice((self.integer, self.decimal, self.date, self.boolean))(depth),)
                    )
                case _:
                    return Call(self._spelled(name), (text,))

        return self._choose(depth, self._text_leaf, [function, function, function, *self._alternatives(self.text)])

    def _text_leaf(self) -> Node:
        if self.random.random() < 0.05:
            return self.random.choice((literals.PERIOD_IDENTIFIER, literals.PERIOD_LEVEL))
        return self._leaf(lambda: literals.text(self.random.choice(TEXTS), self.random.choice("'\"")), STRING)

    def date(self, depth: int) -> Node:
        def function(depth: int) -> Node:
            match self.random.choice(("DATEADD", "ADD_MONTHS", "EOMONTH", "DATE")):
                case "DATEADD":
                    return Call(
                        "DATEADD", (self.date(depth), literals.integer(self.random.choice((-400, -1, 0, 1, 31, 366))))
                    )
                case "ADD_MONTHS":
                    return Call(
                        "ADD_MONTHS", (self.date(depth), literals.integer(self.random.choice((-13, -1, 0, 1, 12))))
                    )
                case "EOMONTH":
                    return Call(self._spelled("EOMONTH"), (self.date(depth),))
                case _:
                    return Call(self._spelled("DATE"), (self.timestamp(depth),))

        makers = [function, function, *self._alternatives(self.date), self._extremes(self.date)]
        return self._choose(depth, self._date_leaf, makers)

    def _date_leaf(self) -> Node:
        if self.random.random() < 0.1:
            return self.random.choice((literals.PERIOD_START, literals.PERIOD_END, literals.TODAY))
        return self._leaf(lambda: literals.date(self.random.choice(DATES)), DATE)

    def timestamp(self, depth: int) -> Node:
        makers = [*self._alternatives(self.timestamp), self._extremes(self.timestamp)]
        return self._choose(depth, self._timestamp_leaf, makers)

    def _timestamp_leaf(self) -> Node:
        if self.random.random() < 0.1:
            return literals.NOW
        return self._leaf(lambda: literals.timestamp(self.random.choice(TIMESTAMPS)), TIMESTAMP)

    def boolean(self, depth: int) -> Node:
        makers: list[Callable[[int], Node]] = [self._comparison, self._comparison, self._logic, self._logic]
        makers += [self._not, self._in, self._between, self._like, self._is_null, self._text_test]
        makers += self._alternatives(self.boolean)
        return self._choose(depth, self._boolean_leaf, makers)

    def _boolean_leaf(self) -> Node:
        return self._leaf(lambda: literals.boolean(self.random.random() < 0.5), BOOLEAN)

    def _ordered(self) -> Callable[[int], Node]:
        return self.random.choice((self.number, self.number, self.text, self.date, self.timestamp))

    def _comparison(self, depth: int) -> Node:
        if self.random.random() < 0.1:
            return Comparison(self.random.choice(("=", "<>")), self.boolean(depth), self.boolean(depth))
        make = self._ordered()
        return Comparison(self.random.choice(COMPARISONS), make(depth), make(depth))

    def _logic(self, depth: int) -> Node:
        left, right = self.boolean(depth), self.boolean(depth)
        operator = self.random.choice(("AND", "OR"))
        return (
            Call(self._spelled(operator), (left, right)) if self.random.random() < 0.2 else Logic(operator, left, right)
        )

    def _not(self, depth: int) -> Node:
        operand = self.boolean(depth)
        return Call(self._spelled("NOT"), (operand,)) if self.random.random() < 0.2 else Not(operand)

    def _in(self, depth: int) -> Node:
        make = self._ordered()
        options = [make(depth - 1) for _ in range(self.random.randint(1, 4))]
        if self.random.random() < 0.2:
            options.append(literals.null())
        return In(make(depth), tuple(options), self.random.random() < 0.4)

    def _between(self, depth: int) -> Node:
        make = self._ordered()
        return Between(make(depth), make(depth - 1), make(depth - 1), self.random.random() < 0.4)

    def _like(self, depth: int) -> Node:
        pattern = literals.text(self.random.choice(PATTERNS), self.random.choice("'\""))
        return Like(self.text(depth), pattern, self.random.random() < 0.4)

    def _is_null(self, depth: int) -> Node:
        operand = self.any(depth)
        return (
            Call(self._spelled("ISNULL"), (operand,))
            if self.random.random() < 0.3
            else IsNull(operand, self.random.random() < 0.5)
        )

    def _text_test(self, depth: int) -> Node:
        name = self.random.choice(("CONTAINS", "STARTS_WITH", "ENDS_WITH"))
        return Call(self._spelled(name), (self.text(depth), self.text(depth - 1)))
