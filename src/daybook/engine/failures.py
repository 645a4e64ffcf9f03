"""Comments in SQL that tell where an expression comes from; Spark quotes them when it fails.

Checks that travel with the rows: a failed one is a text in a hidden column, read after the write.

Spark's failures in our words: which operation, which column, which expression, what value.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.errors import PySparkException

from daybook.errors import DaybookError, Span
from daybook.expression import CompiledExpression, quote_literal
from daybook.model.types import STRING
from daybook.plan.steps import AggregateStep, AppendStep, CheckStep, DeleteStep, OutputStep, Plan, Step, UpdateStep

SELECTOR = "selector"
JOIN_ON = "on"
VALUE = "value"
CONDITION = "condition"

_MARK = re.compile(r"/\* (\d+):(\w+)(?:\.(\d+))? \*/")

# Quoted texts and names, and the places where something that may fail begins: it has one of these in it or before it.
_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*'|`[^`]*`|[(,]|\b(?:WHEN|THEN|ELSE)\b", re.DOTALL)

# Spark quotes what failed and 32 characters before it.
_QUOTED_CHARACTERS = 30


def mark_sql(sql: str, seq: int, what: str, number: int | None = None) -> str:
    """`what` is selector, on, value or condition; `number` says which of several."""
    place = what if number is None else f"{what}.{number}"
    return "".join(_marked_parts(sql, f"/* {seq}:{place} */ "))


def _marked_parts(sql: str, comment: str) -> Iterator[str]:
    """The comment stands before the expression, and again wherever the one before is out of reach."""
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


_SEPARATOR = "\x1f"

NULL_VALUE = "null"
MALFORMED_ROW_ID = "row_id"
FAN_OUT = "fan_out"
CHECK = "check"


def failed_check_sql(kind: str, known: tuple[str, ...], parts: tuple[str, ...]) -> str:
    """SQL of the text of a failed check: `known` texts, then `parts` that are SQL."""
    head = _SEPARATOR.join((kind, *known)) + _SEPARATOR
    texts = f", {quote_literal(_SEPARATOR, STRING)}, ".join(
        f"COALESCE(CAST({part} AS STRING), 'NULL')" for part in parts
    )
    return f"CONCAT({quote_literal(head, STRING)}, {texts})"


def row_label_sql(parts: Mapping[str, str]) -> str:
    """SQL of what tells a row, as people read it: customer_id = C-1, day = 2026-01-15."""
    texts = []
    for number, (label, sql) in enumerate(parts.items()):
        head = quote_literal(f"{', ' if number else ''}{label} = ", STRING)
        texts += [head, f"COALESCE(CAST({sql} AS STRING), 'NULL')"]
    return f"CONCAT({', '.join(texts)})" if texts else "'any'"


@dataclass(frozen=True, slots=True)
class FailedChecks:
    """Turns the texts of failed checks into errors."""

    plan: Plan

    def error(self, text: str) -> DaybookError:
        kind, *rest = text.split(_SEPARATOR)
        if kind == NULL_VALUE:
            key, column, place, ordinal = rest
            return self._loading("PROJECT_030", key, {"column": column, "place": place, "ordinal": ordinal})
        if kind == MALFORMED_ROW_ID:
            key, value, place, ordinal = rest
            return self._loading("PROJECT_031", key, {"value": value, "place": place, "ordinal": ordinal})
        if kind == CHECK:
            return self._failed(int(rest[0]), _SEPARATOR.join(rest[1:]))
        seq, alias, row = rest
        return self.fan_out(int(seq), alias, row)

    def _failed(self, seq: int, row: str) -> DaybookError:
        step = next(step for step in self.plan.steps if step.seq == seq)
        return DaybookError("CHECK_020", operation_seq=seq, seq=seq, name=step.name, row=row)

    def fan_out(self, seq: int, alias: str, key: str) -> DaybookError:
        step = next(step for step in self.plan.steps if step.seq == seq)
        return DaybookError("UPDATE_024", operation_seq=seq, seq=seq, name=step.name, alias=alias, key=key)

    def _loading(self, code: str, key: str, parameters: Mapping[str, Any]) -> DaybookError:
        load = self.plan.load(key)
        seq, dataset_id = load.operation_seq or None, load.dataset_id
        error = DaybookError(code, operation_seq=seq, dataset_id=dataset_id, **parameters)
        if load.role != "append":
            return error
        return DaybookError("APPEND_008", operation_seq=seq, causes=(error,), dataset_id=dataset_id)


# What Spark quotes: the line on which the failing text begins, cut to what is near it, and carets below that text.
_QUOTED_SQL = re.compile(r"== SQL.*==\n(.*)\n( *)\^")

# Functions and settings that a project does not have.
_SPARK_ADVICE = re.compile(r"\.? (?:Use [`']try_|If necessary set |SQLSTATE: ).*")


def translate_failure(plan: Plan, error: Exception) -> Exception:
    """A coded error for a failure of Spark; everything else as it is."""
    if not isinstance(error, PySparkException):
        return error
    condition = error.getCondition() or type(error).__name__
    parameters = {
        key: _without_question_mark(str(value)) for key, value in (error.getMessageParameters() or {}).items()
    }
    reason = f"{_reason(condition, parameters, error)} [{condition}]"
    for sql in _failing_sql(error):
        if (marked := last_mark(sql)) and (step := _find_step(plan, marked[0])):
            column, expression = _marked_expression(step, *marked[1:])
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
                value=_refused_value(parameters),
            )
    return DaybookError("PROJECT_034", reason=reason, condition=condition)


def _failing_sql(error: PySparkException) -> list[str]:
    """The texts that failed, each with a little of what stands before it."""
    return [
        quoted[1][: len(quoted[2])] + context.fragment()
        for context in error.getQueryContext()
        if (quoted := _QUOTED_SQL.match(context.summary()))
    ]


def _reason(condition: str, parameters: Mapping[str, str], error: PySparkException) -> str:
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


def _find_step(plan: Plan, seq: int) -> Step | None:
    return next((step for step in plan.steps if step.seq == seq), None)


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
