"""Runs a project, dry-runs it, retries or replays a run."""

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated

from daybook.definitions.files import definitions_of_files
from daybook.definitions.loading import LoadedWorkspace
from daybook.errors import DaybookError, notice
from daybook.graph.close import read_close
from daybook.graph.dependencies import ProjectGraph, derive_graph
from daybook.graph.nodes import Node
from daybook.model.json_fields import Hidden, Notices, OneError, named
from daybook.resolve.project_files import CheckedFiles, named_projects
from daybook.runs.attempt.execution import execute_run, retry
from daybook.runs.attempt.prepare import PreparedRun, check_runs, prepare_runs
from daybook.runs.attempt.run_request import CheckedRequest, RunRequest, check_request
from daybook.runs.environment import RunEnvironment, open_run_environment, workspace_with_store_copy
from daybook.runs.replay import ReplayResult, replay
from daybook.runs.run_listener import ListenerWithout, RunListener
from daybook.runs.run_result import RunFailedError, RunFailure, RunResult
from daybook.workspace.open_workspace import OpenedWorkspace


@dataclass(frozen=True, slots=True)
class RefusedRun:
    """A run that did not begin."""

    error: Annotated[OneError, named("errors")]


@dataclass(frozen=True, slots=True)
class RangeResult:
    """The runs of a range that completed, in order, and what ended the range before its last period."""

    completed: tuple[RunResult, ...]
    failure: RunFailedError | DaybookError | None = None

    @property
    def is_ok(self) -> bool:
        return self.failure is None

    @property
    def outcomes(self) -> tuple[RunResult | RunFailure | RefusedRun, ...]:
        """One for each run that completed, and what ended the range."""
        match self.failure:
            case None:
                return self.completed
            case RunFailedError():
                return (*self.completed, self.failure.result)
            case refused:
                return (*self.completed, RefusedRun(refused))


