"""The syntax tree: what a user wrote before names and types are resolved, and its canonical text."""

import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal, TypeAlias, assert_never

MAX_DEPTH = 64
MAX_NODES = 2_000

# Spark nests sums to the left and runs out of stack at about 500 terms.
MAX_SPARK_DEPTH = 250

MAX_CHARACTERS = 100_000

# Parts after Spark has repeated what some functions repeat.
MAX_WEIGHT = 6_000


ArithmeticOperator = Literal["+", "-", "*", "/", "%"]
ComparisonOperator = Literal["=", "<>", "<", "<=", ">", ">="]
LogicalOperator = Literal["AND", "OR"]

KEYWORDS = frozenset(
    ("AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "IS", "NULL", "TRUE", "FALSE", "CASE", "WHEN", "THEN", "ELSE", "END")
)


@dataclass(frozen=True, slots=True)
class NodeSpan:
    """Characters `start` to `end` of the text, and how deep and large the tree below is.

    `reach` is the depth that Spark sees: there, `a + b + c` is as deep as it is long.
    """

    start: int
    end: int
    depth: int = 1
    size: int = 1
    reach: int = 1


@dataclass(frozen=True, slots=True)
class IntegerLiteral:
    span: NodeSpan = field(compare=False)
    value: int


@dataclass(frozen=True, slots=True)
class DecimalLiteral:
    span: NodeSpan = field(compare=False)
    value: Decimal


@dataclass(frozen=True, slots=True)
class TextLiteral:
    span: NodeSpan = field(compare=False)
    value: str


@dataclass(frozen=True, slots=True)
class BooleanLiteral:
    span: NodeSpan = field(compare=False)
    value: bool


@dataclass(frozen=True, slots=True)
class NullLiteral:
    span: NodeSpan = field(compare=False)


@dataclass(frozen=True, slots=True)
class Column:
    span: NodeSpan = field(compare=False)
    qualifier: str | None
    name: str


@dataclass(frozen=True, slots=True)
class SelectorReference:
    """`{{NAME}}`: a reference to a named selector or expression."""

    span: NodeSpan = field(compare=False)
    name: str


@dataclass(frozen=True, slots=True)
class Star:
    """The `*` of `COUNT(*)`."""

    span: NodeSpan = field(compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """`name` is in capitals; `name_end` is where it ends in the text."""

    span: NodeSpan = field(compare=False)
    name: str
    arguments: "tuple[SyntaxNode, ...]"
    name_end: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Window:
    """`call OVER (partition ORDER BY order)`; every ordering has whether it is descending."""

    span: NodeSpan = field(compare=False)
    call: Call
    partition: "tuple[SyntaxNode, ...]"
    order: "tuple[tuple[SyntaxNode, bool], ...]"


@dataclass(frozen=True, slots=True)
class Negation:
    """Unary minus."""

    span: NodeSpan = field(compare=False)
    operand: "SyntaxNode"


@dataclass(frozen=True, slots=True)
class Not:
    span: NodeSpan = field(compare=False)
    operand: "SyntaxNode"


@dataclass(frozen=True, slots=True)
class Chain:
    """Operators of one level in a row, evaluated from the left: `a - b + c` is one chain, so length is not depth."""

    span: NodeSpan = field(compare=False)
    first: "SyntaxNode"
    rest: "tuple[tuple[ArithmeticOperator, SyntaxNode], ...]"


@dataclass(frozen=True, slots=True)
class Logical:
    span: NodeSpan = field(compare=False)
    operator: LogicalOperator
    operands: "tuple[SyntaxNode, ...]"


@dataclass(frozen=True, slots=True)
class Comparison:
    span: NodeSpan = field(compare=False)
    operator: ComparisonOperator
    left: "SyntaxNode"
    right: "SyntaxNode"


@dataclass(frozen=True, slots=True)
class Membership:
    span: NodeSpan = field(compare=False)
    operand: "SyntaxNode"
    choices: "tuple[SyntaxNode, ...]"
    is_negated: bool


@dataclass(frozen=True, slots=True)
class Between:
    span: NodeSpan = field(compare=False)
    operand: "SyntaxNode"
    low: "SyntaxNode"
    high: "SyntaxNode"
    is_negated: bool


@dataclass(frozen=True, slots=True)
class Like:
    span: NodeSpan = field(compare=False)
    operand: "SyntaxNode"
    pattern: "SyntaxNode"
    is_negated: bool


@dataclass(frozen=True, slots=True)
class NullCheck:
    span: NodeSpan = field(compare=False)
    operand: "SyntaxNode"
    is_negated: bool


@dataclass(frozen=True, slots=True)
class Case:
    span: NodeSpan = field(compare=False)
    branches: "tuple[tuple[SyntaxNode, SyntaxNode], ...]"
    otherwise: "SyntaxNode | None"


SyntaxNode: TypeAlias = (
    IntegerLiteral
    | DecimalLiteral
    | TextLiteral
    | BooleanLiteral
    | NullLiteral
    | Column
    | SelectorReference
    | Star
    | Call
    | Window
    | Negation
    | Not
    | Chain
    | Logical
    | Comparison
    | Membership
    | Between
    | Like
    | NullCheck
    | Case
)


_PLAIN_NAME = re.compile(r"[^\W\d]\w*")

# How tightly a node binds; a part that binds less than its context needs is put in parentheses.
_OR, _AND, _NOT, _PREDICATE, _SUM, _PRODUCT, _FACTOR, _PRIMARY = range(1, 9)


def format_tree(node: SyntaxNode) -> str:
    """One line, words in capitals, texts in double quotes, only the parentheses that are needed."""
    return _format_part(node, _OR)


def _format_part(node: SyntaxNode, least: int) -> str:
    text = _format_node(node)
    return text if _binding_level(node) >= least else f"({text})"


def _binding_level(node: SyntaxNode) -> int:
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


def _format_node(node: SyntaxNode) -> str:
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
            return _quote_name(name) if qualifier is None else f"{_quote_name(qualifier)}.{_quote_name(name)}"
        case SelectorReference(_, name):
            return f"{{{{{name}}}}}"
        case Star():
            return "*"
        case Call(_, name, arguments):
            return f"{name}({_format_list(arguments)})"
        case Window(_, call, partition, order):
            parts = [_format_list(partition)] if partition else []
            if order:
                listed = (f"{_format_part(part, _OR)}{' DESC' if is_down else ''}" for part, is_down in order)
                parts.append(f"ORDER BY {', '.join(listed)}")
            return f"{_format_node(call)} OVER ({' '.join(parts)})"
        case Negation(_, operand):
            inner = _format_part(operand, _FACTOR)
            return f"- {inner}" if inner.startswith("-") else f"-{inner}"
        case Not(_, operand):
            return f"NOT {_format_part(operand, _NOT)}"
        case Chain(_, first, rest):
            least = _binding_level(node) + 1
            return " ".join(
                [_format_part(first, least), *(f"{sign} {_format_part(part, least)}" for sign, part in rest)]
            )
        case Logical(_, operator, operands):
            return f" {operator} ".join(_format_part(operand, _binding_level(node) + 1) for operand in operands)
        case Comparison(_, sign, left, right):
            return f"{_format_part(left, _SUM)} {sign} {_format_part(right, _SUM)}"
        case Membership(_, operand, choices, is_negated):
            return f"{_format_part(operand, _SUM)} {_not_prefix(is_negated)}IN ({_format_list(choices)})"
        case Between(_, operand, low, high, is_negated):
            bounds = f"{_format_part(low, _SUM)} AND {_format_part(high, _SUM)}"
            return f"{_format_part(operand, _SUM)} {_not_prefix(is_negated)}BETWEEN {bounds}"
        case Like(_, operand, pattern, is_negated):
            return f"{_format_part(operand, _SUM)} {_not_prefix(is_negated)}LIKE {_format_part(pattern, _SUM)}"
        case NullCheck(_, operand, is_negated):
            return f"{_format_part(operand, _SUM)} IS {_not_prefix(is_negated)}NULL"
        case Case(_, branches, otherwise):
            whens = [f"WHEN {_format_part(when, _OR)} THEN {_format_part(then, _OR)}" for when, then in branches]
            last = [f"ELSE {_format_part(otherwise, _OR)}"] if otherwise is not None else []
            return " ".join(["CASE", *whens, *last, "END"])
        case _:
            assert_never(node)


def _format_list(nodes: tuple[SyntaxNode, ...]) -> str:
    return ", ".join(_format_part(node, _OR) for node in nodes)


def _not_prefix(is_negated: bool) -> str:
    return "NOT " if is_negated else ""


def _quote_name(name: str) -> str:
    if _PLAIN_NAME.fullmatch(name) and not (name.isascii() and name.upper() in KEYWORDS):
        return name
    return f"`{name.replace('`', '``')}`"
