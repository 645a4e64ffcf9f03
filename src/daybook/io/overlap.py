"""Whether an output would touch what the same run reads, in whatever spelling the two are written."""

import os
import posixpath
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

from daybook.errors import DaybookError
from daybook.io.formats.sqlite.connecting import database_path
from daybook.io.place import local_path
from daybook.io.writing import Target
from daybook.model.datasource import DataSource, JdbcSource, PostgresqlSource, SqliteSource
from daybook.resolve.location import Location


def refuse_overlap(target: Target, sources: Iterable[Location]) -> None:
    """IO_027 for the first input that the output equals, lies inside of or contains."""
    for source in sources:
        if overlaps(target, source):
            raise DaybookError("IO_027", output=target.place, input=source.uri or source.table)


def overlaps(target: Target, source: Location) -> bool:
    if target.uri is not None:
        if source.uri is None:
            return _holds_database(target, source)
        return _paths_overlap(target.uri, source.uri, target.workspace)
    if source.uri is not None:
        path = _database_file(target.datasource, target.workspace)
        return path is not None and _paths_overlap(str(path), source.uri, target.workspace)
    return _table(target.datasource, target.schema, target.table, target.workspace) == _table(
        source.datasource, source.schema, source.table, target.workspace
    )


def _holds_database(target: Target, source: Location) -> bool:
    path = _database_file(source.datasource, target.workspace)
    return path is not None and _paths_overlap(target.uri or "", str(path), target.workspace)


def _database_file(datasource: DataSource | None, workspace: Path) -> Path | None:
    return database_path(datasource, workspace) if isinstance(datasource, SqliteSource) else None


def _paths_overlap(one: str, two: str, workspace: Path) -> bool:
    first, second = _spelled(one, workspace), _spelled(two, workspace)
    if first == second or first.startswith(second + "/") or second.startswith(first + "/"):
        return True
    return _is_same_file(one, two, workspace)


def _spelled(uri: str, workspace: Path) -> str:
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


def _table(datasource: DataSource | None, schema: str | None, table: str | None, workspace: Path) -> tuple[object, ...]:
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
