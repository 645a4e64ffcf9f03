"""Syntax tree → typed tree: dispatch, conditions and choices."""

from collections.abc import Callable
from typing import assert_never

from daybook.expression import decimals
from daybook.expression.calls import check_call, report_mixed
from daybook.expression.context import Checking
from daybook.expression.functions.declaration import UnfitError
from daybook.expression.kinds import comparison_hint, describe, is_number
from daybook.expression.names import check_column, check_selector
from daybook.expression.nodes import (
    Between,
    BooleanLiteral,
    Call,
    Case,
    Chain,
    Column,
    Comparison,
    DecimalLiteral,
    IntegerLiteral,
    Like,
    Logical,
    Membership,
    Negation,
    Node,
    Not,
    NullCheck,
    NullLiteral,
    SelectorReference,
    Star,
    TextLiteral,
)
from daybook.expression.operators import arithmetic, clash, common_of, comparable, retyped_literal, widen
from daybook.expression.typed import (
    Choice,
    Compared,
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
from daybook.model.types import (
    BOOLEAN,
    INTEGER,
    NULL,
    STRING,
    BooleanType,
    NullType,
    StringType,
)

_SMALLEST_INTEGER, _LARGEST_INTEGER = -(2**63), 2**63 - 1


def check(node: Node, checking: Checking) -> Typed:
    """The typed tree; what is wrong is collected in `checking`, and Broken stands in its place."""
    checking.level += 1
    typed = _check(node, checking)
    checking.level -= 1
    return typed


def _check(node: Node, checking: Checking) -> Typed:
    match node:
        case IntegerLiteral(_, value):
            return _integer(value)
        case DecimalLiteral(_, value):
            return LiteralValue(value, decimals.of_literal(value))
        case TextLiteral(_, value):
            return LiteralValue(value, STRING)
        case BooleanLiteral(_, value):
            return LiteralValue(value, BOOLEAN)
        case NullLiteral():
            return LiteralValue(None, NULL)
        case Column():
            return check_column(node, checking)
        case SelectorReference():
            return check_selector(node, checking, check_condition)
        case Star():
            return checking.report("EXPR_045", node.place)
        case Call():
            return check_call(node, checking, check)
        case Negation():
            return _check_negation(node, checking)
        case Not(_, operand):
            return Inverse(check_condition(operand, checking))
        case Chain():
            return _check_chain(node, checking)
        case Logical(_, operator, operands):
            return Junction(operator, tuple(check_condition(operand, checking) for operand in operands))
        case Comparison():
            return _check_comparison(node, checking)
        case Membership():
            return _check_membership(node, checking)
        case Between():
            return _check_between(node, checking)
        case Like():
            return _check_like(node, checking)
        case NullCheck(_, operand, is_negated):
            return IsNull(check(operand, checking), is_negated)
        case Case():
            return _check_case(node, checking)
        case _:
            assert_never(node)


def check_condition(node: Node, checking: Checking) -> Typed:
    """A part that must be boolean; NULL counts as a condition that never holds."""
    typed = check(node, checking)
    if isinstance(typed.type, BooleanType):
        return typed
    if isinstance(typed.type, NullType):
        return retyped_literal(typed, BOOLEAN)
    return checking.report("EXPR_024", node.place, hint=_condition_hint(typed), found=describe(typed.type))


def _condition_hint(typed: Typed) -> str | None:
    if is_number(typed.type):
        return "compare it, as in amount <> 0"
    return 'compare it, as in status = "active"' if isinstance(typed.type, StringType) else None


def _integer(value: int) -> Typed:
    is_integer = _SMALLEST_INTEGER <= value <= _LARGEST_INTEGER
    return LiteralValue(value, INTEGER if is_integer else decimals.of_literal(value))


def _check_negation(node: Negation, checking: Checking) -> Typed:
    operand = check(node.operand, checking)
    if is_number(operand.type):
        return Negative(operand, operand.type)
    if isinstance(operand.type, NullType):
        return Negative(retyped_literal(operand, INTEGER), INTEGER)
    return checking.report("EXPR_021", node.place, operator="-", expected="numbers", found=describe(operand.type))


def _check_chain(node: Chain, checking: Checking) -> Typed:
    """From the left, one operator at a time; after an error the rest is still looked at for its own."""
    typed = check(node.first, checking)
    for operator, operand in node.rest:
        right = check(operand, checking)
        try:
            typed = arithmetic(operator, typed, right)
        except UnfitError as error:
            span = checking.source.within(node.first.place.start, operand.place.end)
            typed = checking.report_at(error.code, span, hint=error.hint, **error.parameters)
    return typed


def _check_comparison(node: Comparison, checking: Checking) -> Typed:
    left = check(node.left, checking)
    right = _check_against(left, node.right, checking)
    is_ordering = node.operator not in ("=", "<>")
    if is_ordering and isinstance(left.type, BooleanType) and isinstance(right.type, BooleanType):
        return checking.report(
            "EXPR_021",
            node.place,
            operator=node.operator,
            expected="numbers, texts, dates and timestamps",
            found="booleans",
        )
    return _compared(
        node,
        (left, right),
        checking,
        lambda operands, is_split: Compared(node.operator, operands[0], operands[1], is_split=is_split),
    )


def _check_membership(node: Membership, checking: Checking) -> Typed:
    operand = check(node.operand, checking)
    choices = tuple(_check_against(operand, choice, checking) for choice in node.choices)
    return _compared(
        node,
        (operand, *choices),
        checking,
        lambda operands, is_split: OneOf(operands[0], operands[1:], node.is_negated, is_split=is_split),
    )


def _check_between(node: Between, checking: Checking) -> Typed:
    operand = check(node.operand, checking)
    low = _check_against(operand, node.low, checking)
    high = _check_against(operand, node.high, checking)
    return _compared(
        node,
        (operand, low, high),
        checking,
        lambda operands, is_split: InRange(operands[0], operands[1], operands[2], node.is_negated, is_split=is_split),
    )


def _check_against(operand: Typed, other: Node, checking: Checking) -> Typed:
    if isinstance(other, Column):
        return check_column(other, checking, may_be_text=isinstance(operand.type, StringType))
    return check(other, checking)


def _compared(
    node: Comparison | Membership | Between,
    operands: tuple[Typed, ...],
    checking: Checking,
    build: Callable[[tuple[Typed, ...], bool], Typed],
) -> Typed:
    common = common_of(operands)
    if common is not None:
        return build(*comparable(operands, common))
    left, right = clash(operands)
    hint = comparison_hint(left, right)
    return checking.report("EXPR_022", node.place, hint=hint, left=describe(left), right=describe(right))


def _check_like(node: Like, checking: Checking) -> Typed:
    operands = []
    for part in (node.operand, node.pattern):
        typed = check(part, checking)
        if not isinstance(typed.type, StringType | NullType):
            hint = "TO_STRING makes a text of it"
            checking.report(
                "EXPR_021", part.place, hint=hint, operator="LIKE", expected="texts", found=describe(typed.type)
            )
        operands.append(retyped_literal(typed, STRING))
    return Matches(operands[0], operands[1], node.is_negated)


def _check_case(node: Case, checking: Checking) -> Typed:
    conditions = [check_condition(condition, checking) for condition, _ in node.branches]
    parts = [value for _, value in node.branches] + ([node.otherwise] if node.otherwise else [])
    values = tuple(check(part, checking) for part in parts)
    common = common_of(values)
    if common is None:
        return report_mixed("CASE", node.place, values, checking)
    widened = widen(values, common)
    otherwise = widened[-1] if node.otherwise else None
    return Choice(tuple(zip(conditions, widened, strict=False)), otherwise, common)
