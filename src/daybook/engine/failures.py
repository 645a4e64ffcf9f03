"""Turns failures of Spark into coded errors that name operation, column, expression and value.

Comments in the SQL say which expression it comes from; Spark quotes them when it fails.
"""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from daybook.errors import DaybookError, Span
from daybook.expression import CompiledExpression, spark_type
from daybook.plan.steps import AggregateStep, AppendStep, CheckStep, DeleteStep, OutputStep, Plan, Step, UpdateStep

if TYPE_CHECKING:
    from pyspark.errors import PySparkException

SELECTOR = "selector"
JOIN_ON = "on"
VALUE = "value"
CONDITION = "condition"

_MARK = re.compile(r"/\* (\d+):(\w+)(?:\.(\d+))? \*/")

# The form of marks inside an expression.
_MARK_WITHIN = re.compile(r" /\* \d+:\w+(?:\.\d+)? \*/ ")

# Quoted texts and names, and the places where something that may fail begins: it has one of these in it or before it.
_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*'|`[^`]*`|[(,]|\b(?:WHEN|THEN|ELSE)\b", re.DOTALL)

# Spark quotes what failed and 32 characters before it.
_QUOTED_CHARACTERS = 30


def mark_sql(sql: str, seq: int, what: str, number: int | None = None) -> str:
    """`what` is selector, on, value or condition; `number` says which of several."""
    place = what if number is None else f"{what}.{number}"
    return "".join(_marked_parts(sql, f"/* {seq}:{place} */ "))


def _marked_parts(sql: str, comment: str) -> Iterator[str]:
    """The comment is written before the expression, and again wherever the one before is out of reach."""
    yield comment
    written, reach = 0, _QUOTED_CHARACTERS - len(comment)
    for token in _TOKEN.finditer(sql):
        if token[0][0] not in "'`" and token.end() - written > reach:
            yield f"{sql[written : token.end()]} {comment}"
            written = token.end()
    yield sql[written:]


def last_mark(sql: str) -> tuple[int, str, int] | None:
    """The operation, the kind and the number of the last expression that begins in a text."""
    marks = list(_MARK.finditer(sql))
    return (int(marks[-1][1]), marks[-1][2], int(marks[-1][3] or 0)) if marks else None


# What Spark quotes: the line on which the failing text begins, cut to what is near it, and carets below that text.
_QUOTED_SQL = re.compile(r"== SQL.*==\n(.*)\n( *)\^")

# Functions and settings that a project does not have.
_SPARK_ADVICE = re.compile(r"\.? (?:Use [`']try_|If necessary set |SQLSTATE: ).*")


def translate_failure(plan: Plan, error: "PySparkException") -> DaybookError:
    """A coded error for a failure of Spark."""
    condition = error.getCondition() or type(error).__name__
    parameters = {
        key: _without_question_mark(str(value)) for key, value in (error.getMessageParameters() or {}).items()
    }
    reason = f"{_reason(condition, parameters, error)} [{condition}]"
    seqs = {step.seq for step in plan.steps}
    for sql, fragment in _failing_sql(error):
        # A text of the user's may look like a mark.
        if (marked := last_mark(sql)) and marked[0] in seqs:
            step = plan.step(marked[0])
            column, expression = _marked_expression(step, *marked[1:])
            failure = DaybookError(
                "PROJECT_033",
                span=(expression.span or Span(expression.text, 0, len(expression.text))) if expression else None,
                hint=_hint(step, parameters),
                operation_seq=step.seq,
                seq=step.seq,
                name=step.name,
                column=column,
                reason=reason,
                condition=condition,
                expression=expression.text if expression else None,
                value=_refused_value(parameters),
            )
            return _misfit_error(plan, step, marked[2], fragment, failure) or failure
    return DaybookError("PROJECT_034", reason=reason, condition=condition)


def _failing_sql(error: "PySparkException") -> list[tuple[str, str]]:
    """The texts that failed: each with a little of the text before it, and alone."""
    return [
        (quoted[1][: len(quoted[2])] + context.fragment(), context.fragment())
        for context in error.getQueryContext()
        if (quoted := _QUOTED_SQL.match(context.summary()))
    ]


def _misfit_error(plan: Plan, step: Step, number: int, fragment: str, failure: DaybookError) -> DaybookError | None:
    """VR-007, when it was not the value that failed but the conversion to the type of its column."""
    if not isinstance(step, UpdateStep) or plan.constants is None:
        return None
    value = step.assignments[number]
    computed = value.expression.sql(plan.constants)
    failed = _MARK_WITHIN.sub("", fragment)
    # The engine computes windows apart, so such a value is known by its conversion alone.
    is_fitted = failed.endswith(f" AS {spark_type(value.type)})") if step.windows else computed in failed
    if computed == failed or not is_fitted:
        return None
    return DaybookError(
        "UPDATE_007",
        span=failure.span,
        operation_seq=step.seq,
        causes=(failure,),
        column=value.column,
        expected=value.type,
        actual=failure.parameters["value"],
    )


def _reason(condition: str, parameters: Mapping[str, str], error: "PySparkException") -> str:
    value, target = _refused_value(parameters), parameters.get("targetType", "").strip('"').lower()
    match condition.partition(".")[0]:
        case "CAST_INVALID_INPUT":
            return f"{value} is not a {target}"
        case "CAST_OVERFLOW" | "CAST_OVERFLOW_IN_TABLE_INSERT":
            return f"{value} does not fit {target}"
        case "NUMERIC_VALUE_OUT_OF_RANGE":
            return f"{value} does not fit decimal({parameters.get('precision')},{parameters.get('scale')})"
        case "ARITHMETIC_OVERFLOW":
            return str(parameters.get("message", "overflow")).lower()
        case _:
            text = str(error).partition("JVM stacktrace")[0].strip()
            first = text.splitlines()[0] if text else type(error).__name__
            return _SPARK_ADVICE.sub("", re.sub(r"^\[[A-Z_.]+\] ", "", first))


def _hint(step: Step, parameters: Mapping[str, str]) -> str | None:
    """An output refuses dates only for their year."""
    is_date = parameters.get("targetType") in ('"DATE"', '"TIMESTAMP"')
    return "dates go from 0001-01-01 to 9999-12-31" if is_date and isinstance(step, OutputStep) else None


def _refused_value(parameters: Mapping[str, str]) -> str | None:
    """What Spark calls the value it could not use."""
    return next((parameters[key] for key in ("value", "originalValue", "expression") if key in parameters), None)


def _without_question_mark(value: str) -> str:
    """TO_NUMBER marks a text that is no number with a question mark, so that the cast refuses it."""
    return f"'{value[2:]}" if value.startswith("'?") else value


def _marked_expression(step: Step, what: str, number: int) -> tuple[str, CompiledExpression | None]:
    """What a failing expression was to become, and the expression."""
    if what == JOIN_ON and isinstance(step, UpdateStep):
        join = step.joins[number]
        return f"the join {join.alias}", join.on
    if what == SELECTOR:
        selector = step.source_selector if isinstance(step, AppendStep) else step.selector
        return "its selector", selector
    match step:
        case UpdateStep(assignments=values) | AggregateStep(aggregations=values):
            return values[number].column, values[number].expression
        case AppendStep(aggregations=(), mapped=()):
            return step.columns[number], None
        case AppendStep(aggregations=(), mapped=values) | AppendStep(aggregations=values):
            return values[number].column, values[number].expression
        case OutputStep():
            return list(step.columns)[number], None
        case DeleteStep():
            return "its selector", step.selector
        case CheckStep():
            return "its condition", step.condition
