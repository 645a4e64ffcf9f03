"""Pages of the close: its grid and graph, periods, runs, and actions with their confirmation and list."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, get_args
from urllib.parse import quote

from fastapi import APIRouter, Form, Query, Request
from markupsafe import Markup
from starlette.responses import RedirectResponse, Response

from daybook.errors import DaybookError
from daybook.pictures.graph import PictureEdge, PictureNode, draw_graph
from daybook.runs.result import summarize_operations
from daybook.web.access import address_with, check_csrf, local_path
from daybook.web.actions import ActionName, ActionRequest
from daybook.web.served import ActedBy, Served, ServedHere
from daybook.workspace.certificates import list_seals
from daybook.workspace.periods import list_periods, show_period
from daybook.workspace.runs import RUN_STATUSES, list_actions
from daybook.workspace.totals import totals_of
from daybook.workspace.totals_page import render_totals

if TYPE_CHECKING:
    from daybook.workspace.close import CloseGraphResult, CloseStatus
    from daybook.workspace.runs import RunDetails, SourceRead


router = APIRouter()


_SHORT_TEXT = Query(max_length=200)


def _written(text: str | None) -> str | None:
    """What a reader entered; an empty field means nothing."""
    return text.strip() or None if text else None


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
        fits = (not search or search.casefold() in project.casefold()) and (not state or project in with_state)
        if fits:
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


@router.get("/close")
def close(
    request: Request,
    served: ServedHere,
    period: Annotated[str | None, _SHORT_TEXT] = None,
    search: Annotated[str | None, _SHORT_TEXT] = None,
    state: Annotated[str | None, _SHORT_TEXT] = None,
    folder: Annotated[str | None, _SHORT_TEXT] = None,
) -> Response:
    period, search, state, folder = _written(period), _written(search), _written(state), _written(folder)
    status, graph, latest, works = served.status(period), served.graph(), served.runs(limit=10), served.actions.works

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


@router.get("/runs")
def runs(
    request: Request,
    served: ServedHere,
    project: Annotated[str | None, _SHORT_TEXT] = None,
    period: Annotated[str | None, _SHORT_TEXT] = None,
    status: Annotated[str | None, _SHORT_TEXT] = None,
    after: Annotated[str | None, _SHORT_TEXT] = None,
) -> Response:
    project, period, status = _written(project), _written(period), _written(status)
    listed = served.runs(project=project, period=period, status=status, limit=50, after=after)
    values = {
        "title": "Runs",
        "listed": listed,
        "project": project,
        "period": period,
        "status": status,
        "statuses": RUN_STATUSES,
        "is_filtered": bool(project or period or status or after),
        "events": "/api/v1/runs/events" if after is None else None,
    }
    return served.page(request, "runs.html", (listed,), lambda: values)


def _sources_read(details: "RunDetails") -> list[tuple["SourceRead", list[str]]]:
    """What a run read, each once: as the input, or in the operations with these seqs."""
    uses: dict[SourceRead, list[str]] = {}
    for source, stored in zip(details.sources, details.snapshot["sources"], strict=True):
        where = str(stored["key"]).partition(".")[0]
        if where not in uses.setdefault(source, []):
            uses[source].append(where)
    return list(uses.items())


def _flow(served: ServedHere, details: "RunDetails") -> Markup | None:
    """Where every amount of a run that has ended came from and went; None where it followed no measure."""
    totals = None if details.record.is_active else totals_of(details)
    return None if totals is None else render_totals(totals, served.templates.in_workspace)


@router.get("/runs/{run_id}")
def run(request: Request, served: ServedHere, run_id: str) -> Response:
    details = served.run(run_id)

    def values() -> dict[str, Any]:
        return {
            "title": f"{details.record.project_id} {details.record.period}",
            "run": details,
            "record": details.record,
            "snapshot": details.snapshot,
            "steps": tuple(summarize_operations(details.operations, details.operation_names)),
            "operations": details.snapshot["project"]["operations"],
            "sources": _sources_read(details),
            "flow": _flow(served, details),
            "events": f"/api/v1/runs/{run_id}/events" if details.record.is_active else None,
        }

    return served.page(request, "run.html", (details,), values)


@router.get("/periods")
def periods(
    request: Request,
    served: ServedHere,
    year: Annotated[int | None, Query(ge=1, le=9999)] = None,
    calendar: Annotated[str | None, _SHORT_TEXT] = None,
) -> Response:
    year = year or served.workspace.clock().year
    listed = list_periods(served.workspace, year=year, calendar=_written(calendar))
    return served.templates.page(request, "periods.html", title="Periods", periods=listed, year=year)


@router.get("/periods/{identifier}")
def period(
    request: Request, served: ServedHere, identifier: str, calendar: Annotated[str | None, _SHORT_TEXT] = None
) -> Response:
    details = show_period(served.workspace, identifier, calendar=_written(calendar))
    seals = list_seals(served.workspace, period=identifier, calendar=_written(calendar))
    return served.templates.page(
        request,
        "period.html",
        title=f"Period {identifier}",
        found=details,
        status=served.status(identifier),
        seals=seals,
        runs=served.runs(period=identifier, limit=50).runs,
    )


_Text = Annotated[str | None, Query(max_length=200)]
_FormText = Annotated[str | None, Form(max_length=1000)]


def _named(name: str) -> ActionName:
    action: ActionName | None = next((candidate for candidate in get_args(ActionName) if candidate == name), None)
    if action is None:
        raise DaybookError("WEB_013", path=f"/actions/{name}")
    return action


def _request(name: str, subject: str | None, period: str | None, **more: Any) -> ActionRequest:
    subject, period = (subject or "").strip(), (period or "").strip() or None
    if not subject:
        raise DaybookError("WEB_015", argument="subject", reason="it is missing")
    if name == "run" and period is None:
        raise DaybookError("WEB_015", argument="period", reason="it is missing")
    return ActionRequest(_named(name), subject, period, **more)


@router.get("/actions")
def log(request: Request, served: ServedHere) -> Response:
    """What was done on the page."""
    return served.templates.page(
        request, "actions.html", title="Actions", actions=list_actions(served.workspace, limit=200)
    )


@router.get("/actions/{name}")
def confirm(
    request: Request,
    served: ServedHere,
    visitor: ActedBy,
    name: str,
    subject: _Text = None,
    period: _Text = None,
    project: Annotated[list[str] | None, Query()] = None,
    full: bool = False,
    draft: bool = False,
    next: _Text = None,  # noqa: A002
) -> Response:
    """What an action will do, and the button that does it."""
    action = _request(name, subject, period, projects=tuple(project or ()), is_full=full, is_draft=draft)
    return served.templates.page(
        request,
        "confirm.html",
        title=f"{name} {action.subject}",
        asked=action,
        plan=_build_plan(served, action) if name == "build" else None,
        next=local_path(next),
    )


def _build_plan(served: Served, action: ActionRequest) -> Any:
    from daybook.graph.build_plan import BuildRequest
    from daybook.workspace.close import plan_close_build

    return plan_close_build(served.workspace, BuildRequest(action.subject, action.projects, is_full=action.is_full))


@router.post("/actions/{name}")
def perform(
    served: ServedHere,
    visitor: ActedBy,
    name: str,
    subject: _FormText = None,
    period: _FormText = None,
    project: Annotated[list[str] | None, Form()] = None,
    full: Annotated[bool, Form()] = False,
    draft: Annotated[bool, Form()] = False,
    reason: _FormText = None,
    csrf: _FormText = None,
    next: _FormText = None,  # noqa: A002
) -> Response:
    check_csrf(visitor, csrf)
    action = _request(
        name,
        subject,
        period,
        projects=tuple(project or ()),
        is_full=full,
        is_draft=draft,
        reason=(reason or "").strip() or None,
    )
    done = served.actions.perform(action, visitor)
    served.recent.forget()
    if done.run_id is not None and action.name != "build":
        return RedirectResponse(f"/runs/{done.run_id}", 303)
    match action.name:
        case "build":
            target = address_with("/close", {"period": action.subject})
        case "close" | "lock":
            target = f"/periods/{action.subject}"
        case "activate":
            target = f"/definitions/project/{action.subject}"
        case _:
            target = local_path(next)
    return RedirectResponse(target, 303)
