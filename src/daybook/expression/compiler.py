"""Compiles text to a checked, typed tree."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, assert_never

from daybook.errors import DaybookError, Span, raise_all
from daybook.expression import type_rules
from daybook.expression.check_calls import check_call, check_window, report_mixed
from daybook.expression.check_names import CheckContext, check_column, check_name
from daybook.expression.functions.aggregates import average_of_places
from daybook.expression.functions.function import OperandError
from daybook.expression.functions.function_table import FUNCTIONS
from daybook.expression.parser import parse_expression, source_span
from daybook.expression.sql import check_weight, only_where, to_sql
from daybook.expression.syntax_tree import (
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
    Not,
    NullCheck,
    NullLiteral,
    SelectorReference,
    Star,
    SyntaxNode,
    TextLiteral,
    Window,
)
from daybook.expression.type_rules import (
    as_decimal_literal,
    cast_sql,
    common_operand_type,
    comparison_hint,
    decimal_type_of,
    describe_type,
    find_type_clash,
    is_number,
    make_comparable,
    retype_literal,
    type_arithmetic,
    widen_operands,
)
from daybook.expression.typed_tree import (
    ColumnUse,
    Constants,
    Grouping,
    LiteralValue,
    NamedExpressions,
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
from daybook.model.types import (
    BOOLEAN,
    INTEGER,
    NULL,
    STRING,
    BooleanType,
    ColumnType,
    DecimalType,
    FloatType,
    NullType,
    StringType,
)

_SMALLEST_INTEGER, _LARGEST_INTEGER = -(2**63), 2**63 - 1


def check_node(node: SyntaxNode, checking: CheckContext) -> TypedNode:
    """The typed tree; errors are collected in `checking`, and an InvalidNode replaces a wrong node."""
    checking.level += 1
    typed = _check_by_type(node, checking)
    checking.level -= 1
    return typed


def _check_by_type(node: SyntaxNode, checking: CheckContext) -> TypedNode:
    match node:
        case IntegerLiteral(_, value):
            return _integer_literal(value)
        case DecimalLiteral(_, value):
            return LiteralValue(value, type_rules.of_literal(value))
        case TextLiteral(_, value):
            return LiteralValue(value, STRING)
        case BooleanLiteral(_, value):
            return LiteralValue(value, BOOLEAN)
        case NullLiteral():
            return LiteralValue(None, NULL)
        case Column():
            return check_column(node, checking)
        case SelectorReference():
            return check_name(node, checking, check_node, check_condition)
        case Star():
            return checking.report("EXPR_045", node.span)
        case Call():
            return check_call(node, checking, check_node)
        case Window():
            return check_window(node, checking, check_node)
        case Negation():
            return _check_negation(node, checking)
        case Not(_, operand):
            return TypedNot(check_condition(operand, checking))
        case Chain():
            return _check_chain(node, checking)
        case Logical(_, operator, operands):
            return TypedLogical(operator, tuple(check_condition(operand, checking) for operand in operands))
        case Comparison():
            return _check_comparison(node, checking)
        case Membership():
            return _check_membership(node, checking)
        case Between():
            return _check_between(node, checking)
        case Like():
            return _check_like(node, checking)
        case NullCheck(_, operand, is_negated):
            return TypedNullCheck(check_node(operand, checking), is_negated)
        case Case():
            return _check_case(node, checking)
        case _:
            assert_never(node)


def check_condition(node: SyntaxNode, checking: CheckContext) -> TypedNode:
    """A part that must be boolean; NULL counts as a condition that never holds."""
    typed = check_node(node, checking)
    if isinstance(typed.type, BooleanType):
        return typed
    if isinstance(typed.type, NullType):
        return retype_literal(typed, BOOLEAN)
    return checking.report("EXPR_024", node.span, hint=_condition_hint(typed), found=describe_type(typed.type))


def _condition_hint(typed: TypedNode) -> str | None:
    if is_number(typed.type):
        return "compare it, as in amount <> 0"
    return 'compare it, as in status = "active"' if isinstance(typed.type, StringType) else None


def _integer_literal(value: int) -> TypedNode:
    is_integer = _SMALLEST_INTEGER <= value <= _LARGEST_INTEGER
    return LiteralValue(value, INTEGER if is_integer else type_rules.of_literal(value))


def _check_negation(node: Negation, checking: CheckContext) -> TypedNode:
    operand = check_node(node.operand, checking)
    if is_number(operand.type):
        return TypedNegation(operand, operand.type)
    if isinstance(operand.type, NullType):
        return TypedNegation(retype_literal(operand, INTEGER), INTEGER)
    return checking.report("EXPR_021", node.span, operator="-", expected="numbers", found=describe_type(operand.type))


def _check_chain(node: Chain, checking: CheckContext) -> TypedNode:
    """From the left, one operator at a time; after an error the rest is still looked at for its own."""
    typed = check_node(node.first, checking)
    for operator, operand in node.rest:
        right = check_node(operand, checking)
        try:
            typed = type_arithmetic(operator, typed, right)
        except OperandError as error:
            span = checking.source.within(node.first.span.start, operand.span.end)
            typed = checking.report_at(error.code, span, hint=error.hint, **error.parameters)
    return typed


def _check_comparison(node: Comparison, checking: CheckContext) -> TypedNode:
    left = check_node(node.left, checking)
    right = _check_against(left, node.right, checking)
    is_ordering = node.operator not in ("=", "<>")
    if is_ordering and isinstance(left.type, BooleanType) and isinstance(right.type, BooleanType):
        return checking.report(
            "EXPR_021",
            node.span,
            operator=node.operator,
            expected="numbers, texts, dates and timestamps",
            found="booleans",
        )
    return _build_comparison(
        node,
        (left, right),
        checking,
        lambda operands, is_split: TypedComparison(node.operator, operands[0], operands[1], is_split=is_split),
    )


def _check_membership(node: Membership, checking: CheckContext) -> TypedNode:
    operand = check_node(node.operand, checking)
    choices = tuple(_check_against(operand, choice, checking) for choice in node.choices)
    return _build_comparison(
        node,
        (operand, *choices),
        checking,
        lambda operands, is_split: TypedMembership(operands[0], operands[1:], node.is_negated, is_split=is_split),
    )


def _check_between(node: Between, checking: CheckContext) -> TypedNode:
    operand = check_node(node.operand, checking)
    low = _check_against(operand, node.low, checking)
    high = _check_against(operand, node.high, checking)
    return _build_comparison(
        node,
        (operand, low, high),
        checking,
        lambda operands, is_split: TypedBetween(
            operands[0], operands[1], operands[2], node.is_negated, is_split=is_split
        ),
    )


def _check_against(operand: TypedNode, other: SyntaxNode, checking: CheckContext) -> TypedNode:
    if isinstance(other, Column):
        return check_column(other, checking, may_be_text=isinstance(operand.type, StringType))
    return check_node(other, checking)


def _build_comparison(
    node: Comparison | Membership | Between,
    operands: tuple[TypedNode, ...],
    checking: CheckContext,
    build: Callable[[tuple[TypedNode, ...], bool], TypedNode],
) -> TypedNode:
    common = common_operand_type(operands)
    if common is not None:
        return build(*make_comparable(operands, common))
    left, right = find_type_clash(operands)
    hint = comparison_hint(left, right)
    return checking.report("EXPR_022", node.span, hint=hint, left=describe_type(left), right=describe_type(right))


def _check_like(node: Like, checking: CheckContext) -> TypedNode:
    operands = []
    for part in (node.operand, node.pattern):
        typed = check_node(part, checking)
        if not isinstance(typed.type, StringType | NullType):
            hint = "TO_STRING converts it to text"
            checking.report(
                "EXPR_021", part.span, hint=hint, operator="LIKE", expected="texts", found=describe_type(typed.type)
            )
        operands.append(retype_literal(typed, STRING))
    return TypedLike(operands[0], operands[1], node.is_negated)


def _check_case(node: Case, checking: CheckContext) -> TypedNode:
    conditions = [check_condition(condition, checking) for condition, _ in node.branches]
    parts = [value for _, value in node.branches] + ([node.otherwise] if node.otherwise else [])
    values = tuple(check_node(part, checking) for part in parts)
    common = common_operand_type(values)
    if common is None:
        return report_mixed("CASE", node.span, values, checking)
    widened = widen_operands(values, common)
    otherwise = widened[-1] if node.otherwise else None
    return TypedCase(tuple(zip(conditions, widened, strict=False)), otherwise, common)


@dataclass(frozen=True, slots=True)
class CompiledExpression:
    """A checked expression; its SQL needs nothing but the run's constants.

    Two are equal when they compute the same, however and wherever they are written.
    """

    text: str = field(compare=False)
    type: ColumnType
    uses: frozenset[ColumnUse]
    is_aggregate: bool
    tree: TypedNode
    # Where it was written, if that is known.
    span: Span | None = field(default=None, compare=False)

    def sql(self, constants: Constants) -> str:
        return to_sql(self.tree, constants)

    def fitted_sql(self, type_: ColumnType, constants: Constants) -> str:
        """SQL of the value in the type of its column; an average alone is rounded once, whatever its group's size."""
        call = self.tree.call if isinstance(self.tree, TypedWindow) else self.tree
        match call, type_, self.type:
            case (
                TypedCall(function, (value,)),
                DecimalType(scale=places),
                DecimalType(scale=own),
            ) if function.name == "AVG" and places < own:
                exact = average_of_places(function, value.type, type_)
                if exact is not None:
                    call = replace(call, function=exact)
                    tree = replace(self.tree, call=call) if isinstance(self.tree, TypedWindow) else call
                    return to_sql(tree, constants)
            case _:
                pass
        return cast_sql(self.sql(constants), self.type, type_)

    @property
    def column_type(self) -> ColumnType:
        """The type of a new column that is this expression alone; an average has fewer digits there."""
        tree = self.tree.call if isinstance(self.tree, TypedWindow) else self.tree
        match tree:
            case TypedCall(function, (value,)) if function.name == "AVG" and not isinstance(self.type, FloatType):
                return type_rules.averaged(decimal_type_of(value)) or self.type
            case _:
                return self.type

    @property
    def type_beside_decimals(self) -> ColumnType:
        """The same where it meets decimals: an integer that is written out has no more than its digits."""
        literal = as_decimal_literal(self.tree)
        return self.column_type if literal is self.tree else literal.type

    @property
    def has_window(self) -> bool:
        return any(isinstance(node, TypedWindow) for node in self.tree.walk())

    def only_where(self, column: str) -> "CompiledExpression":
        """An aggregation that leaves out the rows where a boolean column is not true.

        COUNT(*) still counts them: it is for groups that are thrown away, and keeps them from failing.
        """
        return replace(self, tree=only_where(self.tree, column))


