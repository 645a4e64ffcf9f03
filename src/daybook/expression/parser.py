"""Parses text to a syntax tree, and limits its depth and size."""

import re
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from functools import cache, lru_cache
from importlib.resources import files
from re import compile as pattern
from typing import TYPE_CHECKING, Any, TypeVar, cast

from daybook.errors import DaybookError, Span
from daybook.expression.syntax_errors import explain_character, explain_token, find_foreign_sign
from daybook.expression.syntax_tree import (
    KEYWORDS,
    MAX_CHARACTERS,
    MAX_DEPTH,
    MAX_NODES,
    MAX_SPARK_DEPTH,
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
    NodeSpan,
    Not,
    NullCheck,
    NullLiteral,
    SelectorReference,
    Star,
    SyntaxNode,
    TextLiteral,
    Window,
)
from daybook.model.types import MAX_DIGITS

if TYPE_CHECKING:
    from lark import Lark, Token


ItemT = TypeVar("ItemT")

_NUMBER = pattern(r"[0-9]+(\.[0-9]+)?")
_ADDITIVE = frozenset("+-")


class TreeBuildError(Exception):
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


class TreeBuilder:
    """One method per alternative of the grammar; the parser calls it as it reduces."""

    def number(self, children: "list[Token]") -> SyntaxNode:
        (token,) = children
        span = _token_span(token)
        text = str(token)
        if not _NUMBER.fullmatch(text):
            raise TreeBuildError(span.start, span.end, "EXPR_005", text=_shortened(text))
        whole, _, fraction = text.partition(".")
        digits = max(len(whole.lstrip("0") + fraction), 1)
        if digits > MAX_DIGITS:
            raise TreeBuildError(span.start, span.end, "EXPR_006", text=_shortened(text), digits=digits)
        return DecimalLiteral(span, Decimal(text)) if fraction else IntegerLiteral(span, int(text))

    def text(self, children: "list[Token]") -> SyntaxNode:
        (token,) = children
        return TextLiteral(_token_span(token), _unquoted(token))

    def boolean(self, children: "list[Token]") -> SyntaxNode:
        (token,) = children
        return BooleanLiteral(_token_span(token), token.type == "TRUE")

    def null(self, children: "list[Token]") -> SyntaxNode:
        (token,) = children
        return NullLiteral(_token_span(token))

    def selector(self, children: "list[Token]") -> SyntaxNode:
        (token,) = children
        return SelectorReference(_token_span(token), token[2:-2].strip())

    def column(self, children: "list[Token]") -> SyntaxNode:
        names = [_unquoted(token) if token.type == "QUOTED_NAME" else str(token) for token in children]
        span = NodeSpan(_start(children[0]), _end(children[-1]))
        return Column(span, names[0] if len(names) == 2 else None, names[-1])

    def call(self, children: "list[Token | list[SyntaxNode]]") -> SyntaxNode:
        name = cast("Token", children[0])
        closing = cast("Token", children[-1])
        arguments: tuple[SyntaxNode, ...] = ()
        if len(children) == 3:
            middle = children[1]
            arguments = tuple(middle) if isinstance(middle, list) else (Star(_token_span(middle)),)
        span = _enclosing_span(_start(name), _end(closing), arguments)
        return Call(span, name.upper() if name.isascii() else str(name), arguments, _end(name))

    def window(self, children: "list[Any]") -> SyntaxNode:
        call, _, *parts, closing = children
        partition: tuple[SyntaxNode, ...] = ()
        order: tuple[tuple[SyntaxNode, bool], ...] = ()
        if parts and isinstance(parts[0], list):
            partition = tuple(parts[0])
        if len(parts) > 1:
            order = tuple(parts[-1])
        inner = (call, *partition, *(part for part, _ in order))
        return Window(_enclosing_span(call.span.start, _end(closing), inner), call, partition, order)

    def ordering(self, children: "list[SyntaxNode | Token]") -> tuple[SyntaxNode, bool]:
        part, *word = children
        if not word:
            return cast(SyntaxNode, part), False
        token = cast("Token", word[0])
        if token.upper() not in ("ASC", "DESC"):
            raise TreeBuildError(
                _start(token), _end(token), "EXPR_001", found=_shortened(str(token)), expected="ASC, DESC, a comma or )"
            )
        return cast(SyntaxNode, part), token.upper() == "DESC"

    def orderings(
        self, children: "list[tuple[SyntaxNode, bool] | list[tuple[SyntaxNode, bool]]]"
    ) -> "list[tuple[SyntaxNode, bool]]":
        return _extend_list(children)

    def parenthesised(self, children: "list[Token | SyntaxNode]") -> SyntaxNode:
        """Parentheses are no level of their own; too many of them are refused before parsing."""
        opening, inner, closing = cast("tuple[Token, SyntaxNode, Token]", tuple(children))
        return replace(inner, span=replace(inner.span, start=_start(opening), end=_end(closing)))

    def negation_of(self, children: "list[Token | SyntaxNode]") -> SyntaxNode:
        minus, operand = cast("tuple[Token, SyntaxNode]", tuple(children))
        start, end = _start(minus), operand.span.end
        if isinstance(operand, IntegerLiteral):
            return IntegerLiteral(NodeSpan(start, end), -operand.value)
        if isinstance(operand, DecimalLiteral):
            # The operator would round to the 28 digits of the context.
            return DecimalLiteral(NodeSpan(start, end), operand.value.copy_negate())
        return Negation(_enclosing_span(start, end, (operand,)), operand)

    def not_(self, children: "list[Token | SyntaxNode]") -> SyntaxNode:
        word, operand = cast("tuple[Token, SyntaxNode]", tuple(children))
        return Not(_enclosing_span(_start(word), operand.span.end, (operand,)), operand)

    def arithmetic(self, children: "list[Token | SyntaxNode]") -> SyntaxNode:
        left, sign, right = cast("tuple[SyntaxNode, Token, SyntaxNode]", tuple(children))
        operator = cast(ArithmeticOperator, str(sign))
        if (
            isinstance(left, Chain)
            and _is_unparenthesized(left, left.first)
            and _same_precedence(left.rest[-1][0], operator)
        ):
            return Chain(_extended_span(left, right), left.first, (*left.rest, (operator, right)))
        return Chain(_enclosing_span(left.span.start, right.span.end, (left, right)), left, ((operator, right),))

    def logical(self, children: "list[Token | SyntaxNode]") -> SyntaxNode:
        left, word, right = cast("tuple[SyntaxNode, Token, SyntaxNode]", tuple(children))
        operator = cast(LogicalOperator, word.type)
        if isinstance(left, Logical) and left.operator == operator and _is_unparenthesized(left, left.operands[0]):
            return Logical(_extended_span(left, right), operator, (*left.operands, right))
        return Logical(_enclosing_span(left.span.start, right.span.end, (left, right)), operator, (left, right))

    def comparison(self, children: "list[Token | SyntaxNode]") -> SyntaxNode:
        left, sign, right = cast("tuple[SyntaxNode, Token, SyntaxNode]", tuple(children))
        operator = cast(ComparisonOperator, "<>" if sign == "!=" else str(sign))
        return Comparison(_enclosing_span(left.span.start, right.span.end, (left, right)), operator, left, right)

    def membership(self, children: "list[Token | SyntaxNode | list[SyntaxNode]]") -> SyntaxNode:
        operand, choices, closing = cast(
            "tuple[SyntaxNode, list[SyntaxNode], Token]", (children[0], children[-2], children[-1])
        )
        span = _enclosing_span(operand.span.start, _end(closing), (operand, *choices))
        return Membership(span, operand, tuple(choices), len(children) == 5)

    def between(self, children: "list[Token | SyntaxNode]") -> SyntaxNode:
        operand, low, high = cast(
            "tuple[SyntaxNode, SyntaxNode, SyntaxNode]", (children[0], children[-3], children[-1])
        )
        span = _enclosing_span(operand.span.start, high.span.end, (operand, low, high))
        return Between(span, operand, low, high, len(children) == 6)

    def like(self, children: "list[Token | SyntaxNode]") -> SyntaxNode:
        operand, value = cast("tuple[SyntaxNode, SyntaxNode]", (children[0], children[-1]))
        span = _enclosing_span(operand.span.start, value.span.end, (operand, value))
        return Like(span, operand, value, len(children) == 4)

    def null_check(self, children: "list[Token | SyntaxNode]") -> SyntaxNode:
        operand, last = cast("tuple[SyntaxNode, Token]", (children[0], children[-1]))
        return NullCheck(_enclosing_span(operand.span.start, _end(last), (operand,)), operand, len(children) == 4)

    def case(self, children: "list[Token | SyntaxNode | list[tuple[SyntaxNode, SyntaxNode]]]") -> SyntaxNode:
        opening, branches, closing = cast(
            "tuple[Token, list[tuple[SyntaxNode, SyntaxNode]], Token]", (children[0], children[1], children[-1])
        )
        otherwise = cast(SyntaxNode, children[3]) if len(children) == 5 else None
        parts = [node for branch in branches for node in branch] + ([otherwise] if otherwise else [])
        return Case(_enclosing_span(_start(opening), _end(closing), parts), tuple(branches), otherwise)

    def values(self, children: "list[SyntaxNode | list[SyntaxNode]]") -> "list[SyntaxNode]":
        return _extend_list(children)

    def whens(
        self, children: "list[tuple[SyntaxNode, SyntaxNode] | list[tuple[SyntaxNode, SyntaxNode]]]"
    ) -> "list[tuple[SyntaxNode, SyntaxNode]]":
        return _extend_list(children)

    def when(self, children: "list[Token | SyntaxNode]") -> tuple[SyntaxNode, SyntaxNode]:
        return cast("tuple[SyntaxNode, SyntaxNode]", (children[1], children[3]))


