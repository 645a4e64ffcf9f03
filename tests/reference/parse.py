"""Text to tree by recursive descent, for examples written by hand."""

import datetime
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from daybook.model.types import ColumnType
from tests.reference import literals
from tests.reference.functions import FUNCTIONS, Call
from tests.reference.grouping import Aggregate
from tests.reference.tree import (
    Arithmetic,
    Between,
    Case,
    Column,
    Comparison,
    Expression,
    In,
    IsNull,
    Like,
    Literal,
    Logic,
    Negation,
    Not,
)

AGGREGATES = frozenset({"SUM", "COUNT", "COUNT_ALL", "AVG", "MIN_AGG", "MAX_AGG"})
TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+(?:\.\d+)?)|(?P<name>[^\W\d]\w*)|(?P<quoted>`[^`]*`)
    |(?P<text>"(?:[^"]|"")*"|'(?:[^']|'')*')|(?P<symbol><>|!=|<=|>=|[-+*/%=<>(),.]))""",
    re.VERBOSE,
)


@dataclass
class Parser:
    """`types` knows `column` and `qualifier.column`; a qualified name that is not there is a working column."""

    text: str
    types: Mapping[str, ColumnType] = field(default_factory=dict)
    place: int = 0

    def _token(self) -> tuple[str, str, int]:
        match = TOKEN.match(self.text, self.place)
        if not match or match.lastgroup is None:
            if self.text[self.place :].strip():
                raise self._error()
            return "end", "", self.place
        return match.lastgroup, match[match.lastgroup], match.end()

    def _error(self) -> ValueError:
        return ValueError(f"at {self.place} of {self.text!r}")

    def _accept(self, *words: str) -> str | None:
        """The word that comes next, when it is one of these."""
        kind, token, end = self._token()
        if kind in ("name", "symbol") and token.upper() in words:
            self.place = end
            return token.upper()
        return None

    def _expect(self, word: str) -> None:
        if not self._accept(word):
            raise self._error()

    def parse(self) -> Expression:
        expression = self._disjunction()
        if self._token()[0] != "end":
            raise self._error()
        return expression

    def _disjunction(self) -> Expression:
        left = self._conjunction()
        while self._accept("OR"):
            left = Logic("OR", left, self._conjunction())
        return left

    def _conjunction(self) -> Expression:
        left = self._negation()
        while self._accept("AND"):
            left = Logic("AND", left, self._negation())
        return left

    def _negation(self) -> Expression:
        return Not(self._negation()) if self._accept("NOT") else self._comparison()

    def _comparison(self) -> Expression:
        left = self._sum()
        if operator := self._accept("=", "<>", "!=", "<", "<=", ">", ">="):
            return Comparison(operator, left, self._sum())
        if self._accept("IS"):
            negated = bool(self._accept("NOT"))
            self._expect("NULL")
            return IsNull(left, negated)
        negated = bool(self._accept("NOT"))
        if self._accept("IN"):
            return In(left, self._list(), negated)
        if self._accept("LIKE"):
            return Like(left, self._sum(), negated)
        if self._accept("BETWEEN"):
            low = self._sum()
            self._expect("AND")
            return Between(left, low, self._sum(), negated)
        return left

    def _sum(self) -> Expression:
        left = self._product()
        while operator := self._accept("+", "-"):
            left = Arithmetic(operator, left, self._product())
        return left

    def _product(self) -> Expression:
        left = self._sign()
        while operator := self._accept("*", "/", "%"):
            left = Arithmetic(operator, left, self._sign())
        return left

    def _sign(self) -> Expression:
        return Negation(self._sign()) if self._accept("-") else self._atom()

    def _list(self) -> tuple[Expression, ...]:
        self._expect("(")
        found: list[Expression] = []
        while not self._accept(")"):
            if found:
                self._expect(",")
            found.append(self._disjunction())
        return tuple(found)

    def _atom(self) -> Expression:
        kind, token, end = self._token()
        self.place = end
        match kind:
            case "number":
                return literals.decimal(token) if "." in token else literals.integer(int(token))
            case "text":
                return literals.text(token[1:-1].replace(token[0] * 2, token[0]), token[0])
            case "quoted":
                return self._column(token[1:-1])
            case "name":
                return self._name(token)
            case "symbol" if token == "(":
                inside = self._disjunction()
                self._expect(")")
                return inside
            case _:
                raise self._error()

    def _name(self, token: str) -> Expression:
        match token.upper():
            case "TRUE" | "FALSE":
                return literals.boolean(token.upper() == "TRUE")
            case "NULL":
                return literals.null()
            case "CASE":
                return self._case()
            case name if self._token()[1] == "(":
                return self._call(name)
            case _:
                return self._column(token)

    def _column(self, name: str) -> Expression:
        if not self._accept("."):
            return Column(name, self.types[name])
        _, token, self.place = self._token()
        column = token.strip("`")
        is_alias = f"{name}.{column}" in self.types
        return Column(column, self.types[f"{name}.{column}" if is_alias else column], name, is_alias)

    def _case(self) -> Expression:
        branches: list[tuple[Expression, Expression]] = []
        while self._accept("WHEN"):
            condition = self._disjunction()
            self._expect("THEN")
            branches.append((condition, self._disjunction()))
        otherwise = self._disjunction() if self._accept("ELSE") else None
        self._expect("END")
        return Case(tuple(branches), otherwise)

    def _call(self, name: str) -> Expression:
        start = self.place
        if name in AGGREGATES:
            self._expect("(")
            if self._accept("*"):
                self._expect(")")
                return Aggregate(name)
            self.place = start
            arguments = self._list()
            return Aggregate(name, arguments[0] if arguments else None)
        arguments = self._list()
        literal = LITERAL_CALLS.get(name)
        if literal and isinstance(arguments[0], Literal) and len(arguments) == 1:
            return literal(str(arguments[0].value({})))
        if name not in FUNCTIONS:
            raise self._error()
        return Call(name, arguments)


LITERAL_CALLS: dict[str, Callable[[str], Expression]] = {
    "DATE": lambda text: literals.date(datetime.date.fromisoformat(text)),
    "TIMESTAMP": lambda text: literals.timestamp(datetime.datetime.fromisoformat(text)),
}


def parse(text: str, types: Mapping[str, ColumnType] | None = None) -> Expression:
    return Parser(text, types or {}).parse()
