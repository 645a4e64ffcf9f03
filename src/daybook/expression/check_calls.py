"""Checks calls: the function, the number and types of its arguments, its result type."""

from collections.abc import Callable

from daybook.errors.error import closest_match
from daybook.expression.check_names import CheckContext
from daybook.expression.functions.function import (
    ACCEPTED_TYPES,
    Argument,
    Function,
    FunctionParameter,
    OperandError,
    ParameterKind,
)
from daybook.expression.functions.function_table import FUNCTIONS
from daybook.expression.syntax_tree import Call, NodeSpan, Star, SyntaxNode, Window
from daybook.expression.type_rules import (
    common_operand_type,
    describe_type,
    find_type_clash,
    make_comparable,
    retype_literal,
    widen_operands,
)
from daybook.expression.typed_tree import (
    AllRows,
    InvalidNode,
    LiteralValue,
    TypedCall,
    TypedCase,
    TypedComparison,
    TypedNode,
    TypedWindow,
)
from daybook.model.types import (
    BOOLEAN,
    DATE,
    INTEGER,
    STRING,
    TIMESTAMP,
    BooleanType,
    ColumnType,
    DecimalType,
    NullType,
)

NodeCheck = Callable[[SyntaxNode, CheckContext], TypedNode]

_NULL_TYPES: dict[ParameterKind, ColumnType] = {
    ParameterKind.NUMBER: INTEGER,
    ParameterKind.INTEGER: INTEGER,
    ParameterKind.EXACT_NUMBER: INTEGER,
    ParameterKind.TEXT: STRING,
    ParameterKind.BOOLEAN: BOOLEAN,
    ParameterKind.DATE: DATE,
    ParameterKind.DATE_OR_TIMESTAMP: DATE,
    ParameterKind.DATE_SOURCE: TIMESTAMP,
    ParameterKind.TIMESTAMP_SOURCE: TIMESTAMP,
}

_FOREIGN_FUNCTION_NAMES = {
    "IIF": "IF",
    "IFF": "IF",
    "NVL": "COALESCE",
    "IFNULL": "COALESCE",
    "LENGTH": "LEN",
    "CHAR_LENGTH": "LEN",
    "SUBSTR": "SUBSTRING",
    "MID": "SUBSTRING",
    "CEILING": "CEIL",
    "POW": "POWER",
    "AVERAGE": "AVG",
    "MEAN": "AVG",
    "LAST_DAY": "EOMONTH",
    "DATE_ADD": "DATEADD",
    "DATE_DIFF": "DATEDIFF",
    "CURRENT_DATE": "TODAY",
    "CURRENT_TIMESTAMP": "NOW",
    "LEAST": "MIN",
    "GREATEST": "MAX",
    "STARTSWITH": "STARTS_WITH",
    "ENDSWITH": "ENDS_WITH",
    "UCASE": "UPPER",
    "LCASE": "LOWER",
    "CAST": "TO_STRING, TO_NUMBER or TO_DATE",
    "VALUE": "TO_NUMBER",
    "TEXT": "TO_STRING",
    "CONCATENATE": "CONCAT",
    "LAG": "PREVIOUS",
    "LEAD": "NEXT",
    "DENSE_RANK": "RANK",
}

_AGGREGATE_COUNTERPARTS = {"MIN": "smallest", "MAX": "largest"}
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


def check_call(node: Call, checking: CheckContext, check: NodeCheck) -> TypedNode:
    function = FUNCTIONS.get(node.name)
    if function is None:
        return _report_unknown(node, checking, check)
    if function.is_aggregate:
        return _check_aggregate(function, node, checking, check)
    if function.is_window:
        return _report_missing_window(function, node, checking)
    if function.name in _AGGREGATE_COUNTERPARTS and len(node.arguments) == 1:
        return _report_counterpart(function, node, checking)
    arguments = tuple(check(argument, checking) for argument in node.arguments)
    return _apply(function, node, arguments, checking)


def _report_unknown(node: Call, checking: CheckContext, check: NodeCheck) -> InvalidNode:
    span = checking.source.within(node.span.start, node.name_end)
    checking.report_at("EXPR_014", span, hint=_suggest_function(node.name), name=node.name)
    # It may have been meant as an aggregate, so its columns need not be grouped by.
    outer, checking.aggregate = checking.aggregate, node.name
    for argument in node.arguments:
        if not isinstance(argument, Star):
            check(argument, checking)
    checking.aggregate = outer
    return InvalidNode()


def _check_aggregate(function: Function, node: Call, checking: CheckContext, check: NodeCheck) -> TypedNode:
    span = checking.source.within(node.span.start, node.name_end)
    if checking.window is not None:
        return checking.report_at("EXPR_071", span, name=function.name, outer=checking.window)
    if checking.grouping is None:
        hint = _row_function_hint(function.name)
        if hint is None and checking.allows_windows:
            hint = f"use it in an aggregate operation, or with OVER: {function.name}(…) OVER (column)"
        return checking.report_at("EXPR_040", span, hint=hint, name=function.name)
    if checking.aggregate is not None:
        return checking.report_at("EXPR_041", span, name=function.name)
    with checking.inside_aggregate(function.name):
        arguments = tuple(
            AllRows() if function.takes_star and isinstance(argument, Star) else check(argument, checking)
            for argument in node.arguments
        )
    return _apply(function, node, arguments, checking)


