"""Checks whether the last completed run of a node loaded the rows that a run would load now.

A node is out of date when what it loads changed: the rows of the slices it reads, or of the files. A file that changed
concerns only the nodes that load other rows of it; whether one does is looked at by builds, and by `status --look`.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import TypeAdapter

from daybook.definitions.loading.workspace import WorkspaceLocation
from daybook.definitions.value import Definitions
from daybook.errors import DaybookError
from daybook.graph.nodes import CloseHistory, Node
from daybook.io.bindings import is_slice_needed, needed_slices
from daybook.io.filesystem import FileStat, content_digest, list_files, partition_values, relative_to
from daybook.io.pins import FilesPin, LandedPin, Pin, TablePin
from daybook.io.registry import format_named
from daybook.io.storage import PROVIDER_STORAGE, Storage
from daybook.model.calendar import Period
from daybook.model.dataset import Dataset, ViewOf
from daybook.model.datasource import CatalogStrategy
from daybook.model.definition import DatasetVersion, DefinitionKind
from daybook.model.formats import FORMATS
from daybook.model.parameter import given_values, read_value
from daybook.model.project import Project
from daybook.model.serialization import from_canonical, frozen, structural_content, to_canonical
from daybook.model.settings import SchemaLocation
from daybook.model.types import TIME_COLUMNS, value_text
from daybook.plan.loads import LoadReference, load_references
from daybook.resolve.location import Location, Resolution
from daybook.resolve.resolution import ByResolver, choose_location_source, matching_rule, resolve_dataset
from daybook.store.records import RunRecord

# `unknown`: a source changed, and nobody has looked yet whether in the rows that this node loads.
NodeState: TypeAlias = Literal["fresh", "stale", "unknown", "never", "failed", "running", "blocked"]

# Values for parameters, by project and name.
GivenParameters: TypeAlias = Mapping[str, Mapping[str, Any]]

_NAMED_FILES = 3


@dataclass(frozen=True, slots=True)
class ProjectNow:
    """The version of a project that a run would execute now, or why none can."""

    project: Project
    version: int | None
    definitions: Definitions
    problem: str | None = None
    is_inactive: bool = False


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a node is out of date, or may be; `cause` is what all nodes share that are so for the same reason."""

    text: str
    cause: str
    is_unknown: bool = False


@dataclass(frozen=True, slots=True)
class NodeFreshness:
    """`details`: what changed since the run, why there is no run, or what nobody has looked at."""

    state: NodeState
    run: RunRecord | None
    details: tuple[Reason, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(reason.text for reason in self.details))


