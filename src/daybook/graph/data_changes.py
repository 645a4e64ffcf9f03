"""What is different in the data that a run read: files and tables are compared with what the run pinned."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from daybook.definitions.loading.loaded_workspace import WorkspaceLocation
from daybook.errors import DaybookError
from daybook.graph.node_state import Reason
from daybook.io.bindings import is_slice_needed, needed_slices
from daybook.io.filesystem import FileStat, content_digest, list_files, partition_values, relative_to
from daybook.io.pins import FilesPin, LandedPin, Pin, TablePin
from daybook.io.registry import format_named
from daybook.io.storage import Storage
from daybook.model.definition import DatasetVersion
from daybook.model.formats import FORMATS
from daybook.model.settings import SchemaLocation
from daybook.pictures.shown_values import plural
from daybook.resolve.location import Location, Resolution

if TYPE_CHECKING:
    # Imported lazily: `status` opens tables only where they changed.
    from daybook.io.data_files import DataFile

_NAMED_FILES = 3


@dataclass(frozen=True, slots=True)
class Reading:
    """What a node would read of a dataset now, and the pins of what its run read."""

    label: str
    resolution: Resolution
    version: DatasetVersion
    pins: tuple[Pin, ...]
    # Whether expressions of the project see at what times rows were made.
    counts_times: bool

    @property
    def dataset_id(self) -> str:
        return self.version.dataset.id

    @property
    def is_whole(self) -> bool:
        """Whether all slices of a table are read, for want of a time filter."""
        return self.version.viewed.reads_every_slice

    def reason(self, text: str, cause: str | None = None) -> Reason:
        return Reason(f"{self.label}: {text}", cause or f"{self.dataset_id}: {text}")


def not_asked(label: str) -> Reason:
    return Reason(f"{label}: the database was not asked", "databases were not asked", is_unknown=True)


class DataChanges:
    """Compares data that is in no slice of a run; what was listed once is not listed again.

    With `looks`, changed files are read to find out whom they concern; what that gave is kept in the workspace.
    """

    def __init__(
        self,
        root: Path,
        storage: Storage,
        *,
        asks_databases: bool,
        workspace: WorkspaceLocation | None = None,
        looks: bool = False,
    ) -> None:
        self._root = root
        self._storage = storage
        self._asks_databases = asks_databases
        self._workspace = workspace
        self._looks = looks
        self._list_files = cache(partial(list_files, storage=storage))

    def of(self, reading: Reading, locations: Iterable[Location]) -> Iterator[Reason]:
        """What changed at these locations of a reading, and in the control files beside them."""
        column = _freshness_column(reading.version)
        landed: list[Reason] = []
        for location in locations:
            if location.is_database:
                if not self._asks_databases:
                    yield not_asked(reading.label)
                elif FORMATS[location.format].keeps_versions and any(isinstance(pin, TablePin) for pin in reading.pins):
                    yield from self._version_changes(reading, location)
                elif column is None:
                    yield reading.reason("a database is read again by every build", f"{location.label} is a database")
                else:
                    yield from self._table_changes(reading, location, column)
            elif location.uri is not None:
                changes = list(self._file_changes(reading, location))
                if any(isinstance(pin, LandedPin) for pin in reading.pins):
                    landed += changes
                else:
                    yield from changes
        if landed:
            yield from self._landed_changes(reading, landed)
        yield from self._control_changes(reading)

    def _control_changes(self, reading: Reading) -> Iterator[Reason]:
        """Control files are pinned beside the data that they speak of."""
        uris = {location.uri for location in reading.resolution.locations}
        for pin in reading.pins:
            if isinstance(pin, FilesPin) and pin.uri not in uris and self._list_files(pin.uri, pin.uri) != pin.files:
                name = Path(pin.uri).name
                yield reading.reason(f"the control file {name} changed since the run", f"{name} changed")

    def _version_changes(self, reading: Reading, location: Location) -> Iterator[Reason]:
        """Of a table in a catalog, which may be out of reach, or known to a session alone."""
        try:
            yield from tuple(self._file_changes(reading, location))
        except DaybookError as error:
            yield Reason(f"{reading.label}: {error.message}", error.message, is_unknown=True)

    def _table_changes(self, reading: Reading, location: Location, column: str) -> Iterator[Reason]:
        """By what the table of a database said of itself before it was read, and says now."""
        states = [state for pin in reading.pins if isinstance(pin, LandedPin) for state in pin.states]
        before = next((state for state in states if (state.table, state.column) == (location.label, column)), None)
        try:
            now = format_named(location.format).table_state(location, column, self._root)
        except DaybookError as error:
            yield reading.reason(error.message, error.message)
            return
        if before is None or now is None:
            yield reading.reason("a database is read again by every build", f"{location.label} is a database")
        elif now != before:
            was, is_ = (f"{state.rows} rows, {column} up to {state.newest}" for state in (before, now))
            text = f"{location.label} has {is_}; the run read {was}"
            yield reading.reason(text, f"{location.label} changed")

    def _file_changes(self, reading: Reading, location: Location) -> Iterator[Reason]:
        for pin in reading.pins:
            match pin:
                case TablePin(uri=uri) if uri == location.label:
                    if self._has_table_changed(reading, location, pin):
                        name = location.table or Path(uri).name
                        yield reading.reason(f"the table {name} has new data", f"the table {name} changed")
                    return
                case FilesPin(uri=uri) if uri == location.uri:
                    pinned: dict[str, tuple[FileStat, str | None]] = {file.path: (file, None) for file in pin.files}
                    yield from self._listing_changes(reading, location, pinned)
                    return
                case LandedPin() if pin.files:
                    listed = {file.stat.path: (file.stat, file.digest) for file in pin.files}
                    yield from self._listing_changes(reading, location, listed)
                    return
                case _:
                    continue

    def _has_table_changed(self, reading: Reading, location: Location, pin: TablePin) -> bool:
        """Whether the files that hold what is loaded are others now: those of other periods do not count."""
        table_format = format_named(location.format)
        if not table_format.has_changed(pin, location, self._root, self._storage):
            return False
        from daybook.io.format import PinnedLocation, ReadRequest

        slices = needed_slices(reading.version, reading.resolution.periods)
        contents: list[dict[str, DataFile]] = []
        for pinned in (pin, None):
            at = PinnedLocation(location, pinned)
            try:
                request = ReadRequest((at,), reading.version, slices, self._root, self._storage)
                table = table_format.table_files(at, request)
            except DaybookError:
                return True
            periods = ((file, file.period("_period")) for file in table.files)
            contents.append(
                {file.path: file for file, period in periods if not slices or (period or "") in {"", *slices}}
            )
        before, now = contents
        return before.keys() != now.keys() or any(not file.holds_same_rows(now[path]) for path, file in before.items())

    def _listing_changes(
        self, reading: Reading, location: Location, pinned: Mapping[str, tuple[FileStat, str | None]]
    ) -> Iterator[Reason]:
        uri = location.uri or ""
        listed = self._list_files(uri, location.root or uri)
        if len(listed) == len(pinned) and all(pinned.get(file.path, (None, None))[0] == file for file in listed):
            return
        slices = needed_slices(reading.version, reading.resolution.periods)
        present = {
            file.path: file for file in listed if is_slice_needed(partition_values(relative_to(file.path, uri)), slices)
        }
        before = {
            path: pinned_file
            for path, pinned_file in pinned.items()
            if path == uri or path.startswith(uri.rstrip("/") + "/")
            if is_slice_needed(partition_values(relative_to(path, uri)), slices)
        }
        added = [path for path in present if path not in before]
        removed = [path for path in before if path not in present]
        changed = [
            path
            for path, (stat, digest) in before.items()
            if path in present and _has_other_content(present[path], stat, digest, self._storage)
        ]
        for paths, what in ((added, "added"), (removed, "removed"), (changed, "changed")):
            if paths:
                text = f"{plural(len(paths), 'file')} {what} since the run ({_names(paths)})"
                yield reading.reason(text, f"{_names(paths)} {'changed' if what == 'changed' else f'was {what}'}")

    def _landed_changes(self, reading: Reading, changes: list[Reason]) -> Iterator[Reason]:
        """Of files that changed, those that concern what this node loads; unknown where nobody has looked."""
        has_changed = self._have_rows_changed(reading)
        if has_changed is None:
            for reason in changes:
                yield replace(
                    reason, text=f"{reason.text}; `--look` finds out whether this concerns it", is_unknown=True
                )
        elif has_changed:
            yield from changes

    def _have_rows_changed(self, reading: Reading) -> bool | None:
        if self._workspace is None:
            return True
        # Imported lazily: `status` reads files only where they changed.
        from daybook.io.landing.area import LandingArea
        from daybook.io.loaded_rows import LoadedPart, have_rows_changed
        from daybook.io.read_source import landing_requests
        from daybook.runs.environment import state_folder

        mode = reading.version.viewed.dataset.main_table.temporal_mode
        part = LoadedPart(
            reading.resolution.periods if mode == "period" else None,
            reading.resolution.as_of if mode == "bitemporal" else None,
            reading.counts_times,
        )
        if isinstance(self._workspace.settings.state, SchemaLocation):
            # Landed rows are tables that a session alone reads, so a file that changed concerns every reader.
            return True
        landing = f"{state_folder(self._workspace)}/landing"
        area = LandingArea(landing, "look", self._storage)
        requests = [
            replace(request, locations=files)
            for request in landing_requests(reading.resolution, reading.version, area, self._root)
            if (files := [at for at in request.locations if at.uri and format_named(at.format).is_landed])
        ]
        pins = [pin for pin in reading.pins if isinstance(pin, LandedPin)]
        if len(requests) != len(pins):
            return True
        answers = [
            have_rows_changed(request, pin, part, looks=self._looks, root=f"{landing}/looks")
            for request, pin in zip(requests, pins, strict=True)
        ]
        return True if True in answers else None if None in answers else False


def _freshness_column(version: DatasetVersion) -> str | None:
    rule = version.viewed.dataset.freshness
    return rule.column if rule is not None else None


def _has_other_content(now: FileStat, before: FileStat, digest: str | None, storage: Storage) -> bool:
    """By size and time; where only the time is another one, by content if that is known."""
    if now.size != before.size:
        return True
    if now.modified_ns == before.modified_ns:
        return False
    return digest is None or _digest_of(now, storage) != digest


@lru_cache(maxsize=4096)
def _digest_of(file: FileStat, storage: Storage) -> str:
    """Of a file as it was listed, so that it is read once however many nodes ask."""
    return content_digest(file.path, storage)


def _names(paths: list[str]) -> str:
    names = ", ".join(Path(path).name for path in paths[:_NAMED_FILES])
    return names if len(paths) <= _NAMED_FILES else f"{names}, …"
