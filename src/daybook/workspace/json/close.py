"""The close as JSON: graph, status, build."""

from typing import TYPE_CHECKING, Any

from daybook.graph.close import NodeStatus
from daybook.graph.nodes import Node
from daybook.workspace.close import CloseGraphResult, CloseStatus

if TYPE_CHECKING:
    from daybook.graph.build import BuildPlan, BuildResult, NodeResult


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
