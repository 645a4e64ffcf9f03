"""The typed tree: every name resolved, every node with its type; and the scope in which names are resolved.

Every conversion is explicit or Spark's own.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from daybook.errors import Span
from daybook.expression.parser import parse_expression, source_span
from daybook.expression.syntax_tree import ArithmeticOperator, ComparisonOperator, LogicalOperator, SyntaxNode
from daybook.model.calendar import Period
from daybook.model.types import BOOLEAN, NULL, BooleanType, ColumnType, NullType, Value

if TYPE_CHECKING:
    from daybook.expression.functions.function import Function


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """A column that an expression reads; without qualifier it is a working column, otherwise a join alias's."""

    qualifier: str | None
    name: str


@dataclass(frozen=True, slots=True)
class Scope:
    """`qualifiers` are the main table's name and the join aliases; `aliases` says which of them are joins."""

    columns: Mapping[str, ColumnType]
    qualifiers: Mapping[str, Mapping[str, ColumnType]]
    aliases: frozenset[str] = frozenset()
    has_period: bool = True
    # The project's parameters, found under the name param where there are any.
    parameters: Mapping[str, ColumnType] = field(default_factory=dict)

    def type_of(self, use: ColumnUse) -> ColumnType | None:
        """The type of a column; None where it cannot be seen."""
        columns = self.columns if use.qualifier is None else self.qualifiers.get(use.qualifier, {})
        return columns.get(use.name)


@dataclass(frozen=True, slots=True)
class Constants:
    """What NOW(), TODAY(), period.* and param.* become; `timestamp` is aware and in UTC."""

    timestamp: datetime
    period: Period | None
    parameters: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Grouping:
    """The columns rows are grouped by; `strict` allows FUNCTION(column) only."""

    columns: tuple[str, ...]
    strict: bool = False


class NamedExpressions:
    """A project's named selectors and expressions with their spans; each is parsed once and spliced as a tree."""

    def __init__(
        self,
        selectors: Mapping[str, str],
        spans: Mapping[str, Span | None] | None = None,
        *,
        expressions: Mapping[str, str] | None = None,
    ) -> None:
        self._texts = {**(expressions or {}), **selectors}
        self._selectors = frozenset(selectors)
        self._spans = dict(spans or {})
        self._trees: dict[str, SyntaxNode] = {}
        # The names that expressions have referred to so far.
        self.used: set[str] = set()

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._texts)

    def is_selector(self, name: str) -> bool:
        """Whether it is a selector, which is always boolean."""
        return name in self._selectors

    def source(self, name: str) -> Span:
        return source_span(self._texts[name], self._spans.get(name))

    def tree(self, name: str) -> SyntaxNode:
        """The tree of a name; raises what is wrong with its text, pointing into its own line."""
        if name not in self._trees:
            self._trees[name] = parse_expression(self._texts[name], self._spans.get(name))
        return self._trees[name]


ConstantName = Literal["now", "today", "identifier", "level", "start_date", "end_date"]


@dataclass(frozen=True, slots=True)
class TreeNode:
    """What every node can do; its children are the nodes among its fields, in their order."""

    def children(self) -> "tuple[TypedNode, ...]":
        return tuple(node for node_field in fields(self) for node in _nodes_in(getattr(self, node_field.name)))

    def map(self, change: "Callable[[TypedNode], TypedNode]") -> Self:
        """The same node over changed children."""
        return replace(
            self,
            **{node_field.name: _with_nodes(getattr(self, node_field.name), change) for node_field in fields(self)},
        )

    def walk(self) -> "Iterator[TypedNode]":
        """The node itself and all nodes below it."""
        yield from _nodes_in(self)
        for child in self.children():
            yield from child.walk()


def _nodes_in(value: object) -> "Iterator[TypedNode]":
    if isinstance(value, tuple):
        for item in value:
            yield from _nodes_in(item)
    elif isinstance(value, TypedNode):
        yield value


def _with_nodes(value: Any, change: "Callable[[TypedNode], TypedNode]") -> Any:
    if isinstance(value, tuple):
        return tuple(_with_nodes(item, change) for item in value)
    return change(value) if isinstance(value, TypedNode) else value


@dataclass(frozen=True, slots=True)
class LiteralValue(TreeNode):
    value: Value
    type: ColumnType


@dataclass(frozen=True, slots=True)
class ColumnValue(TreeNode):
    use: ColumnUse
    type: ColumnType


