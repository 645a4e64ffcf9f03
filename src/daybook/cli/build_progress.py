"""Shows the progress of a build: a table on a terminal, else a line for each event."""

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from daybook.cli.terminal import (
    Cell,
    LiveTable,
    echo_note,
    show_live,
    show_notice,
)
from daybook.graph.build_listener import BuildListener

if TYPE_CHECKING:
    from daybook.errors import Notice
    from daybook.graph.build import NodeResult
    from daybook.graph.nodes import Node


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
        self.notices: dict[Notice, dict[Node, None]] = {}
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
            self.notices.setdefault(notice, {})[node] = None

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
            show_notice(notice, about=node_name(node))

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
        show_notice(notice, about=node_names(tuple(nodes)))


def node_name(node: "Node") -> str:
    return f"{node.project} {node.period.identifier}"


def node_names(nodes: "Sequence[Node]") -> str:
    """The first nodes by name, and how many more there are."""
    named = ", ".join(map(node_name, nodes[:_MOST_NAMES]))
    return named if len(nodes) <= _MOST_NAMES else f"{named} and {len(nodes) - _MOST_NAMES} more"
