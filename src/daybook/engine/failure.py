"""Spark's failures in our words: which operation, which column, which expression, what value."""

import re
from collections.abc import Mapping

from pyspark.errors import PySparkException

from daybook.engine.marking import ON, SELECTOR, last_mark
from daybook.errors import DaybookError, Span
from daybook.expression import Compiled
from daybook.plan.plan import Plan
from daybook.plan.steps import AggregateStep, AppendStep, DeleteStep, OutputStep, Step, UpdateStep

_PLACE = re.compile(r"^== SQL.*\(line (\d+), position (\d+)\) ==\n(.*)", re.DOTALL)


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
    """The text that Spark was given, up to the end of what failed in it."""
    found = []
    for context in error.getQueryContext():
        if match := _PLACE.match(context.summary()):
            lines = match[3].split("\n")
            number = int(match[1]) - 1
            # Spark prints the text from its first line on, then the carets.
            text = "\n".join(lines[:number]) + lines[min(number, len(lines) - 1)][: int(match[2])]
            found.append(text + context.fragment())
    return found


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
            return re.sub(r"^\[[A-Z_.]+\] ", "", text.splitlines()[0] if text else type(error).__name__)


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
