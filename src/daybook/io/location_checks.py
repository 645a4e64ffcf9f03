"""Whether what a run would read is there, without reading it.

Whether an output would touch what the same run reads, in whatever spelling the two are written.
"""

import os
import posixpath
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

from daybook.errors import DaybookError, raise_all
from daybook.io.filesystem import list_files, local_path
from daybook.io.formats.files.manifest import read_manifest
from daybook.io.formats.sqlite.table import database_path
from daybook.io.writer import Target
from daybook.model.datasource import DataSource, JdbcSource, PostgresqlSource, SqliteSource
from daybook.resolve.locations.location import Location, Resolution


def check_locations_exist(resolution: Resolution) -> None:
    """IO_001 for files and Delta tables that do not exist; databases are asked when they are read."""
    raise_all(DaybookError("IO_001", location=each.uri) for each in resolution.locations if not _exists(each))


def _exists(location: Location) -> bool:
    if location.uri is None:
        return True
    if location.format == "delta":
        from daybook.io.formats.delta.table import open_table

        return open_table(location.uri, location.delta_version) is not None
    return bool(list_files(location.uri)) or read_manifest(location.uri) is not None


def refuse_overlap(target: Target, sources: Iterable[Location]) -> None:
    """IO_027 for the first input that the output equals, lies inside of or contains."""
    for source in sources:
        if target_overlaps(target, source):
            raise DaybookError("IO_027", output=target.place, input=source.uri or source.table)


def target_overlaps(target: Target, source: Location) -> bool:
    if target.uri is not None:
        if source.uri is None:
            return _contains_database(target, source)
        return _paths_overlap(target.uri, source.uri, target.workspace)
    if source.uri is not None:
        path = _database_file(target.datasource, target.workspace)
        return path is not None and _paths_overlap(str(path), source.uri, target.workspace)
    return _table_identity(target.datasource, target.schema, target.table, target.workspace) == _table_identity(
        source.datasource, source.schema, source.table, target.workspace
    )


def _contains_database(target: Target, source: Location) -> bool:
    path = _database_file(source.datasource, target.workspace)
    return path is not None and _paths_overlap(target.uri or "", str(path), target.workspace)


def _database_file(datasource: DataSource | None, workspace: Path) -> Path | None:
    return database_path(datasource, workspace) if isinstance(datasource, SqliteSource) else None


def _paths_overlap(one: str, two: str, workspace: Path) -> bool:
    first, second = _normalized_uri(one, workspace), _normalized_uri(two, workspace)
    if first == second or first.startswith(second + "/") or second.startswith(first + "/"):
        return True
    return _is_same_file(one, two, workspace)


def _normalized_uri(uri: str, workspace: Path) -> str:
    """One spelling per place: links followed, dots and double slashes gone, case folded."""
    path = local_path(uri)
    if path is not None:
        # A file system that ignores case may hold both spellings as one; refusing more than needed is harmless.
        return os.path.realpath(workspace / path).casefold()
    parts = urlsplit(uri)
    scheme = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfss": "abfs"}.get(parts.scheme.lower(), parts.scheme.lower())
    return f"{scheme}://{parts.netloc.lower()}{posixpath.normpath('/' + parts.path.lstrip('/'))}".casefold()


def _is_same_file(one: str, two: str, workspace: Path) -> bool:
    """Hard links and bind mounts: the same file or folder under unrelated names."""
    first, second = local_path(one), local_path(two)
    if first is None or second is None:
        return False
    try:
        return (workspace / first).samefile(workspace / second)
    except OSError:
        return False


def _table_identity(
    datasource: DataSource | None, schema: str | None, table: str | None, workspace: Path
) -> tuple[object, ...]:
    """What identifies a table, whichever data source names it."""
    match datasource:
        case PostgresqlSource(options=options):
            host = "localhost" if options.host in ("127.0.0.1", "::1") else options.host.lower()
            return ("postgresql", host, options.port, options.database, schema or options.schema_name, table)
        case SqliteSource():
            return (
                "sqlite",
                os.path.realpath(database_path(datasource, workspace)).casefold(),
                (table or "").casefold(),
            )
        case JdbcSource(options=options):
            return ("jdbc", options.url, (schema or "").casefold(), (table or "").strip('"').casefold())
        case _:
            return ("none", id(datasource), schema, table)
