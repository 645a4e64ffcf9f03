"""Pages of the close: its grid by period and its graph."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from markupsafe import Markup
from starlette.responses import RedirectResponse, Response

from daybook.pictures.graph import PictureEdge, PictureNode, draw_graph
from daybook.web.pages.form_fields import QueryText, entered_text
from daybook.web.served import ServedHere

if TYPE_CHECKING:
    from daybook.graph.close import NodeStatus
    from daybook.workspace.close import CloseGraphResult, CloseStatus, RootCause

router = APIRouter()


def close_picture(graph: "CloseGraphResult", status: "CloseStatus") -> Markup:
    """Projects with their state in the last period that is shown."""
    period = status.periods[-1] if status.periods else None
    states = {
        node_status.node.project: node_status.state
        for node_status in status.nodes
        if node_status.node.period.identifier == period
    }
    nodes = [
        PictureNode(
            node.name,
            node.project,
            period if node.project in states and period else "",
            states.get(node.project, ""),
            f"/runs?project={quote(node.project, safe='')}",
        )
        for node in graph.nodes
    ]
    edges = [PictureEdge(edge.maker, edge.reader, edge.dataset) for edge in graph.edges]
    # Made by our own code, which escapes every text.
    return Markup(draw_graph(nodes, edges, title="Who reads what from whom"))


def _among(graph: "CloseGraphResult", projects: Collection[str]) -> "CloseGraphResult":
    """The graph of some projects."""
    edges = (edge for edge in graph.edges if edge.maker in projects and edge.reader in projects)
    return replace(graph, nodes=tuple(node for node in graph.nodes if node.project in projects), edges=tuple(edges))


@router.get("/")
def start() -> Response:
    return RedirectResponse("/close", 303)


# A close of more projects is shown by folders; of more projects at once, rows and graph are not readable.
_MOST_PROJECTS = 60
_MOST_SHOWN = 200
_MOST_REASONS = 100


@dataclass(frozen=True, slots=True)
class FolderRow:
    """The projects in a folder: how many nodes have each state, by period, and those that are shown."""

    folder: str
    size: int
    counts: Mapping[str, Counter[str]]
    projects: tuple[str, ...]


def folder_rows(
    status: "CloseStatus", *, search: str | None = None, state: str | None = None, folder: str | None = None
) -> tuple[FolderRow, ...]:
    """The grid by folders. Projects are shown that are asked for, or all of a small close."""
    chosen: dict[str, list[str]] = {}
    with_state = {node.node.project for node in status.nodes if node.state == state}
    for project in status.projects:
        if _fits(project, search) and (not state or project in with_state):
            chosen.setdefault(status.folders.get(project, "."), []).append(project)
    counts: dict[str, dict[str, Counter[str]]] = {}
    for node in status.nodes:
        by_period = counts.setdefault(status.folders.get(node.node.project, "."), {})
        by_period.setdefault(node.node.period.identifier, Counter())[node.state] += 1
    is_open = bool(search or state) or len(status.projects) <= _MOST_PROJECTS or len(chosen) == 1
    left, rows = _MOST_SHOWN, []
    for name, unordered in sorted(chosen.items()):
        projects = sorted(unordered)
        shown = projects[:left] if is_open or name == folder else []
        left -= len(shown)
        rows.append(FolderRow(name, len(projects), counts[name], tuple(shown)))
    return tuple(rows)


@dataclass(frozen=True, slots=True)
class ShownReasons:
    """Why nodes that are shown are not up to date: the causes that several share, then each node, in order of time."""

    causes: "tuple[RootCause, ...]"
    unclear: "tuple[NodeStatus, ...]"
    following: "tuple[NodeStatus, ...]"


def shown_reasons(
    status: "CloseStatus", *, search: str | None = None, state: str | None = None, folder: str | None = None
) -> ShownReasons:
    """Of what is asked for, by the same rules as the grid: of all nodes where nothing is."""
    from daybook.workspace.close import root_causes

    nodes = [
        node
        for node in status.nodes
        if (node.reasons or node.is_consequence)
        and _fits(node.node.project, search)
        and (not state or node.state == state)
        and (not folder or search or state or status.folders.get(node.node.project, ".") == folder)
    ]
    nodes.sort(key=lambda node: (node.node.period.start_date, node.node.project))
    return ShownReasons(
        tuple(cause for cause in root_causes(nodes) if len(cause.nodes) > 1),
        tuple(node for node in nodes if not node.is_consequence),
        tuple(node for node in nodes if node.is_consequence),
    )


def _fits(project: str, search: str | None) -> bool:
    return not search or search.casefold() in project.casefold()


@router.get("/close")
def close(
    request: Request,
    served: ServedHere,
    period: QueryText = None,
    search: QueryText = None,
    state: QueryText = None,
    folder: QueryText = None,
) -> Response:
    period, search, state, folder = (
        entered_text(period),
        entered_text(search),
        entered_text(state),
        entered_text(folder),
    )
    status, graph = served.overview(period)
    latest, works = served.runs(limit=10), served.actions.works

    def values() -> dict[str, Any]:
        rows = folder_rows(status, search=search, state=state, folder=folder)
        shown = {project for row in rows for project in row.projects}
        picture = None
        if len(graph.nodes) <= _MOST_PROJECTS:
            picture = close_picture(graph, status)
        elif 0 < len(shown) <= _MOST_PROJECTS:
            picture = close_picture(_among(graph, shown), status)
        return {
            "title": "Close",
            "period": period,
            "search": search,
            "state_filter": state,
            "all_states": sorted({node_status.state for node_status in status.nodes}),
            "folder": folder,
            "folders": rows,
            "closed_periods": {node.node.period.identifier for node in status.nodes if node.is_closed},
            "most_reasons": _MOST_REASONS,
            "reasons": shown_reasons(status, search=search, state=state, folder=folder),
            "hidden": sum(row.size - len(row.projects) for row in rows if row.projects),
            "status": status,
            "states": {
                (node_status.node.project, node_status.node.period.identifier): node_status
                for node_status in status.nodes
                if node_status.node.project in shown
            },
            "graph": graph,
            "picture": picture,
            "latest": latest.runs,
            "works": works,
            "events": "/api/v1/runs/events",
        }

    # What this server works on changes without another answer.
    if works:
        return served.templates.page(request, "close.html", **values())
    return served.page(request, "close.html", (status, graph, latest), values)
