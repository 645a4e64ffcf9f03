"""`daybook graph`, `status` and `build`."""

from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli import completion
from daybook.cli.arguments import AsJson, period_option
from daybook.cli.build_progress import STATE_STYLES, build_listener
from daybook.cli.exit_codes import FAILED, INTERRUPTED
from daybook.cli.open_workspace import open_workspace, open_workspace_with_spark
from daybook.cli.root_options import root_options
from daybook.cli.terminal import (
    Cell,
    echo,
    echo_json,
    echo_json_line,
    echo_note,
    shorten_paths_in,
    show_notice,
    show_table,
)
from daybook.graph.build_listener import BuildListener

if TYPE_CHECKING:
    from daybook.errors import Notice
    from daybook.graph.build import BuildResult, NodeResult
    from daybook.graph.build_plan import BuildPlan
    from daybook.graph.close import NodeStatus
    from daybook.graph.nodes import Node
    from daybook.workspace.close import CloseGraphResult, CloseStatus

# Rich gives an empty table where the columns are wider than it can count, and takes minutes for thousands of them.
_MOST_COLUMNS = 100
OptionalPeriod = Annotated[
    str | None,
    typer.Option(
        "--period",
        "-p",
        metavar="PERIOD",
        help="A period or a range: 2026-01..2026-03.",
        autocompletion=completion.period_identifiers,
    ),
]


