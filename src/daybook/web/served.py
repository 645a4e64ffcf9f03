"""What the requests of one server share: workspace, access, templates, caches, and one watch over the store."""

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from urllib.parse import quote

from fastapi import Depends, Request
from starlette.responses import HTMLResponse, Response, StreamingResponse

from daybook.errors import DaybookError
from daybook.web.access import Access, Reader, Visitor
from daybook.web.actions import PageActions
from daybook.web.page_templates import Templates, preferred_negatives
from daybook.web.questions import Questions
from daybook.workspace.open_workspace import OpenedWorkspace
from daybook.workspace.runs import RunDetails, RunListing, list_runs, show_run
from daybook.workspace.stored_definitions import DefinitionSummary, list_definitions

if TYPE_CHECKING:
    from daybook.graph.recorded_runs import RecordedRuns
    from daybook.io.stored_rows import RowCondition, RowOrder
    from daybook.runs.run_result import OutputResult
    from daybook.workspace.close import CloseGraphResult, CloseStatus
    from daybook.workspace.lineage import LineageResult
    from daybook.workspace.numbers import NumbersPage, NumbersRequest


_Answer = TypeVar("_Answer")
_MOST_ANSWERS = 200
_LEAST_SECONDS = 1.0
# What is expensive is kept longer, so that readers take a tenth of a processor at most.
_KEPT_PER_SECOND = 10.0
_FINAL_SECONDS = 600.0


@dataclass(slots=True)
class _Entry:
    lock: threading.Lock = field(default_factory=threading.Lock)
    answer: Any = None
    version: int = -1
    kept_until: float = 0.0
    seconds: float = 0.0
    is_final: bool = False

    def is_good(self, version: int, now: float) -> bool:
        return now < self.kept_until and (self.is_final or version == self.version)


class RecentAnswers:
    """Who asks while an answer is being computed waits for it; failures are not kept."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()

    def get(
        self,
        key: Hashable,
        compute: Callable[[], _Answer],
        *,
        version: int = 0,
        is_final: Callable[[_Answer], bool] = lambda _: False,
    ) -> _Answer:
        """The answer that is kept, or computed now.

        One that can change is kept ten times as long as it and the others that are kept took, unless the version is
        another; a final one stays.
        """
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            self._entries.move_to_end(key)
            while len(self._entries) > _MOST_ANSWERS:
                self._entries.popitem(last=False)
        with entry.lock:
            began = self._clock()
            if not entry.is_good(version, began):
                entry.answer, entry.version = compute(), version
                entry.is_final, ended = is_final(entry.answer), self._clock()
                entry.seconds = ended - began
                kept = _FINAL_SECONDS if entry.is_final else self._seconds_to_keep(entry, ended)
                entry.kept_until = ended + kept
            answer: _Answer = entry.answer
            return answer

    def _seconds_to_keep(self, entry: _Entry, now: float) -> float:
        with self._lock:
            others = [other for other in self._entries.values() if other is not entry and now < other.kept_until]
        together = entry.seconds + sum(other.seconds for other in others if not other.is_final)
        return max(_LEAST_SECONDS, _KEPT_PER_SECOND * together)

    def forget(self) -> None:
        """Clears the cache after a change in this process."""
        with self._lock:
            self._entries.clear()


class SharedBodies:
    """Pages and JSON as bytes, made again only when they are to show another object."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bodies: OrderedDict[Hashable, tuple[tuple[object, ...], bytes]] = OrderedDict()

    def get(self, key: Hashable, shown: tuple[object, ...], make: Callable[[], bytes]) -> bytes:
        """The bytes for a key; `shown` are answers that stay the same objects as long as they are kept."""
        with self._lock:
            kept = self._bodies.get(key)
        if kept is not None and all(
            kept_answer is shown_answer for kept_answer, shown_answer in zip(kept[0], shown, strict=True)
        ):
            return kept[1]
        body = make()
        with self._lock:
            self._bodies[key] = (shown, body)
            self._bodies.move_to_end(key)
            while len(self._bodies) > _MOST_ANSWERS:
                self._bodies.popitem(last=False)
        return body


