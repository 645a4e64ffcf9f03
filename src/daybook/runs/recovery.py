"""Recovers slices that the store does not know from the tables themselves.

After a backup of the store was restored, these are what runs committed since; after the slices of another workspace
were taken over, what that one committed.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from daybook.definitions.files import definitions_of_files
from daybook.definitions.loading.loaded_workspace import LoadedWorkspace
from daybook.errors import DaybookError
from daybook.io.format import HoldingStore
from daybook.io.location_checks import location_identity
from daybook.io.registry import format_named, writer_for
from daybook.io.storage import PROVIDER_STORAGE, Storage
from daybook.io.target import SliceOwner, Target, WrittenSlice, target_at
from daybook.model.dataset import Dataset
from daybook.model.definition import RegisteredDataPin
from daybook.model.json_fields import as_objects
from daybook.model.operation import OutputOperation, TableDestination
from daybook.model.serialization import decode_definition
from daybook.resolve.location import table_location
from daybook.resolve.resolution import usable_datasource
from daybook.runs.attempt.prepare import restore_run
from daybook.runs.environment import RunEnvironment
from daybook.runs.permissions import SHARED_OPERATION, is_of_workspace
from daybook.runs.snapshot import snapshot_from_json
from daybook.runs.sources import slice_table
from daybook.store.records import SHARED_PROJECT, Action, DroppedSlice, Registration, Slice
from daybook.store.store import Transaction


@dataclass(frozen=True, slots=True)
class RecoveredSlice:
    """A slice that the store did not know, or knew from an earlier run."""

    table: str
    period: str
    run_id: str
    project_id: str | None


@dataclass(frozen=True, slots=True)
class Recovery:
    """What was recovered; `dropped` are slices that no longer exist, `unread` tables that could not be read, and why.

    `inactive` are projects that wrote slices and that the store does not know as active, so that no build runs them.
    """

    slices: tuple[RecoveredSlice, ...]
    dropped: Annotated[tuple[tuple[str, str], ...], as_objects("table", "period")]
    datasets: Annotated[tuple[tuple[str, int], ...], as_objects("id", "version")]
    unread: Annotated[tuple[tuple[str, str], ...], as_objects("table", "reason")]
    inactive: tuple[str, ...] = ()


def take_over(
    environment: RunEnvironment,
    definitions: LoadedWorkspace,
    workspace: str,
    *,
    reason: str,
    user: str,
    on_recorded: Callable[[Transaction], None] = lambda _: None,
) -> Recovery:
    """What another workspace wrote into tables of the projects belongs to this one from now on; recorded permanently.

    `workspace` is its id, or its name where commits keep no id; STORE_046 where it wrote none of these tables.
    """
    with environment.store.read() as transaction:
        ids = transaction.identity.ids()
    owners = {
        _workspace_of(owned.owner): owned.owner for owned in _owned_slices(environment, definitions) if owned.owner
    }
    if workspace not in owners or workspace == ids.own:
        others = [f"{key} ({owner.workspace})" for key, owner in sorted(owners.items()) if key not in ("", ids.own)]
        hint = f"slices of these tables were written by {', '.join(others)}" if others else None
        raise DaybookError("STORE_046", workspace=workspace, hint=hint)
    with environment.store.write() as transaction:
        transaction.identity.take_over(workspace)
        on_recorded(transaction)
        transaction.actions.record(Action(environment.clock(), user, "take-over", workspace, {"reason": reason}))
        transaction.log.append("take-over", workspace, {"reason": reason})
    return recover_commits(environment, definitions)


def _workspace_of(owner: SliceOwner) -> str:
    return owner.workspace_id or owner.workspace


def _owned_slices(environment: RunEnvironment, definitions: LoadedWorkspace) -> Iterator[WrittenSlice]:
    for target in _tables(environment, definitions):
        if format_named(target.format).needs_session:
            environment.session()
        yield from writer_for(target.format).slices(replace(target, mode="replace"))


def recover_commits(environment: RunEnvironment, definitions: LoadedWorkspace) -> Recovery:
    """Ask every table that runs wrote or the project files name for its slices and registered versions.

    The runs themselves, with their snapshots and counts, are gone.
    """
    slices: list[RecoveredSlice] = []
    dropped: list[tuple[str, str]] = []
    datasets: list[tuple[str, int]] = []
    unread: list[tuple[str, str]] = []
    for target in _tables(environment, definitions):
        try:
            if format_named(target.format).needs_session:
                environment.session()
            written = writer_for(target.format).slices(replace(target, mode="replace"))
            gone = _missing_slices(environment, target, {written_slice.period for written_slice in written})
        except Exception as failure:
            if not isinstance(failure, (DaybookError, OSError, *format_named(target.format).storage_errors)):
                raise
            unread.append((target.label, str(failure)))
            continue
        with environment.store.write() as transaction:
            slices += _take_slices(transaction, target, written)
            dropped += _forget_slices(environment, transaction, target, gone)
            datasets += _register_versions(environment, transaction, target)
    inactive = _inactive_projects(
        environment, {recovered.project_id for recovered in slices if recovered.project_id is not None}
    )
    return Recovery(tuple(slices), tuple(dropped), tuple(datasets), tuple(unread), inactive)


def _inactive_projects(environment: RunEnvironment, project_ids: set[str]) -> tuple[str, ...]:
    with environment.store.read() as transaction:
        states = {project_id: transaction.projects.find(project_id) for project_id in sorted(project_ids)}
    return tuple(project_id for project_id, state in states.items() if state is None or state.active_version is None)


def _tables(environment: RunEnvironment, definitions: LoadedWorkspace) -> Iterator[Target]:
    """One target for each table that collects slices."""
    seen: set[str] = set()
    named = (target for _, target in named_tables(environment.root, definitions, environment.storage))
    for target in (*_written_tables(environment), *named):
        identity = location_identity(target.location, environment.root)
        if identity not in seen:
            seen.add(identity)
            yield target


def _written_tables(environment: RunEnvironment) -> Iterator[Target]:
    """Tables as the last run that wrote them planned them."""
    with environment.store.read() as transaction:
        texts = [transaction.runs.snapshot(run_id) for run_id in transaction.outcomes.last_writers()]
    for text in texts:
        # A snapshot that this version cannot read or plan any more says nothing about tables.
        with suppress(DaybookError):
            for planned in restore_run(snapshot_from_json(text), environment.root, environment.storage).outputs:
                if planned.target.run_period is not None:
                    yield planned.target


def named_tables(
    root: Path, definitions: LoadedWorkspace, storage: Storage = PROVIDER_STORAGE
) -> Iterator[tuple[str, Target]]:
    """Tables that project files write to, as the files name them.

    They may have been written for the first time since the backup.
    """
    declared = definitions_of_files(definitions)
    for project in definitions.definitions["project"].values():
        for operation in project.model.operations:
            if not isinstance(operation, OutputOperation):
                continue
            destination = operation.arguments.destination
            if not isinstance(destination, TableDestination):
                continue
            # A data source that is not there any more leads to no table.
            with suppress(DaybookError):
                source = usable_datasource(destination.datasource_id, declared)
                target = target_at(
                    table_location(source, destination.table, None, root),
                    mode="replace",
                    columns=(),
                    run_id="",
                    operation_seq=operation.seq,
                    owner=SliceOwner(project.model.id, operation.id, definitions.settings.name),
                    workspace=root,
                    storage=storage,
                )
                yield f"{destination.datasource_id}.{destination.table}", target


def _take_slices(
    transaction: Transaction, target: Target, written: tuple[WrittenSlice, ...]
) -> Iterator[RecoveredSlice]:
    table = slice_table(target.location, target.workspace)
    for written_slice in written:
        stored = transaction.slices.owner(table, written_slice.period)
        project_id = written_slice.owner.project_id if written_slice.owner is not None else SHARED_PROJECT
        if stored is not None and (
            stored.run_id == written_slice.run_id or project_id == stored.project_id == SHARED_PROJECT
        ):
            continue
        if not is_of_workspace(transaction, written_slice, target):
            continue
        transaction.slices.take(
            table,
            written_slice.period,
            project_id=project_id,
            operation_id=written_slice.owner.operation_id if written_slice.owner is not None else SHARED_OPERATION,
            run_id=written_slice.run_id,
            rows=written_slice.rows,
            now=transaction.now(),
            instead_of=stored.project_id if stored is not None else None,
        )
        owner = written_slice.owner.project_id if written_slice.owner is not None else None
        yield RecoveredSlice(target.label, written_slice.period, written_slice.run_id, owner)


def _missing_slices(environment: RunEnvironment, target: Target, present: set[str]) -> list[Slice]:
    """Slices that the table does not have; one without rows is there all the same, so each is asked for."""
    with environment.store.read() as transaction:
        stored = transaction.slices.of(slice_table(target.location, target.workspace))
    writer = writer_for(target.format)
    return [
        stored_slice
        for stored_slice in stored
        if stored_slice.period not in present
        and not writer.slices(replace(target, mode="replace_period", run_period=stored_slice.period))
    ]


def _forget_slices(
    environment: RunEnvironment, transaction: Transaction, target: Target, gone: list[Slice]
) -> Iterator[tuple[str, str]]:
    for gone_slice in gone:
        dropped = DroppedSlice(
            gone_slice.destination,
            gone_slice.period,
            gone_slice.project_id,
            gone_slice.run_id,
            None,
            environment.clock(),
            None,
            "it was dropped after the backup of the store",
        )
        transaction.slices.drop(slice_table(target.location, target.workspace), dropped)
        yield target.label, gone_slice.period


def _register_versions(
    environment: RunEnvironment, transaction: Transaction, target: Target
) -> Iterator[tuple[str, int]]:
    """Versions that were registered since get their numbers and their data back."""
    store = HoldingStore(environment.store.identity, transaction.identity.ids().own)
    held = format_named(target.format).versions_held_by(target.location, store, environment.root, environment.storage)
    for version, holder in sorted(held, key=lambda holding: (holding[1].dataset_id, holding[1].dataset_version)):
        dataset_id = holder.dataset_id
        versions = transaction.definitions.versions("dataset", dataset_id)
        if not versions or holder.dataset_version != versions[-1] + 1:
            continue
        model = decode_definition("dataset", transaction.definitions.get("dataset", dataset_id).body)
        if isinstance(model, Dataset):
            pin = RegisteredDataPin(target.label, version)
            registration = Registration(target.owner.project_id, f"recovered-{holder.key}", target.operation_seq, pin)
            yield dataset_id, transaction.definitions.register(model, registration, now=environment.clock())
