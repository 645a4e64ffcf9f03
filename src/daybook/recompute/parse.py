"""Text to tree, by recursive descent. The product's own parser has found the mistakes before; here any is a bug."""

import datetime
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from daybook.model.types import (
    BOOLEAN,
    COLUMN_SYNONYMS,
    DATE,
    NULL,
    STRING,
    SYSTEM_COLUMNS,
    TIMESTAMP,
    ColumnType,
)
from daybook.recompute.aggregates import Aggregate
from daybook.recompute.arithmetic import type_of_literal
from daybook.recompute.functions import FUNCTIONS, LENIENT_FUNCTIONS, Call
from daybook.recompute.tree import (
    Arithmetic,
    Between,
    Case,
    Column,
    Comparison,
    In,
    IsNull,
    Like,
    Literal,
    Logic,
    Negation,
    Node,
    Not,
)
from daybook.recompute.windows import Window

AGGREGATES = frozenset({"SUM", "COUNT", "COUNT_ALL", "AVG", "MIN_AGG", "MAX_AGG"})
WINDOW_FUNCTIONS = frozenset({"ROW_NUMBER", "RANK", "PREVIOUS", "NEXT", "ALLOCATE"})
RESERVED_WORDS = frozenset(
    ["AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "IS", "NULL", "TRUE", "FALSE", "CASE", "WHEN", "THEN", "ELSE", "END"]
)
TOKEN = re.compile(
    r"""[ \t\r\n\f]*(?:(?P<number>[0-9]+(?:\.[0-9]+)?)|(?P<name>[^\W\d]\w*)|(?P<quoted>`[^`]*(?:``[^`]*)*`)
    |(?P<text>"[^"]*(?:""[^"]*)*"|'[^']*(?:''[^']*)*')|(?P<reference>\{\{[^{}]*\}\})
    |(?P<symbol><>|!=|<=|>=|[-+*/%=<>(),.]))""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Names:
    """What names stand for: working columns and those of joins, constants of the run, named expressions.

    `constants` are `period.…` and `param.…`, and `NOW` and `TODAY`; `qualifiers` are names of the main table.
    """

    columns: Mapping[str, ColumnType] = field(default_factory=dict)
    aliases: Mapping[str, Mapping[str, ColumnType]] = field(default_factory=dict)
    qualifiers: frozenset[str] = frozenset()
    constants: Mapping[str, Literal] = field(default_factory=dict)
    expressions: Mapping[str, str] = field(default_factory=dict)

    def column(self, name: str, qualifier: str | None) -> Node | None:
        if qualifier is not None and qualifier in self.aliases:
            columns, is_alias = self.aliases[qualifier], True
        elif qualifier is None or qualifier in self.qualifiers:
            columns, is_alias = self.columns, False
        else:
            return self.constants.get(f"{qualifier}.{name}")
        written = name if name in columns else COLUMN_SYNONYMS.get(name, name)
        type_ = columns.get(written) or SYSTEM_COLUMNS.get(written)
        return Column(written, type_, qualifier, is_alias) if type_ is not None else None


@dataclass
class Parser:
    text: str
    names: Names
    position: int = 0

    def _token(self) -> tuple[str, str, int]:
        match = TOKEN.match(self.text, self.position)
        if not match or match.lastgroup is None:
            if self.text[self.position :].strip():
                raise self._error()
            return "end", "", self.position
        return match.lastgroup, match[match.lastgroup], match.end()

    def _error(self) -> ValueError:
        return ValueError(f"at {self.position} of {self.text!r}")

    def _accept(self, *words: str) -> str | None:
        """The word that comes next, when it is one of these."""
        kind, token, end = self._token()
        if kind in ("name", "symbol") and token.upper() in words:
            self.position = end
            return token.upper()
        return None

    def _expect(self, word: str) -> None:
        if not self._accept(word):
            raise self._error()

    def parse(self) -> Node:
        node = self._disjunction()
        if self._token()[0] != "end":
            raise self._error()
        return node

    def _disjunction(self) -> Node:
        left = self._conjunction()
        while self._accept("OR"):
            left = Logic("OR", left, self._conjunction())
        return left

    def _conjunction(self) -> Node:
        left = self._negation()
        while self._accept("AND"):
            left = Logic("AND", left, self._negation())
        return left

    def _negation(self) -> Node:
        return Not(self._negation()) if self._accept("NOT") else self._comparison()

    def _comparison(self) -> Node:
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

    def _sum(self) -> Node:
        left = self._product()
        while operator := self._accept("+", "-"):
            left = Arithmetic(operator, left, self._product())
        return left

    def _product(self) -> Node:
        left = self._sign()
        while operator := self._accept("*", "/", "%"):
            left = Arithmetic(operator, left, self._sign())
        return left

    def _sign(self) -> Node:
        if not self._accept("-"):
            return self._atom()
        operand = self._sign()
        if isinstance(operand, Literal) and operand.is_written and isinstance(operand.literal, int | Decimal):
            value = -operand.literal if isinstance(operand.literal, int) else operand.literal.copy_negate()
            return Literal(value, type_of_literal(value), f"-{operand.text}")
        return Negation(operand)

    def _list(self) -> tuple[Node, ...]:
        self._expect("(")
        nodes: list[Node] = []
        while not self._accept(")"):
            if nodes:
                self._expect(",")
            nodes.append(self._disjunction())
        return tuple(nodes)

    def _atom(self) -> Node:
        kind, token, end = self._token()
        self.position = end
        match kind:
            case "number":
                value = Decimal(token) if "." in token else int(token)
                return Literal(value, type_of_literal(value), token)
            case "text":
                return Literal(_unquoted(token), STRING, token)
            case "reference":
                return Parser(self.names.expressions[token[2:-2].strip()], self.names).parse()
            case "quoted":
                return self._column(_unquoted(token))
            case "name":
                return self._name(token)
            case "symbol" if token == "(":
                inside = self._disjunction()
                self._expect(")")
                return inside
            case _:
                raise self._error()

    def _name(self, token: str) -> Node:
        word = token.upper()
        match word:
            case "TRUE" | "FALSE":
                return Literal(word == "TRUE", BOOLEAN, word)
            case "NULL":
                return Literal(None, NULL, "NULL")
            case "CASE":
                return self._case()
            case _ if self._token()[1] == "(":
                return self._call(word)
            case _ if word in RESERVED_WORDS:
                raise self._error()
            case _:
                return self._column(token)

    def _column(self, name: str) -> Node:
        qualifier = None
        if self._accept("."):
            _, token, self.position = self._token()
            qualifier, name = name, _unquoted(token) if token.startswith("`") else token
        column = self.names.column(name, qualifier)
        if column is None:
            raise self._error()
        return column

    def _case(self) -> Node:
        branches: list[tuple[Node, Node]] = []
        while self._accept("WHEN"):
            condition = self._disjunction()
            self._expect("THEN")
            branches.append((condition, self._disjunction()))
        otherwise = self._disjunction() if self._accept("ELSE") else None
        self._expect("END")
        return Case(tuple(branches), otherwise)

    def _call(self, name: str) -> Node:
        if name in AGGREGATES:
            aggregate = self._aggregate(name)
            return self._window(aggregate, ()) if self._is_window_next() else aggregate
        arguments = self._list()
        if name in WINDOW_FUNCTIONS:
            return self._window(name, arguments)
        if name in self.names.constants and not arguments:
            return self.names.constants[name]
        literal = LITERAL_CALLS.get(name)
        if literal and len(arguments) == 1 and isinstance(arguments[0], Literal) and arguments[0].type == STRING:
            return literal(arguments[0].literal)
        if name not in FUNCTIONS and name not in LENIENT_FUNCTIONS:
            raise self._error()
        return Call(name, arguments)

    def _aggregate(self, name: str) -> Aggregate:
        start = self.position
        self._expect("(")
        if self._accept("*"):
            self._expect(")")
            return Aggregate(name)
        self.position = start
        arguments = self._list()
        return Aggregate(name, arguments[0] if arguments else None)

    def _is_window_next(self) -> bool:
        start = self.position
        is_window = bool(self._accept("OVER")) and bool(self._accept("("))
        self.position = start
        return is_window

    def _window(self, call: Aggregate | str, arguments: tuple[Node, ...]) -> Node:
        self._expect("OVER")
        self._expect("(")
        partition: list[Node] = []
        order: list[tuple[Node, bool]] = []
        while not (is_ordered := self._accept_order()) and not self._is_closed():
            if partition:
                self._expect(",")
            partition.append(self._disjunction())
        while is_ordered and not self._is_closed():
            if order:
                self._expect(",")
            node = self._disjunction()
            order.append((node, self._accept("ASC", "DESC") == "DESC"))
        self._expect(")")
        return Window(call, tuple(partition), tuple(order), arguments)

    def _accept_order(self) -> bool:
        """ORDER and BY, which are words only together."""
        start = self.position
        if self._accept("ORDER") and self._accept("BY"):
            return True
        self.position = start
        return False

    def _is_closed(self) -> bool:
        return self._token()[1] == ")"


def _unquoted(token: str) -> str:
    return token[1:-1].replace(token[0] * 2, token[0])


def _timestamp(text: str) -> datetime.datetime:
    """Times without a zone are UTC."""
    moment = datetime.datetime.fromisoformat(text)
    return moment.replace(tzinfo=datetime.UTC) if moment.tzinfo is None else moment.astimezone(datetime.UTC)


LITERAL_CALLS: Mapping[str, Callable[[str], Node]] = {
    "DATE": lambda text: Literal(datetime.date.fromisoformat(text), DATE, f'DATE("{text}")'),
    "TIMESTAMP": lambda text: Literal(_timestamp(text), TIMESTAMP, f'TIMESTAMP("{text}")'),
}


def parse(text: str, names: Names) -> Node:
    return Parser(text, names).parse()
