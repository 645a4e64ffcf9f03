"""The sources of a run: resolved before it begins, read once per dataset version, and their size."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from daybook.definitions.value import Definitions
from daybook.errors import DaybookError, Notice, flatten, notice, raise_all
from daybook.io.filesystem import list_files
from daybook.io.location_checks import check_locations_exist, data_exists, location_identity
from daybook.io.pins import Pin
from daybook.io.registry import format_named
from daybook.io.shared_paths import unreachable_errors
from daybook.io.storage import PROVIDER_STORAGE, Storage
from daybook.model.calendar import Period
from daybook.model.definition import DatasetVersion
from daybook.model.formats import FORMATS
from daybook.plan.loads import load_references
from daybook.resolve.calendars.calendar import GREGORIAN, PeriodCalendar
from daybook.resolve.calendars.periods import calendar_for, periods_overlap
from daybook.resolve.location import Location, Resolution
from daybook.resolve.resolution import PeriodLookup, resolve_dataset
from daybook.runs.snapshot import RunSnapshot, SourceSnapshot
from daybook.store.records import SHARED_PROJECT, Slice, SliceTable
from daybook.store.store import Transaction

if TYPE_CHECKING:
    # What is read is asked for by commands that read nothing.
    from pyspark.sql import SparkSession

    from daybook.io.landing.area import LandingArea
    from daybook.io.read_source import ReadSource
    from daybook.plan.steps import LoadStep, Plan


_NAMED_PERIODS = 3


def slice_table(location: Location, root: Path, real_path: Callable[[str], str] = os.path.realpath) -> SliceTable:
    """A table as the store keeps its slices by."""
    return SliceTable(location_identity(location, root, real_path), location.label)


def written_slices(transaction: Transaction, table: SliceTable) -> dict[str, Slice] | None:
    """The slices that runs committed, by period; None for a table that no run has claimed a slice of.

    A run claims its slice right before it commits, and may be killed in between.
    """
    slices = transaction.slices.of(table)
    if not slices:
        return None
    return {
        slice_.period: slice_
        for slice_ in slices
        if slice_.rows is not None or slice_.project_id == SHARED_PROJECT or transaction.outcomes.commits(slice_.run_id)
    }


def period_of_writer(transaction: Transaction, location: Location) -> str | None:
    """The period of the runs that wrote and registered a file or folder, if it is one and nobody changed it since."""
    if location.uri is None:
        return None
    # Imported lazily: what notes a writer also writes, with Spark, which `status` does without.
    from daybook.io.written_by import runs_that_wrote

    if FORMATS[location.format].keeps_versions or location.local_path is None:
        writers = transaction.outcomes.writers(location.label, before=transaction.now(), version=location.version)
        run_ids = frozenset({writers[None]}) if None in writers else frozenset()
    else:
        run_ids = runs_that_wrote(location)
    periods = {_registered_period(transaction, run_id, location) for run_id in run_ids}
    return periods.pop() if len(periods) == 1 else None


def period_of_version(transaction: Transaction, dataset_id: str, version: int) -> str | None:
    """The period of the run that registered a version; None where none did, or where it is no longer kept."""
    history = transaction.definitions.history("dataset", dataset_id)
    return next((entry.period for entry in history if entry.version == version), None)


def _registered_period(transaction: Transaction, run_id: str, location: Location) -> str | None:
    run = transaction.runs.find(run_id)
    commits = transaction.outcomes.commits(run_id) if run is not None else ()
    is_registered = any(
        commit.destination == location.label and commit.details.get("dataset_id") is not None for commit in commits
    )
    return run.period if run is not None and is_registered else None


def begin_session_for(location: Location, session: "Callable[[], SparkSession] | None") -> None:
    """A table that a session alone knows is asked for before the run has one."""
    if session is not None and format_named(location.format).needs_session:
        session()


class StoredPeriods:
    """Which periods of a table runs wrote, as the store knows it; each table is asked for once."""

    def __init__(
        self,
        transaction: Transaction,
        root: Path,
        storage: Storage = PROVIDER_STORAGE,
        *,
        session: "Callable[[], SparkSession] | None" = None,
    ) -> None:
        self._transaction = transaction
        self._root = root
        self._storage = storage
        self._slices: dict[str, Mapping[str, str] | None] = {}
        self._session = session

    def slices(self, location: Location) -> Mapping[str, str] | None:
        if location.label not in self._slices:
            written = written_slices(self._transaction, slice_table(location, self._root))
            self._slices[location.label] = (
                {period: slice_.run_id for period, slice_ in written.items()} if written is not None else None
            )
        return self._slices[location.label]

    def exists(self, location: Location) -> bool:
        begin_session_for(location, self._session)
        return data_exists(location, self._root, self._storage)

    def period_of_writer(self, location: Location) -> str | None:
        return period_of_writer(self._transaction, location)

    def period_of_version(self, dataset_id: str, version: int) -> str | None:
        return period_of_version(self._transaction, dataset_id, version)


@dataclass(frozen=True, slots=True)
class RedirectedSource:
    """A resolution with locations of the sandbox in it, the periods that are read there, and the runs behind them."""

    resolution: Resolution
    periods: tuple[str, ...] = ()
    runs: Mapping[str, str] = field(default_factory=dict)


@runtime_checkable
class RedirectedPeriods(PeriodLookup, Protocol):
    """A lookup that knows newer data of some periods elsewhere."""

    def redirect(self, resolution: Resolution, version: DatasetVersion) -> RedirectedSource: ...


@runtime_checkable
class WriterPeriods(PeriodLookup, Protocol):
    """A lookup that knows for which periods runs wrote a file or folder, and registered a version of a dataset."""

    def period_of_writer(self, location: Location) -> str | None: ...

    def period_of_version(self, dataset_id: str, version: int) -> str | None: ...


def resolve_sources(
    plan: "Plan",
    period: Period,
    definitions: Definitions,
    root: Path,
    allowed_hosts: tuple[str, ...],
    lookup: PeriodLookup,
) -> tuple[SourceSnapshot, ...]:
    """One question per dataset version, however often it is used."""
    resolutions: dict[tuple[str, int], Resolution] = {}
    pinned = {
        reference.key for reference in load_references(plan.project) if reference.dataset.dataset_version is not None
    }
    errors: list[DaybookError] = []
    sources: list[SourceSnapshot] = []
    for load in plan.loads:
        key = (load.dataset_id, load.version.version)
        try:
            if key not in resolutions:
                resolutions[key] = resolve_dataset(
                    load.version,
                    period,
                    definitions,
                    root=root,
                    overrides=plan.project.resolver_overrides,
                    allowed_hosts=allowed_hosts,
                    lookup=lookup,
                )
            if load.version.viewed.reads_every_slice:
                for location in resolutions[key].locations:
                    calendars = (calendar_for(period.calendar_id, definitions), GREGORIAN)
                    refuse_overlapping_slices(load.dataset_id, lookup.slices(location) or (), calendars)
            sources.append(_source_snapshot(load, resolutions[key], lookup, is_pinned=load.key in pinned))
        except DaybookError as error:
            errors += [load_error(single, load) for single in flatten(error)]
    raise_all(errors)
    return tuple(sources)


def _source_snapshot(
    load: "LoadStep", resolution: Resolution, lookup: PeriodLookup, *, is_pinned: bool
) -> SourceSnapshot:
    """What is read of a resolution; drafts read each other in the sandbox, but for references to a version."""
    key = (load.dataset_id, load.version.version)
    slices = slices_read(resolution, lookup, are_all_read=load.version.viewed.reads_every_slice)
    resolution = _with_null_periods(load, resolution, lookup)
    if is_pinned and load.version.reads_one_slice:
        resolution = _with_slice_of_version(load, resolution, lookup)
    if not isinstance(lookup, RedirectedPeriods) or is_pinned or _is_pinned_view(load.version):
        return SourceSnapshot(load.key, *key, resolution, slices)
    redirected = lookup.redirect(resolution, load.version)
    located = _with_null_periods(load, redirected.resolution, lookup)
    return SourceSnapshot(load.key, *key, located, {**slices, **redirected.runs}, redirected.periods)


def absent_period_notices(plan: "Plan", sources: Iterable[SourceSnapshot], lookup: PeriodLookup) -> tuple[Notice, ...]:
    """Joins and appends of tables that have slices, but none of a period that is read; the input is counted anyway."""
    notices: dict[Notice, None] = {}
    for source in sources:
        load = plan.load(source.key)
        view = load.version.view
        if load.role == "input" or not load.reads_slices or (view is not None and view.of.missing == "empty"):
            continue
        for location in source.resolution.locations:
            slices = lookup.slices(location)
            if slices and not any(period in slices for period in source.resolution.periods):
                others = ", ".join(sorted(slices)[-_NAMED_PERIODS:])
                read = ", ".join(source.resolution.periods)
                seq, dataset = load.operation_seq, load.dataset_id
                notices[notice("RUN_054", operation_seq=seq, dataset=dataset, period=read, others=others)] = None
    return tuple(notices)


def _with_slice_of_version(load: "LoadStep", resolution: Resolution, lookup: PeriodLookup) -> Resolution:
    """A version that a reference names is the slice that its run wrote."""
    if not isinstance(lookup, WriterPeriods) or all(location.slices is None for location in resolution.locations):
        return resolution
    period = lookup.period_of_version(load.dataset_id, load.version.version)
    if period is None:
        return resolution
    locations = tuple(replace(location, slices=(period,)) for location in resolution.locations)
    return replace(resolution, locations=locations, periods=(period,))


def _with_null_periods(load: "LoadStep", resolution: Resolution, lookup: PeriodLookup) -> Resolution:
    """Totals that a run wrote to a file or folder have no period; readers take them for rows of the run's period."""
    if load.temporal_mode != "period" or not isinstance(lookup, WriterPeriods):
        return resolution
    locations = tuple(
        location
        if lookup.slices(location) is not None
        else replace(location, null_period=lookup.period_of_writer(location))
        for location in resolution.locations
    )
    return replace(resolution, locations=locations)


