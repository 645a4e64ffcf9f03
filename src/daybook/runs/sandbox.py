"""Drafts read each other: data of the same user in the sandbox is read instead of older live data."""

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from daybook.definitions.dataset_fit import has_same_schema
from daybook.definitions.deferred import Deferred
from daybook.definitions.value import DatasetVersions, Definitions
from daybook.io.filesystem import list_files
from daybook.io.location_checks import data_exists
from daybook.io.registry import writer_for
from daybook.io.storage import PROVIDER_STORAGE, Storage
from daybook.io.target import SliceOwner, target_at
from daybook.model.dataset import Dataset
from daybook.model.datasource import SparkCatalogSource
from daybook.model.definition import DatasetVersion, DeclaredVersion
from daybook.model.serialization import decode_definition
from daybook.resolve.location import Location, Resolution, table_location
from daybook.runs.run_result import SliceRead
from daybook.runs.snapshot import RunSnapshot
from daybook.runs.sources import (
    RedirectedSource,
    begin_session_for,
    period_of_version,
    period_of_writer,
    slice_table,
    written_slices,
)
from daybook.store.database.outcomes import SandboxCommit
from daybook.store.records import Slice
from daybook.store.store import Transaction

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SandboxPeriods:
    """Which periods of a table there are for a draft: those of live runs, and those of this user's drafts."""

    def __init__(
        self,
        transaction: Transaction,
        user: str,
        root: Path,
        storage: Storage = PROVIDER_STORAGE,
        *,
        session: "Callable[[], SparkSession] | None" = None,
        source: SparkCatalogSource | None = None,
    ) -> None:
        self._transaction = transaction
        self._root = root
        self._storage = storage
        self._session = session
        # Of a sandbox that is a schema.
        self._source = source
        self._commits = _latest_commits(transaction.close.sandbox_commits(user))
        self._live: dict[str, dict[str, Slice]] = {}
        self._present: dict[tuple[str, str], bool] = {}

    @property
    def datasets(self) -> dict[str, SandboxCommit]:
        """The last commit of every dataset that drafts registered, by the id it will have."""
        with_dataset = (
            commit for commits in self._commits.values() for commit in commits if commit.dataset is not None
        )
        registered = [commit for commit in with_dataset if self._is_there(commit)]
        return {_dataset_of(commit).id: commit for commit in sorted(registered, key=lambda commit: commit.committed_at)}

    def slices(self, location: Location) -> Mapping[str, str] | None:
        live = {period: stored.run_id for period, stored in self._live_slices(location).items()}
        drafts = {period: draft.run_id for period, draft in self._newer_slices(location).items()}
        if not live and (not drafts or self._has_live_data(location)):
            # A table that other programs fill may also hold other periods.
            return None
        return {**live, **drafts}

    def exists(self, location: Location) -> bool:
        return self._has_live_data(location) or self._newer_place(location) is not None

    def _has_live_data(self, location: Location) -> bool:
        begin_session_for(location, self._session)
        return data_exists(location, self._root, self._storage)

    def period_of_writer(self, location: Location) -> str | None:
        return period_of_writer(self._transaction, location)

    def period_of_version(self, dataset_id: str, version: int) -> str | None:
        return period_of_version(self._transaction, dataset_id, version)

    def redirect(self, resolution: Resolution, version: DatasetVersion) -> RedirectedSource:
        """The same periods, each from where its newest data is."""
        is_by_period = version.dataset.main_table.temporal_mode == "period"
        periods = frozenset(resolution.periods) if is_by_period or version.viewed.reads_one_slice else None
        locations: list[Location] = []
        runs: dict[str, str] = {}
        for location in resolution.locations:
            place = self._newer_place(location)
            if place is not None:
                locations.append(_in_sandbox(location, place, self._source))
                own = location.period.identifier if location.period is not None else place.period
                runs[own] = place.run_id
                continue
            newer = {
                period: commit
                for period, commit in self._newer_slices(location).items()
                if periods is None or period in periods
            }
            runs |= {period: commit.run_id for period, commit in newer.items()}
            locations += _divided(
                location, newer, periods, self._source, is_there=not newer or self._has_live_data(location)
            )
        if not runs:
            return RedirectedSource(resolution)
        return RedirectedSource(replace(resolution, locations=tuple(locations)), tuple(sorted(runs)), runs)

    def _live_slices(self, location: Location) -> dict[str, Slice]:
        table = slice_table(location, self._root)
        if table.identity not in self._live:
            self._live[table.identity] = written_slices(self._transaction, table) or {}
        return self._live[table.identity]

    def _drafts_of(self, location: Location) -> list[SandboxCommit]:
        commits = self._commits.get(slice_table(location, self._root).identity, [])
        return [commit for commit in commits if self._is_there(commit)]

    def _is_there(self, commit: SandboxCommit) -> bool:
        """Whether the sandbox still holds what was written: every user may remove it, and drafts write it again."""
        if not _is_reachable(commit, self._source):
            return False
        key = (commit.destination, commit.period)
        if key not in self._present:
            place = _written_place(commit, self._source)
            begin_session_for(place, self._session)
            if commit.is_slice:
                written = writer_for(commit.format).slices(
                    target_at(
                        place,
                        mode="replace_period",
                        columns=(),
                        run_id=commit.run_id,
                        operation_seq=0,
                        owner=SliceOwner("", ""),
                        run_period=commit.period,
                        workspace=self._root,
                        storage=self._storage,
                    )
                )
                self._present[key] = any(slice_.run_id == commit.run_id or slice_.owner is None for slice_ in written)
            else:
                self._present[key] = data_exists(place, self._root, self._storage)
        return self._present[key]

    def _newer_slices(self, location: Location) -> dict[str, SandboxCommit]:
        live = self._live_slices(location)
        return {
            commit.period: commit
            for commit in self._drafts_of(location)
            if commit.is_slice and _is_newer(commit, live.get(commit.period))
        }

    def _newer_place(self, location: Location) -> SandboxCommit | None:
        """What a draft wrote instead of a whole file or folder, if that is newer."""
        commit = next((draft for draft in self._drafts_of(location) if not draft.is_slice), None)
        if commit is None:
            return None
        written = self._transaction.close.last_live_commit(location.label) or _modified(location, self._storage)
        return commit if written is None or written < commit.committed_at else None


