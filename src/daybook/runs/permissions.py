"""Checks what a run may write: slices by their owner, periods by their status, and no files of the workspace itself.

An operation that moves within its project, because another is inserted before it, keeps its slices: a project has one
output into a table, unless all of them append.
"""

import datetime
import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from daybook.definitions.files import definitions_of_files
from daybook.definitions.loading.loaded_workspace import WORKSPACE_FILE, LoadedWorkspace
from daybook.definitions.value import Definitions
from daybook.errors import DaybookError, Notice, Span, notice, raise_all
from daybook.io.filesystem import local_path
from daybook.io.location_checks import OccupiedLocations, location_exists, location_identity
from daybook.io.target import SliceOwner, Target, WrittenSlice
from daybook.model.calendar import Period
from daybook.model.datasource import FolderOptions
from daybook.model.definition import DEFINITION_KINDS
from daybook.model.operation import OutputOperation, TableDestination
from daybook.resolve.location import Location, inline_location, table_location
from daybook.resolve.paths import fill_tokens
from daybook.resolve.resolution import usable_datasource
from daybook.runs.lifecycle.effects import ProjectEffect
from daybook.runs.sources import slice_table
from daybook.store.address import EmbeddedStore, parse_address
from daybook.store.records import SHARED_PROJECT, Slice
from daybook.store.store import Transaction

SHARED_OPERATION = "append"


def require_log(transaction: Transaction, target: Target) -> None:
    """IO_041 where runs wrote a table with versions, and its folder is there without them."""
    path = target.location.local_path
    if path is None or not path.is_dir() or location_exists(target.location):
        return
    if transaction.outcomes.has_versions(target.label):
        raise DaybookError("IO_041", location=target.label)


def require_slice(transaction: Transaction, target: Target, written: tuple[WrittenSlice, ...] = ()) -> None:
    """Refuse to write over what others wrote; a project that is inactive gives its slices up.

    `written` is what the data itself says; the store knows only its own runs, and is asked where the data is silent.
    """
    for written_slice in written:
        is_here = is_of_workspace(transaction, written_slice, target)
        _require_owner(transaction, target, written_slice.period, written_slice.owner, is_here=is_here)
    periods = {written_slice.period for written_slice in written}
    for replaced in replaced_slices(transaction, target):
        if replaced.period not in periods:
            owner = SliceOwner(replaced.project_id, replaced.operation_id, target.owner.workspace)
            shared = replaced.project_id == SHARED_PROJECT
            _require_owner(transaction, target, replaced.period, None if shared else owner, is_here=True)


def _require_owner(
    transaction: Transaction, target: Target, period: str, owner: SliceOwner | None, *, is_here: bool
) -> None:
    if owner is None:
        if target.mode == "replace_period":
            shared = "every project that appends to it"
            raise DaybookError("STORE_016", destination=target.label, period=period, owner=shared)
        return
    if is_here and (owner.project_id == target.owner.project_id or _is_released(transaction, owner.project_id)):
        return
    if is_here:
        name, hint = f"operation {owner.operation_id} of project {owner.project_id}", None
    else:
        name = foreign_owner(owner)
        hint = (
            "write to another table; or, if that workspace no longer exists or this one replaces it, "
            "take over its slices: "
            f'`daybook slices take-over {owner.workspace_id or owner.workspace} --reason "..."`'
        )
    raise DaybookError("STORE_016", destination=target.label, period=period, owner=name, hint=hint)


def foreign_owner(owner: SliceOwner) -> str:
    """The owner of a slice of another workspace, as messages name it."""
    id_ = f" (id {owner.workspace_id})" if owner.workspace_id else ""
    return f"operation {owner.operation_id} of project {owner.project_id} of workspace {owner.workspace}{id_}"


