"""Checks that the inputs of a run exist and that no output overlaps them, without reading data."""

import os
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import assert_never

from daybook.errors import DaybookError, raise_all
from daybook.io.filesystem import list_files, local_path, missing_files_error, uri_identity
from daybook.io.formats.files.manifest import read_manifest
from daybook.io.registry import format_named
from daybook.io.storage import PROVIDER_STORAGE, Storage
from daybook.io.target import Target
from daybook.model.datasource import (
    FolderSource,
    IcebergSource,
    JdbcSource,
    PostgresqlSource,
    SparkCatalogSource,
    SqliteSource,
)
from daybook.model.formats import FORMATS
from daybook.resolve.location import Location, Resolution, catalog_names

_MAX_NAMED_LOCATIONS = 3
# Each takes a look at the disk or the network.
_MAX_COUNTED_LOCATIONS = 100


def check_locations_exist(resolution: Resolution, storage: Storage = PROVIDER_STORAGE) -> None:
    """IO_001 for files and tables of files that do not exist; databases are asked when they are read."""
    absent = (location.uri or "" for location in resolution.locations if not location_exists(location, storage))
    missing = list(islice(absent, _MAX_COUNTED_LOCATIONS))
    if len(missing) > _MAX_NAMED_LOCATIONS:
        count = f"at least {len(missing)}" if len(missing) == _MAX_COUNTED_LOCATIONS else len(missing)
        first = ", ".join(missing[:_MAX_NAMED_LOCATIONS])
        raise DaybookError("IO_037", count=count, total=len(resolution.locations), locations=first)
    raise_all(missing_files_error(uri) for uri in missing)


def refuse_repeated_locations(resolution: Resolution, workspace: Path) -> None:
    """IO_038 for two locations that are one place, or of which one lies in the other."""
    places = sorted(
        (f"{location_identity(place_location, workspace)}/", place_location.uri or place_location.table or "")
        for place_location in resolution.locations
    )
    for (place, location), (next_place, other) in pairwise(places):
        if next_place.startswith(place):
            raise DaybookError("IO_038", location=location, other=other)


def location_identity(location: Location, workspace: Path, real_path: Callable[[str], str] = os.path.realpath) -> str:
    """One text for a file, folder or table, in whatever spelling its location is written."""
    match location.datasource:
        case SqliteSource():
            # Names of tables are the same in any case.
            return (
                f"sqlite:{os.path.realpath(location.occupied_path(workspace) or '')}/{location.table_name.casefold()}"
            )
        case IcebergSource(options=options):
            # One catalog has one spelling of its address, with or without a slash at its end.
            address = location.occupied_path(workspace) or f"{options.uri or ''}/{options.warehouse or ''}".rstrip("/")
            return f"iceberg:{address}/{location.schema}.{location.table_name}"
        case PostgresqlSource(options=options):
            host = options.host.strip("[]").lower().rstrip(".")
            # A folder of sockets is a server of this machine, too.
            host = "localhost" if host in ("127.0.0.1", "::1") or host.startswith("/") else host
            schema = location.schema or options.schema_name
            return f"postgresql://{host}:{options.port}/{options.database}/{schema}/{location.table}"
        case JdbcSource(options=options):
            # Databases fold names in their own way, so case and quotes do not distinguish tables.
            schema, table = (location.schema or "").casefold(), location.table_name.strip('"').casefold()
            return f"{options.url}/{schema}/{table}"
        case SparkCatalogSource():
            # Most catalogs keep names in lower case, and those that do not have no two tables that differ in it alone.
            return "/".join(("catalog:", *catalog_names(location))).casefold()
        case FolderSource() | None:
            return uri_identity(location.file_uri, workspace, real_path)
        case _:
            assert_never(location.datasource)


def is_same_location(one: Location, other: Location, workspace: Path) -> bool:
    return one.format == other.format and location_identity(one, workspace) == location_identity(other, workspace)


