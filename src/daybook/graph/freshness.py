"""Checks whether the last completed run of a node used what a run would use now, without reading data."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

from daybook.definitions.value import Definitions
from daybook.errors import DaybookError
from daybook.graph.nodes import CloseHistory, Node
from daybook.io.filesystem import FileStat, content_digest, list_files
from daybook.io.pins import FilesPin, LandedPin, Pin, TablePin
from daybook.io.registry import format_named
from daybook.io.storage import PROVIDER_STORAGE, Storage
from daybook.model.calendar import Period
from daybook.model.datasource import CatalogStrategy
from daybook.model.definition import DatasetVersion
from daybook.model.formats import FORMATS
from daybook.model.parameter import given_values, read_value
from daybook.model.project import Project
from daybook.model.types import value_text
from daybook.plan.loads import LoadReference, load_references
from daybook.resolve.location import Location, Resolution
from daybook.resolve.resolution import ByResolver, choose_location_source, matching_rule, resolve_dataset
from daybook.store.records import RunRecord

NodeState: TypeAlias = Literal["fresh", "stale", "never", "failed", "running", "blocked"]

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
class NodeFreshness:
    """`reasons`: what changed since the run, or why there is no run; `unknown`: what was not queried."""

    state: NodeState
    run: RunRecord | None
    reasons: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


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
        parameters: GivenParameters | None = None,
    ) -> None:
        self._history = history
        self._parameters = parameters or {}
        self._projects = projects
        # What projects register; what they read of it counts by its columns.
        self._registered = registered
        self._root = root
        self._allowed_hosts = allowed_hosts
        self._asks_databases = asks_databases
        self._storage = storage
        self._list_files = cache(partial(list_files, storage=storage))

    def of(self, node: Node) -> NodeFreshness:
        """The node by itself, whatever the state of the nodes it reads."""
        runs = self._history.runs.get((node.project, node.period.identifier))
        now = self._projects[node.project]
        if runs is not None and runs.latest.is_active and self._history.is_alive(runs.latest):
            return NodeFreshness("running", runs.latest, (f"run {runs.latest.id} is {runs.latest.status}",))
        if runs is not None and runs.latest.status != "completed":
            return NodeFreshness("failed", runs.latest, (_failure_text(runs.latest),))
        if runs is None or runs.completed is None:
            return NodeFreshness("never", None, (now.problem,) if now.problem else ())
        run = runs.completed
        if now.problem is not None:
            return NodeFreshness("stale", run, (now.problem,))
        snapshot = self._history.snapshots.get(run.id)
        if snapshot is None:
            return NodeFreshness("stale", run, ("its snapshot has been removed by `daybook gc`",))
        reasons: list[str] = []
        unknown: list[str] = []
        reasons += _project_changes(now, run, snapshot) or _parameter_changes(
            now, self._parameters.get(node.project, {}), snapshot
        )
        if run.as_of is not None and run.as_of != node.period.start_date:
            reasons.append(f"the run was as of {run.as_of}, not {node.period.start_date}")
        if not reasons:
            sources = {source["key"]: source for source in snapshot["sources"]}
            for reference in load_references(now.project):
                reasons += self._source_changes(reference, node, now, run, sources.get(reference.key), unknown)
            reasons += self._output_changes(run)
        distinct = tuple(dict.fromkeys(reasons))
        return NodeFreshness("stale" if distinct else "fresh", run, distinct, tuple(dict.fromkeys(unknown)))

    def _source_changes(
        self,
        reference: LoadReference,
        node: Node,
        now: ProjectNow,
        run: RunRecord,
        source: Mapping[str, Any] | None,
        unknown: list[str],
    ) -> Iterator[str]:
        """What is different about one thing that the project reads."""
        dataset_id = reference.dataset.dataset_id
        version = now.definitions.dataset(dataset_id, reference.dataset.dataset_version)
        if version is None or source is None or source["dataset_id"] != dataset_id:
            yield f"{dataset_id} is read in another way"
            return
        changed = _definition_change(version, source, self._history.snapshots[run.id], self._registered)
        if changed is not None:
            yield changed
            return
        if reference.dataset.dataset_version is not None and version.pin is not None:
            return
        label = f"{dataset_id} {node.period.identifier}"
        if not self._asks_databases and _asks_catalog(version, node.period, now):
            unknown.append(f"{label}: the catalog was not asked")
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
            yield f"{label}: {error.message}"
            return
        yield from self._data_changes(label, resolution, reference, run, source, unknown, _freshness_column(version))

    def _data_changes(
        self,
        label: str,
        resolution: Resolution,
        reference: LoadReference,
        run: RunRecord,
        source: Mapping[str, Any],
        unknown: list[str],
        column: str | None,
    ) -> Iterator[str]:
        before = source["resolution"]
        is_unasked = not self._asks_databases and any(location.is_database for location in resolution.locations)
        if is_unasked and tuple(before["periods"]) != resolution.periods:
            # Only the database knows whether a table exists that no run has written yet.
            unknown.append(f"{label}: the database was not asked")
            return
        if _places(resolution.locations) != {_stored_place(place) for place in before["locations"]}:
            yield f"{label}: the data is now in another location"
            return
        if tuple(before["periods"]) != resolution.periods:
            yield f"{label}: other periods are read now"
            return
        pins = self._history.pins(run.id, reference.key)
        collected = [location for location in resolution.locations if self._history.slices.slices(location) is not None]
        yield from self._slice_changes(label, resolution, collected, source.get("slices") or {})
        for location in resolution.locations:
            if location in collected:
                continue
            if location.is_database:
                if not self._asks_databases:
                    unknown.append(f"{label}: the database was not asked")
                elif FORMATS[location.format].keeps_versions and any(isinstance(pin, TablePin) for pin in pins):
                    yield from self._version_changes(label, location, pins, unknown)
                elif column is None:
                    yield f"{label}: a database is read again by every build"
                else:
                    yield from self._table_changes(label, location, column, pins)
            elif location.uri is not None:
                yield from self._file_changes(label, location, pins)

    def _version_changes(
        self, label: str, location: Location, pins: tuple[Pin, ...], unknown: list[str]
    ) -> Iterator[str]:
        """Of a table in a catalog, which may be out of reach, or known to a session alone."""
        try:
            yield from tuple(self._file_changes(label, location, pins))
        except DaybookError as error:
            unknown.append(f"{label}: {error.message}")

    def _table_changes(self, label: str, location: Location, column: str, pins: tuple[Pin, ...]) -> Iterator[str]:
        """By what the table of a database said of itself before it was read, and says now."""
        states = [state for pin in pins if isinstance(pin, LandedPin) for state in pin.states]
        before = next((state for state in states if (state.table, state.column) == (location.label, column)), None)
        try:
            now = format_named(location.format).table_state(location, column, self._root)
        except DaybookError as error:
            yield f"{label}: {error.message}"
            return
        if before is None or now is None:
            yield f"{label}: a database is read again by every build"
        elif now != before:
            was, is_ = (f"{state.rows} rows, {column} up to {state.newest}" for state in (before, now))
            yield f"{label}: {location.label} has {is_}; the run read {was}"

    def _slice_changes(
        self, label: str, resolution: Resolution, locations: Iterable[Location], used: Mapping[str, str]
    ) -> Iterator[str]:
        """Slices that another run wrote since."""
        dataset_id = label.partition(" ")[0]
        for location in locations:
            written = self._history.slices.slices(location) or {}
            for period in resolution.periods:
                if period in written and written[period] != used.get(period):
                    again = self._history.started.get(written[period])
                    when = f" on {again.created_at:%Y-%m-%d at %H:%M} UTC" if again is not None else ""
                    yield f"{dataset_id} {period} was run {'again' if period in used else 'since'}{when}"
                elif period not in written and period in used:
                    yield f"{dataset_id} {period} was removed"

    def _file_changes(self, label: str, location: Location, pins: tuple[Pin, ...]) -> Iterator[str]:
        for pin in pins:
            match pin:
                case TablePin(uri=uri) if uri == location.label:
                    if format_named(location.format).has_changed(pin, location, self._root, self._storage):
                        yield f"{label}: the table {location.table or Path(uri).name} has new data"
                    return
                case FilesPin(uri=uri) if uri == location.uri:
                    yield from self._listing_changes(label, location, {file.path: (file, None) for file in pin.files})
                    return
                case LandedPin() if pin.files:
                    listed = {file.stat.path: (file.stat, file.digest) for file in pin.files}
                    yield from self._listing_changes(label, location, listed)
                    return
                case _:
                    continue

    def _listing_changes(
        self, label: str, location: Location, pinned: Mapping[str, tuple[FileStat, str | None]]
    ) -> Iterator[str]:
        uri = location.uri or ""
        present = {file.path: file for file in self._list_files(uri, location.root or uri)}
        before = {
            path: pinned_file
            for path, pinned_file in pinned.items()
            if path == uri or path.startswith(uri.rstrip("/") + "/")
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
                yield f"{label}: {_count(len(paths), 'file')} {what} since the run ({_names(paths)})"

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
    if now.version == run.project_version:
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
        if is_declared and current.version != stored["version"]:
            return f"{current.dataset.id} was changed (version {current.version}, the run used {stored['version']})"
        columns = [(column.name, str(column.type)) for column in current.dataset.main_table.columns]
        if columns != [(column["name"], column["type"]) for column in stored["dataset"]["main_table"]["columns"]]:
            return f"the columns of {current.dataset.id} were changed"
        viewed = stored.get("view")
        current = current.view.dataset if current.view is not None else None
        stored = viewed["dataset"] if viewed else None
    return None if current is None and stored is None else f"{dataset_id} was changed"


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
