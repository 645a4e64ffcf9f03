"""Evaluates the `when` of a rule for a period and a table, with NULL as in expressions and without Spark."""

import calendar as civil
import datetime
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import assert_never

from daybook.errors import DaybookError, Span
from daybook.expression.compiler import CompiledExpression, compile_expression
from daybook.expression.typed_tree import (
    AllRows,
    Arithmetic,
    ColumnValue,
    ConstantValue,
    Conversion,
    InvalidNode,
    LiteralValue,
    ParameterValue,
    Scope,
    TypedBetween,
    TypedCall,
    TypedCase,
    TypedComparison,
    TypedLike,
    TypedLogical,
    TypedMembership,
    TypedNegation,
    TypedNode,
    TypedNot,
    TypedNullCheck,
    TypedWindow,
)
from daybook.model.calendar import Period
from daybook.model.types import STRING, IntegerType, NullType, Value

ConditionFunction = Callable[..., Value]


def compare_values(operator: str, left: Value, right: Value) -> bool | None:
    """A comparison; NULL on either side gives NULL. Texts are ordered by their characters' code points."""
    match left, right:
        case (None, _) | (_, None):
            return None
        case str(), str():
            order = (left > right) - (left < right)
        case datetime.date(), datetime.date():
            order = (left > right) - (left < right)
        case (int() | Decimal(), int() | Decimal()):
            order = (left > right) - (left < right)
        case _:
            raise TypeError(f"{left!r} and {right!r} do not compare")
    match operator:
        case "=":
            return order == 0
        case "<>":
            return order != 0
        case "<":
            return order < 0
        case "<=":
            return order <= 0
        case ">":
            return order > 0
        case _:
            return order >= 0


def conjunction(*values: Value) -> bool | None:
    if any(value is False for value in values):
        return False
    return None if any(value is None for value in values) else True


def disjunction(*values: Value) -> bool | None:
    if any(value is True for value in values):
        return True
    return None if any(value is None for value in values) else False


def sql_remainder(left: int, right: int) -> int | None:
    """With the sign of the left side, as in SQL; NULL where the right side is zero."""
    if right == 0:
        return None
    return abs(left) % abs(right) * (-1 if left < 0 else 1)


def matches_like(text: Value, pattern: Value) -> bool | None:
    """`%` is any text, `_` any character, nothing else is special."""
    if not isinstance(text, str) or not isinstance(pattern, str):
        return None
    at, pattern_at, retry = 0, 0, None
    while at < len(text):
        if pattern_at < len(pattern) and pattern[pattern_at] == "%":
            retry = (at, pattern_at)
            pattern_at += 1
        elif pattern_at < len(pattern) and pattern[pattern_at] in ("_", text[at]):
            at, pattern_at = at + 1, pattern_at + 1
        elif retry is not None:
            # The last % takes one character more; earlier ones never have to.
            retry = (retry[0] + 1, retry[1])
            at, pattern_at = retry[0], retry[1] + 1
        else:
            return False
    return not pattern[pattern_at:].strip("%")


def _null_on_null(evaluate: ConditionFunction) -> ConditionFunction:
    """NULL for a NULL argument."""

    def evaluated(*values: Value) -> Value:
        return None if any(value is None for value in values) else evaluate(*values)

    return evaluated


def _substring(text: str, start: int, length: int | None = None) -> str:
    begin = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    end = len(text) if length is None else begin + length
    return text[max(begin, 0) : max(end, 0)]


def _add_days(day: datetime.date, days: int) -> datetime.date:
    try:
        return day + datetime.timedelta(days=days)
    except OverflowError:
        raise DaybookError("RESOLVE_049", operator="DATEADD", left=day, right=days) from None


def _end_of_month(day: datetime.date, months: int = 0) -> datetime.date:
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    if not datetime.MINYEAR <= year <= datetime.MAXYEAR:
        raise DaybookError("RESOLVE_049", operator="EOMONTH", left=day, right=months)
    return datetime.date(year, month + 1, civil.monthrange(year, month + 1)[1])


def _replace(text: str, part: str, by: str) -> str:
    return text.replace(part, by) if part else text


