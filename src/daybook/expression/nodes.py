"""The syntax tree: what a user wrote, before names and types are known."""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal, TypeAlias

ArithmeticOperator = Literal["+", "-", "*", "/", "%"]
ComparisonOperator = Literal["=", "<>", "<", "<=", ">", ">="]
LogicalOperator = Literal["AND", "OR"]

KEYWORDS = frozenset(
    ("AND", "OR", "NOT", "IN", "BETWEEN", "LIKE", "IS", "NULL", "TRUE", "FALSE", "CASE", "WHEN", "THEN", "ELSE", "END")
)


@dataclass(frozen=True, slots=True)
class Place:
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
    place: Place = field(compare=False)
    value: int


@dataclass(frozen=True, slots=True)
class DecimalLiteral:
    place: Place = field(compare=False)
    value: Decimal


@dataclass(frozen=True, slots=True)
class TextLiteral:
    place: Place = field(compare=False)
    value: str


@dataclass(frozen=True, slots=True)
class BooleanLiteral:
    place: Place = field(compare=False)
    value: bool


@dataclass(frozen=True, slots=True)
class NullLiteral:
    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Column:
    place: Place = field(compare=False)
    qualifier: str | None
    name: str


@dataclass(frozen=True, slots=True)
class SelectorReference:
    """`{{NAME}}`: the named selector's own tree stands here."""

    place: Place = field(compare=False)
    name: str


@dataclass(frozen=True, slots=True)
class Star:
    """The `*` of `COUNT(*)`."""

    place: Place = field(compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """`name` is in capitals; `name_end` is where it ends in the text."""

    place: Place = field(compare=False)
    name: str
    arguments: "tuple[Node, ...]"
    name_end: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Negation:
    """Unary minus."""

    place: Place = field(compare=False)
    operand: "Node"


@dataclass(frozen=True, slots=True)
class Not:
    place: Place = field(compare=False)
    operand: "Node"


@dataclass(frozen=True, slots=True)
class Chain:
    """Operators of one level in a row, evaluated from the left: `a - b + c` is one chain, so length is not depth."""

    place: Place = field(compare=False)
    first: "Node"
    rest: "tuple[tuple[ArithmeticOperator, Node], ...]"


@dataclass(frozen=True, slots=True)
class Logical:
    place: Place = field(compare=False)
    operator: LogicalOperator
    operands: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Comparison:
    place: Place = field(compare=False)
    operator: ComparisonOperator
    left: "Node"
    right: "Node"


@dataclass(frozen=True, slots=True)
class Membership:
    place: Place = field(compare=False)
    operand: "Node"
    choices: "tuple[Node, ...]"
    is_negated: bool


@dataclass(frozen=True, slots=True)
class Between:
    place: Place = field(compare=False)
    operand: "Node"
    low: "Node"
    high: "Node"
    is_negated: bool


@dataclass(frozen=True, slots=True)
class Like:
    place: Place = field(compare=False)
    operand: "Node"
    pattern: "Node"
    is_negated: bool


@dataclass(frozen=True, slots=True)
class NullCheck:
    place: Place = field(compare=False)
    operand: "Node"
    is_negated: bool


@dataclass(frozen=True, slots=True)
class Case:
    place: Place = field(compare=False)
    branches: "tuple[tuple[Node, Node], ...]"
    otherwise: "Node | None"


Node: TypeAlias = (
    IntegerLiteral
    | DecimalLiteral
    | TextLiteral
    | BooleanLiteral
    | NullLiteral
    | Column
    | SelectorReference
    | Star
    | Call
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