class Freshness:
    """Answers for nodes; what was listed once is not listed again."""

    def __init__(
        self,
        history: CloseHistory,
        projects: Mapping[str, ProjectNow],
        *,
        root: Path,
        storage: Storage = PROVIDER_STORAGE,
        allowed_hosts: tuple[str, ...] = (),
        registered: frozenset[str],
        asks_databases: bool = False,
        looks: bool = False,
        workspace: WorkspaceLocation | None = None,
        parameters: GivenParameters | None = None,
    ) -> None:
        self._history = history
        # Whether changed files are read to find out whom they concern; where what was found is kept.
        self._looks = looks
        self._workspace = workspace
        self._parameters = parameters or {}
        self._projects = projects
        # By project, since each has many nodes.
        self._uses_times: dict[str, bool] = {}
        # What projects register; what they read of it counts by its columns.
        self._registered = registered
        self._root = root
        self._allowed_hosts = allowed_hosts
        self._asks_databases = asks_databases
        self._storage = storage
        self._list_files = cache(partial(list_files, storage=storage))

    def _counts_times(self, project_id: str) -> bool:
        if project_id not in self._uses_times:
            self._uses_times[project_id] = _uses_times(self._projects[project_id])
        return self._uses_times[project_id]

    def of(self, node: Node) -> NodeFreshness:
        """The node by itself, whatever the state of the nodes it reads."""
        runs = self._history.runs.get((node.project, node.period.identifier))
        now = self._projects[node.project]
        if runs is not None and runs.latest.is_active and self._history.is_alive(runs.latest):
            text = f"run {runs.latest.id} is {runs.latest.status}"
            return NodeFreshness("running", runs.latest, (Reason(text, text),))
        if runs is not None and runs.latest.status != "completed":
            text = _failure_text(runs.latest)
            return NodeFreshness("failed", runs.latest, (Reason(text, f"{node.project} failed"),))
        problem = (Reason(now.problem, f"{node.project}: {now.problem}"),) if now.problem is not None else ()
        if runs is None or runs.completed is None:
            return NodeFreshness("never", None, problem)
        run = runs.completed
        if problem:
            return NodeFreshness("stale", run, problem)
        snapshot = self._history.snapshots.get(run.id)
        if snapshot is None:
            text = "its snapshot has been removed by `daybook gc`"
            return NodeFreshness("stale", run, (Reason(text, "snapshots were removed by `daybook gc`"),))
        reasons = list(self._own_changes(node, now, run, snapshot))
        if not reasons:
            sources = {source["key"]: source for source in snapshot["sources"]}
            for reference in load_references(now.project):
                reasons += self._source_changes(reference, node, now, run, sources.get(reference.key))
            reasons += [Reason(text, f"{node.project}: {text}") for text in self._output_changes(run)]
        certain = tuple(dict.fromkeys(reason for reason in reasons if not reason.is_unknown))
        if certain:
            return NodeFreshness("stale", run, certain)
        return NodeFreshness("unknown" if reasons else "fresh", run, tuple(dict.fromkeys(reasons)))

    def _own_changes(
        self, node: Node, now: ProjectNow, run: RunRecord, snapshot: Mapping[str, Any]
    ) -> Iterator[Reason]:
        """What is different about the project itself, its parameters and its day."""
        given = self._parameters.get(node.project, {})
        for text in _project_changes(now, run, snapshot) or _parameter_changes(now, given, snapshot):
            yield Reason(text, f"{node.project}: {text}")
        if run.as_of is not None and run.as_of != node.period.start_date:
            text = f"the run was as of {run.as_of}, not {node.period.start_date}"
            yield Reason(text, f"{node.project} ran as of another day")

    def _source_changes(
        self,
        reference: LoadReference,
        node: Node,
        now: ProjectNow,
        run: RunRecord,
        source: Mapping[str, Any] | None,
    ) -> Iterator[Reason]:
        """What is different about one thing that the project reads."""
        dataset_id = reference.dataset.dataset_id
        version = now.definitions.dataset(dataset_id, reference.dataset.dataset_version)
        if version is None or source is None or source["dataset_id"] != dataset_id:
            yield Reason(f"{dataset_id} is read in another way", f"{node.project} reads {dataset_id} in another way")
            return
        changed = _definition_change(version, source, self._history.snapshots[run.id], self._registered)
        if changed is not None:
            yield Reason(changed, changed)
            return
        if reference.dataset.dataset_version is not None and version.pin is not None:
            return
        label = f"{dataset_id} {node.period.identifier}"
        if not self._asks_databases and _asks_catalog(version, node.period, now):
            yield Reason(f"{label}: the catalog was not asked", "catalogs were not asked", is_unknown=True)
            return
        try:
            resolution = resolve_dataset(
                version,
                node.period,
                now.definitions,
                root=self._root,
                overrides=now.project.resolver_overrides,
                allowed_hosts=self._allowed_hosts,
                lookup=self._history.slices,
            )
        except DaybookError as error:
            yield Reason(f"{label}: {error.message}", error.message)
            return
        pins, counts_times = self._history.pins(run.id, reference.key), self._counts_times(node.project)
        reading = _Reading(label, resolution, version, pins, counts_times)
        yield from self._data_changes(reading, source)

    def _data_changes(self, reading: "_Reading", source: Mapping[str, Any]) -> Iterator[Reason]:
        label, resolution = reading.label, reading.resolution
        before = source["resolution"]
        is_unasked = not self._asks_databases and any(location.is_database for location in resolution.locations)
        if is_unasked and tuple(before["periods"]) != resolution.periods:
            # Only the database knows whether a table exists that no run has written yet.
            yield _not_asked(label)
            return
        if _places(resolution.locations) != {_stored_place(place) for place in before["locations"]}:
            yield reading.reason("the data is now in another location")
            return
        if tuple(before["periods"]) != resolution.periods:
            yield reading.reason("other periods are read now")
            return
        column = _freshness_column(reading.version)
        collected = [location for location in resolution.locations if self._history.slices.slices(location) is not None]
        yield from self._slice_changes(reading, collected, source.get("slices") or {})
        landed: list[Reason] = []
        for location in resolution.locations:
            if location in collected:
                continue
            if location.is_database:
                if not self._asks_databases:
                    yield _not_asked(label)
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

    def _control_changes(self, reading: "_Reading") -> Iterator[Reason]:
        """Control files are pinned beside the data that they speak of."""
        uris = {location.uri for location in reading.resolution.locations}
        for pin in reading.pins:
            if isinstance(pin, FilesPin) and pin.uri not in uris and self._list_files(pin.uri, pin.uri) != pin.files:
                name = Path(pin.uri).name
                yield reading.reason(f"the control file {name} changed since the run", f"{name} changed")

    def _version_changes(self, reading: "_Reading", location: Location) -> Iterator[Reason]:
        """Of a table in a catalog, which may be out of reach, or known to a session alone."""
        try:
            yield from tuple(self._file_changes(reading, location))
        except DaybookError as error:
            yield Reason(f"{reading.label}: {error.message}", error.message, is_unknown=True)

    def _table_changes(self, reading: "_Reading", location: Location, column: str) -> Iterator[Reason]:
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

    def _slice_changes(
        self, reading: "_Reading", locations: Iterable[Location], used: Mapping[str, str]
    ) -> Iterator[Reason]:
        """Slices into which another run wrote other rows since."""
        dataset_id = reading.dataset_id
        for location in locations:
            written = self._history.slices.slices(location) or {}
            for period in reading.resolution.periods:
                run_id = written.get(period)
                if run_id == used.get(period):
                    continue
                if run_id is None:
                    text = f"{dataset_id} {period} was removed"
                elif period in used and self._wrote_same_rows(reading, location, used[period], run_id):
                    continue
                else:
                    again = self._history.started.get(run_id)
                    when = f" on {again.created_at:%Y-%m-%d at %H:%M} UTC" if again is not None else ""
                    text = f"{dataset_id} {period} was run {'again' if period in used else 'since'}{when}"
                yield Reason(text, text)

    def _wrote_same_rows(self, reading: "_Reading", location: Location, before: str, now: str) -> bool:
        return self._history.wrote_same_rows(location, before, now, with_times=reading.counts_times)

    def _file_changes(self, reading: "_Reading", location: Location) -> Iterator[Reason]:
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

    def _has_table_changed(self, reading: "_Reading", location: Location, pin: TablePin) -> bool:
        """Whether the files that hold what is loaded are others now: those of other periods do not count."""
        table_format = format_named(location.format)
        if not table_format.has_changed(pin, location, self._root, self._storage):
            return False
        from daybook.io.format import PinnedLocation, ReadRequest

        slices = needed_slices(reading.version, reading.resolution.periods)
        files: list[frozenset[str]] = []
        for pinned in (pin, None):
            at = PinnedLocation(location, pinned)
            try:
                request = ReadRequest((at,), reading.version, slices, self._root, self._storage)
                table = table_format.table_files(at, request)
            except DaybookError:
                return True
            periods = ((file.path, file.period("_period")) for file in table.files)
            files.append(frozenset(path for path, period in periods if not slices or (period or "") in {"", *slices}))
        return files[0] != files[1]

    def _listing_changes(
        self, reading: "_Reading", location: Location, pinned: Mapping[str, tuple[FileStat, str | None]]
    ) -> Iterator[Reason]:
        uri = location.uri or ""
        slices = needed_slices(reading.version, reading.resolution.periods)
        present = {
            file.path: file
            for file in self._list_files(uri, location.root or uri)
            if is_slice_needed(partition_values(relative_to(file.path, uri)), slices)
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
            if path in present and has_other_content(present[path], stat, digest, self._storage)
        ]
        for paths, what in ((added, "added"), (removed, "removed"), (changed, "changed")):
            if paths:
                text = f"{_count(len(paths), 'file')} {what} since the run ({_names(paths)})"
                yield reading.reason(text, f"{_names(paths)} {'changed' if what == 'changed' else f'was {what}'}")

    def _landed_changes(self, reading: "_Reading", changes: list[Reason]) -> Iterator[Reason]:
        """Of files that changed, those that concern what this node loads; unknown where nobody has looked."""
        has_changed = self._have_rows_changed(reading)
        if has_changed is None:
            for reason in changes:
                yield replace(
                    reason, text=f"{reason.text}; `--look` finds out whether this concerns it", is_unknown=True
                )
        elif has_changed:
            yield from changes

    def _have_rows_changed(self, reading: "_Reading") -> bool | None:
        if self._workspace is None:
            return True
        # Imported lazily: `status` reads files only where they changed.
        from daybook.io.landing.area import LandingArea
        from daybook.io.loaded_rows import LoadedPart, have_rows_changed
        from daybook.io.read_source import landing_requests
        from daybook.runs.environment import state_folder

        mode = _innermost(reading.version).dataset.main_table.temporal_mode
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

    def _output_changes(self, run: RunRecord) -> Iterator[str]:
        """Outputs that are no longer what the run committed."""
        for commit in self._history.commits.get(run.id, ()):
            place = commit.destination
            if self._history.is_dropped(run, commit):
                yield f"its slice of {_short(place)} was dropped"
                continue
            if commit.mode == "append" or self._history.is_overwritten_by_period(run, place):
                continue
            if self._history.slices.is_collected(commit.table):
                owner = self._history.slices.owner(commit.table, run.period)
                if owner is None:
                    yield f"its slice of {_short(place)} was removed"
                elif owner != run.id:
                    yield f"its slice of {_short(place)} was written by run {owner}"
            elif place.startswith("/") and not Path(place).exists():
                yield f"its output {_short(place)} no longer exists"


