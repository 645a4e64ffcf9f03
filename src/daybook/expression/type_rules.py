"""The rules of types: operators on typed operands, values for declared columns, and decimal arithmetic.

Decimals follow Spark's rules with allowPrecisionLoss=false. Scale is never reduced: where the rules would need more
than 38 digits after the point, the answer is None. Precision stops at 38; a value that needs more fails the run.
"""

from collections.abc import Iterable
from decimal import Decimal
from itertools import combinations

from daybook.errors import DaybookError
from daybook.expression.functions.function import OperandError
from daybook.expression.syntax_tree import ArithmeticOperator
from daybook.expression.typed_tree import Arithmetic, Conversion, LiteralValue, ParameterValue, TypedNode
from daybook.model.types import (
    BOOLEAN,
    DATE,
    FLOAT,
    INTEGER,
    MAX_DIGITS,
    NULL,
    STRING,
    TIMESTAMP,
    BooleanType,
    ColumnType,
    DateType,
    DecimalType,
    FloatType,
    IntegerType,
    NullType,
    StringType,
    TimestampType,
)

# What Spark takes a 64-bit integer for when it meets a decimal.
INTEGER_AS_DECIMAL = DecimalType(20, 0)

_MIN_QUOTIENT_SCALE = 6
_SUM_DIGITS = 10
AVERAGE_DIGITS = 4


def of_literal(value: int | Decimal) -> DecimalType:
    """As many digits as were written."""
    if isinstance(value, int):
        return DecimalType(len(str(abs(value))), 0)
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    return DecimalType(max(len(digits), -exponent), -exponent)


def added(left: DecimalType, right: DecimalType) -> DecimalType:
    scale = max(left.scale, right.scale)
    return _bounded(max(_whole(left), _whole(right)) + scale + 1, scale)


def multiplied(left: DecimalType, right: DecimalType) -> DecimalType | None:
    scale = left.scale + right.scale
    return _bounded(left.precision + right.precision + 1, scale) if scale <= MAX_DIGITS else None


def divided(left: DecimalType, right: DecimalType) -> DecimalType:
    whole = min(MAX_DIGITS, _whole(left) + right.scale)
    scale = min(MAX_DIGITS, max(_MIN_QUOTIENT_SCALE, left.scale + right.precision + 1))
    excess = whole + scale - MAX_DIGITS
    if excess > 0:
        scale -= excess // 2 + 1
        whole = MAX_DIGITS - scale
    return _bounded(whole + scale, scale)


def remainder(left: DecimalType, right: DecimalType) -> DecimalType:
    scale = max(left.scale, right.scale)
    return _bounded(min(_whole(left), _whole(right)) + scale, scale)


def common(left: DecimalType, right: DecimalType) -> DecimalType:
    """The narrowest type with every digit of both; stops at 38 digits, keeping the scale."""
    scale = max(left.scale, right.scale)
    return _bounded(max(_whole(left), _whole(right)) + scale, scale)


def is_exact(types: list[DecimalType]) -> bool:
    """Whether one type holds every value of all these types."""
    return max(map(_whole, types)) + max(type_.scale for type_ in types) <= MAX_DIGITS


def rounded(value: DecimalType, places: int) -> DecimalType:
    whole = _whole(value) + 1
    if places < 0:
        return _bounded(max(whole, 1 - places), 0)
    scale = min(value.scale, places)
    return _bounded(whole + scale, scale)


def whole_part(value: DecimalType) -> DecimalType:
    """What FLOOR and CEIL give."""
    return _bounded(_whole(value) + (1 if value.scale else 0), 0)


def summed(value: DecimalType) -> DecimalType:
    return DecimalType(MAX_DIGITS, value.scale)


def averaged(value: DecimalType) -> DecimalType | None:
    scale = value.scale + AVERAGE_DIGITS
    return _bounded(value.precision + AVERAGE_DIGITS, scale) if scale <= MAX_DIGITS else None