def is_of_workspace(transaction: Transaction, written: WrittenSlice, target: Target) -> bool:
    """By the id of the workspace; commits without one, of earlier Daybooks, go by its name or by a run known here."""
    owner = written.owner
    if owner is None:
        return True
    ids = transaction.identity.ids()
    if owner.workspace_id:
        is_ours = owner.workspace_id == ids.own or owner.workspace_id in ids.taken
        return is_ours or (owner.workspace_id in ids.copied and _is_inside_workspace(target))
    if owner.workspace in ("", target.owner.workspace) or not target.owner.workspace or owner.workspace in ids.taken:
        return True
    return transaction.runs.find(written.run_id) is not None


def _is_inside_workspace(target: Target) -> bool:
    """Whether a table lies in the folder of the workspace, so that a copy of the folder has its own."""
    occupied = target.location.occupied_path(target.workspace)
    path = local_path(occupied) if occupied is not None else None
    root = os.path.realpath(target.workspace)
    return path is not None and Path(os.path.realpath(target.workspace / path)).is_relative_to(root)


def unknown_run_notices(
    transaction: Transaction, target: Target, written: tuple[WrittenSlice, ...]
) -> Iterator[Notice]:
    """One for each slice of this project that a run wrote which the store does not know."""
    for written_slice in written:
        is_ours = written_slice.owner is not None and written_slice.owner.project_id == target.owner.project_id
        if is_ours and transaction.runs.find(written_slice.run_id) is None:
            yield notice(
                "RUN_041",
                operation_seq=target.operation_seq,
                destination=target.label,
                period=written_slice.period,
                run_id=written_slice.run_id,
            )


def claim_slice(
    transaction: Transaction, target: Target, written: tuple[WrittenSlice, ...], now: datetime.datetime
) -> None:
    """Record the ownership of a slice in the store, right before it is written."""
    require_slice(transaction, target, written)
    if target.run_period is None or target.mode not in ("replace_period", "append"):
        return
    table = slice_table(target.location, target.workspace)
    stored = transaction.slices.owner(table, target.run_period)
    is_owned = target.mode == "replace_period" or any(written_slice.owner for written_slice in written)
    if stored is not None and not written and target.mode == "append":
        is_owned = stored.project_id != SHARED_PROJECT
    project_id = target.owner.project_id if is_owned else SHARED_PROJECT
    if stored is not None and stored.project_id == project_id:
        return
    transaction.slices.take(
        table,
        target.run_period,
        project_id=project_id,
        operation_id=target.owner.operation_id if is_owned else SHARED_OPERATION,
        run_id=target.run_id,
        rows=None,
        now=now,
        instead_of=stored.project_id if stored else None,
    )


def replaced_slices(transaction: Transaction, target: Target) -> tuple[Slice, ...]:
    """The slices that an output writes to, or throws away because it replaces the table."""
    table = slice_table(target.location, target.workspace)
    match target.mode:
        case "replace":
            return transaction.slices.of(table)
        case "replace_period" | "append":
            period = target.run_period
            stored = transaction.slices.owner(table, period) if period is not None else None
            return (stored,) if stored else ()
        case "error":
            return ()
        case _:
            assert_never(target.mode)


def _is_released(transaction: Transaction, project_id: str) -> bool:
    state = transaction.projects.find(project_id)
    return state is not None and state.status == "inactive"


def require_unlocked(transaction: Transaction, period: Period) -> None:
    """RUN_002 for a locked period and for one inside of a locked period."""
    effective = transaction.periods.status(period)
    if effective.status == "locked":
        raise DaybookError("RUN_002", period=period.identifier, because_of=effective.because_of)


def require_approved(transaction: Transaction, project_id: str, *, is_draft: bool, is_sandboxed: bool) -> None:
    """APPROVAL_009 for what nobody has approved: a draft, or a project that was never activated, outside a sandbox."""
    if is_draft and not is_sandboxed and transaction.policies.in_force().activate is not None:
        raise DaybookError("APPROVAL_009", project=project_id)


def require_still_active(transaction: Transaction, run_id: str, project_id: str, version: int) -> None:
    """APPROVAL_022 where activating needs approval and a run used what is not active any more."""
    if transaction.policies.in_force().activate is None:
        return
    state = transaction.projects.get(project_id)
    if state.status == "inactive" or state.active_version != version:
        raise DaybookError("APPROVAL_022", run_id=run_id, project=project_id, version=version)