def compile_expression(
    text: str,
    scope: Scope,
    *,
    names: NamedExpressions | None = None,
    span: Span | None = None,
    expect: Literal["boolean"] | None = None,
    grouping: Grouping | None = None,
    allow_windows: bool = False,
) -> CompiledExpression:
    """Check an expression completely; raises all its errors at once."""
    tree = parse_expression(text, span)
    checking = CheckContext(scope, names, grouping, source_span(text, span), allows_windows=allow_windows)
    checking.has_room_for(tree)
    typed = check_condition(tree, checking) if expect == "boolean" else check_node(tree, checking)
    if grouping is not None:
        _check_aggregation(tree, grouping, checking)
    raise_all(checking.errors)
    check_weight(typed, checking)
    return CompiledExpression(text, typed.type, frozenset(checking.uses), checking.has_aggregate, typed, span)


def _check_aggregation(tree: SyntaxNode, grouping: Grouping, checking: CheckContext) -> None:
    if checking.errors:
        return
    if not checking.has_aggregate:
        hint = "use SUM, COUNT, COUNT_ALL, AVG, MIN_AGG or MAX_AGG"
        checking.errors.append(DaybookError("EXPR_044", span=checking.source, hint=hint))
    elif grouping.strict and not _is_function_of_column(tree, checking.names):
        checking.errors.append(DaybookError("EXPR_043", span=checking.source))


def _is_function_of_column(tree: SyntaxNode, names: NamedExpressions | None) -> bool:
    call = _named_tree(tree, names)
    return (
        isinstance(call, Call)
        and FUNCTIONS[call.name].is_aggregate
        and len(call.arguments) == 1
        and isinstance(_named_tree(call.arguments[0], names), Column | Star)
    )


def _named_tree(tree: SyntaxNode, names: NamedExpressions | None) -> SyntaxNode:
    """The tree of a named expression; any other node is returned unchanged."""
    while isinstance(tree, SelectorReference) and names is not None:
        tree = names.tree(tree.name)
    return tree
