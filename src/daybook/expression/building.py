"""From the parser's reductions to syntax nodes, counting depth and size on the way up."""

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from re import compile as pattern
from typing import TYPE_CHECKING, Any, TypeVar, cast

from daybook.errors import DaybookError, Span
from daybook.expression.limits import MAX_DEPTH, MAX_NODES, MAX_REACH
from daybook.expression.nodes import (
    ArithmeticOperator,
    Between,
    BooleanLiteral,
    Call,
    Case,
    Chain,
    Column,
    Comparison,
    ComparisonOperator,
    DecimalLiteral,
    IntegerLiteral,
    Like,
    Logical,
    LogicalOperator,
    Membership,
    Negation,
    Node,
    Not,
    NullCheck,
    NullLiteral,
    Place,
    SelectorReference,
    Star,
    TextLiteral,
)
from daybook.model.types import MAX_DIGITS

if TYPE_CHECKING:
    from lark import Token

T = TypeVar("T")

_NUMBER = pattern(r"[0-9]+(\.[0-9]+)?")
_ADDITIVE = frozenset("+-")


class UnbuildableError(Exception):
    """A finding at characters `start` to `end`; the parser adds the text."""

    def __init__(self, start: int, end: int, code: str, hint: str | None = None, **parameters: Any) -> None:
        super().__init__(code)
        self.start = start
        self.end = end
        self.code = code
        self.hint = hint
        self.parameters = parameters

    def in_text(self, source: Span) -> DaybookError:
        return DaybookError(self.code, span=source.within(self.start, self.end), hint=self.hint, **self.parameters)


class Builder:
    """One method per alternative of the grammar; the parser calls it as it reduces."""

    def number(self, children: "list[Token]") -> Node:
        (token,) = children
        place = _token_place(token)
        text = str(token)
        if not _NUMBER.fullmatch(text):
            raise UnbuildableError(place.start, place.end, "EXPR_005", text=_shortened(text))
        whole, _, fraction = text.partition(".")
        digits = max(len(whole.lstrip("0") + fraction), 1)
        if digits > MAX_DIGITS:
            raise UnbuildableError(place.start, place.end, "EXPR_006", text=_shortened(text), digits=digits)
        return DecimalLiteral(place, Decimal(text)) if fraction else IntegerLiteral(place, int(text))

    def text(self, children: "list[Token]") -> Node:
        (token,) = children
        return TextLiteral(_token_place(token), _unquoted(token))

    def boolean(self, children: "list[Token]") -> Node:
        (token,) = children
        return BooleanLiteral(_token_place(token), token.type == "TRUE")

    def null(self, children: "list[Token]") -> Node:
        (token,) = children
        return NullLiteral(_token_place(token))

    def selector(self, children: "list[Token]") -> Node:
        (token,) = children
        return SelectorReference(_token_place(token), token[2:-2].strip())

    def column(self, children: "list[Token]") -> Node:
        names = [_unquoted(token) if token.type == "QUOTED_NAME" else str(token) for token in children]
        place = Place(_start(children[0]), _end(children[-1]))
        return Column(place, names[0] if len(names) == 2 else None, names[-1])

    def call(self, children: "list[Token | list[Node]]") -> Node:
        name = cast("Token", children[0])
        closing = cast("Token", children[-1])
        arguments: tuple[Node, ...] = ()
        if len(children) == 3:
            middle = children[1]
            arguments = tuple(middle) if isinstance(middle, list) else (Star(_token_place(middle)),)
        place = _around(_start(name), _end(closing), arguments)
        return Call(place, name.upper() if name.isascii() else str(name), arguments, _end(name))

    def parenthesised(self, children: "list[Token | Node]") -> Node:
        """Parentheses are no level of their own; too many of them are refused before parsing."""
        opening, inner, closing = cast("tuple[Token, Node, Token]", tuple(children))
        return replace(inner, place=replace(inner.place, start=_start(opening), end=_end(closing)))

    def negation_of(self, children: "list[Token | Node]") -> Node:
        minus, operand = cast("tuple[Token, Node]", tuple(children))
        start, end = _start(minus), operand.place.end
        if isinstance(operand, IntegerLiteral):
            return IntegerLiteral(Place(start, end), -operand.value)
        if isinstance(operand, DecimalLiteral):
            # The operator would round to the 28 digits of the context.
            return DecimalLiteral(Place(start, end), operand.value.copy_negate())
        return Negation(_around(start, end, (operand,)), operand)

    def not_(self, children: "list[Token | Node]") -> Node:
        word, operand = cast("tuple[Token, Node]", tuple(children))
        return Not(_around(_start(word), operand.place.end, (operand,)), operand)

    def arithmetic(self, children: "list[Token | Node]") -> Node:
        left, sign, right = cast("tuple[Node, Token, Node]", tuple(children))
        operator = cast(ArithmeticOperator, str(sign))
        if isinstance(left, Chain) and _is_open(left, left.first) and _same_level(left.rest[-1][0], operator):
            return Chain(_extended(left, right), left.first, (*left.rest, (operator, right)))
        return Chain(_around(left.place.start, right.place.end, (left, right)), left, ((operator, right),))

    def logical(self, children: "list[Token | Node]") -> Node:
        left, word, right = cast("tuple[Node, Token, Node]", tuple(children))
        operator = cast(LogicalOperator, word.type)
        if isinstance(left, Logical) and left.operator == operator and _is_open(left, left.operands[0]):
            return Logical(_extended(left, right), operator, (*left.operands, right))
        return Logical(_around(left.place.start, right.place.end, (left, right)), operator, (left, right))

    def comparison(self, children: "list[Token | Node]") -> Node:
        left, sign, right = cast("tuple[Node, Token, Node]", tuple(children))
        operator = cast(ComparisonOperator, "<>" if sign == "!=" else str(sign))
        return Comparison(_around(left.place.start, right.place.end, (left, right)), operator, left, right)

    def membership(self, children: "list[Token | Node | list[Node]]") -> Node:
        operand, choices, closing = cast("tuple[Node, list[Node], Token]", (children[0], children[-2], children[-1]))
        place = _around(operand.place.start, _end(closing), (operand, *choices))
        return Membership(place, operand, tuple(choices), len(children) == 5)

    def between(self, children: "list[Token | Node]") -> Node:
        operand, low, high = cast("tuple[Node, Node, Node]", (children[0], children[-3], children[-1]))
        place = _around(operand.place.start, high.place.end, (operand, low, high))
        return Between(place, operand, low, high, len(children) == 6)

    def like(self, children: "list[Token | Node]") -> Node:
        operand, value = cast("tuple[Node, Node]", (children[0], children[-1]))
        place = _around(operand.place.start, value.place.end, (operand, value))
        return Like(place, operand, value, len(children) == 4)

    def null_check(self, children: "list[Token | Node]") -> Node:
        operand, last = cast("tuple[Node, Token]", (children[0], children[-1]))
        return NullCheck(_around(operand.place.start, _end(last), (operand,)), operand, len(children) == 4)

    def case(self, children: "list[Token | Node | list[tuple[Node, Node]]]") -> Node:
        opening, branches, closing = cast(
            "tuple[Token, list[tuple[Node, Node]], Token]", (children[0], children[1], children[-1])
        )
        otherwise = cast(Node, children[3]) if len(children) == 5 else None
        parts = [node for branch in branches for node in branch] + ([otherwise] if otherwise else [])
        return Case(_around(_start(opening), _end(closing), parts), tuple(branches), otherwise)

    def values(self, children: "list[Node | list[Node]]") -> "list[Node]":
        return _grown(children)

    def whens(self, children: "list[tuple[Node, Node] | list[tuple[Node, Node]]]") -> "list[tuple[Node, Node]]":
        return _grown(children)

    def when(self, children: "list[Token | Node]") -> tuple[Node, Node]:
        return cast("tuple[Node, Node]", (children[1], children[3]))


