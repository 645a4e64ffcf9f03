"""The actions of the page: each shows what it will do, asks for confirmation, and is recorded with the user."""

import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from daybook.errors import DaybookError
from daybook.errors.render import printable
from daybook.graph.build_listener import BuildListener
from daybook.model.json_fields import named
from daybook.runs.run_listener import RunListener
from daybook.runs.run_result import RunFailedError
from daybook.store.records import Action
from daybook.web.access import Visitor, checked_project_id
from daybook.web.problems import REQUEST_MADE
from daybook.workspace.open_workspace import OpenedWorkspace

if TYPE_CHECKING:
    from daybook.graph.build import BuildResult
    from daybook.graph.nodes import Node

ActionName = Literal["run", "build", "cancel", "retry", "activate", "close", "lock"]
WorkState = Literal["running", "done", "failed"]

# How long an answer waits for a run to exist; longer where Spark's files have to be read first.
_BEGIN_SECONDS = 60.0
_SHOWN_WORKS = 20
_UNEXPECTED_ERROR = "WEB_017"


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """What a user requests: `subject` is a project, a period or a run, as the action needs it."""

    name: ActionName
    subject: str
    period: str | None = None
    projects: tuple[str, ...] = ()
    reason: str | None = None
    is_draft: bool = False
    allow_empty: bool = False
    is_full: bool = False

    @property
    def sentence(self) -> str:
        """What will happen."""
        match self.name:
            case "run":
                where = " in the sandbox" if self.is_draft else ""
                return f"Run {self.subject} for {self.period}{where}: its outputs for the period are written again."
            case "build":
                which = ", ".join(self.projects) or "all active projects"
                how = "everything is run, also what is fresh" if self.is_full else "what is not up to date is run"
                return f"Build {which} for {self.subject}: {how}, in the order they need each other."
            case "cancel":
                return f"Cancel run {self.subject}: what it has committed is kept, the rest is not written."
            case "retry":
                return f"Retry run {self.subject}: it continues from its snapshot; what it committed is not repeated."
            case "activate":
                return f"Activate {self.subject}: the version in its file is the one that runs from now on."
            case "close":
                return f"Close {self.subject}: runs can still change it, with a warning."
            case "lock":
                return f"Lock {self.subject}: no run can change it any more."

    def as_details(self) -> dict[str, Any]:
        details = {
            "period": self.period,
            "projects": list(self.projects),
            "reason": self.reason,
            "draft": self.is_draft,
            "allow_empty": self.allow_empty,
            "full": self.is_full,
        }
        return {name: value for name, value in details.items() if value}


@dataclass(eq=False, slots=True)
class Work:
    """A run or a build that this server does; `run_id` is that of its run, or of its latest."""

    request: ActionRequest
    user: str
    started_at: datetime
    state: WorkState = "running"
    run_id: str | None = None
    failure: Exception | None = None
    build: "BuildResult | None" = None
    begun: threading.Event = field(default_factory=threading.Event)

    @property
    def problems(self) -> tuple[str, ...]:
        """Why nodes of a build did not run."""
        return self.build.problems if self.build is not None else ()


@dataclass(frozen=True, slots=True)
class ActionResult:
    """`run_id` leads to the run that was begun or changed; `changed` is False where it was so before."""

    name: Annotated[ActionName, named("action")]
    subject: str
    run_id: Annotated[str | None, named("run")] = None
    changed: bool = True