def _extend_list(children: "list[ItemT | list[ItemT]]") -> "list[ItemT]":
    """A left-recursive list: its first element alone, or what it was so far with one more."""
    if len(children) == 1:
        return [cast("ItemT", children[0])]
    grown, added = cast("tuple[list[ItemT], ItemT]", tuple(children))
    grown.append(added)
    if len(grown) > MAX_NODES:
        raise TreeBuildError(0, 1, "EXPR_008", found=f"more than {MAX_NODES:,} parts", limit=f"{MAX_NODES:,}")
    return grown


def _token_span(token: "Token") -> NodeSpan:
    return NodeSpan(_start(token), _end(token))


def _start(token: "Token") -> int:
    return cast(int, token.start_pos)


def _end(token: "Token") -> int:
    return cast(int, token.end_pos)


def _enclosing_span(start: int, end: int, parts: Iterable[SyntaxNode]) -> NodeSpan:
    depth, size, reach = 0, 1, 0
    for part in parts:
        span = part.span
        size += span.size
        depth = max(depth, span.depth)
        reach = max(reach, span.reach)
    return _check_limits(NodeSpan(start, end, depth + 1, size, reach + 1))


def _extended_span(left: Chain | Logical, right: SyntaxNode) -> NodeSpan:
    """One more operand: no deeper for the user; for Spark, which nests arithmetic to the left, one level more."""
    span, added = left.span, right.span
    depth = max(span.depth, added.depth + 1)
    grown = span.reach + 1 if isinstance(left, Chain) else span.reach
    return _check_limits(NodeSpan(span.start, added.end, depth, span.size + added.size, max(grown, added.reach + 1)))


