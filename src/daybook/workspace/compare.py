"""Compares two runs: what differs in their outputs, and why a total changed, also as tables and as a picture."""

from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from daybook.compare.bridge import BridgeRequest, bridge
from daybook.compare.diff import DiffRequest, diff
from daybook.compare.result import BridgeResult, Cause, DiffResult
from daybook.errors import DaybookError
from daybook.pictures.number_format import Negatives
from daybook.pictures.waterfall import Share, draw_waterfall
from daybook.runs.result import RunListener
from daybook.workspace.open_workspace import OpenedWorkspace


def diff_runs(workspace: OpenedWorkspace, request: DiffRequest) -> DiffResult:
    """Rows added, removed and changed between two runs, totals, and the largest changes."""
    with workspace.open_run_environment() as environment:
        return diff(environment, request)


def bridge_runs(
    workspace: OpenedWorkspace, request: BridgeRequest, *, listener: RunListener | None = None
) -> BridgeResult:
    """The causes that moved a total from one run to another, with their shares; the listener hears what is computed."""
    with workspace.open_run_environment(listener) as environment:
        return bridge(environment, request)


def parse_tolerance(value: str | int | float | Decimal | None) -> Decimal:
    """A number from 0, exactly as it is written."""
    try:
        found = Decimal(str(0 if value is None else value))
    except InvalidOperation:
        found = Decimal(-1)
    if not found.is_finite() or found < 0:
        raise DaybookError("RUN_031", argument="tolerance", expected="a number from 0", value=repr(value))
    return found


def changes_table(result: DiffResult) -> pa.Table:
    """One row for each change that is shown: what happened, its key, and every column before and after."""
    changes = result.changes
    columns: dict[str, list[Any]] = {"change": [_change_word(each.before, each.after) for each in changes]}
    columns |= {name: [each.key[name] for each in changes] for name in result.key}
    shown = next((each.before or each.after or {} for each in changes), {})
    for name in shown:
        columns[f"{name} before"] = [(each.before or {}).get(name) for each in changes]
        columns[f"{name} after"] = [(each.after or {}).get(name) for each in changes]
    return to_table(columns)


def _change_word(before: object, after: object) -> str:
    return "added" if before is None else "removed" if after is None else "changed"


def to_table(columns: dict[str, list[Any]]) -> pa.Table:
    """Values by column in the types they have; a column without any value is a string."""
    arrays = {name: pa.array(values) for name, values in columns.items()}
    return pa.table(
        {name: array.cast(pa.string()) if pa.types.is_null(array.type) else array for name, array in arrays.items()}
    )


def causes_table(result: BridgeResult) -> pa.Table:
    """One row for each cause: its kind, its name, its share, and how many rows changed."""
    causes = result.causes
    return to_table(
        {
            "kind": [cause.kind for cause in causes],
            "name": [cause.name for cause in causes],
            "label": [cause.label for cause in causes],
            "share": [cause.share for cause in causes],
            "added": [cause.rows.added if cause.rows else None for cause in causes],
            "removed": [cause.rows.removed if cause.rows else None for cause in causes],
            "changed": [cause.rows.changed if cause.rows else None for cause in causes],
        }
    )


def groups_table(result: BridgeResult) -> pa.Table:
    """One row for each group and cause: the group, its totals before and after, and the share of the cause."""
    pairs = [
        (group, cause, share)
        for group in result.by or ()
        for cause, share in zip(result.causes, group.shares, strict=True)
    ]
    names = tuple(result.by[0].key) if result.by else ()
    columns: dict[str, list[Any]] = {name: [group.key[name] for group, _, _ in pairs] for name in names}
    return to_table(
        {
            **columns,
            "before": [group.before for group, _, _ in pairs],
            "after": [group.after for group, _, _ in pairs],
            "cause": [cause.name for _, cause, _ in pairs],
            "share": [share for _, _, share in pairs],
        }
    )


def draw_bridge(found: BridgeResult, *, negatives: Negatives = "minus", name: str = "bridge") -> str:
    """The total of A, the share of every cause in the order of swapping, and the total of B, as SVG."""
    shares = [Share(cause.label, cause.share, _rows_text(cause)) for cause in found.causes]
    if found.residual:
        shares.append(Share("not explained", found.residual))
    return draw_waterfall(
        (f"A: {found.a.period}", found.before),
        shares,
        (f"B: {found.b.period}", found.after),
        title=f"Why {found.measure} of {found.output} moved",
        name=name,
        negatives=negatives,
    )


def _rows_text(cause: Cause) -> str:
    if cause.rows is None:
        return ""
    rows = cause.rows
    counts = (("+", rows.added), ("\N{MINUS SIGN}", rows.removed), ("~", rows.changed))
    return " ".join(f"{sign}{count:,}" for sign, count in counts if count) + " rows"
