"""Error codes, functions, and the meaning of one expression; needs no workspace."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from daybook.errors import CODES, Code, DaybookError
from daybook.errors.error import closest_match, did_you_mean
from daybook.model.json_fields import Hidden

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True)
class FunctionEntry:
    """One function; `value` is what its example gives, over the rows in `over` for an aggregate."""

    name: str
    family: str
    signature: str
    result: str
    is_aggregate: bool
    description: str
    example: str
    value: str
    over: Hidden[tuple[str, ...]] = ()


@dataclass(frozen=True, slots=True)
class CheckedExpression:
    """An expression in canonical form, with its type, the columns it uses and its Spark SQL."""

    expression: str
    type: str
    columns: tuple[str, ...]
    sql: str


def explain_code(written: str) -> Code:
    """A code as a message shows it, `[RUN_001]`, or as a user may type it, `run-001`."""
    code = CODES.get(written.strip("[]").upper().replace("-", "_"))
    if code is None:
        raise DaybookError("RUN_029", name=written, hint=did_you_mean(written, CODES))
    return code


@dataclass(frozen=True, slots=True)
class CodeDescription:
    """What a code means; `message` has the names of its parameters."""

    code: str
    message: str
    explanation: str
    hint: str | None


def describe_code(written: str) -> CodeDescription:
    """A code as `explain_code` takes it, in words."""
    code = explain_code(written)
    return CodeDescription(code.code, code.wording, code.explanation, code.advice)


def list_functions(name: str | None = None) -> tuple[FunctionEntry, ...]:
    """The functions of the expression language, family by family, or the one with this name."""
    from daybook.expression.functions.function_reference import describe_result, format_value
    from daybook.expression.functions.function_table import FUNCTION_FAMILIES, FUNCTIONS

    if name is not None and name.upper() not in FUNCTIONS:
        meant = closest_match(name.upper(), FUNCTIONS)
        raise DaybookError("EXPR_014", hint=f"did you mean {meant}?" if meant else None, name=name)
    return tuple(
        FunctionEntry(
            function.name,
            family,
            function.signature,
            describe_result(function),
            function.is_aggregate,
            function.sentence,
            function.example.text,
            format_value(function.example.value),
            tuple(map(format_value, function.example.rows or ())),
        )
        for family, functions in FUNCTION_FAMILIES.items()
        for function in functions
        if name is None or function.name == name.upper()
    )


def check_expression(
    text: str,
    *,
    columns: str = "",
    group_by: "Iterable[str] | None" = None,
    names: "Mapping[str, str] | None" = None,
    parameters: str = "",
) -> CheckedExpression:
    """Check an expression over columns such as `amount decimal, status string`; with `group_by` as an aggregation.

    `names` are named expressions, `parameters` are written as the columns are.
    """
    from datetime import UTC, date, datetime

    from daybook.expression.compiler import compile_expression
    from daybook.expression.parser import parse_expression
    from daybook.expression.syntax_tree import format_tree
    from daybook.expression.typed_tree import Constants, Grouping, NamedExpressions, Scope
    from daybook.model.calendar import Period
    from daybook.model.types import parse_columns

    grouping = None if group_by is None else Grouping(tuple(group_by))
    scope = Scope(parse_columns(columns), {}, parameters=parse_columns(parameters))
    named = NamedExpressions({}, expressions=names) if names else None
    compiled = compile_expression(text, scope, grouping=grouping, names=named, allow_windows=grouping is None)
    # Any time works: only the form of the SQL is shown.
    example = Period("2026-01", "month", date(2026, 1, 1), date(2026, 1, 31))
    sql = compiled.sql(Constants(datetime(2026, 1, 31, tzinfo=UTC), example))
    used = sorted(use.name for use in compiled.uses)
    return CheckedExpression(format_tree(parse_expression(text)), str(compiled.type), tuple(used), sql)
