"""Requests that need Spark: one at a time, readers in turn, with progress, until they are cancelled."""

import contextlib
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from daybook.errors import DaybookError
from daybook.model.serialization import encode_definition
from daybook.runs.run_listener import RunListener
from daybook.workspace.open_workspace import OpenedWorkspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from daybook.compare.bridge import BridgeRequest
    from daybook.compare.diff import DiffRequest
    from daybook.workspace.impact import ImpactRequest

QuestionState = Literal["waiting", "running", "done", "failed"]
Answering = Callable[[OpenedWorkspace, RunListener], Any]

_KEPT_ANSWERS = 100
# A reader sees a few pages at once; more only make all others wait.
MOST_WAITING = 20
_REMEMBERED_READERS = 1000
# A failure is shown when the page is reloaded; later the question is computed again.
_KEPT_FAILURE_SECONDS = 20.0
_REPEAT_STOP_SECONDS = 0.5


@dataclass(eq=False, slots=True)
class Question:
    """`done` of `total` tasks are known while it runs; `answer` or `failure` is there when it is over."""

    key: Hashable
    title: str
    answering: Answering
    reader: Hashable = None
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    state: QuestionState = "waiting"
    stage: str = "waiting for earlier requests"
    done: int = 0
    total: int = 0
    answer: Any = None
    failure: Exception | None = None
    ended_at: float = 0.0
    is_cancelled: bool = False
    # Programs that wait for it, and whether a page shows it, which asks for the answer again.
    listeners: int = 0
    is_shown: bool = False
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def tag(self) -> str:
        return f"daybook-question-{self.id}"

    @property
    def is_over(self) -> bool:
        return self.over.is_set()

    def wait(self, seconds: float | None = None) -> bool:
        return self.over.wait(seconds)

    def result(self) -> Any:
        """The answer; what went wrong is raised."""
        if self.failure is not None:
            raise self.failure
        return self.answer


class _Stages(RunListener):
    """What a long computation does at the moment."""

    def __init__(self, question: Question) -> None:
        self._question = question

    def stage(self, text: str) -> None:
        self._question.stage = text


def _present_state(workspace: OpenedWorkspace) -> Hashable:
    """The definitions of the files, the active versions and the last run: what an answer about all of them is for."""
    definitions = workspace.read_definitions().all()
    digests = sorted(encode_definition(item.kind, item.model).text_digest for item in definitions)
    with workspace.open_store_or_empty() as store, store.read() as transaction:
        runs = [run.id for run in transaction.runs.page(limit=1).runs]
        active = sorted((state.project_id, state.active_version) for state in transaction.projects.all())
    return (*digests, *runs, *active)