@dataclass(frozen=True, slots=True)
class _Reading:
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

    def reason(self, text: str, cause: str | None = None) -> Reason:
        return Reason(f"{self.label}: {text}", cause or f"{self.dataset_id}: {text}")


def _not_asked(label: str) -> Reason:
    return Reason(f"{label}: the database was not asked", "databases were not asked", is_unknown=True)


def _parameter_changes(now: ProjectNow, requested: Mapping[str, Any], snapshot: Mapping[str, Any]) -> list[str]:
    """Values that a run would use now and the run did not; a value without a default that is not given is as it was."""
    used = snapshot.get("parameters") or {}
    declared = now.project.parameters
    values = {name: parameter.default for name, parameter in declared.items()} | given_values(
        now.project.id, declared, requested
    )
    return [
        f"parameter {name} is {value_text(value)}, the run used {used.get(name, 'none')}"
        for name, value in values.items()
        if value is not None and (name not in used or read_value(used[name], declared[name].type) != value)
    ]


def _project_changes(now: ProjectNow, run: RunRecord, snapshot: Mapping[str, Any]) -> list[str]:
    """By content: a change that was undone is none."""
    if now.version == run.project_version or _structure("project", now.project) == _structure_of_stored(
        "project", snapshot["project"]
    ):
        return []
    before = {operation["seq"]: operation for operation in snapshot["project"]["operations"]}
    after = {operation.seq: operation.model_dump(mode="json", by_alias=True) for operation in now.project.operations}
    changed = [seq for seq in after if seq in before and not _is_same_operation(before[seq], after[seq])]
    parts = [
        *_name_changes(now.project, snapshot["project"]),
        _operations(changed, "changed"),
        _operations([seq for seq in after if seq not in before], "added"),
        _operations([seq for seq in before if seq not in after], "removed"),
    ]
    what = ", ".join(filter(None, parts)) or "the project was changed"
    return [f"{what} (version {now.version} is active, the run used {run.project_version})"]