def with_sandbox(definitions: Definitions, transaction: Transaction, periods: SandboxPeriods) -> Definitions:
    """The datasets as this user's drafts registered them last, where that differs and is newer."""
    datasets: dict[str, DatasetVersions] = {}
    for dataset_id, commit in periods.datasets.items():
        stored = definitions.datasets.get(dataset_id)
        if not isinstance(stored, DatasetVersions):
            datasets[dataset_id] = DatasetVersions(
                Deferred.of(DeclaredVersion(_dataset_of(commit), 1, is_registered=True))
            )
        else:
            datasets[dataset_id] = replace(stored, latest=_newest(stored, commit, transaction))
    return definitions.with_datasets(datasets)


def _newest(stored: DatasetVersions, commit: SandboxCommit, transaction: Transaction) -> Deferred[DeclaredVersion]:
    def read() -> DeclaredVersion:
        latest = stored.latest.value
        if latest.contract is not None:
            return latest
        registered = _dataset_of(commit)
        registered_at = transaction.definitions.get("dataset", registered.id).created_at
        if has_same_schema(latest.dataset, registered) or registered_at > commit.committed_at:
            return latest
        return DeclaredVersion(registered, latest.version + 1, is_registered=True)

    return Deferred(read)


def _is_newer(commit: SandboxCommit, live: Slice | None) -> bool:
    return live is None or live.written_at is None or live.written_at < commit.committed_at


def _dataset_of(commit: SandboxCommit) -> Dataset:
    dataset: Dataset = decode_definition("dataset", commit.dataset or "")
    return dataset


def _latest_commits(commits: Iterable[SandboxCommit]) -> dict[str, list[SandboxCommit]]:
    """By the live location that each replaces: the last commit of every period that is still there."""
    by_location: dict[str, dict[str, SandboxCommit]] = {}
    for commit in commits:
        by_period = by_location.setdefault(commit.live, {})
        if commit.mode == "replace" and commit.is_slice:
            by_period.clear()
        by_period[commit.period if commit.is_slice else ""] = commit
    return {live: list(by_period.values()) for live, by_period in by_location.items()}


def _divided(
    location: Location,
    newer: Mapping[str, SandboxCommit],
    periods: frozenset[str] | None,
    source: SparkCatalogSource | None,
    *,
    is_there: bool,
) -> Iterator[Location]:
    """The live location without the slices that are read from the sandbox, and those."""
    if is_there and (periods is None or not periods <= newer.keys()):
        yield replace(location, without=tuple(sorted(newer))) if newer else location
    for uri in dict.fromkeys(commit.destination for commit in newer.values()):
        slices = tuple(sorted(period for period, commit in newer.items() if commit.destination == uri))
        place = next(commit for commit in newer.values() if commit.destination == uri)
        yield replace(_in_sandbox(location, place, source), slices=slices)


def _in_sandbox(location: Location, commit: SandboxCommit, source: SparkCatalogSource | None) -> Location:
    """Files keep their format and are read with the same options; tables are Delta there, or those of a schema."""
    options = location.options if commit.format == location.format and location.datasource is None else {}
    return replace(_written_place(commit, source), options=options, period=location.period)


def _is_reachable(commit: SandboxCommit, source: SparkCatalogSource | None) -> bool:
    """Whether the sandbox is still of the kind that the draft wrote into."""
    is_table = commit.format == "spark_catalog"
    return not is_table or (source is not None and commit.destination.startswith(f"{source.id}."))


def _written_place(commit: SandboxCommit, source: SparkCatalogSource | None) -> Location:
    """Where a draft wrote."""
    if commit.format != "spark_catalog" or source is None:
        return Location(commit.format, uri=commit.destination)
    schema, _, table = commit.destination.removeprefix(f"{source.id}.").rpartition(".")
    return table_location(source, table, schema, Path())


def _modified(location: Location, storage: Storage) -> datetime.datetime | None:
    """When the files of a location were changed last; None where there are none."""
    times = [file.modified_ns for file in list_files(location.uri, storage=storage)] if location.uri is not None else []
    return datetime.datetime.fromtimestamp(max(times) / 1e9, datetime.UTC) if times else None


def slices_of_draft(snapshot: RunSnapshot) -> Iterator[SliceRead]:
    """Each slice that a draft in the sandbox reads, with its origin."""
    if snapshot.settings.sandbox is None:
        return
    seen: set[tuple[str, str]] = set()
    for source in snapshot.sources:
        for period, run_id in sorted(source.slices.items()):
            if (source.dataset_id, period) not in seen:
                seen.add((source.dataset_id, period))
                origin: Literal["sandbox", "live"] = "sandbox" if period in source.sandbox_periods else "live"
                yield SliceRead(source.dataset_id, period, origin, run_id)