WATCHED_RUNS = 50
POLL_SECONDS = 0.7


@dataclass(slots=True)
class StoreWatch:
    """The state of the latest runs; `number` grows whenever something about them changes."""

    workspace: OpenedWorkspace
    number: int = 0
    # The server is about to end, and so does everything that waits for events.
    is_ending: bool = False
    _seen: Any = None
    _readers: int = 0
    _thread: threading.Thread | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note_state(self) -> None:
        """Remember the runs as they are: a watch that begins later finds no change in what an answer already has."""
        if self._seen is None:
            self._seen = self._look()

    def begin(self) -> None:
        with self._lock:
            self._readers += 1
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._watch, name="daybook-watch", daemon=True)
                self._thread.start()

    def end(self) -> None:
        with self._lock:
            self._readers -= 1

    def _watch(self) -> None:
        while True:
            with self._lock:
                if self._readers <= 0:
                    self._thread = None
                    return
            try:
                seen = self._look()
            except DaybookError:
                # The store is locked or away for a moment; the next look finds it again.
                seen = self._seen
            if seen != self._seen:
                self._seen = seen
                self.number += 1
            time.sleep(POLL_SECONDS)

    def _look(self) -> Any:
        runs = list_runs(self.workspace, limit=WATCHED_RUNS).runs
        steps = {run.id: show_run(self.workspace, run.id).operations for run in runs if run.is_active}
        return [(run.id, run.status, run.attempt, run.last_completed_operation, steps.get(run.id)) for run in runs]


_MOST_KEPT_ROWS = 100


@dataclass(frozen=True, slots=True)
class Served:
    workspace: OpenedWorkspace
    access: Access
    templates: Templates
    questions: Questions
    actions: PageActions
    watch: StoreWatch
    recent: RecentAnswers
    bodies: SharedBodies
    recorded: "RecordedRuns"

    def page(
        self, request: Request, name: str, shown: tuple[object, ...], values: Callable[[], dict[str, Any]]
    ) -> Response:
        """A page for many readers: rendered once for all that see the same, as long as the answers in it are kept."""
        reader = (request.state.visitor, preferred_negatives(request))
        body = self.bodies.get(
            (name, request.url.path, request.url.query, *reader),
            shown,
            lambda: self.templates.render(request, name, **values()).encode(),
        )
        return HTMLResponse(body)

    def status(
        self, period: str | None = None, *, ask: bool = False, look: bool = False, projects: tuple[str, ...] = ()
    ) -> "CloseStatus":
        from daybook.workspace.close import close_status

        return self._recent(
            ("status", period, ask, look, projects),
            lambda: close_status(self.workspace, projects=projects, period=period, ask=ask, look=look),
        )

    def overview(self, period: str | None) -> "tuple[CloseStatus, CloseGraphResult]":
        """What the page of the close shows: the state of every node, and the graph of the projects."""
        from daybook.workspace.close import close_overview

        # In a large close it takes long enough that nobody should wait for it twice.
        self.watch.note_state()
        return self._recent(
            ("overview", period), lambda: close_overview(self.workspace, period=period, recorded=self.recorded)
        )

    def prepare(self) -> None:
        """Compute what the first page shows before somebody asks; a failure is the answer to who asks."""
        with suppress(DaybookError):
            self.overview(None)

    def graph(self, period: str | None = None) -> "CloseGraphResult":
        from daybook.workspace.close import close_graph

        return self._recent(("graph", period), lambda: close_graph(self.workspace, period=period))

    def definitions(self) -> tuple[DefinitionSummary, ...]:
        return self._recent(("definitions",), lambda: list_definitions(self.workspace))

    def lineage(self, project: str | None = None) -> "LineageResult":
        from daybook.workspace.lineage import trace_columns

        return self._recent(("lineage", project), lambda: trace_columns(self.workspace, project))

    def runs(
        self,
        *,
        project: str | None = None,
        period: str | None = None,
        status: str | None = None,
        limit: int,
        after: str | None = None,
    ) -> RunListing:
        return self._recent(
            ("runs", project, period, status, limit, after),
            lambda: list_runs(self.workspace, project=project, period=period, status=status, limit=limit, after=after),
        )

    def run(self, run_id: str) -> RunDetails:
        """A run; one that is completed does not change any more."""
        return self._recent(
            ("run", run_id),
            lambda: show_run(self.workspace, run_id),
            # The run that PROJECT@PERIOD names changes.
            is_final=lambda details: details.record.status == "completed" and details.record.id == run_id,
        )

    def outputs(self, run_id: str) -> "tuple[OutputResult, ...]":
        """What a completed run wrote."""
        from daybook.workspace.numbers import list_outputs

        return self._recent(("outputs", run_id), lambda: list_outputs(self.workspace, run_id), is_final=lambda _: True)

    def numbers(self, request: "NumbersRequest") -> "NumbersPage":
        """A page of what a run committed, which stays as it is; large pages are not kept."""
        from daybook.workspace.numbers import read_numbers

        if request.limit > _MOST_KEPT_ROWS:
            return read_numbers(self.workspace, request)
        return self._recent(
            ("numbers", request), lambda: read_numbers(self.workspace, request), is_final=lambda _: True
        )

    def _recent(
        self, key: Hashable, compute: Callable[[], _Answer], *, is_final: Callable[[_Answer], bool] = lambda _: False
    ) -> _Answer:
        return self.recent.get(key, compute, version=self.watch.number, is_final=is_final)