def _check_limits(span: NodeSpan) -> NodeSpan:
    if span.depth > MAX_DEPTH:
        raise TreeBuildError(span.start, span.start + 1, "EXPR_007", limit=MAX_DEPTH)
    if span.size > MAX_NODES:
        raise TreeBuildError(
            span.start, span.end, "EXPR_008", found=f"more than {MAX_NODES:,} parts", limit=f"{MAX_NODES:,}"
        )
    if span.reach > MAX_SPARK_DEPTH:
        raise TreeBuildError(
            span.start,
            span.end,
            "EXPR_008",
            found=f"more than {MAX_SPARK_DEPTH} operators in a row",
            limit=MAX_SPARK_DEPTH,
        )
    return span


def _is_unparenthesized(left: Chain | Logical, first: SyntaxNode) -> bool:
    """Parentheses widen a node's span, so a chain that starts with its first operand is in no parentheses."""
    return left.span.start == first.span.start


def _same_precedence(left: str, right: str) -> bool:
    return (left in _ADDITIVE) == (right in _ADDITIVE)


def _unquoted(token: str) -> str:
    quote = token[0]
    return token[1:-1].replace(quote * 2, quote)


def _shortened(text: str) -> str:
    return text if len(text) <= 50 else f"{text[:20]}…{text[-10:]}"