def _is_pinned_view(version: DatasetVersion) -> bool:
    view = version.view
    return view is not None and (view.of.dataset_version is not None or _is_pinned_view(view.dataset))


def refuse_overlapping_slices(dataset_id: str, slices: Iterable[str], calendars: Iterable[PeriodCalendar]) -> None:
    """RUN_043 for slices that hold the same days, as a quarter beside its months: read together they count twice."""
    calendar_list = tuple(calendars)
    periods = [period for identifier in slices if (period := _find_period(identifier, calendar_list)) is not None]
    in_order = sorted(periods, key=lambda period: (period.start_date, period.end_date))
    for first, second in pairwise(in_order):
        if periods_overlap(first, second):
            listed = ", ".join(sorted(period.identifier for period in periods))
            pair = f"{first.identifier} and {second.identifier}"
            raise DaybookError("RUN_043", dataset_id=dataset_id, pair=pair, slices=listed)


def _find_period(identifier: str, calendars: Iterable[PeriodCalendar]) -> Period | None:
    return next((period for calendar in calendars if (period := calendar.find(identifier)) is not None), None)


def slices_read(resolution: Resolution, lookup: PeriodLookup, *, are_all_read: bool = False) -> dict[str, str]:
    """The slices of a resolution, each with the run that wrote it; without a time filter those of every period."""
    slices_by_location = [lookup.slices(location) or {} for location in resolution.locations]
    return {
        period: slices[period]
        for slices in slices_by_location
        for period in (slices if are_all_read else resolution.periods)
        if period in slices
    }


