"""Checks that travel with the rows: a failed one is a JSON text in a hidden column, read after the write."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never

from daybook.errors import DaybookError
from daybook.expression import quote_literal
from daybook.model.types import STRING
from daybook.plan.steps import Plan


@dataclass(frozen=True, slots=True)
class NullValue:
    """A loaded row has no value in a column that may not be NULL."""

    load_key: str
    column: str
    place: str
    ordinal: str


@dataclass(frozen=True, slots=True)
class MalformedRowId:
    """A loaded row carries a `_row_id` that is not one."""

    load_key: str
    value: str
    place: str
    ordinal: str


@dataclass(frozen=True, slots=True)
class DoubleMatch:
    """A row that an update picks matches more than one row of a join."""

    seq: str
    alias: str
    key: str


@dataclass(frozen=True, slots=True)
class BrokenCondition:
    """A row does not meet the condition of a check operation."""

    seq: str
    row: str


@dataclass(frozen=True, slots=True)
class BadAllocation:
    """An amount cannot be divided among the rows of a group."""

    seq: str
    column: str
    problem: str
    group: str


FailedCheck: TypeAlias = NullValue | MalformedRowId | DoubleMatch | BrokenCondition | BadAllocation

_KINDS: Mapping[str, type[FailedCheck]] = {
    kind.__name__: kind for kind in (NullValue, MalformedRowId, DoubleMatch, BrokenCondition, BadAllocation)
}
_KIND_FIELD = "kind"


def failed_check_sql(kind: type[FailedCheck], known: Mapping[str, object], values: Mapping[str, str]) -> str:
    """SQL of the text of a failed check: the fields `known` are the same for all rows, `values` are SQL."""
    fields = {
        _KIND_FIELD: quote_literal(kind.__name__, STRING),
        **{name: quote_literal(str(value), STRING) for name, value in known.items()},
        **{name: _text_sql(sql) for name, sql in values.items()},
    }
    pairs = ", ".join(f"'{name}', {sql}" for name, sql in fields.items())
    return f"TO_JSON(NAMED_STRUCT({pairs}))"


def parse_failed_check(text: str) -> FailedCheck:
    fields = json.loads(text)
    return _KINDS[fields.pop(_KIND_FIELD)](**fields)


def row_label_sql(parts: Mapping[str, str]) -> str:
    """SQL of a label that identifies a row for people: customer_id = C-1, day = 2026-01-15."""
    texts = []
    for number, (label, sql) in enumerate(parts.items()):
        texts += [quote_literal(f"{', ' if number else ''}{label} = ", STRING), _text_sql(sql)]
    return f"CONCAT({', '.join(texts)})" if texts else "'any'"


def _text_sql(sql: str) -> str:
    return f"COALESCE(CAST({sql} AS STRING), 'NULL')"


def failed_check_error(plan: Plan, check: FailedCheck) -> DaybookError:
    match check:
        case NullValue(key, column, place, ordinal):
            return _loading_error(plan, key, "PROJECT_030", column=column, place=place, ordinal=ordinal)
        case MalformedRowId(key, value, place, ordinal):
            return _loading_error(plan, key, "PROJECT_031", value=value, place=place, ordinal=ordinal)
        case DoubleMatch(seq, alias, key):
            step = plan.step(int(seq))
            return DaybookError(
                "UPDATE_024", operation_seq=step.seq, seq=step.seq, name=step.name, alias=alias, key=key
            )
        case BadAllocation(seq, column, problem, group):
            step = plan.step(int(seq))
            return DaybookError(
                "UPDATE_026",
                operation_seq=step.seq,
                seq=step.seq,
                name=step.name,
                column=column,
                group=group,
                problem=problem,
            )
        case BrokenCondition(seq, row):
            step = plan.step(int(seq))
            return DaybookError("CHECK_020", operation_seq=step.seq, seq=step.seq, name=step.name, row=row)
        case _:
            assert_never(check)


def _loading_error(plan: Plan, load_key: str, code: str, **parameters: Any) -> DaybookError:
    load = plan.load(load_key)
    seq, dataset_id = load.operation_seq or None, load.dataset_id
    error = DaybookError(code, operation_seq=seq, dataset_id=dataset_id, **parameters)
    if load.role != "append":
        return error
    return DaybookError("APPEND_008", operation_seq=seq, causes=(error,), dataset_id=dataset_id)
