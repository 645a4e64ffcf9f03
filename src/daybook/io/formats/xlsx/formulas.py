"""Aggregations and expressions as formulas of a spreadsheet."""

from dataclasses import dataclass, field
from decimal import Decimal

from daybook.expression.typed_tree import (
    AllRows,
    Arithmetic,
    ColumnValue,
    Conversion,
    LiteralValue,
    TypedCall,
    TypedCase,
    TypedNegation,
    TypedNode,
    TypedNullCheck,
)
from daybook.io.formats.xlsx.cells import SIGNIFICANT_DIGITS
from daybook.model.types import (
    INTEGER,
    ColumnType,
    DateType,
    DecimalType,
    FloatType,
    IntegerType,
    TimestampType,
)
from daybook.plan.steps import ComputedColumn

_ARITHMETIC = ("+", "-", "*", "/")
_NUMBERS = (IntegerType, DecimalType, FloatType)
_ORDERED = (*_NUMBERS, DateType, TimestampType)
_FUNCTIONS = {"SUM": "SUM", "AVG": "AVERAGE", "MIN_AGG": "MIN", "MAX_AGG": "MAX"}


class NoFormulaError(Exception):
    """Why a value cannot be a formula."""


@dataclass(frozen=True, slots=True)
class Formula:
    """`template` has `{0}`, `{1}` for the cells of `arguments`, which are computed for every detail row."""

    template: str
    arguments: tuple[TypedNode, ...]


def aggregation_formula(value: ComputedColumn) -> Formula:
    """The formula of an aggregation, rounded as Daybook rounds; NoFormulaError where there is none."""
    compiler = _FormulaCompiler()
    tree = value.expression.tree
    text = compiler.compile(tree)
    if isinstance(value.type, IntegerType) and not isinstance(tree.type, IntegerType):
        text = f"ROUND({text},0)"
    return Formula(_rounded(text, value.type), tuple(compiler.arguments))


@dataclass
class _FormulaCompiler:
    arguments: list[TypedNode] = field(default_factory=list)

    def compile(self, node: TypedNode) -> str:
        match node:
            case LiteralValue(value=int() | Decimal() as value) if not isinstance(value, bool):
                return _number(Decimal(value))
            case Arithmetic(operator, left, right, type_) if operator in _ARITHMETIC:
                text = f"({self.compile(left)}{operator}{self.compile(right)})"
                # A quotient is cut to the places of its type before it is used any further.
                return _rounded(text, type_) if operator == "/" else text
            case Arithmetic(operator):
                raise NoFormulaError(f"{operator} has no formula")
            case TypedNegation(operand):
                return f"(-{self.compile(operand)})"
            case Conversion(operand, type_) if isinstance(type_, _NUMBERS) and isinstance(operand.type, _NUMBERS):
                return _rounded(self.compile(operand), type_)
            case TypedCall(function, (operand, *places), type_):
                return self._call(function.name, operand, places, type_)
            case TypedCall(function):
                return self._call(function.name, AllRows(), [], INTEGER)
            case ColumnValue(use):
                raise NoFormulaError(f"it uses {use.name} outside of an aggregate function")
            case _:
                raise NoFormulaError("it has a condition, a text or a date")

    def _call(self, name: str, operand: TypedNode, places: list[TypedNode], type_: ColumnType) -> str:
        match name:
            case "COUNT_ALL":
                return f"ROWS({self._cells(AllRows())})"
            case "COUNT":
                is_all = isinstance(operand, AllRows)
                return f"{'ROWS' if is_all else 'COUNT'}({self._cells(operand if is_all else _counted(operand))})"
            case "SUM" | "AVG" | "MIN_AGG" | "MAX_AGG":
                if not isinstance(operand.type, _ORDERED):
                    raise NoFormulaError(f"{name} of a text has no formula")
                text = f"{_FUNCTIONS[name]}({self._cells(operand)})"
                return _rounded(text, type_) if name == "AVG" else text
            case "ABS":
                return f"ABS({self.compile(operand)})"
            case "ROUND":
                return f"ROUND({self.compile(operand)},{self.compile(places[0]) if places else 0})"
            case _:
                raise NoFormulaError(f"{name} has no formula")

    def _cells(self, argument: TypedNode) -> str:
        """The cell range of an argument; COUNT(*) uses any column."""
        if argument not in self.arguments:
            self.arguments.append(argument)
        return f"{{{self.arguments.index(argument)}}}"


def _counted(operand: TypedNode) -> TypedNode:
    """Texts are counted by a number beside them, since spreadsheets differ in what an empty text is."""
    if isinstance(operand.type, _ORDERED):
        return operand
    return TypedCase(((TypedNullCheck(operand, is_negated=True), LiteralValue(1, INTEGER)),), None, INTEGER)


def _rounded(text: str, type_: ColumnType) -> str:
    """Spreadsheets compute with floats; rounding gives back the exact decimal."""
    if not isinstance(type_, DecimalType) or text.startswith(("COUNT(", "ROWS(")):
        return text
    rounded = f"ROUND({text},{type_.scale})"
    return text if text.startswith("ROUND(") and text.endswith(f",{type_.scale})") and _is_one_call(text) else rounded


def _is_one_call(text: str) -> bool:
    """Whether the first parenthesis is closed by the last."""
    depth = 0
    for position, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth == 0 and character == ")":
            return position == len(text) - 1
    return False


def _number(value: Decimal) -> str:
    text = f"{value.normalize():f}"
    if len(text.lstrip("-0.").replace(".", "")) > SIGNIFICANT_DIGITS:
        raise NoFormulaError(f"{text} has more than {SIGNIFICANT_DIGITS} digits")
    return text
