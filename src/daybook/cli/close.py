"""`daybook graph`, `status` and `build`, with the progress table of a build."""

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from daybook.cli import arguments
from daybook.cli.arguments import AsJson, open_workspace, open_workspace_with_spark, period_option, root_options
from daybook.cli.terminal import (
    Cell,
    LiveTable,
    echo,
    echo_json,
    echo_json_line,
    echo_note,
    show_live,
    show_notice,
    show_table,
)
from daybook.graph.listener import BuildListener

if TYPE_CHECKING:
    from daybook.errors import Notice
    from daybook.graph.build import BuildResult, NodeResult
    from daybook.graph.build_plan import BuildPlan
    from daybook.graph.close import NodeStatus
    from daybook.graph.nodes import Node
    from daybook.workspace.close import CloseGraphResult, CloseStatus


STATE_STYLES = {
    "fresh": "green",
    "stale": "yellow",
    "unknown": "yellow",
    "failed": "red",
    "blocked": "red",
    "running": "cyan",
    "never": "dim",
    "waiting": "dim",
    "ran": "green",
    "locked": "dim",
}
# Rich gives an empty table where the columns are wider than it can count, and takes minutes for thousands of them.
_MOST_COLUMNS = 100
# How many nodes a warning names that is about several.
_MOST_NAMES = 3
# Title, head, summary and what the terminal needs below.
_OTHER_LINES = 6


@dataclass(slots=True)
class _Row:
    state: str = "waiting"
    stage: str = ""
    began: float = 0.0
    seconds: float = 0.0


class BuildTable(BuildListener):
    """Node, state and time of every node; as many as the terminal has lines, those that run and failed first."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        # The nodes that each warning is about.
        self.notices: dict[Notice, list[Node]] = {}
        self._clock = clock
        self._rows: dict[Node, _Row] = {}
        # Events come from the threads of the nodes while another one draws.
        self._lock = threading.Lock()

    def planned(self, nodes: "tuple[Node, ...]") -> None:
        with self._lock:
            self._rows = {node: _Row() for node in nodes}

    def started(self, node: "Node", run_id: str) -> None:
        with self._lock:
            row = self._rows.setdefault(node, _Row())
            row.state, row.began = "running", self._clock()

    def stage(self, node: "Node", text: str) -> None:
        with self._lock:
            self._rows.setdefault(node, _Row()).stage = text

    def finished(self, result: "NodeResult") -> None:
        with self._lock:
            row = self._rows.setdefault(result.node, _Row())
            row.state, row.stage, row.seconds = result.result, "", result.seconds

    def notice(self, node: "Node", notice: "Notice") -> None:
        """Kept until the table is gone, where nothing overwrites it."""
        with self._lock:
            nodes = self.notices.setdefault(notice, [])
            if node not in nodes:
                nodes.append(node)

    def render(self, height: int) -> LiveTable:
        """What there is to see now, in the lines of a terminal."""
        with self._lock:
            rows = list(self._rows.items())
            counts = Counter(row.state for _, row in rows)
            now = self._clock()
        shown: list[tuple[Cell, ...]] = []
        for node, row in _most_telling(rows, max(1, height - _OTHER_LINES)):
            seconds = now - row.began if row.state == "running" else row.seconds
            state = f"{row.state}: {row.stage}" if row.stage and row.state == "running" else row.state
            time_text = f"{seconds:.1f} s" if row.state in ("running", "ran", "failed") else ""
            name = f"{node.project} {node.period.identifier}"
            shown.append((name, (state, STATE_STYLES.get(row.state, "")), time_text))
        summary = ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
        return LiveTable(("node", "state", "time"), tuple(shown), summary, right=(2,))


def _most_telling(rows: "list[tuple[Node, _Row]]", limit: int) -> "list[tuple[Node, _Row]]":
    """In the order of the plan: all where they fit, else what runs or failed, then what ran, then what waits."""
    ranks = {"running": 0, "failed": 1, "ran": 2, "waiting": 3}
    ranked = sorted(range(len(rows)), key=lambda index: ranks.get(rows[index][1].state, 4))
    return [rows[index] for index in sorted(ranked[:limit])]


class BuildLines(BuildListener):
    """A line when a node starts and when it ends."""

    def __init__(self, *, is_quiet: bool) -> None:
        self._is_quiet = is_quiet

    def planned(self, nodes: "tuple[Node, ...]") -> None:
        self._say(f"{len(nodes)} node{'' if len(nodes) == 1 else 's'}")

    def started(self, node: "Node", run_id: str) -> None:
        self._say(f"{node.project} {node.period.identifier}: run {run_id}")

    def finished(self, result: "NodeResult") -> None:
        if result.result == "ran":
            self._say(f"{result.node.project} {result.node.period.identifier}: done in {result.seconds:.1f} s")

    def notice(self, node: "Node", notice: "Notice") -> None:
        if not self._is_quiet:
            show_notice(notice, about=_name(node))

    def _say(self, text: str) -> None:
        if not self._is_quiet:
            echo_note(text)


@contextmanager
def build_listener(*, is_quiet: bool) -> "Iterator[BuildListener]":
    """A live table on a terminal; lines otherwise."""
    if is_quiet or not sys.stderr.isatty():
        yield BuildLines(is_quiet=is_quiet)
        return
    table = BuildTable()
    with show_live(table.render):
        yield table
    for notice, nodes in table.notices.items():
        show_notice(notice, about=_names(nodes))


def _name(node: "Node") -> str:
    return f"{node.project} {node.period.identifier}"


def _names(nodes: "Sequence[Node]") -> str:
    """The first nodes by name, and how many more there are."""
    named = ", ".join(map(_name, nodes[:_MOST_NAMES]))
    return named if len(nodes) <= _MOST_NAMES else f"{named} and {len(nodes) - _MOST_NAMES} more"


FAILED = 1
CANCELLED = 130

OptionalPeriod = Annotated[
    str | None,
    typer.Option(
        "--period",
        "-p",
        metavar="PERIOD",
        help="A period or a range: 2026-01..2026-03.",
        autocompletion=arguments.period_identifiers,
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
            autocompletion=arguments.project_ids,
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

    result = close_status(open_workspace(context), projects=projects or (), period=period, ask=ask, look=look)
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
            autocompletion=arguments.project_ids,
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
            autocompletion=arguments.project_parameter_names,
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
        plan = plan_close_build(open_workspace(context), request)
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
        raise typer.Exit(CANCELLED)
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
        echo(reason)
    _show_left_out(result.left_out)


def _show_notices(notices: "tuple[Notice, ...]") -> None:
    for notice in notices:
        show_notice(notice)


def _show_left_out(left_out: tuple[str, ...]) -> None:
    if left_out:
        echo_note(f"left out, because their periods are longer: {', '.join(left_out)}")