def summed_by_spark(value: DecimalType) -> DecimalType:
    """What Spark itself types SUM as, before we widen it to 38 digits."""
    return _bounded(value.precision + _SUM_DIGITS, value.scale)


def _whole(value: DecimalType) -> int:
    return value.precision - value.scale


def _bounded(precision: int, scale: int) -> DecimalType:
    return DecimalType(min(precision, MAX_DIGITS), scale)


_DIGITS_OF_EXACT_MINUS = 34

NUMBER_TYPES = (IntegerType, DecimalType, FloatType)


def is_number(column_type: ColumnType) -> bool:
    return isinstance(column_type, NUMBER_TYPES)


def common_type(types: Iterable[ColumnType]) -> ColumnType | None:
    """The narrowest type that holds all values of these types; None when their kinds do not go together."""
    common: ColumnType | None = NULL
    for type_ in types:
        common = _common_type_of_two(common, type_)
    return common


def _common_type_of_two(left: ColumnType | None, right: ColumnType) -> ColumnType | None:
    match left, right:
        case None, _:
            return None
        case (NullType(), other) | (other, NullType()):
            return other
        case (FloatType(), IntegerType() | DecimalType()) | (IntegerType() | DecimalType(), FloatType()):
            return FLOAT
        case (DecimalType() as value, IntegerType()) | (IntegerType(), DecimalType() as value):
            return common(value, INTEGER_AS_DECIMAL)
        case DecimalType() as first, DecimalType() as second:
            return common(first, second)
        case _:
            return left if left == right else None


def fits(source: ColumnType, target: ColumnType) -> bool:
    """Whether values of one type can stand in a column of another: widened, or rounded to its scale."""
    return source == target or isinstance(source, NullType) or (is_number(source) and is_number(target))


def spark_type(column_type: ColumnType) -> str:
    """The type's name in Spark SQL."""
    match column_type:
        case DecimalType(precision, scale):
            return f"DECIMAL({precision},{scale})"
        case NullType():
            return "VOID"
        case _:
            return _SPARK_NAMES[column_type]


_SPARK_NAMES: dict[ColumnType, str] = {
    STRING: "STRING",
    INTEGER: "BIGINT",
    FLOAT: "DOUBLE",
    BOOLEAN: "BOOLEAN",
    DATE: "DATE",
    TIMESTAMP: "TIMESTAMP",
}


def describe_type(column_type: ColumnType) -> str:
    """The type in a message: what a user calls such a value."""
    match column_type:
        case StringType():
            return "a text"
        case IntegerType():
            return "an integer"
        case DecimalType() | FloatType():
            return f"a {column_type}"
        case BooleanType():
            return "a boolean"
        case DateType():
            return "a date"
        case TimestampType():
            return "a timestamp"
        case NullType():
            return "NULL"


def is_negated_exactly(column_type: ColumnType) -> bool:
    """Spark's unary minus silently rounds decimals of more than 34 digits."""
    return not isinstance(column_type, DecimalType) or column_type.precision <= _DIGITS_OF_EXACT_MINUS


def negate_sql(sql: str, column_type: ColumnType) -> str:
    """The SQL of unary minus, exact for every number."""
    if isinstance(column_type, IntegerType):
        # Where there is nothing on the other side of the smallest number, only a difference fails with its place.
        return f"0L - ({sql})"
    if is_negated_exactly(column_type):
        return f"-({sql})"
    # Below 38 digits the difference is one digit wider than the number.
    difference = f"0BD - ({sql})"
    return (
        f"CAST({difference} AS {spark_type(column_type)})" if column_type != _widest_type(column_type) else difference
    )


def _widest_type(column_type: ColumnType) -> ColumnType:
    return DecimalType(MAX_DIGITS, column_type.scale) if isinstance(column_type, DecimalType) else column_type