def read_sources(
    spark: "SparkSession",
    loads: "Iterable[LoadStep]",
    snapshot: RunSnapshot,
    landing: "LandingArea",
    root: Path,
    *,
    pinned: Mapping[str, tuple[Pin, ...]] | None = None,
    before_each: Callable[[], None] = lambda: None,
) -> "dict[str, ReadSource]":
    """A source for the key of every load; with `pinned` exactly the data of an earlier attempt, or an error."""
    from daybook.io.read_source import read_source

    sources_by_version: dict[tuple[str, int], ReadSource] = {}
    sources: dict[str, ReadSource] = {}
    for load in loads:
        key = (load.dataset_id, load.version.version)
        if key not in sources_by_version:
            before_each()
            resolution = snapshot.source(load.key).resolution
            pins = None if pinned is None else pinned.get(load.key, ())
            try:
                sources_by_version[key] = read_source(
                    spark, resolution, load.version, landing, workspace=root, pinned=pins
                )
            except DaybookError as error:
                raise load_error(error, load) from error
        sources[load.key] = sources_by_version[key]
    return sources


def land_sources_ahead(loads: "Iterable[LoadStep]", snapshot: RunSnapshot, landing: "LandingArea", root: Path) -> None:
    """Copies what has to be copied and needs no Spark, for a run whose session is still starting."""
    from daybook.io.read_source import land_files_ahead

    for load in {(load.dataset_id, load.version.version): load for load in loads}.values():
        land_files_ahead(snapshot.source(load.key).resolution, load.version, landing, workspace=root)


def check_sources(loads: "Iterable[LoadStep]", snapshot: RunSnapshot, storage: Storage = PROVIDER_STORAGE) -> None:
    """All that is not there to be read, as far as that is known without Spark."""
    errors: list[DaybookError] = []
    for load in loads:
        try:
            resolution = snapshot.source(load.key).resolution
            if storage.tables is not None:
                raise_all(unreachable_errors(resolution.locations))
            check_locations_exist(resolution, storage)
        except DaybookError as error:
            errors.append(load_error(error, load))
    raise_all(errors)


def load_error(error: DaybookError, load: "LoadStep") -> DaybookError:
    """Inside an operation its own code wins, and the finding is the cause."""
    seq, dataset_id, causes = load.operation_seq, load.dataset_id, flatten(error)
    match load.role:
        case "input":
            return error
        case "join":
            return DaybookError(
                "UPDATE_025", operation_seq=seq, causes=causes, seq=seq, dataset_id=dataset_id, alias=load.alias
            )
        case "append":
            code = "APPEND_007" if error.code == "RESOLVE_040" else "APPEND_008"
            return DaybookError(code, operation_seq=seq, causes=causes, dataset_id=dataset_id)


def input_bytes(snapshot: RunSnapshot) -> int | None:
    """The size of the files that the input and what is joined and appended lie in; None where some are elsewhere."""
    locations = {location.uri: location for source in snapshot.sources for location in source.resolution.locations}
    if any(location.local_path is None for location in locations.values()):
        return None
    return sum(file.size for uri in locations if uri is not None for file in list_files(uri))
