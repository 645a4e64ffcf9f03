"""The typed tree: every name resolved, every node with its type, every conversion explicit or Spark's own."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from daybook.expression.quoting import Value
from daybook.expression.scope import ColumnUse
from daybook.expression.syntax_tree import ArithmeticOperator, ComparisonOperator, LogicalOperator
from daybook.model.types import BOOLEAN, NULL, BooleanType, ColumnType, NullType

if TYPE_CHECKING:
    from daybook.expression.functions.declaration import Function

ConstantName = Literal["now", "today", "identifier", "level", "start_date", "end_date"]


@dataclass(frozen=True, slots=True)
class LiteralValue:
    value: Value
    type: ColumnType


@dataclass(frozen=True, slots=True)
class ColumnValue:
    use: ColumnUse
    type: ColumnType


@dataclass(frozen=True, slots=True)
class ConstantValue:
    """Known when the run starts: its timestamp and its period."""

    name: ConstantName
    type: ColumnType


@dataclass(frozen=True, slots=True)
class AllRows:
    """The `*` of `COUNT(*)`."""

    type: NullType = NULL


@dataclass(frozen=True, slots=True)
class Conversion:
    """A conversion Spark would not make by itself, or would make otherwise."""

    operand: "TypedNode"
    type: ColumnType


@dataclass(frozen=True, slots=True)
class Arithmetic:
    operator: ArithmeticOperator
    left: "TypedNode"
    right: "TypedNode"
    type: ColumnType


@dataclass(frozen=True, slots=True)
class TypedNegation:
    """Unary minus."""

    operand: "TypedNode"
    type: ColumnType


@dataclass(frozen=True, slots=True)
class TypedNot:
    """NOT."""

    operand: "TypedNode"
    type: BooleanType = BOOLEAN


@dataclass(frozen=True, slots=True)
class TypedLogical:
    """AND or OR."""

    operator: LogicalOperator
    operands: "tuple[TypedNode, ...]"
    type: BooleanType = BOOLEAN


@dataclass(frozen=True, slots=True)
class TypedComparison:
    """`is_split`: the operands have no decimal type in common, so their whole parts and the rest compare apart."""

    operator: ComparisonOperator
    left: "TypedNode"
    right: "TypedNode"
    type: BooleanType = BOOLEAN
    is_split: bool = False


@dataclass(frozen=True, slots=True)
class TypedMembership:
    """[NOT] IN."""

    operand: "TypedNode"
    choices: "tuple[TypedNode, ...]"
    is_negated: bool
    type: BooleanType = BOOLEAN
    is_split: bool = False


@dataclass(frozen=True, slots=True)
class TypedBetween:
    """[NOT] BETWEEN."""

    operand: "TypedNode"
    low: "TypedNode"
    high: "TypedNode"
    is_negated: bool
    type: BooleanType = BOOLEAN
    is_split: bool = False


@dataclass(frozen=True, slots=True)
class TypedLike:
    """[NOT] LIKE."""

    operand: "TypedNode"
    pattern: "TypedNode"
    is_negated: bool
    type: BooleanType = BOOLEAN


@dataclass(frozen=True, slots=True)
class TypedNullCheck:
    """IS [NOT] NULL."""

    operand: "TypedNode"
    is_negated: bool
    type: BooleanType = BOOLEAN


@dataclass(frozen=True, slots=True)
class TypedCase:
    """CASE."""

    branches: "tuple[tuple[TypedNode, TypedNode], ...]"
    otherwise: "TypedNode | None"
    type: ColumnType


@dataclass(frozen=True, slots=True)
class TypedCall:
    """A function of the table with its arguments."""

    function: "Function"
    arguments: "tuple[TypedNode, ...]"
    type: ColumnType


@dataclass(frozen=True, slots=True)
class InvalidNode:
    """Stands where an error was reported; its type goes with everything, so that one error stays one."""

    type: NullType = NULL


TypedNode: TypeAlias = (
    LiteralValue
    | ColumnValue
    | ConstantValue
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
    | InvalidNode
)
