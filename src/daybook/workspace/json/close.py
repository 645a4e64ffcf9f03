"""The close, lineage and comparisons as JSON. Numbers are exact text, counts are numbers."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from daybook.graph.close import NodeStatus
from daybook.graph.nodes import Node
from daybook.model.types import Value, value_text
from daybook.workspace.close import CloseGraphResult, CloseStatus
from daybook.workspace.json.results import notice_as_json, plain

if TYPE_CHECKING:
    from daybook.compare.result import BridgeResult, Cause, CauseName, DiffResult, RowEffect
    from daybook.graph.build import BuildPlan, BuildResult, NodeResult
    from daybook.workspace.lineage import LineagePicture, LineageResult, PictureNode


def graph_as_json(graph: CloseGraphResult) -> dict[str, Any]:
    return {
        "nodes": [
            {"project": node.project} if node.period is None else {"project": node.project, "period": node.period}
            for node in graph.nodes
        ],
        "edges": [{"from": edge.maker, "to": edge.reader, "dataset": edge.dataset} for edge in graph.edges],
    }


def graph_as_mermaid(graph: CloseGraphResult) -> str:
    """A flow chart, makers on the left."""
    numbers = {node.name: f"n{number}" for number, node in enumerate(graph.nodes)}
    lines = ["flowchart LR"]
    lines += [f'    {numbers[node.name]}["{node.name}"]' for node in graph.nodes]
    lines += [
        f'    {numbers[edge.maker]} -->|"{edge.dataset}"| {numbers[edge.reader]}'
        for edge in graph.edges
        if edge.maker in numbers and edge.reader in numbers
    ]
    return "\n".join(lines)


def status_as_json(status: CloseStatus) -> dict[str, Any]:
    return {"nodes": [_status_node(each) for each in status.nodes]}


def _status_node(status: NodeStatus) -> dict[str, Any]:
    return {
        "project": status.node.project,
        "period": status.node.period.identifier,
        "state": status.state,
        "is_locked": status.is_locked,
        "run": status.run,
        "reasons": list(status.reasons),
    }


def planned_event(nodes: tuple[Node, ...]) -> dict[str, Any]:
    return {
        "event": "planned",
        "nodes": [{"project": node.project, "period": node.period.identifier} for node in nodes],
    }


def started_event(node: Node, run_id: str) -> dict[str, Any]:
    return {"event": "started", "project": node.project, "period": node.period.identifier, "run": run_id}


def finished_event(result: "NodeResult") -> dict[str, Any]:
    return {
        "event": "finished",
        "project": result.node.project,
        "period": result.node.period.identifier,
        "result": result.result,
        "run": result.run,
        "reason": result.reason,
        "seconds": result.seconds,
    }


def done_event(result: "BuildResult") -> dict[str, Any]:
    counts = {name: result.count(name) for name in ("ran", "fresh", "failed", "blocked", "locked")}
    return {"event": "done", **counts}


def build_plan_as_json(plan: "BuildPlan") -> dict[str, Any]:
    return {
        "nodes": [
            {
                **_status_node(status),
                "will_run": status.node in plan.will_run,
                "why": list(plan.will_run.get(status.node, ())),
            }
            for status in plan.nodes
        ],
        "left_out": list(plan.left_out),
    }


_MOST_CHARACTERS = 60


def lineage_as_json(result: "LineageResult") -> dict[str, Any]:
    return {
        "columns": [
            {
                "project": output.project_id,
                "output": output.seq,
                "column": column.column,
                "inputs": [
                    {
                        "dataset": each.dataset_id,
                        "column": each.column,
                        "kind": each.kind,
                        "how": each.how,
                        "operations": list(each.operations),
                    }
                    for each in column.inputs
                ],
            }
            for output in result.outputs
            for column in output.columns
        ]
    }


def picture_as_json(picture: "LineagePicture") -> dict[str, Any]:
    """The nodes and edges of a picture."""
    return {
        "nodes": [
            {
                "id": node.number,
                "role": node.role,
                "project": node.project_id,
                "operation": node.seq or None,
                "dataset": node.dataset_id,
                "column": node.column,
                "text": node.text,
                "names": list(node.names),
            }
            for node in picture.nodes
        ],
        "edges": [
            {"from": edge.source, "to": edge.target, "kind": edge.kind, "how": edge.how} for edge in picture.edges
        ],
    }


def picture_as_mermaid(picture: "LineagePicture") -> str:
    """A flow chart, inputs on the left; what is only read to decide has dotted lines."""
    lines = ["flowchart LR"]
    lines += [f'    n{node.number}["{_escaped(node_label(node))}"]' for node in picture.nodes]
    for edge in picture.edges:
        if edge.kind == "direct":
            lines.append(f"    n{edge.source} --> n{edge.target}")
        else:
            lines.append(f'    n{edge.source} -.->|"{edge.how.replace("_", " ")}"| n{edge.target}')
    return "\n".join(lines)


def node_label(node: "PictureNode") -> str:
    """What a node is called: a column where it is read or written, an operation with its expression in between."""
    match node.role:
        case "input":
            return f"{node.dataset_id}.{node.column}"
        case "output":
            return f"{node.project_id} {node.seq}: {node.column}"
        case "value":
            return _shortened(f"{node.seq}: {node.column}" + (f" = {node.text}" if node.text else ""))
        case "selector":
            return _shortened(f"{node.seq}: where {node.text}")
        case "join":
            return _shortened(f"{node.seq}: join {node.dataset_id} on {node.text}")
        case "group":
            parts = [f"append {node.dataset_id}"] if node.dataset_id else []
            parts += [f"group by {', '.join(node.names)}"] if node.names else []
            parts += [f"where {node.text}"] if node.text else []
            return _shortened(f"{node.seq}: {' '.join(parts)}")
        case "order":
            return _shortened(f"{node.seq}: order by {', '.join(node.names)}")


def _shortened(text: str) -> str:
    plain = " ".join(text.split())
    return plain if len(plain) <= _MOST_CHARACTERS else f"{plain[: _MOST_CHARACTERS - 1]}…"


def _escaped(text: str) -> str:
    """Mermaid reads quotes and a few signs even inside of a quoted label."""
    for sign, code in (("#", "#35;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;"), ("`", "#96;")):
        text = text.replace(sign, code)
    return text


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
