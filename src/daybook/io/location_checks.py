"""Checks that the inputs of a run exist and that no output overlaps them, without reading data."""

import os
from collections.abc import Iterable
from itertools import islice, pairwise
from pathlib import Path
from typing import assert_never

from daybook.errors import DaybookError, raise_all
from daybook.io.filesystem import list_files, local_path, missing_files_error, uri_identity
from daybook.io.formats.files.manifest import read_manifest
from daybook.io.registry import format_named
from daybook.io.target import Target
from daybook.model.datasource import FolderSource, JdbcSource, PostgresqlSource, SqliteSource
from daybook.model.formats import FORMATS
from daybook.resolve.location import Location, Resolution

_MAX_NAMED_LOCATIONS = 3
# Each takes a look at the disk or the network.
_MAX_COUNTED_LOCATIONS = 100


def check_locations_exist(resolution: Resolution) -> None:
    """IO_001 for files and tables of files that do not exist; databases are asked when they are read."""
    absent = (each.uri or "" for each in resolution.locations if not location_exists(each))
    missing = list(islice(absent, _MAX_COUNTED_LOCATIONS))
    if len(missing) > _MAX_NAMED_LOCATIONS:
        count = f"at least {len(missing)}" if len(missing) == _MAX_COUNTED_LOCATIONS else len(missing)
        first = ", ".join(missing[:_MAX_NAMED_LOCATIONS])
        raise DaybookError("IO_037", count=count, total=len(resolution.locations), locations=first)
    raise_all(missing_files_error(uri) for uri in missing)


def refuse_repeated_locations(resolution: Resolution, workspace: Path) -> None:
    """IO_038 for two locations that are one place, or of which one lies in the other."""
    places = sorted(
        (f"{location_identity(each, workspace)}/", each.uri or each.table or "") for each in resolution.locations
    )
    for (place, location), (next_place, other) in pairwise(places):
        if next_place.startswith(place):
            raise DaybookError("IO_038", location=location, other=other)


def location_identity(location: Location, workspace: Path) -> str:
    """One text for a file, folder or table, in whatever spelling its location is written."""
    match location.datasource:
        case SqliteSource():
            # Names of tables are the same in any case.
            return (
                f"sqlite:{os.path.realpath(location.occupied_path(workspace) or '')}/{location.table_name.casefold()}"
            )
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
        case FolderSource() | None:
            return uri_identity(location.file_uri, workspace)
        case _:
            assert_never(location.datasource)


def is_same_location(one: Location, other: Location, workspace: Path) -> bool:
    return one.format == other.format and location_identity(one, workspace) == location_identity(other, workspace)


def location_exists(location: Location) -> bool:
    """Whether there is something to read, as far as that is known without a connection."""
    if location.is_database:
        return True
    if FORMATS[location.format].keeps_versions:
        return format_named(location.format).exists(location)
    uri = location.file_uri
    return bool(list_files(uri, location.root or uri)) or read_manifest(uri) is not None


def data_exists(location: Location, workspace: Path) -> bool:
    """The same for tables of databases, too, which are asked."""
    if location.is_database:
        return format_named(location.format).table_exists(location, workspace)
    return location_exists(location)


def refuse_overlap(target: Target, sources: Iterable[Location]) -> None:
    """IO_027 for the first input that the output equals, lies inside of or contains."""
    for source in sources:
        if target_overlaps(target, source):
            raise DaybookError("IO_027", output=target.label, input=source.uri or source.table)


def target_overlaps(target: Target, source: Location) -> bool:
    return locations_overlap(target.location, source, target.workspace)


def locations_overlap(one: Location, other: Location, workspace: Path) -> bool:
    """Two tables of databases overlap when they are one; everything else when a path contains the other."""
    if one.is_database and other.is_database:
        return location_identity(one, workspace) == location_identity(other, workspace)
    path, other_path = one.occupied_path(workspace), other.occupied_path(workspace)
    return path is not None and other_path is not None and _paths_overlap(path, other_path, workspace)


def _paths_overlap(one: str, two: str, workspace: Path) -> bool:
    # A file system that ignores case may hold both spellings as one; refusing more than needed is harmless.
    first, second = uri_identity(one, workspace).casefold(), uri_identity(two, workspace).casefold()
    if first == second or first.startswith(second + "/") or second.startswith(first + "/"):
        return True
    return _is_same_file(one, two, workspace)


def _is_same_file(one: str, two: str, workspace: Path) -> bool:
    """Hard links and bind mounts: the same file or folder under unrelated names."""
    first, second = local_path(one), local_path(two)
    if first is None or second is None:
        return False
    try:
        return (workspace / first).samefile(workspace / second)
    except OSError:
        return False