@dataclass(frozen=True, slots=True)
class DryRunSource:
    """One thing a run would read; `load` is the part of the project that reads it."""

    load: str
    dataset_id: str
    dataset_version: int
    resolver_id: str | None
    rule: str | None
    locations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DryRunOutput:
    """One thing a run would write; `target` is the absolute path or the table."""

    operation_seq: int
    destination: str
    target: Annotated[str, named("place")]
    format: str
    mode: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a run for one period would read and write."""

    project_id: str
    project_version: int
    period: str
    as_of: datetime.date
    is_draft: bool
    sandbox: str | None
    parameters: Mapping[str, str]
    sources: tuple[DryRunSource, ...]
    outputs: tuple[DryRunOutput, ...]
    notices: Notices
    own_as_of: Hidden[Mapping[str, datetime.date]] = field(default_factory=dict)


def run_project(
    workspace: OpenedWorkspace,
    request: RunRequest,
    *,
    listener: RunListener | None = None,
    repeat_plan_warnings: bool = True,
) -> RangeResult:
    """Run a project for a period or a range of them; the first failure ends the range.

    A pattern or a file stands for several projects, which run one after the other, what others read first.
    Errors before the first period are raised; later failures are in the result, beside the runs before them.
    Warnings about the text of an active project were shown when it was activated; the listener need not hear them
    again. The result has all of them.
    """
    files = CheckedFiles(workspace.read_definitions())
    requests = check_requests(files, request)
    completed: list[RunResult] = []
    with workspace.open_run_environment(listener) as environment:
        try:
            # What completed before a failure is kept.
            for checked in requests:
                with environment.store.logged_refusal("run", f"{checked.definition.id}@{request.period}"):
                    completed.extend(
                        run_periods(files, environment, checked, repeat_plan_warnings=repeat_plan_warnings)
                    )
        except (RunFailedError, DaybookError) as failure:
            if isinstance(failure, DaybookError) and not completed:
                raise
            return RangeResult(tuple(completed), failure)
    return RangeResult(tuple(completed))


def check_requests(files: CheckedFiles, request: RunRequest) -> tuple[CheckedRequest, ...]:
    """A request for each project that is named, those that others read first."""
    names = named_projects(files.workspace, request.project)
    if len(names) > 1:
        graph = _project_graph(files.workspace)
        # A project has more projects before it than each of these has.
        names = tuple(sorted(names, key=lambda name: (len(graph.upstream([name])), name)))
    return tuple(check_request(files, replace(request, project=name)) for name in names)


def run_periods(
    files: CheckedFiles, environment: RunEnvironment, checked: CheckedRequest, *, repeat_plan_warnings: bool = True
) -> Iterator[RunResult]:
    """One result per period, in order; the first failure ends the range."""
    upstream = _upstream_projects(files.workspace, checked.definition.id)
    for prepared in prepare_runs(environment, checked):
        environment.begin_session(prepared.snapshot)
        prepared = _with_stale_inputs(files, environment, prepared, checked.request, upstream)
        repeated = () if repeat_plan_warnings or prepared.snapshot.settings.is_draft else prepared.plan.notices
        listening = replace(environment, listener=ListenerWithout(repeated, environment.listener))
        yield execute_run(listening, prepared)


def _upstream_projects(definitions: LoadedWorkspace, project_id: str) -> frozenset[str]:
    """A project with all that it reads from; nothing where it reads from no other one."""
    graph = _project_graph(definitions)
    return graph.upstream([project_id]) if graph.makers.get(project_id) else frozenset()


def _project_graph(definitions: LoadedWorkspace) -> ProjectGraph:
    projects = {id_: definition.model for id_, definition in definitions.definitions["project"].items()}
    return derive_graph(projects, definitions_of_files(definitions))


def _with_stale_inputs(
    files: CheckedFiles,
    environment: RunEnvironment,
    prepared: PreparedRun,
    request: RunRequest,
    upstream: frozenset[str],
) -> PreparedRun:
    """The run with a warning for everything it reads that is out of date; RUN_072 where that must not be."""
    if not upstream or prepared.snapshot.settings.is_draft:
        return prepared
    node = Node(prepared.snapshot.project.id, prepared.snapshot.period)
    with read_close(files, environment.store, projects=upstream, looks=request.requires_fresh) as close:
        stale = tuple(close.stale_inputs(node))
    if stale and request.requires_fresh:
        reasons = "; ".join(f"{edge.maker.project} {edge.maker.period.identifier} {reason}" for edge, reason in stale)
        raise DaybookError("RUN_072", project=node.project, period=node.period.identifier, reasons=reasons)
    notices = tuple(
        notice(
            "RUN_071",
            dataset=edge.dataset,
            maker=edge.maker.project,
            period=edge.maker.period.identifier,
            reason=reason,
            hint=f"`daybook build {node.project} --period {node.period.identifier}` runs {edge.maker.project} first",
        )
        for edge, reason in stale
    )
    return replace(prepared, notices=(*prepared.notices, *notices))


def dry_run_project(workspace: OpenedWorkspace, request: RunRequest) -> tuple[DryRun, ...]:
    """Resolve, plan and check what a run would do, one result per period; nothing is written, not even to the store."""
    definitions = workspace.read_definitions()
    requests = check_requests(CheckedFiles(definitions), request)
    with (
        workspace_with_store_copy(definitions) as copied,
        open_run_environment(
            copied, workspace.session, clock=workspace.clock, credential=workspace.credential
        ) as environment,
    ):
        return tuple(_dry_run(prepared) for checked in requests for prepared in check_runs(environment, checked))


def retry_run(workspace: OpenedWorkspace, run_id: str, *, listener: RunListener | None = None) -> RunResult:
    """Continue a failed or cancelled run from its snapshot; raises RunFailedError when it fails again."""
    with workspace.open_run_environment(listener) as environment:
        return retry(environment, run_id)


def replay_run(workspace: OpenedWorkspace, run_id: str, *, keep_rows: bool = False) -> ReplayResult:
    """Compute a run again from its snapshot and compare; `keep_rows` keeps what was computed in the state folder."""
    with workspace.open_run_environment() as environment:
        return replay(environment, run_id_of(environment, run_id), keep=keep_rows)


def run_id_of(environment: RunEnvironment, run: str) -> str:
    """The id of a run that is named by it, or as PROJECT@PERIOD."""
    with environment.store.read() as transaction:
        return transaction.runs.id_of(run)


def parse_as_of(value: str | datetime.date | None) -> datetime.date | None:
    """A date, or its text as `2026-01-15`."""
    if isinstance(value, str):
        try:
            return datetime.date.fromisoformat(value)
        except ValueError:
            raise DaybookError("RUN_013", text=value) from None
    return value


def _dry_run(prepared: PreparedRun) -> DryRun:
    snapshot = prepared.snapshot
    sources = [
        DryRunSource(
            source.key,
            source.dataset_id,
            source.dataset_version,
            source.resolution.resolver_id,
            source.resolution.rule,
            tuple(location.uri or location.table or "" for location in source.resolution.locations),
        )
        for source in snapshot.sources
    ]
    outputs = [
        DryRunOutput(
            output.step.seq,
            output.label,
            output.target.label,
            output.target.format,
            output.target.mode,
            tuple(output.step.columns),
        )
        for output in prepared.outputs
    ]
    return DryRun(
        snapshot.project.id,
        snapshot.project_version,
        snapshot.period.identifier,
        snapshot.as_of,
        snapshot.settings.is_draft,
        snapshot.settings.sandbox,
        snapshot.parameters,
        tuple(sources),
        tuple(outputs),
        prepared.notices,
        snapshot.own_as_of,
    )
