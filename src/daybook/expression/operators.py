"""Operators on typed operands: which type comes out, and which conversions go in."""

from decimal import Decimal
from itertools import combinations

from daybook.expression import decimals
from daybook.expression.functions.declaration import OperandError
from daybook.expression.syntax_tree import ArithmeticOperator
from daybook.expression.type_rules import common_type, describe_type, is_number
from daybook.expression.typed_tree import Arithmetic, Conversion, LiteralValue, TypedNode
from daybook.model.types import FLOAT, INTEGER, ColumnType, DecimalType, FloatType, IntegerType, NullType, StringType

_RESULT_NAMES = {"+": "The sum", "-": "The difference", "*": "The product", "/": "The quotient", "%": "The remainder"}


def type_arithmetic(operator: ArithmeticOperator, left: TypedNode, right: TypedNode) -> TypedNode:
    for operand in (left, right):
        if not is_number(operand.type) and not isinstance(operand.type, NullType):
            raise OperandError(
                "EXPR_021",
                hint=_operand_hint(operator, left, right),
                operator=operator,
                expected="numbers",
                found=describe_type(operand.type),
            )
    left, right = _typed_null(left, right), _typed_null(right, left)
    if isinstance(left.type, FloatType) or isinstance(right.type, FloatType):
        return Arithmetic(operator, as_float_literal(left), as_float_literal(right), FLOAT)
    if isinstance(left.type, IntegerType) and isinstance(right.type, IntegerType):
        if operator != "/":
            return Arithmetic(operator, left, right, INTEGER)
        left = _explicit_decimal(left)
    left, right = as_decimal_literal(left), as_decimal_literal(right)
    return Arithmetic(operator, left, right, _decimal_type(operator, decimal_type_of(left), decimal_type_of(right)))


def widen_operands(operands: tuple[TypedNode, ...], common: ColumnType) -> tuple[TypedNode, ...]:
    """Values of one choice, converted where Spark would not do it the same way by itself."""
    operands = tuple(retype_literal(operand, common) for operand in operands)
    if not isinstance(common, DecimalType) or _are_exact(operands):
        return operands
    # Past 38 digits Spark would drop digits after the point; we keep them and let a value that is too large fail.
    return tuple(operand if operand.type == common else Conversion(operand, common) for operand in operands)


def make_comparable(operands: tuple[TypedNode, ...], common: ColumnType) -> tuple[tuple[TypedNode, ...], bool]:
    """Operands of one comparison, and whether no decimal type holds them all, so that Spark would drop digits."""
    operands = tuple(retype_literal(operand, common) for operand in operands)
    return operands, isinstance(common, DecimalType) and not _are_exact(operands)


def _are_exact(operands: tuple[TypedNode, ...]) -> bool:
    return decimals.is_exact(
        [decimal_type_of(each) for each in operands if isinstance(each.type, DecimalType | IntegerType)]
    )


def common_operand_type(operands: tuple[TypedNode, ...]) -> ColumnType | None:
    """The common type, integers that were written out counting with their digits only."""
    kinds = [operand.type for operand in operands]
    if any(isinstance(kind, DecimalType) for kind in kinds):
        kinds = [as_decimal_literal(operand).type for operand in operands]
    return common_type(kinds)


def find_type_clash(operands: tuple[TypedNode, ...]) -> tuple[ColumnType, ColumnType]:
    """The first two types among the operands that do not go together."""
    kinds = [operand.type for operand in operands]
    return next(pair for pair in combinations(kinds, 2) if common_type(pair) is None)


def retype_literal(operand: TypedNode, target: ColumnType) -> TypedNode:
    """A literal takes the type of what it meets; NULL always does."""
    if isinstance(operand.type, NullType) and not isinstance(target, NullType):
        return LiteralValue(None, target) if isinstance(operand, LiteralValue) else Conversion(operand, target)
    match target:
        case DecimalType():
            return as_decimal_literal(operand)
        case FloatType():
            return as_float_literal(operand)
        case _:
            return operand


def as_decimal_literal(operand: TypedNode) -> TypedNode:
    match operand:
        case LiteralValue(int() as value, IntegerType()):
            return LiteralValue(value, decimals.of_literal(value))
        case _:
            return operand


def as_float_literal(operand: TypedNode) -> TypedNode:
    match operand:
        case LiteralValue(int() | Decimal() as value, IntegerType() | DecimalType()):
            return LiteralValue(float(value), FLOAT)
        case _:
            return operand


def decimal_type_of(operand: TypedNode) -> DecimalType:
    """The decimal Spark takes an integer or decimal operand for."""
    return operand.type if isinstance(operand.type, DecimalType) else decimals.INTEGER_AS_DECIMAL


def _explicit_decimal(operand: TypedNode) -> TypedNode:
    literal = as_decimal_literal(operand)
    return literal if literal is not operand else Conversion(operand, decimals.INTEGER_AS_DECIMAL)


def _typed_null(operand: TypedNode, other: TypedNode) -> TypedNode:
    if not isinstance(operand.type, NullType):
        return operand
    return retype_literal(operand, INTEGER if isinstance(other.type, NullType) else other.type)


def _decimal_type(operator: ArithmeticOperator, left: DecimalType, right: DecimalType) -> DecimalType:
    match operator:
        case "+" | "-":
            return decimals.added(left, right)
        case "*":
            if product := decimals.multiplied(left, right):
                return product
            scale = left.scale + right.scale
            raise OperandError("EXPR_025", name=_RESULT_NAMES[operator], left=left, right=right, scale=scale)
        case "/":
            return decimals.divided(left, right)
        case "%":
            return decimals.remainder(left, right)


def _operand_hint(operator: str, left: TypedNode, right: TypedNode) -> str | None:
    if isinstance(left.type, StringType) or isinstance(right.type, StringType):
        return "CONCAT(a, b) joins texts" if operator == "+" else "TO_NUMBER reads a number from a text"
    if operator in "+-" and not is_number(left.type):
        return "DATEADD(date, days) moves a date, DATEDIFF(end, start) counts the days between two"
    return None
