"""Checks that travel with the rows: a failed one is a text in a hidden column, read after the write."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daybook.errors import DaybookError
from daybook.expression import quote_literal
from daybook.model.types import STRING
from daybook.plan.plan import Plan

_SEPARATOR = "\x1f"

NULL_VALUE = "null"
ROW_ID = "row_id"
FAN_OUT = "fan_out"
CHECK = "check"


def fault(kind: str, known: tuple[str, ...], parts: tuple[str, ...]) -> str:
    """SQL of the text of a failed check: `known` texts, then `parts` that are SQL."""
    head = _SEPARATOR.join((kind, *known)) + _SEPARATOR
    texts = f", {quote_literal(_SEPARATOR, STRING)}, ".join(
        f"COALESCE(CAST({part} AS STRING), 'NULL')" for part in parts
    )
    return f"CONCAT({quote_literal(head, STRING)}, {texts})"


def key_text(parts: Mapping[str, str]) -> str:
    """SQL of what tells a row, as people read it: customer_id = C-1, day = 2026-01-15."""
    texts = []
    for number, (label, sql) in enumerate(parts.items()):
        head = quote_literal(f"{', ' if number else ''}{label} = ", STRING)
        texts += [head, f"COALESCE(CAST({sql} AS STRING), 'NULL')"]
    return f"CONCAT({', '.join(texts)})" if texts else "'any'"


@dataclass(frozen=True, slots=True)
class Checks:
    """Turns the texts of failed checks into errors."""

    plan: Plan

    def error(self, text: str) -> DaybookError:
        kind, *rest = text.split(_SEPARATOR)
        if kind == NULL_VALUE:
            key, column, place, ordinal = rest
            return self._loading("PROJECT_030", key, {"column": column, "place": place, "ordinal": ordinal})
        if kind == ROW_ID:
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
