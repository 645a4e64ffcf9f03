"""Comparisons of runs as JSON: diff and bridge. Numbers are exact text, counts are numbers."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from daybook.model.types import Value, value_text
from daybook.workspace.json.results import notice_as_json, plain

if TYPE_CHECKING:
    from daybook.compare.result import BridgeResult, Cause, CauseName, DiffResult, RowEffect


def diff_as_json(found: "DiffResult") -> dict[str, Any]:
    """The keys of DESIGN section 12, and beside them what else was found, where it was."""
    rows, repeated = found.rows, found.repeated
    shown: dict[str, Any] = {
        "a": found.a.run_id,
        "b": found.b.run_id,
        "output": found.output,
        "operation": {"a": found.operation.seq_a, "b": found.operation.seq_b, "name": found.operation.name},
        "key": list(found.key),
        "key_origin": found.key_origin,
        "rows": {
            "a": rows.a,
            "b": rows.b,
            "added": rows.added,
            "removed": rows.removed,
            "changed": rows.changed,
            "same": rows.same,
        },
        "totals": [
            {
                "column": total.column,
                "before": number_text(total.before),
                "after": number_text(total.after),
                "difference": number_text(total.difference),
            }
            for total in found.totals
        ],
        "changes": [
            {
                "key": _values(change.key),
                "before": _values(change.before),
                "after": _values(change.after),
                **({"rows": {"a": change.rows_a, "b": change.rows_b}} if max(change.rows_a, change.rows_b) > 1 else {}),
            }
            for change in found.changes
        ],
    }
    if repeated.a or repeated.b:
        shown["repeated_keys"] = {"a": repeated.a, "b": repeated.b}
    if found.only_in_a or found.only_in_b:
        shown["only_in"] = {"a": list(found.only_in_a), "b": list(found.only_in_b)}
    if found.retyped:
        shown["retyped"] = [{"column": each.column, "a": each.type_a, "b": each.type_b} for each in found.retyped]
    return {**shown, "notices": [notice_as_json(each) for each in found.notices]}


def bridge_as_json(found: "BridgeResult") -> dict[str, Any]:
    """The keys of DESIGN section 12, and beside them the output, the rows and what there is to say."""
    shown: dict[str, Any] = {
        "a": found.a.run_id,
        "b": found.b.run_id,
        "output": found.output,
        "operation": {"a": found.operation.seq_a, "b": found.operation.seq_b, "name": found.operation.name},
        "measure": found.measure,
        "before": number_text(found.before),
        "after": number_text(found.after),
        "difference": number_text(found.difference),
        "residual": number_text(found.residual),
        "order": [each.text for each in found.order],
        "causes": [_cause(each) for each in found.causes],
    }
    if found.by is not None:
        shown["by"] = [
            {
                "key": _values(group.key),
                "before": number_text(group.before),
                "after": number_text(group.after),
                "causes": [
                    {"kind": cause.kind, "name": cause.name, "share": number_text(share)}
                    for cause, share in zip(found.causes, group.shares, strict=True)
                ],
            }
            for group in found.by
        ]
    return {**shown, "notices": [notice_as_json(each) for each in found.notices]}


def _cause(cause: "Cause") -> dict[str, Any]:
    shown: dict[str, Any] = {
        "kind": cause.kind,
        "name": cause.name,
        "label": cause.label,
        "share": number_text(cause.share),
    }
    if cause.rows is not None:
        rows = cause.rows
        shown["rows"] = {"added": rows.added, "removed": rows.removed, "changed": rows.changed}
        shown["largest"] = [_effect(each) for each in cause.largest]
    if cause.repeated.a or cause.repeated.b:
        shown["repeated_keys"] = {"a": cause.repeated.a, "b": cause.repeated.b}
    if cause.explained_by is not None:
        shown["explained_by"] = cause.explained_by
    if cause.is_together:
        shown["together"] = [_member(each) for each in cause.members]
        shown["reason"] = cause.reason
    return shown


def _member(name: "CauseName") -> dict[str, Any]:
    return {"kind": name.kind, "name": name.name, "label": name.label}


def _effect(effect: "RowEffect") -> dict[str, Any]:
    return {
        "key": _values(effect.key),
        "before": _values(effect.before),
        "after": _values(effect.after),
        "effect": None if effect.effect is None else number_text(effect.effect),
        **({"rows": {"a": effect.rows_a, "b": effect.rows_b}} if max(effect.rows_a, effect.rows_b) > 1 else {}),
    }


def _values(values: Mapping[str, Value] | None) -> dict[str, Any] | None:
    if values is None:
        return None
    return {name: number_text(value) if is_number(value) else plain(value) for name, value in values.items()}


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def number_text(value: Any) -> str:
    """A number as exact text."""
    return value_text(value)