def _served(request: Request) -> Served:
    served: Served = request.app.state.served
    return served


def _visitor(request: Request) -> Visitor:
    visitor: Visitor = request.state.visitor
    return visitor


def reader_of(request: Request) -> Reader:
    """Who shares the server with others, as the guard has named the reader."""
    reader: Reader = request.state.reader
    return reader


def _acting_visitor(request: Request) -> Visitor:
    """A user with a name, where the server allows actions."""
    served, visitor = _served(request), _visitor(request)
    if not served.access.site.allows_actions:
        raise DaybookError("WEB_012")
    if visitor.name is None:
        raise DaybookError("WEB_005")
    return visitor


ServedHere = Annotated[Served, Depends(_served)]
AskedBy = Annotated[Visitor, Depends(_visitor)]
ActedBy = Annotated[Visitor, Depends(_acting_visitor)]


def parse_conditions(texts: Iterable[str]) -> "tuple[RowCondition, ...]":
    """Conditions as addresses have them: `["amount", ">=", "100"]`."""
    from daybook.io.stored_rows import RowCondition

    conditions = []
    for text in texts:
        try:
            column, comparison, *values = json.loads(text)
            if not isinstance(column, str) or not isinstance(comparison, str) or len(values) > 1:
                raise ValueError
            value = values[0] if values else None
            if isinstance(value, list | dict):
                raise ValueError
            # JSON can escape half of a character, which is in no text of a table.
            for part in (column, value):
                if isinstance(part, str):
                    part.encode()
        except (ValueError, TypeError, RecursionError):
            raise DaybookError("WEB_015", argument="where", reason=f"{text[:100]!r} is not a condition") from None
        conditions.append(RowCondition(column, comparison, value))
    return tuple(conditions)


def parse_order(texts: Iterable[str]) -> "tuple[RowOrder, ...]":
    """Columns, those with a minus from large to small."""
    from daybook.io.stored_rows import RowOrder

    return tuple(RowOrder(text.removeprefix("-"), text.startswith("-")) for text in texts if text)


def numbers_request(run_id: str, seq: int, where: Iterable[str], sort: Iterable[str], **more: Any) -> "NumbersRequest":
    from daybook.workspace.numbers import NumbersRequest

    return NumbersRequest(run_id, str(seq), parse_conditions(where), parse_order(sort), **more)


def csv_response(served: Served, request: "NumbersRequest") -> Response:
    from daybook.workspace.numbers import stream_csv

    download = stream_csv(served.workspace, request)
    name = f"attachment; filename*=UTF-8''{quote(download.file_name, safe='')}"
    return StreamingResponse(download.pieces, media_type="text/csv", headers={"Content-Disposition": name})