def check_period(transaction: Transaction, period: Period, *, is_sandboxed: bool) -> Iterator[Notice]:
    """A locked period refuses runs, a closed one warns; what goes to the sandbox changes neither."""
    if is_sandboxed:
        return
    require_unlocked(transaction, period)
    if transaction.periods.status(period).status == "closed":
        yield notice("RUN_003", period=period.identifier)


def conflict_notices(effects: Iterable[ProjectEffect], *, but: Collection[str] = ()) -> Iterator[Notice]:
    """One notice per project that is in conflict now and was not before; `but` are reported in another way."""
    for effect in effects:
        if effect.is_broken_now and effect.project_id not in but:
            summary = "; ".join(finding.message for finding in effect.findings)
            yield notice("RUN_020", project=effect.project_id, summary=summary)


@dataclass(frozen=True, slots=True)
class WrittenPlace:
    """Where an output of some columns goes; `label` is the destination as it is written."""

    location: Location
    label: str
    seq: int
    columns: tuple[str, ...]


def refuse_live_sandbox(
    transaction: Transaction,
    places: Iterable[WrittenPlace],
    live: Iterable[Location],
    definitions: Definitions,
    root: Path,
    sandbox: str,
) -> None:
    """APPROVAL_021 where a sandbox lies where live data is, so that a draft would replace what others approved.

    `live` are the locations that the outputs have once the project is active.
    """
    sources = (latest.model.value for latest in definitions.datasources.values())
    folders = (
        Location("json", uri=source.options.path) for source in sources if isinstance(source.options, FolderOptions)
    )
    occupied = OccupiedLocations((*live, *folders), root)
    slices = {stored.destination for stored in transaction.slices.all()}
    for place in places:
        if occupied.first_overlap(place.location) is not None or location_identity(place.location, root) in slices:
            raise DaybookError("APPROVAL_021", sandbox=sandbox, operation_seq=place.seq, output=place.label)


class WorkspacePlaces:
    """What belongs to a workspace itself, found once for all runs that are prepared of the same definitions."""

    def __init__(self) -> None:
        self._known: dict[bool, tuple[LoadedWorkspace, _OwnPlaces]] = {}

    def of(self, workspace: LoadedWorkspace, *, is_sandboxed: bool) -> "_OwnPlaces":
        own_places = self._known.get(is_sandboxed)
        if own_places is None or own_places[0] is not workspace:
            own = _OwnPlaces(_own_places(workspace, is_sandboxed=is_sandboxed), workspace.root)
            own_places = self._known[is_sandboxed] = (workspace, own)
        return own_places[1]


def refuse_workspace_files(
    workspace: LoadedWorkspace, places: Iterable[WrittenPlace], workspace_places: WorkspacePlaces, *, is_sandboxed: bool
) -> None:
    """IO_034 for outputs that equal, lie inside of or contain files of the workspace; IO_043 for hidden ones."""
    own = workspace_places.of(workspace, is_sandboxed=is_sandboxed)
    errors = (_place_error(place, own, workspace.root, is_sandboxed=is_sandboxed) for place in places)
    raise_all(error for error in errors if error is not None)


def own_file_errors(workspace: LoadedWorkspace) -> Iterator[DaybookError]:
    """The same for the outputs of all project files, whatever their period, with the place in the file."""
    own = _OwnPlaces(_own_places(workspace, is_sandboxed=False), workspace.root)
    definitions = definitions_of_files(workspace)
    for definition in workspace.definitions["project"].values():
        for index, operation in enumerate(definition.model.operations):
            if not isinstance(operation, OutputOperation):
                continue
            # Locations that cannot be are errors of their own.
            with suppress(DaybookError):
                place = _declared_place(operation, definitions, workspace.root)
                span = definition.source.span("operations", index, "arguments", "destination")
                if error := _place_error(place, own, workspace.root, is_sandboxed=False, span=span):
                    yield error


