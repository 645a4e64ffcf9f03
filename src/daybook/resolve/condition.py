"""Whether a rule's `when` holds for a period and a table, with the language's own NULLs but without Spark."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import assert_never

from daybook.errors import DaybookError, Span
from daybook.expression.compiling import Compiled, compile_expression
from daybook.expression.quoting import Value
from daybook.expression.scope import Scope
from daybook.expression.typed import (
    AllRows,
    Applied,
    Arithmetic,
    Broken,
    Choice,
    ColumnValue,
    Compared,
    ConstantValue,
    Conversion,
    InRange,
    Inverse,
    IsNull,
    Junction,
    LiteralValue,
    Matches,
    Negative,
    OneOf,
    Typed,
)
from daybook.model.period import Period
from daybook.model.types import STRING, IntegerType, NullType
from daybook.resolve.condition_functions import FUNCTIONS, compare, conjunction, disjunction, like, remainder

SCOPE = Scope(columns={}, qualifiers={"table": {"name": STRING}})


def compile_condition(when: str, *, span: Span | None = None) -> Compiled:
    """A `when` that can be answered before any data is read."""
    compiled = compile_expression(when, SCOPE, span=span, expect="boolean")
    for what in _unanswerable(compiled.tree):
        raise DaybookError("RESOLVE_048", span=span, what=what)
    return compiled


def holds(when: str, period: Period, table_name: str) -> bool | None:
    """True, false, or None where the language says NULL."""
    answer = _Facts(period, table_name).value(compile_condition(when).tree)
    if answer is None or isinstance(answer, bool):
        return answer
    raise TypeError(f"a condition gave {answer!r}")


@dataclass(frozen=True, slots=True)
class _Facts:
    """What a condition can know."""

    period: Period
    table_name: str

    def value(self, node: Typed) -> Value:
        match node:
            case LiteralValue(value):
                return value
            case ColumnValue():
                return self.table_name
            case ConstantValue(name):
                return self._constant(name)
            case Conversion(operand):
                return self.value(operand)
            case Negative(operand):
                value = self.value(operand)
                return -value if isinstance(value, int | Decimal) else None
            case Arithmetic(operator, left, right):
                return _computed(operator, self.value(left), self.value(right))
            case Inverse(operand):
                return _inverse(self.value(operand))
            case Junction(operator, operands):
                join = conjunction if operator == "AND" else disjunction
                return join(*(self.value(operand) for operand in operands))
            case Compared(operator, left, right):
                return compare(operator, self.value(left), self.value(right))
            case OneOf(operand, choices, is_negated):
                value = self.value(operand)
                found = disjunction(*(compare("=", value, self.value(choice)) for choice in choices))
                return _inverse(found) if is_negated else found
            case InRange(operand, low, high, is_negated):
                value = self.value(operand)
                inside = conjunction(compare(">=", value, self.value(low)), compare("<=", value, self.value(high)))
                return _inverse(inside) if is_negated else inside
            case Matches(operand, pattern, is_negated):
                found = like(self.value(operand), self.value(pattern))
                return _inverse(found) if is_negated else found
            case IsNull(operand, is_negated):
                return (self.value(operand) is None) is not is_negated
            case Choice(branches, otherwise):
                for condition, result in branches:
                    if self.value(condition) is True:
                        return self.value(result)
                return None if otherwise is None else self.value(otherwise)
            case Applied(function, arguments):
                return FUNCTIONS[function.name](*(self.value(argument) for argument in arguments))
            case AllRows() | Broken():
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


def _unanswerable(node: Typed) -> Iterator[str]:
    """What in a condition needs data, the clock or Spark's own arithmetic, in words."""
    match node:
        case ConstantValue(name="now"):
            yield "NOW()"
        case ConstantValue(name="today"):
            yield "TODAY()"
        case Arithmetic(operator) if operator == "/" or not isinstance(node.type, IntegerType):
            yield f"{operator} with numbers that are not whole"
        case Conversion(operand) if not isinstance(operand.type, NullType | IntegerType):
            yield f"a conversion to {node.type}"
        case Applied(function) if function.name not in FUNCTIONS:
            yield f"{function.name}()"
    for part in _parts(node):
        yield from _unanswerable(part)


def _parts(node: Typed) -> tuple[Typed, ...]:
    match node:
        case LiteralValue() | ColumnValue() | ConstantValue() | AllRows() | Broken():
            return ()
        case Conversion(operand) | Negative(operand) | Inverse(operand) | IsNull(operand):
            return (operand,)
        case Arithmetic(_, left, right) | Compared(_, left, right) | Matches(left, right):
            return (left, right)
        case Junction(_, operands) | Applied(_, operands):
            return operands
        case OneOf(operand, choices):
            return (operand, *choices)
        case InRange(operand, low, high):
            return (operand, low, high)
        case Choice(branches, otherwise):
            return (*(part for branch in branches for part in branch), *((otherwise,) if otherwise else ()))
        case _:
            assert_never(node)


def _inverse(value: Value) -> bool | None:
    return None if value is None else not value


def _computed(operator: str, left: Value, right: Value) -> int | None:
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
            result = remainder(left, right)
    if result is not None and not -(2**63) <= result < 2**63:
        raise DaybookError("RESOLVE_049", operator=operator, left=left, right=right)
    return result
