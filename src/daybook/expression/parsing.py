"""Text → syntax tree."""

import re
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, cast

from daybook.errors import DaybookError, Span
from daybook.expression.building import Builder, UnbuildableError
from daybook.expression.limits import MAX_CHARACTERS, MAX_DEPTH, MAX_NODES
from daybook.expression.nodes import KEYWORDS, Node
from daybook.expression.slips import explain_character, explain_token, find_slip

if TYPE_CHECKING:
    from lark import Lark

_ROUGH_TOKEN = re.compile(r"\{\{[^{}]*\}\}|\"[^\"]*\"|'[^']*'|`[^`]*`|\w+|[^\w\s]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse(text: str, span: Span | None = None) -> Node:
    """The tree of an expression; `span` says where the text stands for the user."""
    source = span_of(text, span)
    _refuse_unreadable(text, source)
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

    try:
        return _tree(text)
    except UnbuildableError as error:
        raise error.in_text(source) from None
    except UnexpectedCharacters as error:
        raise explain_character(text, cast(int, error.pos_in_stream), source) from None
    except UnexpectedToken as error:
        raise explain_token(text, error.token, error.accepts or error.expected, source) from None


def span_of(text: str, span: Span | None) -> Span:
    """The whole text as a place errors can point into."""
    if span is None:
        return Span(text, 0, len(text))
    if span.text[span.start : span.end] == text:
        return span
    return Span(text, 0, len(text), span.file, span.line, span.column)


@lru_cache(maxsize=4096)
def _tree(text: str) -> Node:
    # Planning looks at every expression more than once, and a workspace writes many of them often.
    return cast(Node, _parser().parse(text))


@cache
def _parser() -> "Lark":
    # Building the tables takes longer than most commands; only those that parse pay for it.
    from lark import Lark

    grammar = files("daybook.expression").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", lexer="basic", transformer=Builder(), maybe_placeholders=False)


def _refuse_unreadable(text: str, source: Span) -> None:
    """What needs no grammar, or would take the parser too long to find out."""
    if not text.strip():
        raise DaybookError("EXPR_009", span=source)
    if len(text) > MAX_CHARACTERS:
        raise _too_large(source, f"{len(text):,} characters", MAX_CHARACTERS)
    if half := _SURROGATE.search(text):
        raise DaybookError("EXPR_011", span=source.within(*half.span()), codepoint=f"{ord(half[0]):04X}")
    if len(text) > MAX_DEPTH:
        _refuse_oversized(text, source)
    if slip := find_slip(text, source):
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
                raise _too_large(source, f"more than {MAX_NODES:,} parts", MAX_NODES)


def _too_large(source: Span, found: str, limit: int) -> DaybookError:
    return DaybookError("EXPR_008", span=source.within(0, 1), found=found, limit=f"{limit:,}")