class Questions:
    """Asks Spark in a thread of its own; the session starts with the first question and stays."""

    def __init__(self, workspace: OpenedWorkspace) -> None:
        self._workspace = workspace
        self._lock = threading.Condition()
        self._waiting: list[Question] = []
        self._known: OrderedDict[Hashable, Question] = OrderedDict()
        self._by_id: dict[str, Question] = {}
        self._running: Question | None = None
        # The readers whose questions were begun, the latest last.
        self._served: OrderedDict[Hashable, None] = OrderedDict()
        self._thread: threading.Thread | None = None

    def ask(self, key: Hashable, title: str, answering: Answering, *, reader: Hashable = None) -> Question:
        """The question with this key: answered already, on its way, or asked now by this reader."""
        with self._lock:
            question = self._known.get(key)
            if question is not None and not self._is_outdated(question):
                self._known.move_to_end(key)
                return question
            if sum(waiting.reader == reader for waiting in self._waiting) >= MOST_WAITING:
                raise DaybookError("WEB_018", limit=MOST_WAITING)
            question = Question(key, title, answering, reader)
            self._known[key] = question
            self._by_id[question.id] = question
            self._waiting.append(question)
            self._forget_old()
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._work, name="daybook-questions", daemon=True)
                self._thread.start()
            self._lock.notify_all()
            return question

    def explain(
        self,
        run_id: str,
        operation: str,
        keys: Mapping[str, str | None],
        *,
        title: str,
        limit: int,
        depth: int | None = None,
        columns: tuple[str, ...] = (),
        reader: Hashable = None,
    ) -> Question:
        """Which rows are behind a number."""
        from daybook.workspace.explain import explain_number

        return self.ask(
            ("explain", run_id, operation, tuple(keys.items()), limit, depth, columns),
            title,
            lambda workspace, _: explain_number(
                workspace, run_id, operation, keys, limit=limit, depth=depth, columns=columns
            ),
            reader=reader,
        )

    def diff(self, request: "DiffRequest", *, reader: Hashable = None) -> Question:
        """What differs between two runs."""
        from daybook.workspace.numbers import diff_runs

        title = f"Compare {request.a} and {request.b}"
        return self.ask(("diff", request), title, lambda workspace, _: diff_runs(workspace, request), reader=reader)

    def bridge(self, request: "BridgeRequest", *, reader: Hashable = None) -> Question:
        """Why a total moved from one run to another."""
        from daybook.workspace.numbers import bridge_runs

        return self.ask(
            ("bridge", request),
            f"Why {request.measure} moved from {request.a} to {request.b}",
            lambda workspace, listener: bridge_runs(workspace, request, listener=listener),
            reader=reader,
        )

    def impact(self, request: "ImpactRequest", *, reader: Hashable = None) -> Question:
        """What the files as they are now would do to the last closes."""
        from daybook.workspace.impact import find_impact

        return self.ask(
            ("impact", request, _present_state(self._workspace)),
            "What changed definitions would do",
            lambda workspace, listener: find_impact(workspace, request, listener=listener),
            reader=reader,
        )

    def find(self, question_id: str) -> Question | None:
        with self._lock:
            return self._by_id.get(question_id)

    def position(self, question: Question) -> int:
        """How many questions come before it."""
        with self._lock:
            before = 1 if self._running is not None else 0
            order = self._in_turn()
            return order.index(question) + before if question in order else 0

    def cancel(self, question: Question) -> None:
        """End a question that waits or runs; one that is over stays as it is."""
        with self._lock:
            question.is_cancelled = True
            if question in self._waiting:
                self._waiting.remove(question)
                self._end(question, failure=DaybookError("WEB_016"))
            elif question is self._running:
                threading.Thread(target=self._stop_jobs, args=(question,), daemon=True).start()

    def close(self) -> None:
        with self._lock:
            for question in (*self._waiting, *([self._running] if self._running else [])):
                question.is_cancelled = True
            self._waiting.clear()

    def _in_turn(self) -> list[Question]:
        """Questions that wait, as they will be answered: readers in turn, those served longest ago first."""
        served = {reader: place for place, reader in enumerate(self._served, start=1)}
        rounds: dict[Hashable, int] = {}
        places: dict[str, tuple[int, int]] = {}
        for question in self._waiting:
            rounds[question.reader] = rounds.get(question.reader, 0) + 1
            places[question.id] = rounds[question.reader], served.get(question.reader, 0)
        return sorted(self._waiting, key=lambda question: places[question.id])

    def _take_next(self) -> Question:
        question = self._in_turn()[0]
        self._waiting.remove(question)
        self._served[question.reader] = None
        self._served.move_to_end(question.reader)
        while len(self._served) > _REMEMBERED_READERS:
            self._served.popitem(last=False)
        return question

    def _is_outdated(self, question: Question) -> bool:
        return question.state == "failed" and time.monotonic() - question.ended_at > _KEPT_FAILURE_SECONDS

    def _forget_old(self) -> None:
        while len(self._known) > _KEPT_ANSWERS:
            key = next((key for key, question in self._known.items() if question.is_over), None)
            if key is None:
                return
            del self._known[key]
        kept = {id(question) for question in self._known.values()}
        self._by_id = {
            name: question for name, question in self._by_id.items() if id(question) in kept or not question.is_over
        }

    def _work(self) -> None:
        while True:
            with self._lock:
                while not self._waiting:
                    self._lock.wait()
                question = self._running = self._take_next()
                question.state, question.stage = "running", "starting Spark"
            try:
                answer = self._answer(question)
                with self._lock:
                    self._end(question, answer=answer)
            except Exception as failure:
                with self._lock:
                    self._end(question, failure=DaybookError("WEB_016") if question.is_cancelled else failure)

    def _answer(self, question: Question) -> Any:
        """The answer; it is computed a second time when Java ended meanwhile, since questions write nothing."""
        from daybook.engine.java.session import session_failure

        session = self._workspace.session()
        try:
            return self._compute(question, session)
        except Exception as failure:
            if question.is_cancelled or session_failure(session, failure) is None:
                raise
        question.stage = "starting Spark again"
        session = self._workspace.session()
        try:
            return self._compute(question, session)
        except Exception as failure:
            if (lost := session_failure(session, failure)) is None:
                raise
            raise lost from failure

    def _compute(self, question: Question, session: "SparkSession") -> Any:
        from daybook.engine.jobs import tag_jobs, watch_progress

        def report(done: int, total: int) -> None:
            question.done, question.total = done, total

        question.stage = "computing"
        if question.is_cancelled:
            raise DaybookError("WEB_016")
        with tag_jobs(session, question.tag), watch_progress(session, question.tag, report):
            return question.answering(replace(self._workspace, session=lambda: session), _Stages(question))

    def _stop_jobs(self, question: Question) -> None:
        """A job may begin just after those that ran were stopped, so that is said again until the question is over."""
        from daybook.engine.jobs import stop_jobs

        with contextlib.suppress(Exception):
            while not question.is_over:
                stop_jobs(self._workspace.session(), question.tag)
                question.wait(_REPEAT_STOP_SECONDS)

    def _end(self, question: Question, *, answer: Any = None, failure: Exception | None = None) -> None:
        question.answer, question.failure = answer, failure
        question.state = "failed" if failure is not None else "done"
        question.ended_at = time.monotonic()
        if self._running is question:
            self._running = None
        question.over.set()