def _declared_place(operation: OutputOperation, definitions: Definitions, root: Path) -> WrittenPlace:
    destination, columns = operation.arguments.destination, tuple(operation.arguments.columns or ())
    if isinstance(destination, TableDestination):
        source = usable_datasource(destination.datasource_id, definitions)
        label = f"{destination.datasource_id}.{destination.table}"
        return WrittenPlace(table_location(source, destination.table, None, root), label, operation.seq, columns)
    declared = destination.location
    # No token is replaced by dots or slashes, so any letter can be used to check the rest.
    location = inline_location(fill_tokens(declared.path, "x"), declared.format, declared.options, root)
    return WrittenPlace(location, declared.path, operation.seq, columns)


class _OwnPlaces:
    """The files of the workspace, each with what it is."""

    def __init__(self, places: Iterable[tuple[str, Location]], root: Path) -> None:
        self._places = tuple(places)
        self._occupied = OccupiedLocations((location for _, location in self._places), root)

    def find(self, location: Location) -> tuple[str, str | None] | None:
        """The first that overlaps a location: what it is, and where."""
        number = self._occupied.first_overlap(location)
        if number is None:
            return None
        what, own_location = self._places[number]
        return what, own_location.uri


def _place_error(
    place: WrittenPlace,
    own: "_OwnPlaces",
    root: Path,
    *,
    is_sandboxed: bool,
    span: Span | None = None,
) -> DaybookError | None:
    touched = own.find(place.location)
    if touched is None and not is_sandboxed:
        if (hidden := _hidden_part(place.location, root)) is not None:
            return DaybookError("IO_043", span=span, operation_seq=place.seq, output=place.label, part=hidden)
        if (file := _definition_file(place, root)) is not None:
            touched = "what is read as a definition", file
    if touched is None:
        return None
    what, where = touched
    return DaybookError("IO_034", span=span, operation_seq=place.seq, output=place.label, what=what, place=where)


def _hidden_part(location: Location, root: Path) -> str | None:
    """The part of a path that begins with a dot; the folder of the workspace itself is not checked.

    Programs keep there what they read and execute: git, shells, editors, Daybook.
    """
    occupied = location.occupied_path(root)
    path = local_path(occupied) if occupied is not None else None
    if path is None:
        return None
    real, own = Path(os.path.realpath(root / path)), Path(os.path.realpath(root))
    parts = real.relative_to(own).parts if real.is_relative_to(own) else real.parts
    return next((part for part in parts if part.startswith(".")), None)


def _definition_file(place: WrittenPlace, root: Path) -> str | None:
    """A file below the workspace that would be read as a definition, so that rows would become definitions."""
    path = place.location.local_path
    if path is None or not Path(os.path.realpath(root / path)).is_relative_to(os.path.realpath(root)):
        return None
    names = [name.lower() for name in place.columns]
    is_yaml = path.suffix.lower() in (".yaml", ".yml")
    # A row of one column named like a kind is a document with that kind.
    is_json = path.suffix.lower() == ".json" and len(names) == 1 and names[0] in DEFINITION_KINDS
    return str(path) if is_yaml or is_json else None


def _own_places(workspace: LoadedWorkspace, *, is_sandboxed: bool) -> Iterator[tuple[str, Location]]:
    for what, path in _workspace_files(workspace):
        yield what, Location("json", uri=path)
    if not is_sandboxed and isinstance(workspace.settings.state, str):
        # The sandbox is a folder of Daybook's own too, and may well lie there.
        yield "the state folder", Location("json", uri=workspace.settings.state)


def _workspace_files(workspace: LoadedWorkspace) -> Iterator[tuple[str, str]]:
    yield "the settings", WORKSPACE_FILE
    address = parse_address(workspace.settings.store, workspace.root)
    if isinstance(address, EmbeddedStore):
        path = address.path.resolve()
        # SQLite keeps what is not yet in the file beside it.
        yield from (("the store", f"{path}{suffix}") for suffix in ("", "-wal", "-shm"))
        yield "the store", str(address.backups.resolve())
    files = {definition.file for definition in workspace.all() if definition.file is not None}
    for file in sorted(files | {file.path.as_posix() for file in workspace.broken}):
        yield "a definition", str(Path(file).resolve())