def _name_changes(now: Project, before: Mapping[str, Any]) -> Iterator[str]:
    """Selectors and expressions of the project whose content changed."""
    texts = {**now.selectors, **now.expressions}
    stored_texts = {**(before.get("selectors") or {}), **(before.get("expressions") or {})}
    for name in dict.fromkeys((*stored_texts, *texts)):
        if texts.get(name) != stored_texts.get(name):
            change = "added" if name not in stored_texts else "changed" if name in texts else "removed"
            yield f"{{{{{name}}}}} was {change}"


def _is_same_operation(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether two operations do the same, whatever they are called."""
    names = {"name", "description", "accept"}
    return {k: v for k, v in before.items() if k not in names} == {k: v for k, v in after.items() if k not in names}


def _operations(seqs: list[int], what: str) -> str:
    if not seqs:
        return ""
    plural, verb = ("s", "were") if len(seqs) > 1 else ("", "was")
    return f"operation{plural} {', '.join(map(str, seqs))} {verb} {what}"


def _definition_change(
    version: DatasetVersion, source: Mapping[str, Any], snapshot: Mapping[str, Any], registered: Collection[str]
) -> str | None:
    """Whether a dataset was declared otherwise; a registered one counts by its columns alone."""
    dataset_id = version.dataset.id
    stored = next(
        (
            dataset
            for dataset in snapshot["datasets"]
            if (dataset["dataset"]["id"], dataset["version"]) == (dataset_id, source["dataset_version"])
        ),
        None,
    )
    current: DatasetVersion | None = version
    while current is not None and stored is not None:
        is_declared = current.pin is None and current.dataset.id not in registered
        if is_declared and current.version != stored["version"] and not _is_same_dataset(current, stored):
            return f"{current.dataset.id} was changed (version {current.version}, the run used {stored['version']})"
        columns = [(column.name, str(column.type)) for column in current.dataset.main_table.columns]
        if columns != [(column["name"], column["type"]) for column in stored["dataset"]["main_table"]["columns"]]:
            return f"the columns of {current.dataset.id} were changed"
        viewed = stored.get("view")
        current = current.view.dataset if current.view is not None else None
        stored = viewed["dataset"] if viewed else None
    return None if current is None and stored is None else f"{dataset_id} was changed"


def _is_same_dataset(version: DatasetVersion, stored: Mapping[str, Any]) -> bool:
    """Whether a dataset is declared as in the snapshot of a run, and its view looks through the same window."""
    viewed = stored.get("view")
    if (version.view is None) != (viewed is None):
        return False
    if version.view is not None and viewed is not None:
        windows = (version.view.of, TypeAdapter(ViewOf).validate_python(frozen(viewed["of"])))
        if windows[0].model_copy(update={"dataset_version": None}) != windows[1].model_copy(
            update={"dataset_version": None}
        ):
            return False
    return _structure("dataset", version.dataset) == _structure_of_stored("dataset", stored["dataset"])


def _structure(kind: DefinitionKind, model: Dataset | Project) -> dict[str, Any]:
    return structural_content(kind, to_canonical(model))


def _structure_of_stored(kind: DefinitionKind, stored: dict[str, Any]) -> dict[str, Any]:
    return _structure(kind, from_canonical(kind, stored))


# Columns and orders of outputs carry the times of rows along, and compute nothing of them.
_CARRYING_KEYS = frozenset({"columns", "order_by"})
_TIMES = re.compile("|".join(map(re.escape, TIME_COLUMNS)))


def _uses_times(now: ProjectNow) -> bool:
    """Whether an expression of the project names the times at which rows were made."""
    return any(map(_TIMES.search, _expression_texts(to_canonical(now.project))))


def _expression_texts(value: Any) -> Iterator[str]:
    match value:
        case dict():
            for key, item in value.items():
                if key not in _CARRYING_KEYS or isinstance(item, dict):
                    yield from _expression_texts(item)
        case list():
            for item in value:
                yield from _expression_texts(item)
        case str():
            yield value
        case _:
            return


def _innermost(version: DatasetVersion) -> DatasetVersion:
    """The dataset with a table that views lead to."""
    while version.view is not None:
        version = version.view.dataset
    return version


def _freshness_column(version: DatasetVersion) -> str | None:
    rule = _innermost(version).dataset.freshness
    return rule.column if rule is not None else None


def _asks_catalog(version: DatasetVersion, period: Period, now: ProjectNow) -> bool:
    """Whether only an endpoint knows where the data of a dataset is."""
    table = _innermost(version)
    try:
        match choose_location_source(table, now.definitions, now.project.resolver_overrides):
            case ByResolver(chosen):
                rule = matching_rule(chosen, table.dataset.main_table.name, period)
                return isinstance(rule.strategy, CatalogStrategy)
            case _:
                return False
    except DaybookError:
        return False


def _places(locations: Iterable[Location]) -> set[tuple[str | None, ...]]:
    return {
        (
            location.format,
            location.uri,
            location.table,
            location.schema,
            location.datasource.id if location.datasource else None,
        )
        for location in locations
    }


def _stored_place(location: Mapping[str, Any]) -> tuple[str | None, ...]:
    source = location.get("datasource")
    return (
        location["format"],
        location.get("uri"),
        location.get("table"),
        location.get("schema"),
        source["id"] if source else None,
    )


def has_other_content(now: FileStat, before: FileStat, digest: str | None, storage: Storage = PROVIDER_STORAGE) -> bool:
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


def _failure_text(run: RunRecord) -> str:
    if run.status == "cancelled":
        return f"run {run.id} was cancelled"
    if run.is_active:
        return f"the process of run {run.id} ended before the run did"
    error = run.error or {}
    return f"run {run.id} failed: {error.get('code', '')} {error.get('message', '')}".rstrip()


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _names(paths: list[str]) -> str:
    names = ", ".join(Path(path).name for path in paths[:_NAMED_FILES])
    return names if len(paths) <= _NAMED_FILES else f"{names}, …"


def _short(place: str) -> str:
    return Path(place).name if "/" in place else place
