"""Syntax tree → canonical text; parsing that text gives the same tree."""

import re
from typing import assert_never

from daybook.expression.nodes import (
    KEYWORDS,
    Between,
    BooleanLiteral,
    Call,
    Case,
    Chain,
    Column,
    Comparison,
    DecimalLiteral,
    IntegerLiteral,
    Like,
    Logical,
    Membership,
    Negation,
    Node,
    Not,
    NullCheck,
    NullLiteral,
    SelectorReference,
    Star,
    TextLiteral,
)

_PLAIN_NAME = re.compile(r"[^\W\d]\w*")

# How tightly a node binds; a part that binds less than its place asks for stands in parentheses.
_OR, _AND, _NOT, _PREDICATE, _SUM, _PRODUCT, _FACTOR, _PRIMARY = range(1, 9)


def format_tree(node: Node) -> str:
    """One line, words in capitals, texts in double quotes, only the parentheses that are needed."""
    return _part(node, _OR)


def _part(node: Node, least: int) -> str:
    text = _text(node)
    return text if _level(node) >= least else f"({text})"


def _level(node: Node) -> int:
    match node:
        case Logical(_, operator, _):
            return _AND if operator == "AND" else _OR
        case Not():
            return _NOT
        case Comparison() | Membership() | Between() | Like() | NullCheck():
            return _PREDICATE
        case Chain(_, _, rest):
            return _SUM if rest[0][0] in "+-" else _PRODUCT
        case Negation():
            return _FACTOR
        case IntegerLiteral(_, value):
            return _FACTOR if value < 0 else _PRIMARY
        case DecimalLiteral(_, number):
            return _FACTOR if number.is_signed() else _PRIMARY
        case _:
            return _PRIMARY


def _text(node: Node) -> str:
    match node:
        case IntegerLiteral(_, value):
            return str(value)
        case DecimalLiteral(_, number):
            return f"{number:f}"
        case TextLiteral(_, text):
            return f'"{text.replace(chr(34), chr(34) * 2)}"'
        case BooleanLiteral(_, truth):
            return "TRUE" if truth else "FALSE"
        case NullLiteral():
            return "NULL"
        case Column(_, qualifier, name):
            return _name(name) if qualifier is None else f"{_name(qualifier)}.{_name(name)}"
        case SelectorReference(_, name):
            return f"{{{{{name}}}}}"
        case Star():
            return "*"
        case Call(_, name, arguments):
            return f"{name}({_listed(arguments)})"
        case Negation(_, operand):
            inner = _part(operand, _FACTOR)
            return f"- {inner}" if inner.startswith("-") else f"-{inner}"
        case Not(_, operand):
            return f"NOT {_part(operand, _NOT)}"
        case Chain(_, first, rest):
            least = _level(node) + 1
            return " ".join([_part(first, least), *(f"{sign} {_part(each, least)}" for sign, each in rest)])
        case Logical(_, operator, operands):
            return f" {operator} ".join(_part(operand, _level(node) + 1) for operand in operands)
        case Comparison(_, sign, left, right):
            return f"{_part(left, _SUM)} {sign} {_part(right, _SUM)}"
        case Membership(_, operand, choices, is_negated):
            return f"{_part(operand, _SUM)} {_not(is_negated)}IN ({_listed(choices)})"
        case Between(_, operand, low, high, is_negated):
            bounds = f"{_part(low, _SUM)} AND {_part(high, _SUM)}"
            return f"{_part(operand, _SUM)} {_not(is_negated)}BETWEEN {bounds}"
        case Like(_, operand, pattern, is_negated):
            return f"{_part(operand, _SUM)} {_not(is_negated)}LIKE {_part(pattern, _SUM)}"
        case NullCheck(_, operand, is_negated):
            return f"{_part(operand, _SUM)} IS {_not(is_negated)}NULL"
        case Case(_, branches, otherwise):
            whens = [f"WHEN {_part(when, _OR)} THEN {_part(then, _OR)}" for when, then in branches]
            last = [f"ELSE {_part(otherwise, _OR)}"] if otherwise is not None else []
            return " ".join(["CASE", *whens, *last, "END"])
        case _:
            assert_never(node)


def _listed(nodes: tuple[Node, ...]) -> str:
    return ", ".join(_part(node, _OR) for node in nodes)


def _not(is_negated: bool) -> str:
    return "NOT " if is_negated else ""


def _name(name: str) -> str:
    if _PLAIN_NAME.fullmatch(name) and not (name.isascii() and name.upper() in KEYWORDS):
        return name
    return f"`{name.replace('`', '``')}`"
