"""Checks whether the last completed run of a node loaded the rows that a run would load now.

A node is out of date when what it loads changed: the rows of the slices it reads, or of the files. A file that changed
concerns only the nodes that load other rows of it; whether one does is looked at by builds, and by `status --look`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from daybook.definitions.loading.loaded_workspace import WorkspaceLocation
from daybook.definitions.value import Definitions
from daybook.errors import DaybookError
from daybook.graph.data_changes import DataChanges, Reading, not_asked
from daybook.graph.definition_changes import (
    DatasetNow,
    DatasourceOptions,
    parameter_changes,
    period_change,
    project_changes,
)
from daybook.graph.node_state import NodeFreshness, Reason
from daybook.graph.nodes import CloseHistory, Node
from daybook.graph.output_changes import OutputChanges
from daybook.io.storage import PROVIDER_STORAGE, Storage
from daybook.model.calendar import Period
from daybook.model.datasource import CatalogStrategy
from daybook.model.definition import DatasetVersion, ResolverVersion
from daybook.model.parameter import ParametersByProject
from daybook.model.project import Project
from daybook.plan.loads import LoadReference, load_references
from daybook.resolve.location import Location
from daybook.resolve.resolution import (
    ByResolver,
    LocatedTables,
    choose_location_source,
    matching_rule,
    resolve_dataset,
)
from daybook.store.records import RunRecord


@dataclass(frozen=True, slots=True)
class ProjectNow:
    """The version of a project that a run would execute now, or why none can."""

    project: Project
    version: int | None
    definitions: Definitions
    problem: str | None = None
    is_inactive: bool = False


class _DatasetRead:
    """A dataset that a project reads, in the version that a run would read now."""

    def __init__(self, reference: LoadReference, now: ProjectNow, registered: frozenset[str]) -> None:
        dataset_id, number = reference.dataset.dataset_id, reference.dataset.dataset_version
        self.key = reference.key
        self.dataset_id = dataset_id
        self.version = now.definitions.dataset(dataset_id, number)
        # A pinned version of what a run registered is frozen data.
        self.is_frozen = number is not None and self.version is not None and self.version.pin is not None
        self.compared = DatasetNow(self.version, registered) if self.version is not None else None
        self.resolver = _catalog_resolver(self.version, now) if self.version is not None else None

    def asks_catalog(self, period: Period) -> bool:
        """Whether only an endpoint knows where the data of a period is."""
        if self.resolver is None or self.version is None:
            return False
        try:
            rule = matching_rule(self.resolver, self.version.viewed.dataset.main_table.name, period)
        except DaybookError:
            return False
        return isinstance(rule.strategy, CatalogStrategy)


class _ProjectReads:
    """What all nodes of a project ask: computed once, however many periods there are."""

    def __init__(self, now: ProjectNow, registered: frozenset[str]) -> None:
        self._now = now
        self._registered = registered
        self.datasources = DatasourceOptions(now.definitions)

    @cached_property
    def datasets(self) -> tuple[_DatasetRead, ...]:
        references = load_references(self._now.project)
        return tuple(_DatasetRead(reference, self._now, self._registered) for reference in references)


class Freshness:
    """Answers for nodes; what was listed once is not listed again.

    For projects that are `counting_times`, rows that were made at other times are other rows.
    """

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
        parameters: ParametersByProject | None = None,
        counting_times: Collection[str] = (),
    ) -> None:
        self._history = history
        self._outputs = OutputChanges(history, root)
        self._parameters = parameters or {}
        self._projects = projects
        self._reads: dict[str, _ProjectReads] = {}
        # Tables that many projects read are found once.
        self._located = LocatedTables()
        self._counting_times = counting_times
        # What projects register; what they read of it counts by its columns.
        self._registered = registered
        self._root = root
        self._allowed_hosts = allowed_hosts
        self._asks_databases = asks_databases
        self._data = DataChanges(root, storage, asks_databases=asks_databases, workspace=workspace, looks=looks)

    def _reads_of(self, project_id: str) -> _ProjectReads:
        if project_id not in self._reads:
            self._reads[project_id] = _ProjectReads(self._projects[project_id], self._registered)
        return self._reads[project_id]

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
        snapshot = self._history.recorded[run.id].snapshot
        if snapshot is None:
            text = "its snapshot has been removed by `daybook gc`"
            return NodeFreshness("stale", run, (Reason(text, "snapshots were removed by `daybook gc`"),))
        reasons = list(self._own_changes(node, now, run, snapshot))
        if not reasons:
            sources = {source["key"]: source for source in snapshot["sources"]}
            for read in self._reads_of(node.project).datasets:
                reasons += self._source_changes(read, node, now, run, snapshot, sources.get(read.key))
            changed_outputs = self._outputs.of(now.project, now.definitions, node.period, run)
            reasons += [Reason(text, f"{node.project}: {text}") for text in changed_outputs]
        details = tuple(dict.fromkeys(sorted(reasons, key=lambda reason: reason.is_unknown)))
        if any(not reason.is_unknown for reason in details):
            return NodeFreshness("stale", run, details)
        return NodeFreshness("unknown" if details else "fresh", run, details)

    def _own_changes(
        self, node: Node, now: ProjectNow, run: RunRecord, snapshot: Mapping[str, Any]
    ) -> Iterator[Reason]:
        """What is different about the project itself, its parameters and its day."""
        requested = self._parameters.get(node.project, {})
        texts = project_changes(now.project, now.version, run, snapshot)
        for text in texts or parameter_changes(now.project, requested, snapshot):
            yield Reason(text, f"{node.project}: {text}")
        if (change := period_change(node.period, snapshot)) is not None:
            yield Reason(change, f"the calendar {node.period.calendar_id} was changed")
        for datasource_id in self._reads_of(node.project).datasources.changed(snapshot):
            text = f"the data source {datasource_id} was changed"
            yield Reason(text, text)
        if run.as_of is not None and run.as_of != node.period.start_date:
            text = f"the run was as of {run.as_of}, not {node.period.start_date}"
            yield Reason(text, f"{node.project} ran as of another day")

    def _source_changes(
        self,
        read: _DatasetRead,
        node: Node,
        now: ProjectNow,
        run: RunRecord,
        snapshot: Mapping[str, Any],
        source: Mapping[str, Any] | None,
    ) -> Iterator[Reason]:
        """What is different about one thing that the project reads."""
        dataset_id, version = read.dataset_id, read.version
        if version is None or read.compared is None or source is None or source["dataset_id"] != dataset_id:
            yield Reason(f"{dataset_id} is read in another way", f"{node.project} reads {dataset_id} in another way")
            return
        changed = read.compared.change(source, snapshot)
        if changed is not None:
            yield Reason(changed, changed)
            return
        if read.is_frozen:
            return
        label = f"{dataset_id} {node.period.identifier}"
        if not self._asks_databases and read.asks_catalog(node.period):
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
                located=self._located,
            )
        except DaybookError as error:
            yield Reason(f"{label}: {error.message}", error.message)
            return
        pins, counts_times = self._history.pins(run.id, read.key), node.project in self._counting_times
        reading = Reading(label, resolution, version, pins, counts_times)
        yield from self._data_changes(reading, source)

    def _data_changes(self, reading: Reading, source: Mapping[str, Any]) -> Iterator[Reason]:
        label, resolution = reading.label, reading.resolution
        before = source["resolution"]
        is_unasked = not self._asks_databases and any(location.is_database for location in resolution.locations)
        if is_unasked and tuple(before["periods"]) != resolution.periods:
            # Only the database knows whether a table exists that no run has written yet.
            yield not_asked(label)
            return
        if _places(resolution.locations) != {_stored_place(place) for place in before["locations"]}:
            yield reading.reason("the data is now in another location")
            return
        if tuple(before["periods"]) != resolution.periods:
            yield reading.reason("other periods are read now")
            return
        day = resolution.as_of.isoformat() if resolution.as_of is not None else None
        if before.get("as_of") != day:
            yield reading.reason(f"it is read as of {day}, the run read it as of {before.get('as_of')}")
            return
        collected = [location for location in resolution.locations if self._history.slices.slices(location) is not None]
        yield from self._slice_changes(reading, collected, source.get("slices") or {})
        yield from self._data.of(reading, [location for location in resolution.locations if location not in collected])

    def _slice_changes(
        self, reading: Reading, locations: Iterable[Location], used: Mapping[str, str]
    ) -> Iterator[Reason]:
        """Slices into which another run wrote other rows since."""
        dataset_id = reading.dataset_id
        for location in locations:
            written = self._history.slices.slices(location) or {}
            for period in dict.fromkeys((*written, *used)) if reading.is_whole else reading.resolution.periods:
                run_id = written.get(period)
                if run_id == used.get(period):
                    continue
                if run_id is None:
                    text = f"{dataset_id} {period} was removed"
                elif period in used and self._wrote_same_rows(reading, location, used[period], run_id):
                    continue
                else:
                    again = self._history.started_at(run_id)
                    when = f" on {again:%Y-%m-%d at %H:%M} UTC" if again is not None else ""
                    text = f"{dataset_id} {period} was run {'again' if period in used else 'since'}{when}"
                yield Reason(text, text)

    def _wrote_same_rows(self, reading: Reading, location: Location, before: str, now: str) -> bool:
        return self._history.wrote_same_rows(location, before, now, with_times=reading.counts_times)


def _catalog_resolver(version: DatasetVersion, now: ProjectNow) -> ResolverVersion | None:
    """The resolver of a dataset, if it asks an endpoint for some periods."""
    try:
        chosen = choose_location_source(version.viewed, now.definitions, now.project.resolver_overrides)
    except DaybookError:
        return None
    match chosen:
        case ByResolver(resolver) if any(
            isinstance(rule.strategy, CatalogStrategy) for rule in resolver.resolver.rules
        ):
            return resolver
        case _:
            return None


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


def _failure_text(run: RunRecord) -> str:
    if run.status == "cancelled":
        return f"run {run.id} was cancelled"
    if run.is_active:
        return f"the process of run {run.id} ended before the run did"
    error = run.error or {}
    return f"run {run.id} failed: {error.get('code', '')} {error.get('message', '')}".rstrip()