def check_window(node: Window, checking: CheckContext, check: NodeCheck) -> TypedNode:
    """A call with OVER: which functions may have one, where it is allowed, and the grouping and order of its rows."""
    call = node.call
    function = FUNCTIONS.get(call.name)
    if function is None:
        return _report_unknown(call, checking, check)
    span = checking.source.within(call.span.start, call.name_end)
    if not function.takes_over:
        hint = "OVER is allowed after an aggregate function, RANK, ROW_NUMBER, PREVIOUS, NEXT or ALLOCATE"
        return checking.report_at("EXPR_073", span, hint=hint, name=call.name, what="OVER")
    if checking.window is not None:
        return checking.report_at("EXPR_071", span, name=f"{call.name} OVER", outer=checking.window)
    if not checking.allows_windows:
        if checking.grouping is not None:
            return checking.report_at("EXPR_074", span, name=call.name)
        return checking.report_at(
            "EXPR_040", span, hint="compute it in a column with an update before this operation", name=call.name
        )
    if function.window_order == "required" and not node.order:
        checking.report("EXPR_072", node.span, name=call.name)
    if function.window_order == "none" and node.order:
        checking.report("EXPR_073", node.order[0][0].span, name=call.name, what="ORDER BY")
    with checking.inside_window(call.name):
        arguments = tuple(
            AllRows() if function.takes_star and isinstance(argument, Star) else check(argument, checking)
            for argument in call.arguments
        )
        partition = tuple(_check_key(part, checking, check) for part in node.partition)
        order = tuple((_check_key(part, checking, check), is_descending) for part, is_descending in node.order)
    typed = _apply(function, call, arguments, checking)
    return TypedWindow(typed, partition, order, typed.type) if isinstance(typed, TypedCall) else InvalidNode()


def _check_key(node: SyntaxNode, checking: CheckContext, check: NodeCheck) -> TypedNode:
    """What rows are grouped or ordered by; a constant there is a column in quotes, or a habit of SQL."""
    typed = check(node, checking)
    if isinstance(typed, LiteralValue):
        return checking.report("EXPR_076", node.span, value=checking.source.text[node.span.start : node.span.end])
    return typed


def _report_missing_window(function: Function, node: Call, checking: CheckContext) -> InvalidNode:
    span = checking.source.within(node.span.start, node.name_end)
    if not checking.allows_windows:
        return checking.report_at("EXPR_040", span, name=function.name)
    return checking.report_at("EXPR_070", span, name=function.name)


def _apply(function: Function, node: Call, arguments: tuple[TypedNode, ...], checking: CheckContext) -> TypedNode:
    if not _has_right_count(function, node, checking):
        return InvalidNode()
    if any(isinstance(argument, InvalidNode) for argument in arguments):
        return InvalidNode()
    is_sound = [
        _check_argument(function, node, position, argument, checking) for position, argument in enumerate(arguments)
    ]
    if not all(is_sound):
        return InvalidNode()
    if function.is_common:
        return _apply_to_common(function, node.span, arguments, checking)
    typed = tuple(
        _with_typed_null(argument, function.parameter(position)) for position, argument in enumerate(arguments)
    )
    try:
        if function.rewrite is not None and (rewritten := function.rewrite(typed)):
            return rewritten
        return TypedCall(function, typed, function.result_type(to_arguments(typed)))
    except OperandError as error:
        span = node.span if error.position is None else node.arguments[error.position].span
        parameters = dict(error.parameters)
        if error.code in {"EXPR_020", "EXPR_026"} and error.position is not None:
            parameters.setdefault("position", _ORDINALS[error.position])
        return checking.report(error.code, span, hint=error.hint, **parameters)


def to_arguments(typed: tuple[TypedNode, ...], texts: tuple[str, ...] | None = None) -> tuple[Argument, ...]:
    """Arguments as a function's declaration sees them; `texts` is their SQL."""
    return tuple(
        Argument(texts[position] if texts else "", node.type, node.value if isinstance(node, LiteralValue) else None)
        for position, node in enumerate(typed)
    )


def _apply_to_common(
    function: Function, span: NodeSpan, arguments: tuple[TypedNode, ...], checking: CheckContext
) -> TypedNode:
    """Functions that choose one of their values: all of them (but a leading condition) share one type."""
    skipped = 1 if function.parameters[0].accepts is ParameterKind.BOOLEAN else 0
    conditions = tuple(retype_literal(condition, BOOLEAN) for condition in arguments[:skipped])
    values = arguments[skipped:]
    common = common_operand_type(values)
    if common is None:
        return report_mixed(function.name, span, values, checking)
    if function.name == "NULLIF":
        (value, other), is_split = make_comparable(values, common)
        equal = TypedComparison("=", value, other, is_split=is_split)
        return TypedCase(((equal, LiteralValue(None, value.type)),), value, value.type)
    return TypedCall(function, (*conditions, *widen_operands(values, common)), common)


