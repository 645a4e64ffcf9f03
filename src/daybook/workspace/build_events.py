"""What `build --json` prints as things happen, one object for each event."""

from typing import TYPE_CHECKING, Any, get_args

from daybook.workspace.result_json import as_json

if TYPE_CHECKING:
    from daybook.graph.build import BuildResult, NodeResult
    from daybook.graph.nodes import Node


def planned_event(nodes: "tuple[Node, ...]") -> dict[str, Any]:
    return {"event": "planned", "nodes": as_json(nodes)}


def started_event(node: "Node", run_id: str) -> dict[str, Any]:
    return {"event": "started", **as_json(node), "run": run_id}


def finished_event(result: "NodeResult") -> dict[str, Any]:
    return {"event": "finished", **as_json(result)}


def done_event(result: "BuildResult") -> dict[str, Any]:
    from daybook.graph.build import NodeOutcome

    return {"event": "done", **{outcome: result.count(outcome) for outcome in get_args(NodeOutcome)}}
