"""Checks what a run needs, removes old data, lists and drops slices, starts and stops the warm engine."""

import datetime
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pydantic import computed_field

from daybook.definitions.loading.loaded_workspace import read_workspace
from daybook.engine.java.spark_version import find_spark
from daybook.engine.java.warm_folder import WarmUpProgress
from daybook.errors import DaybookError
from daybook.io.location_checks import location_identity
from daybook.model.json_fields import Merged
from daybook.model.settings import EngineSettings
from daybook.resolve.definition_checks import structural_errors
from daybook.runs.approvals.acts import drop_act, take_over_act
from daybook.runs.approvals.requests import released_act
from daybook.runs.doctor import (
    DoctorFinding,
    examine_locations,
    examine_machine,
    examine_runs,
    examine_spark,
    examine_workspace,
)
from daybook.runs.environment import SessionProvider, has_tables_by_name
from daybook.runs.garbage import CollectedGarbage, collect_garbage
from daybook.runs.recovery import Recovery, named_tables, recover_commits
from daybook.runs.recovery import take_over as take
from daybook.runs.slices import SliceDrop, SliceEntry, find_slice, slices_of_table
from daybook.runs.slices import drop_slice as drop
from daybook.runs.slices import list_slices as list_all
from daybook.store.address import EmbeddedStore, parse_address
from daybook.store.database.connection import restore_backup
from daybook.workspace.open_workspace import OpenedWorkspace
from daybook.workspace.spark_session import engines_of

if TYPE_CHECKING:
    from daybook.engine.java.warm_engines import EngineState


@dataclass(frozen=True, slots=True)
class Examination:
    findings: tuple[DoctorFinding, ...]

    @property
    def is_ok(self) -> bool:
        return all(finding.state != "problem" for finding in self.findings)


def examine(
    workspace: OpenedWorkspace | None,
    *,
    fix: bool = False,
    session: SessionProvider | None = None,
    on_finding: Callable[[DoctorFinding], None] = lambda _: None,
) -> Examination:
    """Check the machine, and the workspace where there is one; Spark too where a session is given.

    `fix` ends runs whose process is gone and removes what they left; `on_finding` gets each finding as it comes.
    """
    findings: list[DoctorFinding] = []
    for finding in _examine(workspace, session, is_fixing=fix):
        findings.append(finding)
        on_finding(finding)
    return Examination(tuple(findings))


@dataclass(frozen=True, slots=True)
class StoreRestoration:
    """The restored backup, where the damaged store is kept, and what was recovered from the tables."""

    backup: str
    damaged: str
    recovery: Merged[Recovery]


def restore_store(workspace: OpenedWorkspace) -> StoreRestoration:
    """Replace a damaged store by the newest sound backup, and recover what runs committed since."""
    address = parse_address(workspace.settings.store, workspace.root)
    if not isinstance(address, EmbeddedStore):
        raise DaybookError("STORE_045", place=str(address))
    restored = restore_backup(address.path)
    definitions, _ = read_workspace(workspace.root)
    with workspace.open_run_environment() as environment:
        recovery = recover_commits(environment, definitions)
        with environment.store.write() as transaction:
            transaction.log.append("restore", restored.backup.name)
        return StoreRestoration(str(restored.backup), str(restored.damaged), recovery)


def apply_retention(workspace: OpenedWorkspace, *, dry_run: bool = False) -> CollectedGarbage:
    """Remove runs, versions and files that `retention` in daybook.yaml no longer keeps, or only list them."""
    with workspace.open_run_environment() as environment:
        return collect_garbage(environment, workspace.settings.retention, is_dry_run=dry_run)


def _examine(
    workspace: OpenedWorkspace | None, session: SessionProvider | None, *, is_fixing: bool
) -> Iterator[DoctorFinding]:
    yield from examine_machine()
    if workspace is not None:
        definitions, errors = read_workspace(workspace.root)
        if errors := [*errors, *structural_errors(definitions)]:
            count = f"{len(errors)} error{'' if len(errors) == 1 else 's'}"
            yield DoctorFinding("Definitions", "problem", count, "`daybook validate` shows them.")
        if session is not None and find_spark() is not None and has_tables_by_name(definitions):
            # Schemas of a catalog, and what was staged there, are found by a session.
            yield examine_spark(session)
            session = None
        yield from examine_workspace(definitions)
        # A store that cannot be opened has been reported by now.
        with suppress(DaybookError):
            yield from examine_locations(definitions)
            yield from examine_runs(definitions, is_fixing=is_fixing)
    # One that is not installed has been reported by now.
    if session is not None and find_spark() is not None:
        yield examine_spark(session)