@dataclass(frozen=True, slots=True)
class ConstantValue(TreeNode):
    """Known when the run starts: its timestamp and its period."""

    name: ConstantName
    type: ColumnType


@dataclass(frozen=True, slots=True)
class ParameterValue(TreeNode):
    """A parameter of the project, known when the run starts."""

    name: str
    type: ColumnType


@dataclass(frozen=True, slots=True)
class AllRows(TreeNode):
    """The `*` of `COUNT(*)`."""

    type: NullType = NULL


@dataclass(frozen=True, slots=True)
class Conversion(TreeNode):
    """A conversion Spark would not make by itself, or would make otherwise."""

    operand: "TypedNode"
    type: ColumnType


@dataclass(frozen=True, slots=True)
class Arithmetic(TreeNode):
    operator: ArithmeticOperator
    left: "TypedNode"
    right: "TypedNode"
    type: ColumnType


@dataclass(frozen=True, slots=True)
class TypedNegation(TreeNode):
    """Unary minus."""

    operand: "TypedNode"
    type: ColumnType


@dataclass(frozen=True, slots=True)
class TypedNot(TreeNode):
    """NOT."""

    operand: "TypedNode"
    type: BooleanType = BOOLEAN


@dataclass(frozen=True, slots=True)
class TypedLogical(TreeNode):
    """AND or OR."""

    operator: LogicalOperator
    operands: "tuple[TypedNode, ...]"
    type: BooleanType = BOOLEAN


@dataclass(frozen=True, slots=True)
class TypedComparison(TreeNode):
    """`is_split`: the operands have no decimal type in common, so their whole parts and the rest compare apart."""

    operator: ComparisonOperator
    left: "TypedNode"
    right: "TypedNode"
    type: BooleanType = BOOLEAN
    is_split: bool = False


@dataclass(frozen=True, slots=True)
class TypedMembership(TreeNode):
    """[NOT] IN."""

    operand: "TypedNode"
    choices: "tuple[TypedNode, ...]"
    is_negated: bool
    type: BooleanType = BOOLEAN
    is_split: bool = False


@dataclass(frozen=True, slots=True)
class TypedBetween(TreeNode):
    """[NOT] BETWEEN."""

    operand: "TypedNode"
    low: "TypedNode"
    high: "TypedNode"
    is_negated: bool
    type: BooleanType = BOOLEAN
    is_split: bool = False


@dataclass(frozen=True, slots=True)
class TypedLike(TreeNode):
    """[NOT] LIKE."""

    operand: "TypedNode"
    pattern: "TypedNode"
    is_negated: bool
    type: BooleanType = BOOLEAN


@dataclass(frozen=True, slots=True)
class TypedNullCheck(TreeNode):
    """IS [NOT] NULL."""

    operand: "TypedNode"
    is_negated: bool
    type: BooleanType = BOOLEAN


@dataclass(frozen=True, slots=True)
class TypedCase(TreeNode):
    """CASE."""

    branches: "tuple[tuple[TypedNode, TypedNode], ...]"
    otherwise: "TypedNode | None"
    type: ColumnType


@dataclass(frozen=True, slots=True)
class TypedCall(TreeNode):
    """A function of the table with its arguments."""

    function: "Function"
    arguments: "tuple[TypedNode, ...]"
    type: ColumnType


@dataclass(frozen=True, slots=True)
class TypedWindow(TreeNode):
    """A call over rows of the same operation: those that are equal in `partition`, in the order of `order`.

    Every part of the order has whether it is descending. Without an order the call is over all rows of the partition,
    otherwise over those up to the row itself.
    """

    call: TypedCall
    partition: "tuple[TypedNode, ...]"
    order: "tuple[tuple[TypedNode, bool], ...]"
    type: ColumnType


@dataclass(frozen=True, slots=True)
class InvalidNode(TreeNode):
    """Replaces a node with an error; its type fits every other type, so that one error is reported once."""

    type: NullType = NULL


TypedNode: TypeAlias = (
    LiteralValue
    | ColumnValue
    | ConstantValue
    | ParameterValue
    | AllRows
    | Conversion
    | Arithmetic
    | TypedNegation
    | TypedNot
    | TypedLogical
    | TypedComparison
    | TypedMembership
    | TypedBetween
    | TypedLike
    | TypedNullCheck
    | TypedCase
    | TypedCall
    | TypedWindow
    | InvalidNode
)
