"""Spark's failures in our words: which operation, which column, which expression, what value."""

import re
from collections.abc import Mapping

from pyspark.errors import PySparkException

from daybook.engine.marking import ON, SELECTOR, last_mark
from daybook.errors import DaybookError, Span
from daybook.expression import Compiled
from daybook.plan.plan import Plan
from daybook.plan.steps import AggregateStep, AppendStep, CheckStep, DeleteStep, OutputStep, Step, UpdateStep

# What Spark quotes: the line on which the failing text begins, cut to what is near it, and carets below that text.
_QUOTED = re.compile(r"== SQL.*==\n(.*)\n( *)\^")

# Functions and settings that a project does not have.
_ADVICE = re.compile(r"\.? (?:Use [`']try_|If necessary set |SQLSTATE: ).*")


def failure_of(plan: Plan, error: Exception) -> Exception:
    """A coded error for a failure of Spark; everything else as it is."""
    if not isinstance(error, PySparkException):
        return error
    condition = error.getCondition() or type(error).__name__
    parameters = {key: _shown(str(value)) for key, value in (error.getMessageParameters() or {}).items()}
    reason = f"{_reason(condition, parameters, error)} [{condition}]"
    for sql in _failing_sql(error):
        if (marked := last_mark(sql)) and (step := _step(plan, marked[0])):
            column, expression = _place(step, *marked[1:])
            return DaybookError(
                "PROJECT_033",
                span=Span(expression.text, 0, len(expression.text)) if expression else None,
                hint=_hint(step, parameters),
                operation_seq=step.seq,
                seq=step.seq,
                name=step.name,
                column=column,
                reason=reason,
                condition=condition,
                expression=expression.text if expression else None,
                value=_value(parameters),
            )
    return DaybookError("PROJECT_034", reason=reason, condition=condition)


def _failing_sql(error: PySparkException) -> list[str]:
    """The texts that failed, each with a little of what stands before it."""
    return [
        quoted[1][: len(quoted[2])] + context.fragment()
        for context in error.getQueryContext()
        if (quoted := _QUOTED.match(context.summary()))
    ]


def _reason(condition: str, parameters: Mapping[str, str], error: PySparkException) -> str:
    value, target = _value(parameters), parameters.get("targetType", "").strip('"').lower()
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
            return _ADVICE.sub("", re.sub(r"^\[[A-Z_.]+\] ", "", first))


def _hint(step: Step, parameters: Mapping[str, str]) -> str | None:
    """An output refuses dates only for their year."""
    is_date = parameters.get("targetType") in ('"DATE"', '"TIMESTAMP"')
    return "dates go from 0001-01-01 to 9999-12-31" if is_date and isinstance(step, OutputStep) else None


def _value(parameters: Mapping[str, str]) -> str | None:
    """What Spark calls the value it could not use."""
    return next((parameters[key] for key in ("value", "originalValue", "expression") if key in parameters), None)


def _shown(value: str) -> str:
    """TO_NUMBER marks a text that is no number with a question mark, so that the cast refuses it."""
    return f"'{value[2:]}" if value.startswith("'?") else value


def _step(plan: Plan, seq: int) -> Step | None:
    return next((step for step in plan.steps if step.seq == seq), None)


def _place(step: Step, what: str, number: int) -> tuple[str, Compiled | None]:
    """What a failing expression was to become, and the expression."""
    if what == ON and isinstance(step, UpdateStep):
        join = step.joins[number]
        return f"the join {join.alias}", join.on
    if what == SELECTOR:
        selector = step.source_selector if isinstance(step, AppendStep) else step.selector
        return "its selector", selector
    match step:
        case UpdateStep(assignments=values) | AggregateStep(aggregations=values):
            return values[number].column, values[number].expression
        case AppendStep(aggregations=()):
            return step.columns[number], None
        case AppendStep(aggregations=values):
            return values[number].column, values[number].expression
        case OutputStep():
            return list(step.columns)[number], None
        case DeleteStep():
            return "its selector", step.selector
        case CheckStep():
            return "its condition", step.condition