class PageActions:
    """Does what was asked for under the name of who asked; runs and builds go on in threads of this server."""

    def __init__(self, workspace: OpenedWorkspace) -> None:
        self._workspace = workspace
        self._works: deque[Work] = deque(maxlen=_SHOWN_WORKS)
        self._lock = threading.Lock()

    @property
    def works(self) -> tuple[Work, ...]:
        """Newest first."""
        with self._lock:
            return tuple(reversed(self._works))

    def perform(self, request: ActionRequest, visitor: Visitor) -> ActionResult:
        if visitor.name is None:
            raise DaybookError("WEB_005")
        if request.name in ("run", "activate"):
            checked_project_id(request.subject)
        workspace = self._workspace.acted_by(visitor.name, visitor.login)
        # Recorded first: nothing is done that is not known. Without an outcome, the server ended while it was done.
        record = _action(workspace, request, request.as_details())
        with workspace.open_store() as store, store.write() as transaction:
            action_id = transaction.actions.record(record)
        try:
            result = self._act(workspace, request)
        except Exception as failure:
            _record_outcome(workspace, action_id, _action(workspace, request, _failure_details(failure)))
            raise
        outcome = {"run": result.run_id, "changed": result.changed}
        _record_outcome(workspace, action_id, _action(workspace, request, outcome))
        return result

    def _act(self, workspace: OpenedWorkspace, request: ActionRequest) -> ActionResult:
        match request.name:
            case "run":
                return self._begin(request, workspace, _run)
            case "build":
                return self._begin(request, workspace, _build)
            case "retry":
                return self._begin(request, workspace, _retry)
            case "cancel":
                from daybook.workspace.runs import cancel_run

                return ActionResult("cancel", request.subject, cancel_run(workspace, request.subject).run_id)
            case "activate":
                from daybook.workspace.lifecycle import activate_project

                activation = activate_project(workspace, request.subject)
                return ActionResult("activate", request.subject, changed=activation.is_new)
            case "close" | "lock":
                from daybook.workspace.periods import close_period, lock_period

                change = close_period if request.name == "close" else lock_period
                changed = change(workspace, request.subject, reason=request.reason).is_changed
                return ActionResult(request.name, request.subject, changed=changed)

    def _begin(
        self, request: ActionRequest, workspace: OpenedWorkspace, do: Callable[[OpenedWorkspace, Work], None]
    ) -> ActionResult:
        """Answer as soon as it is known that it began; what is refused before is raised here."""
        work = Work(request, workspace.user, workspace.clock())

        def go() -> None:
            try:
                do(workspace, work)
                work.state = "done" if work.build is None or work.build.is_ok else "failed"
            except Exception as failure:
                work.failure, work.state = failure, "failed"
            work.begun.set()

        with self._lock:
            self._works.append(work)
        threading.Thread(target=go, name=f"daybook-{request.name}", daemon=True).start()
        work.begun.wait(_BEGIN_SECONDS)
        if work.failure is not None and not isinstance(work.failure, RunFailedError):
            with self._lock, suppress(ValueError):
                self._works.remove(work)
            raise work.failure
        return ActionResult(request.name, request.subject, work.run_id)


def _failure_details(failure: Exception) -> dict[str, Any]:
    if isinstance(failure, DaybookError) and failure.code == REQUEST_MADE:
        return {"request": failure.parameters["number"]}
    return {"refused": failure.code if isinstance(failure, DaybookError) else _UNEXPECTED_ERROR}


def _action(workspace: OpenedWorkspace, request: ActionRequest, details: Mapping[str, Any]) -> Action:
    return Action(workspace.clock(), workspace.user, request.name, printable(request.subject), details)


def _record_outcome(workspace: OpenedWorkspace, action_id: str, outcome: Action) -> None:
    """A store that cannot be written does not turn what was done into a failure."""
    with suppress(DaybookError), workspace.open_store() as store, store.write() as transaction:
        transaction.actions.record_outcome(action_id, outcome)


class _RunStart(RunListener):
    def __init__(self, work: Work) -> None:
        self._work = work

    def prepared(self, run_id: str, project_id: str, period: str) -> None:
        self._work.run_id = run_id
        self._work.begun.set()


class _BuildStart(BuildListener):
    def __init__(self, work: Work) -> None:
        self._work = work

    def planned(self, nodes: "tuple[Node, ...]") -> None:
        self._work.begun.set()

    def started(self, node: "Node", run_id: str) -> None:
        self._work.run_id = run_id


def _run(workspace: OpenedWorkspace, work: Work) -> None:
    from daybook.runs.attempt.run_request import RunRequest
    from daybook.workspace.execution import run_project

    request = work.request
    if request.period is None:
        raise DaybookError("WEB_015", argument="period", reason="it is missing")
    run_request = RunRequest(request.subject, request.period, None, request.is_draft, request.allow_empty)
    result = run_project(workspace, run_request, listener=_RunStart(work))
    if result.failure is not None:
        raise result.failure


def _retry(workspace: OpenedWorkspace, work: Work) -> None:
    from daybook.workspace.execution import retry_run

    retry_run(workspace, work.request.subject, listener=_RunStart(work))


def _build(workspace: OpenedWorkspace, work: Work) -> None:
    from daybook.graph.build_plan import BuildRequest
    from daybook.workspace.close import build_close

    request = work.request
    build_request = BuildRequest(
        request.subject, request.projects, is_full=request.is_full, allow_empty=request.allow_empty
    )
    work.build = build_close(workspace, build_request, listener=_BuildStart(work))