def graph(
    context: typer.Context,
    period: OptionalPeriod = None,
    mermaid: Annotated[bool, typer.Option("--mermaid", help="As a Mermaid flow chart.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show which projects read what others write.

    With a period, every project and period is a node of its own.
    """
    from daybook.workspace.close import close_graph

    result = close_graph(open_workspace(context), period=period)
    _show_notices(result.notices)
    if as_json:
        echo_json(result)
    elif mermaid:
        from daybook.workspace.mermaid import graph_as_mermaid

        echo(graph_as_mermaid(result))
    else:
        _show_graph(result)


def _show_graph(result: "CloseGraphResult") -> None:
    if not result.nodes:
        echo_note("the workspace has no projects")
    for node in result.nodes:
        reads = [edge for edge in result.edges if edge.reader == node.name]
        echo(node.name)
        for edge in reads:
            echo(f"  reads {edge.dataset} from {edge.maker}")


def status(
    context: typer.Context,
    projects: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PROJECT…]",
            help="Projects, or patterns such as 'clean-*'; by default all active ones.",
            autocompletion=completion.project_ids,
        ),
    ] = None,
    period: OptionalPeriod = None,
    ask: Annotated[bool, typer.Option("--ask", help="Also ask databases and catalogs.")] = False,
    look: Annotated[
        bool, typer.Option("--look", help="Read files that changed, to find out which numbers they concern.")
    ] = False,
    show_all: Annotated[bool, typer.Option("--all", help="Also show what may follow from what changed.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show which numbers are up to date, and why others are not.

    Without a period, all periods that have been run. What changed comes first, with how many numbers it concerns.
    """
    from daybook.workspace.close import close_status

    # Tables by name are asked through a session, which starts if there are some.
    with open_workspace_with_spark(context) if ask else nullcontext(open_workspace(context)) as workspace:
        result = close_status(workspace, projects=projects or (), period=period, ask=ask, look=look)
    _show_notices(result.notices)
    if as_json:
        echo_json(result)
    else:
        show_status(result, shows_all=show_all)


def show_status(status: "CloseStatus", *, shows_all: bool = False) -> None:
    if not status.nodes:
        if not status.notices:
            echo_note("no active project has run yet: `daybook build --period PERIOD` runs them")
    elif len(status.periods) <= _MOST_COLUMNS:
        _show_status_grid(status)
    else:
        _show_status_list(status)
    _show_reasons(status, shows_all=shows_all)
    _show_left_out(status.left_out)


def _show_reasons(close_status: "CloseStatus", *, shows_all: bool) -> None:
    """What changed, then a sentence for each number that it concerns; with `shows_all` also for what may follow."""
    for cause in close_status.causes:
        count = len(cause.nodes)
        if count > 1:
            echo(f"{cause.text}: {count} nodes")
    for status in close_status.nodes:
        for reason in status.reasons if shows_all or not status.is_consequence else ():
            echo(f"{status.node.project} {status.node.period.identifier}: {reason}")
    hidden = sum(status.is_consequence for status in close_status.nodes)
    if hidden and not shows_all:
        echo_note(f"{hidden} more may change with what they read; --all shows them")


def _show_status_grid(result: "CloseStatus") -> None:
    """Projects down, periods across."""
    statuses = {(status.node.project, status.node.period.identifier): status for status in result.nodes}
    rows = []
    for project in result.projects:
        cells: list[Cell] = [project]
        for period in result.periods:
            status = statuses.get((project, period))
            cells.append((_state_text(status), STATE_STYLES.get(status.state, "")) if status else "")
        rows.append(cells)
    show_table(("project", *result.periods), rows)


def _show_status_list(result: "CloseStatus") -> None:
    """A line for each node, where there are more periods than a table can have columns."""
    project_width = max(map(len, result.projects))
    period_width = max(map(len, result.periods))
    for status in result.nodes:
        node = status.node
        echo(f"{node.project:<{project_width}}  {node.period.identifier:<{period_width}}  {_state_text(status)}")


def _state_text(status: "NodeStatus") -> str:
    mark = " locked" if status.is_locked else " closed" if status.is_closed else ""
    return f"{status.state}{mark}"


def build(
    context: typer.Context,
    period: Annotated[str, period_option("A period or a range: 2026-01..2026-03.")],
    projects: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PROJECT…]",
            help="Projects, or patterns such as 'clean-*'; by default all active ones. NAME+ adds what needs it.",
            autocompletion=completion.project_ids,
        ),
    ] = None,
    only: Annotated[bool, typer.Option("--only", help="Only the named projects, not what they need.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Also run what is fresh.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what would run and why; run nothing.")] = False,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="After a failure, continue with what does not depend on it.")
    ] = False,
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", help="How many nodes run at the same time.")] = 2,
    allow_empty: Annotated[bool, typer.Option("--allow-empty", help="Allow an empty output to replace rows.")] = False,
    draft: Annotated[bool, typer.Option("--draft", help="Run the files as drafts, into the sandbox.")] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PROJECT.NAME=VALUE",
            help="A value for a parameter of a project; may be repeated.",
            autocompletion=completion.project_parameter_names,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Bring projects and everything they need up to date, in the order they need each other.

    Only what is not fresh is run. Building again after a failure continues where it ended.
    """
    from daybook.graph.build_plan import BuildRequest
    from daybook.model.parameter import by_project, parse_settings
    from daybook.workspace.close import build_close, plan_close_build

    parameters = by_project(parse_settings(settings or (), "PROJECT.NAME=VALUE"))
    request = BuildRequest(period, tuple(projects or ()), only, full, keep_going, jobs, allow_empty, draft, parameters)
    if dry_run:
        with open_workspace_with_spark(context) as workspace:
            plan = plan_close_build(workspace, request)
        _show_notices(plan.notices)
        echo_json(plan) if as_json else _show_plan(plan)
        return
    is_quiet = root_options(context).is_quiet
    watching = nullcontext(_JsonEvents()) if as_json else build_listener(is_quiet=is_quiet)
    with open_workspace_with_spark(context) as workspace, watching as listener:
        result = build_close(workspace, request, listener=listener)
    _show_notices(result.notices)
    if as_json:
        from daybook.workspace.build_events import done_event

        echo_json_line(done_event(result))
    else:
        show_build_result(result)
    if result.is_cancelled:
        raise typer.Exit(INTERRUPTED)
    if not result.is_ok:
        raise typer.Exit(FAILED)


class _JsonEvents(BuildListener):
    """One line per event, when it happens."""

    def planned(self, nodes: "tuple[Node, ...]") -> None:
        from daybook.workspace.build_events import planned_event

        echo_json_line(planned_event(nodes))

    def started(self, node: "Node", run_id: str) -> None:
        from daybook.workspace.build_events import started_event

        echo_json_line(started_event(node, run_id))

    def finished(self, result: "NodeResult") -> None:
        from daybook.workspace.build_events import finished_event

        echo_json_line(finished_event(result))


def _show_plan(plan: "BuildPlan") -> None:
    rows = []
    for planned in plan.nodes:
        node = planned.status.node
        will_run = "; ".join(planned.why) if planned.will_run else "no, it is fresh"
        rows.append((node.project, node.period.identifier, "locked" if planned.status.is_locked else will_run))
    if rows:
        show_table(("project", "period", "would run"), rows, fixed=(0, 1))
    _show_left_out(plan.left_out)


def show_build_result(result: "BuildResult") -> None:
    rows: list[tuple[Cell, ...]] = []
    for node_result in result.nodes:
        seconds = f"{node_result.seconds:.1f}" if node_result.result in ("ran", "failed") else ""
        outcome = (node_result.result, STATE_STYLES.get(node_result.result, ""))
        rows.append(
            (node_result.node.project, node_result.node.period.identifier, outcome, node_result.run or "", seconds)
        )
    if rows:
        show_table(("project", "period", "result", "run", "seconds"), rows)
    for reason in result.reasons:
        echo(shorten_paths_in(reason))
    _show_left_out(result.left_out)


def _show_notices(notices: "tuple[Notice, ...]") -> None:
    for notice in notices:
        show_notice(notice)


def _show_left_out(left_out: tuple[str, ...]) -> None:
    if left_out:
        echo_note(f"left out, because their periods are longer: {', '.join(left_out)}")