def _grown(children: "list[T | list[T]]") -> "list[T]":
    """A left-recursive list: its first element alone, or what it was so far with one more."""
    if len(children) == 1:
        return [cast("T", children[0])]
    grown, added = cast("tuple[list[T], T]", tuple(children))
    grown.append(added)
    if len(grown) > MAX_NODES:
        raise UnbuildableError(0, 1, "EXPR_008", found=f"more than {MAX_NODES:,} parts", limit=f"{MAX_NODES:,}")
    return grown


def _token_place(token: "Token") -> Place:
    return Place(_start(token), _end(token))


def _start(token: "Token") -> int:
    return cast(int, token.start_pos)


def _end(token: "Token") -> int:
    return cast(int, token.end_pos)


def _around(start: int, end: int, parts: Iterable[Node]) -> Place:
    depth, size, reach = 0, 1, 0
    for part in parts:
        place = part.place
        size += place.size
        depth = max(depth, place.depth)
        reach = max(reach, place.reach)
    return _checked(Place(start, end, depth + 1, size, reach + 1))


def _extended(left: Chain | Logical, right: Node) -> Place:
    """One more operand: no deeper for the user; for Spark, which nests arithmetic to the left, one level more."""
    place, added = left.place, right.place
    depth = max(place.depth, added.depth + 1)
    grown = place.reach + 1 if isinstance(left, Chain) else place.reach
    return _checked(Place(place.start, added.end, depth, place.size + added.size, max(grown, added.reach + 1)))


def _checked(place: Place) -> Place:
    if place.depth > MAX_DEPTH:
        raise UnbuildableError(place.start, place.start + 1, "EXPR_007", limit=MAX_DEPTH)
    if place.size > MAX_NODES:
        raise UnbuildableError(
            place.start, place.end, "EXPR_008", found=f"more than {MAX_NODES:,} parts", limit=f"{MAX_NODES:,}"
        )
    if place.reach > MAX_REACH:
        raise UnbuildableError(
            place.start, place.end, "EXPR_008", found=f"more than {MAX_REACH} operators in a row", limit=MAX_REACH
        )
    return place


def _is_open(left: Chain | Logical, first: Node) -> bool:
    """Parentheses widen a node's place, so a chain that starts with its first operand stands in none."""
    return left.place.start == first.place.start


def _same_level(one: str, other: str) -> bool:
    return (one in _ADDITIVE) == (other in _ADDITIVE)


def _unquoted(token: str) -> str:
    quote = token[0]
    return token[1:-1].replace(quote * 2, quote)


def _shortened(text: str) -> str:
    return text if len(text) <= 50 else f"{text[:20]}…{text[-10:]}"