def list_slices(workspace: OpenedWorkspace, table: str | None = None) -> tuple[SliceEntry, ...]:
    """The slices of all tables, or of the one that `table` names: its destination, name, location or dataset."""
    with workspace.open_store_or_empty() as store, store.read() as transaction:
        entries = list_all(transaction)
    if any(entry.table == entry.stored.destination for entry in entries):
        entries = _named_as_in_files(workspace, entries)
    return entries if table is None else slices_of_table(entries, table)


def _named_as_in_files(workspace: OpenedWorkspace, entries: tuple[SliceEntry, ...]) -> tuple[SliceEntry, ...]:
    """A slice that was found again has no commit that says how its table is called."""
    definitions, _ = read_workspace(workspace.root)
    names = {
        location_identity(target.location, workspace.root): name
        for name, target in named_tables(workspace.root, definitions)
    }
    named = (replace(slice_entry, table=names.get(slice_entry.table, slice_entry.table)) for slice_entry in entries)
    return tuple(sorted(named, key=lambda entry: (entry.table, entry.location, entry.period)))


def drop_slice(workspace: OpenedWorkspace, table: str, period: str, *, reason: str) -> SliceDrop:
    """Remove the rows of a slice from its table; who did it and why is recorded permanently."""
    if not reason.strip():
        raise DaybookError("STORE_032", action="Dropping a slice")
    entry = find_slice(list_slices(workspace), table, period)
    definitions = workspace.read_definitions()
    with (
        workspace.open_run_environment() as environment,
        environment.store.logged_refusal("drop", f"{entry.table}@{period}", {"reason": reason}),
        released_act(
            environment.store, "drop", lambda _: drop_act(entry.table, entry.stored), reason=reason
        ) as mark_done,
    ):
        return drop(
            environment, entry, reason=reason, user=workspace.user, definitions=definitions, on_recorded=mark_done
        )


def take_over_slices(workspace: OpenedWorkspace, owner: str, *, reason: str) -> Recovery:
    """Make what another workspace wrote into tables of the projects this one's; recorded permanently."""
    if not reason.strip():
        raise DaybookError("STORE_032", action="Taking over the slices of a workspace")
    definitions, _ = read_workspace(workspace.root)
    with (
        workspace.open_run_environment() as environment,
        released_act(
            environment.store,
            "take-over",
            lambda transaction: take_over_act(transaction, owner),
            reason=reason,
        ) as mark_done,
    ):
        return take(environment, definitions, owner, reason=reason, user=workspace.user, on_recorded=mark_done)


DEFAULT_IDLE_TIME = "30m"


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """An engine that runs; `differences` say why the commands of this workspace do not use it.

    `warm_up` is None where engines do not warm themselves up.
    """

    pid: int
    port: int
    started: datetime.datetime
    idle: str
    is_used: bool
    differences: tuple[str, ...]
    warm_up: WarmUpProgress | None = None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def is_fit(self) -> bool:
        return not self.differences


def start_engine(workspace: OpenedWorkspace, idle: str | None = None) -> EngineStatus:
    """Start the engine that fits the workspace, unless it runs already; it ends after `idle` without use."""
    engines = engines_of(workspace)
    engines.start(checked_idle_time(idle) or workspace.settings.engine.warm or DEFAULT_IDLE_TIME)
    return next(_status(state) for state in engines.states() if state.is_fit)


def stop_engine(workspace: OpenedWorkspace, *, include_others: bool = False, force: bool = False) -> tuple[int, ...]:
    """End the engine that fits the workspace, or all engines of this user; RUN_914 when a command uses one."""
    return tuple(record.pid for record in engines_of(workspace).stop(include_others=include_others, force=force))


def engine_status(workspace: OpenedWorkspace) -> tuple[EngineStatus, ...]:
    """The engines of this user that run, the one that fits the workspace first."""
    return tuple(_status(state) for state in engines_of(workspace).states())


def checked_idle_time(text: str | None) -> str | None:
    """An idle time as `daybook.yaml` takes it."""
    from pydantic import ValidationError

    if text is None:
        return None
    try:
        return EngineSettings(warm=text).warm
    except ValidationError:
        raise DaybookError("RUN_917", text=text) from None


def _status(state: "EngineState") -> EngineStatus:
    started = datetime.datetime.fromtimestamp(state.started, datetime.UTC)
    record = state.record
    return EngineStatus(record.pid, record.port, started, record.idle, state.is_used, state.differences, state.warm_up)