_ROUGH_TOKEN = re.compile(r"\{\{[^{}]*\}\}|\"[^\"]*\"|'[^']*'|`[^`]*`|\w+|[^\w\s]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse_expression(text: str, span: Span | None = None) -> SyntaxNode:
    """The tree of an expression; `span` is the position of the text in the file."""
    source = source_span(text, span)
    _refuse_unreadable(text, source)
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

    try:
        return _parse_tree(text)
    except TreeBuildError as error:
        raise error.in_text(source) from None
    except UnexpectedCharacters as error:
        raise explain_character(text, cast(int, error.pos_in_stream), source) from None
    except UnexpectedToken as error:
        raise explain_token(text, error.token, error.accepts or error.expected, source) from None


def source_span(text: str, span: Span | None) -> Span:
    """The span of the whole text, which errors point into."""
    if span is None:
        return Span(text, 0, len(text))
    if span.text[span.start : span.end] == text:
        return span
    return Span(text, 0, len(text), span.file, span.line, span.column, used_for=span.used_for)


@lru_cache(maxsize=4096)
def _parse_tree(text: str) -> SyntaxNode:
    # Planning looks at every expression more than once, and a workspace writes many of them often.
    return cast(SyntaxNode, _build_parser().parse(text))


@cache
def _build_parser() -> "Lark":
    # Building the tables takes longer than most commands; only those that parse pay for it.
    from lark import Lark

    grammar = files("daybook.expression").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", lexer="basic", transformer=TreeBuilder(), maybe_placeholders=False)


def _refuse_unreadable(text: str, source: Span) -> None:
    """What needs no grammar, or would take the parser too long to find out."""
    if not text.strip():
        raise DaybookError("EXPR_009", span=source)
    if len(text) > MAX_CHARACTERS:
        raise _too_large_error(source, f"{len(text):,} characters", MAX_CHARACTERS)
    if half := _SURROGATE.search(text):
        raise DaybookError("EXPR_011", span=source.within(*half.span()), codepoint=f"{ord(half[0]):04X}")
    if len(text) > MAX_DEPTH:
        _refuse_oversized(text, source)
    if slip := find_foreign_sign(text, source):
        raise slip


def _refuse_oversized(text: str, source: Span) -> None:
    """Too many open parentheses or too many values, found by words alone: the parser takes longer per word."""
    depth = values = 0
    for token in _ROUGH_TOKEN.finditer(text):
        word = token[0]
        if word == "(":
            depth += 1
            if depth > MAX_DEPTH:
                raise DaybookError("EXPR_007", span=source.within(*token.span()), limit=MAX_DEPTH)
        elif word == ")":
            depth -= 1
        elif word == ".":
            values -= 1
        elif word[0] in "\"'`_{" or (word[0].isalnum() and word.upper() not in KEYWORDS):
            values += 1
            if values > MAX_NODES:
                raise _too_large_error(source, f"more than {MAX_NODES:,} parts", MAX_NODES)


def _too_large_error(source: Span, size: str, limit: int) -> DaybookError:
    return DaybookError("EXPR_008", span=source.within(0, 1), found=size, limit=f"{limit:,}")