CONDITION_FUNCTIONS: Mapping[str, ConditionFunction] = {
    "IF": lambda condition, then, otherwise: then if condition is True else otherwise,
    "AND": conjunction,
    "OR": disjunction,
    "NOT": _null_on_null(lambda condition: not condition),
    "ISNULL": lambda value: value is None,
    "COALESCE": lambda *values: next((value for value in values if value is not None), None),
    "NULLIF": lambda value, other: None if value is not None and value == other else value,
    "CONCAT": _null_on_null(lambda *texts: "".join(texts)),
    "UPPER": _null_on_null(str.upper),
    "LOWER": _null_on_null(str.lower),
    "TRIM": _null_on_null(lambda text: text.strip(" ")),
    "LEFT": _null_on_null(lambda text, length: text[: max(length, 0)]),
    "RIGHT": _null_on_null(lambda text, length: text[-length:] if length > 0 else ""),
    "SUBSTRING": _null_on_null(_substring),
    "LEN": _null_on_null(len),
    "CONTAINS": _null_on_null(lambda text, part: part in text),
    "STARTS_WITH": _null_on_null(str.startswith),
    "ENDS_WITH": _null_on_null(str.endswith),
    "REPLACE": _null_on_null(_replace),
    "YEAR": _null_on_null(lambda day: day.year),
    "QUARTER": _null_on_null(lambda day: (day.month + 2) // 3),
    "MONTH": _null_on_null(lambda day: day.month),
    "DAY": _null_on_null(lambda day: day.day),
    "DATEDIFF": _null_on_null(lambda end, start: (end - start).days),
    "DATEADD": _null_on_null(_add_days),
    "EOMONTH": _null_on_null(_end_of_month),
}


CONDITION_SCOPE = Scope(columns={}, qualifiers={"table": {"name": STRING}})


def compile_condition(when: str, *, span: Span | None = None) -> CompiledExpression:
    """A `when` that can be answered before any data is read; `span` is the position of its text."""
    try:
        return _compiled(when)
    except DaybookError:
        return _compile_at(when, span)


@lru_cache(maxsize=1024)
def _compiled(when: str) -> CompiledExpression:
    """Compiled once, however many datasets and periods ask."""
    return _compile_at(when, None)


def _compile_at(when: str, span: Span | None) -> CompiledExpression:
    compiled = compile_expression(when, CONDITION_SCOPE, span=span, expect="boolean")
    for what in _unsupported_parts(compiled.tree):
        raise DaybookError("RESOLVE_048", span=span, what=what)
    return compiled


def evaluate_condition(when: str, period: Period, table_name: str) -> bool | None:
    """True, false, or None where the language says NULL."""
    answer = _ConditionEvaluator(period, table_name).value(compile_condition(when).tree)
    if answer is None or isinstance(answer, bool):
        return answer
    raise TypeError(f"a condition gave {answer!r}")


@dataclass(frozen=True, slots=True)
class _ConditionEvaluator:
    """What a condition can know."""

    period: Period
    table_name: str

    def value(self, node: TypedNode) -> Value:
        match node:
            case LiteralValue(value):
                return value
            case ColumnValue():
                return self.table_name
            case ConstantValue(name):
                return self._constant(name)
            case Conversion(operand):
                return self.value(operand)
            case TypedNegation(operand):
                value = self.value(operand)
                return -value if isinstance(value, int | Decimal) else None
            case Arithmetic(operator, left, right):
                return _compute(operator, self.value(left), self.value(right))
            case TypedNot(operand):
                return _negate(self.value(operand))
            case TypedLogical(operator, operands):
                join = conjunction if operator == "AND" else disjunction
                return join(*(self.value(operand) for operand in operands))
            case TypedComparison(operator, left, right):
                return compare_values(operator, self.value(left), self.value(right))
            case TypedMembership(operand, choices, is_negated):
                value = self.value(operand)
                is_among = disjunction(*(compare_values("=", value, self.value(choice)) for choice in choices))
                return _negate(is_among) if is_negated else is_among
            case TypedBetween(operand, low, high, is_negated):
                value = self.value(operand)
                inside = conjunction(
                    compare_values(">=", value, self.value(low)), compare_values("<=", value, self.value(high))
                )
                return _negate(inside) if is_negated else inside
            case TypedLike(operand, pattern, is_negated):
                is_like = matches_like(self.value(operand), self.value(pattern))
                return _negate(is_like) if is_negated else is_like
            case TypedNullCheck(operand, is_negated):
                return (self.value(operand) is None) is not is_negated
            case TypedCase(branches, otherwise):
                for condition, result in branches:
                    if self.value(condition) is True:
                        return self.value(result)
                return None if otherwise is None else self.value(otherwise)
            case TypedCall(function, arguments):
                return CONDITION_FUNCTIONS[function.name](*(self.value(argument) for argument in arguments))
            case AllRows() | TypedWindow() | ParameterValue() | InvalidNode():
                raise TypeError(f"{node!r} has no value")
            case _:
                assert_never(node)

    def _constant(self, name: str) -> Value:
        match name:
            case "identifier":
                return self.period.identifier
            case "level":
                return self.period.level
            case "start_date":
                return self.period.start_date
            case "end_date":
                return self.period.end_date
            case _:
                raise TypeError(f"a condition does not know {name}")


def _unsupported_parts(tree: TypedNode) -> Iterator[str]:
    """What in a condition needs data, the clock or Spark's own arithmetic, as text."""
    for node in tree.walk():
        match node:
            case ConstantValue(name="now"):
                yield "NOW()"
            case ConstantValue(name="today"):
                yield "TODAY()"
            case Arithmetic(operator) if operator == "/" or not isinstance(node.type, IntegerType):
                yield f"{operator} with numbers that are not whole"
            case Conversion(operand) if not isinstance(operand.type, NullType | IntegerType):
                yield f"a conversion to {node.type}"
            case TypedCall(function) if function.name not in CONDITION_FUNCTIONS:
                yield f"{function.name}()"


def _negate(value: Value) -> bool | None:
    return None if value is None else not value


def _compute(operator: str, left: Value, right: Value) -> int | None:
    if not isinstance(left, int) or not isinstance(right, int):
        return None
    match operator:
        case "+":
            result: int | None = left + right
        case "-":
            result = left - right
        case "*":
            result = left * right
        case _:
            result = sql_remainder(left, right)
    if result is not None and not -(2**63) <= result < 2**63:
        raise DaybookError("RESOLVE_049", operator=operator, left=left, right=right)
    return result
