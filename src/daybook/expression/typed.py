"""The typed tree: every name resolved, every node with its type, every conversion explicit or Spark's own."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from daybook.expression.nodes import ArithmeticOperator, ComparisonOperator, LogicalOperator
from daybook.expression.quoting import Value
from daybook.expression.scope import ColumnUse
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

    operand: "Typed"
    type: ColumnType


@dataclass(frozen=True, slots=True)
class Arithmetic:
    operator: ArithmeticOperator
    left: "Typed"
    right: "Typed"
    type: ColumnType


@dataclass(frozen=True, slots=True)
class Negative:
    """Unary minus."""

    operand: "Typed"
    type: ColumnType


@dataclass(frozen=True, slots=True)
class Inverse:
    """NOT."""

    operand: "Typed"
    type: BooleanType = BOOLEAN


@dataclass(frozen=True, slots=True)
class Junction:
    """AND or OR."""

    operator: LogicalOperator
    operands: "tuple[Typed, ...]"
    type: BooleanType = BOOLEAN


@dataclass(frozen=True, slots=True)
class Compared:
    """`is_split`: the operands have no decimal type in common, so their whole parts and the rest compare apart."""

    operator: ComparisonOperator
    left: "Typed"
    right: "Typed"
    type: BooleanType = BOOLEAN
    is_split: bool = False


@dataclass(frozen=True, slots=True)
class OneOf:
    """[NOT] IN."""

    operand: "Typed"
    choices: "tuple[Typed, ...]"
    is_negated: bool
    type: BooleanType = BOOLEAN
    is_split: bool = False


@dataclass(frozen=True, slots=True)
class InRange:
    """[NOT] BETWEEN."""

    operand: "Typed"
    low: "Typed"
    high: "Typed"
    is_negated: bool
    type: BooleanType = BOOLEAN
    is_split: bool = False


@dataclass(frozen=True, slots=True)
class Matches:
    """[NOT] LIKE."""

    operand: "Typed"
    pattern: "Typed"
    is_negated: bool
    type: BooleanType = BOOLEAN


@dataclass(frozen=True, slots=True)
class IsNull:
    """IS [NOT] NULL."""

    operand: "Typed"
    is_negated: bool
    type: BooleanType = BOOLEAN


@dataclass(frozen=True, slots=True)
class Choice:
    """CASE."""

    branches: "tuple[tuple[Typed, Typed], ...]"
    otherwise: "Typed | None"
    type: ColumnType


@dataclass(frozen=True, slots=True)
class Applied:
    """A function of the table with its arguments."""

    function: "Function"
    arguments: "tuple[Typed, ...]"
    type: ColumnType


@dataclass(frozen=True, slots=True)
class Broken:
    """Stands where an error was reported; its type goes with everything, so that one error stays one."""

    type: NullType = NULL


Typed: TypeAlias = (
    LiteralValue
    | ColumnValue
    | ConstantValue
    | AllRows
    | Conversion
    | Arithmetic
    | Negative
    | Inverse
    | Junction
    | Compared
    | OneOf
    | InRange
    | Matches
    | IsNull
    | Choice
    | Applied
    | Broken
)