def comparison_hint(left: ColumnType, right: ColumnType) -> str | None:
    """How two kinds that do not compare can be brought together."""
    match left, right:
        case (DateType(), TimestampType()) | (TimestampType(), DateType()):
            return "DATE(timestamp) is its day, TIMESTAMP(date) is its start"
        case (StringType(), DateType() | TimestampType()) | (DateType() | TimestampType(), StringType()):
            return 'write dates as DATE("2026-01-31"), timestamps as TIMESTAMP("2026-01-31T00:00:00Z")'
        case (StringType(), other) | (other, StringType()) if is_number(other):
            return "write texts in quotes and numbers without; TO_NUMBER reads a number from a text"
        case _:
            return None


# Every whole number of so many digits fits 64 bits.
_DIGITS_OF_ANY_INTEGER = 18


def cast_sql(sql: str, source: ColumnType, target: ColumnType) -> str:
    """SQL of exactly the target type: widened, or rounded half away from zero to its scale.

    A value that does not fit fails the run as ANSI casts do.
    """
    if source == target:
        return sql
    if not fits(source, target):
        raise DaybookError("EXPR_029", source=source, target=target)
    match source, target:
        case FloatType(), DecimalType():
            return _cast(_cast_to_text(sql), target)
        case FloatType(), IntegerType():
            whole = _cast(_cast_to_text(sql), DecimalType(MAX_DIGITS, 0))
            return _cast(_cast_to_text(whole), target)
        case DecimalType(precision, scale), IntegerType():
            whole = f"ROUND({sql}, 0)" if scale else sql
            fits_always = precision - scale < _DIGITS_OF_ANY_INTEGER
            return _cast(whole if fits_always else _cast_to_text(whole), target)
        case _:
            return _cast(sql, target)


def _cast(sql: str, target: ColumnType) -> str:
    return f"CAST({sql} AS {spark_type(target)})"


def _cast_to_text(sql: str) -> str:
    """Casts from text always fail with the fragment quoted; those of doubles silently turn NaN into NULL."""
    return f"CAST({sql} AS STRING)"


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
    left, right = _decimal_operand(left), _decimal_operand(right)
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
    return is_exact(
        [decimal_type_of(operand) for operand in operands if isinstance(operand.type, DecimalType | IntegerType)]
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
            return LiteralValue(value, of_literal(value))
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
    return operand.type if isinstance(operand.type, DecimalType) else INTEGER_AS_DECIMAL


def _explicit_decimal(operand: TypedNode) -> TypedNode:
    literal = as_decimal_literal(operand)
    return literal if literal is not operand else Conversion(operand, INTEGER_AS_DECIMAL)


def _decimal_operand(operand: TypedNode) -> TypedNode:
    """Spark sees the value of a parameter as a literal, and would take it for a decimal of no more than its digits."""
    if isinstance(operand, ParameterValue) and isinstance(operand.type, IntegerType):
        return Conversion(operand, INTEGER_AS_DECIMAL)
    return as_decimal_literal(operand)


def _typed_null(operand: TypedNode, other: TypedNode) -> TypedNode:
    if not isinstance(operand.type, NullType):
        return operand
    return retype_literal(operand, INTEGER if isinstance(other.type, NullType) else other.type)


def _decimal_type(operator: ArithmeticOperator, left: DecimalType, right: DecimalType) -> DecimalType:
    match operator:
        case "+" | "-":
            return added(left, right)
        case "*":
            if product := multiplied(left, right):
                return product
            scale = left.scale + right.scale
            raise OperandError("EXPR_025", name=_RESULT_NAMES[operator], left=left, right=right, scale=scale)
        case "/":
            return divided(left, right)
        case "%":
            return remainder(left, right)


def _operand_hint(operator: str, left: TypedNode, right: TypedNode) -> str | None:
    if isinstance(left.type, StringType) or isinstance(right.type, StringType):
        return "CONCAT(a, b) joins texts" if operator == "+" else "TO_NUMBER reads a number from a text"
    if operator in "+-" and not is_number(left.type):
        return "DATEADD(date, days) moves a date, DATEDIFF(end, start) counts the days between two"
    return None
