"""No output is written onto what the workspace lives on, nor onto what other programs read and execute."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from daybook.errors import DaybookError, Span, raise_all
from daybook.io.filesystem import local_path
from daybook.io.location_checks import locations_overlap
from daybook.model.definition import DEFINITION_KINDS
from daybook.model.loading.workspace import WORKSPACE_FILE, LoadedWorkspace, WorkspaceCatalog
from daybook.model.operation import OutputOperation, TableDestination
from daybook.resolve.locations.location import Location, inline_location, table_location
from daybook.resolve.locations.paths import fill_tokens
from daybook.resolve.resolution import usable_datasource
from daybook.store.address import EmbeddedStore, parse_address


@dataclass(frozen=True, slots=True)
class WrittenPlace:
    """Where an output of some columns goes; `label` is the destination as it is written."""

    location: Location
    label: str
    seq: int
    columns: tuple[str, ...]


def refuse_workspace_files(workspace: LoadedWorkspace, places: Iterable[WrittenPlace], *, is_sandboxed: bool) -> None:
    """IO_034 for outputs that equal, lie inside of or contain what the workspace lives on; IO_043 for hidden ones."""
    own = tuple(_own_places(workspace, is_sandboxed=is_sandboxed))
    found = (_place_error(place, own, workspace.root, is_sandboxed=is_sandboxed) for place in places)
    raise_all(error for error in found if error is not None)


def own_file_errors(workspace: LoadedWorkspace) -> Iterator[DaybookError]:
    """The same for the outputs of all project files, whatever their period, with the place in the file."""
    own = tuple(_own_places(workspace, is_sandboxed=False))
    catalog = WorkspaceCatalog(workspace)
    for definition in workspace.definitions["project"].values():
        for index, operation in enumerate(definition.model.operations):
            if not isinstance(operation, OutputOperation):
                continue
            # Locations that cannot be are errors of their own.
            with suppress(DaybookError):
                place = _declared_place(operation, catalog, workspace.root)
                span = definition.source.span("operations", index, "arguments", "destination")
                if error := _place_error(place, own, workspace.root, is_sandboxed=False, span=span):
                    yield error


def _declared_place(operation: OutputOperation, catalog: WorkspaceCatalog, root: Path) -> WrittenPlace:
    destination, columns = operation.arguments.destination, tuple(operation.arguments.columns or ())
    if isinstance(destination, TableDestination):
        source = usable_datasource(destination.datasource_id, catalog)
        label = f"{destination.datasource_id}.{destination.table}"
        return WrittenPlace(table_location(source, destination.table, None, root), label, operation.seq, columns)
    given = destination.location
    # No token stands for a text with dots or slashes, so any letter shows what the rest amounts to.
    location = inline_location(fill_tokens(given.path, "x"), given.format, given.options, root)
    return WrittenPlace(location, given.path, operation.seq, columns)


def _place_error(
    place: WrittenPlace,
    own: tuple[tuple[str, Location], ...],
    root: Path,
    *,
    is_sandboxed: bool,
    span: Span | None = None,
) -> DaybookError | None:
    touched = next(((what, at.uri) for what, at in own if locations_overlap(place.location, at, root)), None)
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
    """The part of a path that begins with a dot; where the workspace itself lies is its affair.

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
    if not is_sandboxed:
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