def location_exists(location: Location, storage: Storage = PROVIDER_STORAGE) -> bool:
    """Whether there is something to read, as far as that is known without a connection."""
    if location.is_database:
        return True
    if FORMATS[location.format].keeps_versions:
        return format_named(location.format).exists(location, storage)
    uri = location.file_uri
    return bool(list_files(uri, location.root or uri, storage)) or read_manifest(uri) is not None


def data_exists(location: Location, workspace: Path, storage: Storage = PROVIDER_STORAGE) -> bool:
    """The same for tables of databases, too, which are asked."""
    if location.is_database:
        return format_named(location.format).table_exists(location, workspace, storage)
    return location_exists(location, storage)


def refuse_overlap(target: Target, sources: Iterable[Location]) -> None:
    """IO_027 for the first input that the output equals, lies inside of or contains."""
    source_locations = tuple(sources)
    number = OccupiedLocations(source_locations, target.workspace).first_overlap(target.location)
    if number is not None:
        source = source_locations[number]
        raise DaybookError("IO_027", output=target.label, input=source.uri or source.table)


def target_overlaps(target: Target, source: Location) -> bool:
    return OccupiedLocations([source], target.workspace).first_overlap(target.location) is not None


class OccupiedLocations:
    """Locations by number, of which the first that overlaps another one is found without comparing it with all.

    Two tables of databases overlap when they are one; everything else when a path contains the other.
    """

    def __init__(self, locations: Iterable[Location], workspace: Path) -> None:
        self._workspace = workspace
        self._tables: dict[str, int] = {}
        databases: list[tuple[str, int]] = []
        files: list[tuple[str, int]] = []
        for number, location in enumerate(locations):
            if location.is_database:
                self._tables.setdefault(location_identity(location, workspace), number)
            if (path := location.occupied_path(workspace)) is not None:
                (databases if location.is_database else files).append((path, number))
        self._files, self._databases = _NumberedPaths(files, workspace), _NumberedPaths(databases, workspace)

    def first_overlap(self, location: Location) -> int | None:
        path = location.occupied_path(self._workspace)
        numbers = [] if path is None else self._files.overlapping(path)
        if location.is_database:
            identity = location_identity(location, self._workspace)
            numbers += [self._tables[identity]] if identity in self._tables else []
        elif path is not None:
            numbers += self._databases.overlapping(path)
        return min(numbers, default=None)


class _NumberedPaths:
    def __init__(self, paths: Iterable[tuple[str, int]], workspace: Path) -> None:
        self._workspace = workspace
        self._numbers: dict[str, int] = {}
        self._same_files: dict[tuple[int, int], int] = {}
        for path, number in paths:
            self._numbers.setdefault(self._name(path), number)
            if (file := self._file(path)) is not None:
                self._same_files.setdefault(file, number)
        self._names = sorted(self._numbers)

    def overlapping(self, path: str) -> list[int]:
        name = self._name(path)
        containing = [self._numbers[folder] for folder in _with_folders(name) if folder in self._numbers]
        inside = self._names[bisect_left(self._names, f"{name}/") : bisect_left(self._names, f"{name}0")]
        file = self._file(path)
        same = [self._same_files[file]] if file in self._same_files else []
        return [*containing, *(self._numbers[inside_name] for inside_name in inside), *same]

    def _name(self, path: str) -> str:
        # A file system that ignores case may hold both spellings as one; refusing more than needed is harmless.
        return uri_identity(path, self._workspace).casefold()

    def _file(self, path: str) -> tuple[int, int] | None:
        """Hard links and bind mounts: the same file or folder under unrelated names."""
        local = local_path(path)
        if local is None:
            return None
        try:
            status = (self._workspace / local).stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino


def _with_folders(name: str) -> Iterator[str]:
    """A path and the folders that it lies in, but for the root."""
    while name.strip("/"):
        yield name
        name = name.rpartition("/")[0]
