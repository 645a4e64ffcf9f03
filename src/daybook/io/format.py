"""The contract of a format, implemented by one object in its folder."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from daybook.errors import DaybookError
from daybook.io.data_files import FetchedRows, TableFiles
from daybook.io.filesystem import FileStat
from daybook.io.landing.area import LandingArea
from daybook.io.landing.batches import RowSource
from daybook.io.landing.landing_request import LandingRequest, TextFile
from daybook.io.pins import Pin, ReadPart, TablePin, TableState
from daybook.io.storage import PROVIDER_STORAGE, Storage
from daybook.io.writer import Commit, Writer
from daybook.model.datasource import DataSource
from daybook.model.definition import DatasetVersion, TableVersion
from daybook.resolve.location import Location

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from daybook.io.row_page import PageRequest, RowPage
    from daybook.io.stored_rows import StoredRows


@dataclass(frozen=True, slots=True)
class PinnedLocation:
    """A location to read; with `pin` the data that an earlier run read there, or IO_009."""

    location: Location
    pin: Pin | None = None


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """What is read of one dataset in one format; `slices` are those needed of tables Daybook wrote, None for all."""

    locations: tuple[PinnedLocation, ...]
    version: DatasetVersion
    slices: frozenset[str] | None
    workspace: Path = Path()
    storage: Storage = PROVIDER_STORAGE
    # For what cannot be pinned, which Spark lands.
    area: LandingArea | None = None


@dataclass(frozen=True, slots=True)
class Leftover:
    """Something staged by a run: `path` is the URI of a folder, or `table` the name of a table of `datasource`."""

    run_id: str
    path: str | None = None
    datasource: DataSource | None = None
    table: str | None = None
    schema: str | None = None

    @property
    def key(self) -> tuple[str | None, ...]:
        return (self.path, self.datasource.id if self.datasource else None, self.schema, self.table)


@dataclass(frozen=True, slots=True)
class HoldingStore:
    """One store of possibly many that need versions of a table: its address, and the id of its workspace."""

    address: str
    workspace_id: str


@dataclass(frozen=True, slots=True)
class VersionHolder:
    """Who needs a version of a table: a registered version of a dataset, in one store."""

    store: HoldingStore
    dataset_id: str
    dataset_version: int

    @property
    def key(self) -> str:
        text = json.dumps([self.store.address, self.dataset_id, self.dataset_version])
        return hashlib.blake2b(text.encode(), digest_size=10).hexdigest()


@dataclass(frozen=True, slots=True)
class VacuumRequest:
    """Which files of a table may go: those that no kept version refers to and that are old enough.

    `keep` are versions that datasets and runs are pinned to; `latest` is how many of the newest stay in addition.
    Versions that others hold stay, too, but for those of the holders that are `released`.
    """

    uri: str
    keep: Collection[str]
    latest: int
    modified_before_ns: int
    is_dry_run: bool = False
    released: Collection[VersionHolder] = ()
    storage: Storage = PROVIDER_STORAGE


class Format(ABC):
    """One format; what a method here answers holds for formats that do not say otherwise."""

    name: str
    # Rows are copied into the landing area and read from there; other formats are read where they lie.
    is_landed: bool = True
    # The driver is in the JVM, so its tables cannot be queried before Spark runs.
    needs_session: bool = False
    # A session pages through committed rows, which no file gives.
    pages_by_session: bool = False
    # The writer hashes rows in the pass that writes them.
    takes_fingerprint: bool = True

    @property
    @abstractmethod
    def writer(self) -> Writer[Any]: ...

    @property
    def storage_errors(self) -> tuple[type[Exception], ...]:
        """What its packages raise when the storage fails: a database that went away, a log that cannot be read."""
        return ()

    def exists(self, location: Location, storage: Storage = PROVIDER_STORAGE) -> bool:
        """Whether there is a table to read, of formats that keep versions."""
        raise NotImplementedError(f"{self.name} keeps no versions")

    def read(self, spark: "SparkSession", request: ReadRequest) -> Iterator[ReadPart]:
        """The rows of formats that are read where they lie."""
        raise NotImplementedError(f"{self.name} is landed")

    def table_files(self, location: PinnedLocation, request: ReadRequest) -> TableFiles:
        """The same as files, for readers without Spark."""
        raise NotImplementedError(f"{self.name} is landed")

    def fetch_rows(self, spark: "SparkSession", location: PinnedLocation, request: ReadRequest) -> FetchedRows:
        """The same of formats whose tables only a session reads, brought to this machine."""
        raise NotImplementedError(f"{self.name} is read without Spark")

    def file_rows(self, file: TextFile, version: DatasetVersion) -> RowSource:
        """The rows of one file of a format that is landed."""
        raise NotImplementedError(f"{self.name} has no files to land")

    def table_rows(
        self, spark: "SparkSession | None", location: Location, request: LandingRequest, scratch: str
    ) -> RowSource:
        """The rows of one table of a format that is landed; `scratch` is a folder for what Spark fetches.

        There is a session where the format needs one.
        """
        raise NotImplementedError(f"{self.name} has no tables to land")

    def committed_rows(self, target: Any, commit: Commit) -> "StoredRows":
        """The rows that a commit wrote, to be read without Spark; RUN_084 when they are not there as they were."""
        raise DaybookError("RUN_085", run_id=target.run_id, location=target.label, format=self.name)

    def committed_page(self, target: Any, commit: Commit, request: "PageRequest") -> "RowPage":
        """A page of them; formats that a session reads let it filter and sort."""
        from daybook.io.row_page import read_page

        return read_page(self.committed_rows(target, commit), request)

    def committed_batches(self, target: Any, commit: Commit, request: "PageRequest") -> Iterator[pa.RecordBatch]:
        """All of them that fulfil the conditions of a page."""
        from daybook.io.row_page import all_batches

        return all_batches(self.committed_rows(target, commit), request)

    def keep_committed(self, target: Any, commit: Commit) -> None:
        """Keep the rows of a sealed output, where nothing holds the version that has them."""
        return

    def kept_rows(self, target: Any, version: TableVersion) -> "DataFrame | None":
        """Rows that were kept when an output was sealed; None where its version has them."""
        return None

    def table_exists(self, location: Location, workspace: Path, storage: Storage = PROVIDER_STORAGE) -> bool:
        """Whether a table of a database is there; asks the database where that needs no Spark."""
        return True

    def table_state(self, location: Location, column: str, workspace: Path) -> TableState | None:
        """What a table of a database says of itself; None where it cannot be asked without Spark."""
        return None

    def has_appended_slice(self, location: Location, slices: frozenset[str] | None, workspace: Path) -> bool:
        """Whether runs appended to one of the slices of a table of a database, so that carried ids may repeat."""
        return False

    def has_changed(
        self, pin: TablePin, location: Location, workspace: Path, storage: Storage = PROVIDER_STORAGE
    ) -> bool:
        """Whether rows of a pinned table were added or removed since; asks no data."""
        raise NotImplementedError(f"tables of {self.name} have no versions")

    def newest_version(
        self, location: Location, known: TableVersion, workspace: Path, storage: Storage = PROVIDER_STORAGE
    ) -> TableVersion:
        """The version of a table now, which is not older than a known one; of formats that keep versions."""
        return known

    def verify_pin(
        self, pin: TablePin, location: Location, workspace: Path, storage: Storage = PROVIDER_STORAGE
    ) -> None:
        """IO_008 when a pinned table is not what it was."""
        raise NotImplementedError(f"{self.name} keeps no versions")

    def fingerprint(self, spark: "SparkSession", target: Any, commit: Commit) -> str:
        """Of the rows a commit wrote, for formats that do not take it while they write (`takes_fingerprint`)."""
        raise NotImplementedError(f"{self.name} takes the fingerprint while it writes")

    def hold_version(
        self,
        location: Location,
        version: TableVersion,
        holder: VersionHolder,
        workspace: Path,
        storage: Storage = PROVIDER_STORAGE,
    ) -> None:
        """Record beside a table that a version of it is needed, so that no vacuum removes it; may be called twice."""
        return

    def release_version(
        self,
        location: Location,
        version: TableVersion,
        holder: VersionHolder,
        workspace: Path,
        storage: Storage = PROVIDER_STORAGE,
    ) -> None:
        """The version is not needed any more; harmless when nothing was noted."""
        return

    def versions_held_by(
        self, location: Location, store: HoldingStore, workspace: Path, storage: Storage = PROVIDER_STORAGE
    ) -> tuple[tuple[TableVersion, VersionHolder], ...]:
        """What a store noted beside a table that it needs."""
        return ()

    def vacuum(self, request: VacuumRequest) -> tuple[FileStat, ...]:
        """Remove data files that no kept version of a table needs; those removed, or that would be."""
        return ()

    def staging_folder(self, location: Location) -> str | None:
        """The folder that holds what is staged for a location, where that can be searched."""
        return None

    def leftovers_in_folder(self, folder: str, storage: Storage = PROVIDER_STORAGE) -> Iterator[Leftover]:
        """Staged things in a folder that only this format knows how to find."""
        return iter(())

    def find_leftovers(
        self, datasource: DataSource, workspace: Path, storage: Storage = PROVIDER_STORAGE
    ) -> Iterable[Leftover]:
        """Everything staged in a data source, of ended and of running runs."""
        return ()

    def remove_leftover(self, leftover: Leftover, workspace: Path) -> None:
        """Remove a staged table; harmless when it is gone already."""
        raise NotImplementedError(f"{self.name} stages no tables")

    @abstractmethod
    def ping(self, datasource: DataSource, workspace: Path, storage: Storage = PROVIDER_STORAGE) -> str:
        """Reach a data source and describe it in a few words."""
        ...
