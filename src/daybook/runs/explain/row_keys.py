"""Which rows of an operation are meant: columns and the values they must have there, as text and in their types."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa

from daybook.errors import DaybookError, raise_all
from daybook.errors.suggestion import did_you_mean
from daybook.io.text_values import BadValueError, parse_texts
from daybook.model.types import COLUMN_SYNONYMS, ColumnType, Value, value_text
from daybook.plan.partial_plan import RowKey, key_columns, selectable_columns
from daybook.plan.steps import AppendStep, Plan, Step

# As in a CSV file, where nothing at all is NULL.
_EMPTY_TEXT = '""'


def parse_keys(words: Iterable[str]) -> dict[str, str | None]:
    """COLUMN=VALUE as it stands on a line: the column and the value's text, None for NULL."""
    keys: dict[str, str | None] = {}
    for word in words:
        column, sign, text = word.partition("=")
        if not sign:
            raise DaybookError("RUN_026", text=word, reason="the sign = is missing")
        if column in keys:
            raise DaybookError("RUN_026", text=word, reason=f"{column} is given twice")
        keys[column] = "" if text == _EMPTY_TEXT else text or None
    return keys


def format_keys(keys: Mapping[str, str | None]) -> list[str]:
    """The same keys as they stand on a line."""
    return [f"{column}={'' if text is None else text or _EMPTY_TEXT}" for column, text in keys.items()]


def typed_keys(plan: Plan, step: Step, given: Mapping[str, str | None]) -> tuple[RowKey, ...]:
    """The keys in the types of their columns; all that is wrong with them is raised together."""
    columns = key_columns(plan, step)
    table = plan.load(step.load_key).table if isinstance(step, AppendStep) else plan.input.table
    keys: dict[str, RowKey] = {}
    errors: list[DaybookError] = []
    for written, text in given.items():
        name = written if written in columns else written.removeprefix(f"{table}.")
        name = COLUMN_SYNONYMS.get(name, name)
        if name not in columns:
            errors.append(_unknown_column_error(plan, step, name))
        elif name in keys:
            errors.append(DaybookError("RUN_026", text=written, reason=f"{name} is given twice"))
        else:
            try:
                keys[name] = RowKey(name, _parse_value(text, columns[name]), columns[name])
            except BadValueError as bad:
                errors.append(DaybookError("RUN_025", value=bad.value, type=columns[name], column=name))
    raise_all(errors)
    return tuple(keys.values())


def _unknown_column_error(plan: Plan, step: Step, name: str) -> DaybookError:
    columns = key_columns(plan, step)
    if name in selectable_columns(plan, step):
        hint = f"it groups by {', '.join(columns)}"
        return DaybookError("RUN_024", operation_seq=step.seq, seq=step.seq, column=name, hint=hint)
    hint_ = did_you_mean(name, columns)
    return DaybookError("RUN_023", operation_seq=step.seq, seq=step.seq, column=name, hint=hint_)


def _parse_value(text: str | None, column_type: ColumnType) -> Value:
    found: Value = parse_texts(pa.array([text], pa.string()), column_type)[0].as_py()
    return found


def key_text(value: Any) -> str | None:
    """A value as a key is written; a decimal without zeros that only its type adds."""
    if value is None:
        return None
    return format(value.normalize(), "f") if isinstance(value, Decimal) else value_text(value)