def report_mixed(name: str, span: NodeSpan, values: tuple[TypedNode, ...], checking: CheckContext) -> InvalidNode:
    left, right = find_type_clash(values)
    return checking.report("EXPR_023", span, name=name, left=describe_type(left), right=describe_type(right))


def _has_right_count(function: Function, node: Call, checking: CheckContext) -> bool:
    count = len(node.arguments)
    if function.least <= count and (function.most is None or count <= function.most):
        return True
    hint = f"{function.signature}: {function.sentence}"
    checking.report(
        "EXPR_015", node.span, hint=hint, name=function.name, expected=_describe_count(function), found=count
    )
    return False


def _report_counterpart(function: Function, node: Call, checking: CheckContext) -> InvalidNode:
    """MIN(x) means the group's minimum elsewhere; its argument is not looked at, so that this stays one error."""
    name, kind = function.name, _AGGREGATE_COUNTERPARTS[function.name]
    hint = f"{name}_AGG(x) is the {kind} value of a group; {name}(a, b) compares values of one row"
    return checking.report(
        "EXPR_015", node.span, hint=hint, name=function.name, expected=_describe_count(function), found=1
    )


def _describe_count(function: Function) -> str:
    if function.most is None:
        return f"{function.least} or more arguments"
    if function.least == function.most:
        return "no arguments" if function.most == 0 else f"{function.most} argument{'s' if function.most > 1 else ''}"
    return f"{function.least} to {function.most} arguments"


def _check_argument(function: Function, node: Call, position: int, argument: TypedNode, checking: CheckContext) -> bool:
    parameter = function.parameter(position)
    span = node.arguments[position].span
    if not isinstance(argument.type, (*ACCEPTED_TYPES[parameter.accepts], NullType)) and not _is_whole(
        parameter, argument
    ):
        ordinal = _ORDINALS[min(position, len(_ORDINALS) - 1)]
        hint = _type_hint(parameter, argument.type)
        expected = _with_article(parameter.accepts.value)
        checking.report(
            "EXPR_020",
            span,
            hint=hint,
            name=function.name,
            expected=expected,
            position=ordinal,
            found=describe_type(argument.type),
        )
        return False
    written = parameter.written
    if written and not (isinstance(argument, LiteralValue) and written.check(argument.value)):
        checking.report("EXPR_026", span, name=function.name, position=_ORDINALS[position], expected=written.expected)
        return False
    return True


def _is_whole(parameter: FunctionParameter, argument: TypedNode) -> bool:
    """A decimal without places counts as an integer argument, as TO_NUMBER(text, 0) and FLOOR give it."""
    kind = argument.type
    return parameter.accepts is ParameterKind.INTEGER and isinstance(kind, DecimalType) and kind.scale == 0


def _with_article(words: str) -> str:
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}" if words != "any" else "a value"


def _type_hint(parameter: FunctionParameter, column_type: ColumnType) -> str | None:
    if parameter.accepts is ParameterKind.TEXT:
        return "TO_STRING converts it to text"
    if parameter.accepts is ParameterKind.BOOLEAN and not isinstance(column_type, BooleanType):
        return "compare it with something"
    if parameter.accepts is ParameterKind.DATE and column_type == TIMESTAMP:
        return "DATE(timestamp) is its day"
    if parameter.accepts in {ParameterKind.DATE, ParameterKind.DATE_OR_TIMESTAMP} and column_type == STRING:
        return 'write a date as DATE("2026-01-31"); TO_DATE reads one from a text column'
    if parameter.accepts in {ParameterKind.NUMBER, ParameterKind.INTEGER} and column_type == STRING:
        return "TO_NUMBER reads a number from a text"
    return None


def _with_typed_null(argument: TypedNode, parameter: FunctionParameter) -> TypedNode:
    if not isinstance(argument.type, NullType) or isinstance(argument, AllRows) or parameter.accepts not in _NULL_TYPES:
        return argument
    return retype_literal(argument, _NULL_TYPES[parameter.accepts])


def _row_function_hint(name: str) -> str | None:
    return {"MIN_AGG": "MIN(a, b) compares values of one row", "MAX_AGG": "MAX(a, b) compares values of one row"}.get(
        name
    )


def _suggest_function(name: str) -> str | None:
    if own_name := _FOREIGN_FUNCTION_NAMES.get(name):
        return f"here it is {own_name}"
    suggestion = closest_match(name, FUNCTIONS)
    return f"did you mean {suggestion}?" if suggestion else "`daybook functions` lists all functions"
