"""The location of a table of a data source or of an inline path, by the same rule for reading and writing."""

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, assert_never

from daybook.errors import DaybookError, Span
from daybook.model.calendar import Period
from daybook.model.datasource import (
    DataSource,
    FolderSource,
    IcebergSource,
    JdbcSource,
    PostgresqlSource,
    SparkCatalogSource,
    SqliteSource,
)
from daybook.model.definition import TableVersion
from daybook.model.formats import FORMATS, formats_by_extension
from daybook.resolve.paths import absolute_root, is_file_name, is_remote, join_inside

_EXTENSION = re.compile(r"[^/.][^/]*\.([A-Za-z][A-Za-z0-9]*)$")


def extension(path: str) -> str | None:
    """The extension of a path's last part, in lower case: `csv` of `out/2026-01.csv`."""
    match = _EXTENSION.search(path)
    return match[1].lower() if match else None


def is_one_file(format_: str, uri: str | None) -> bool:
    """Whether what is written there is one file; a path without an extension is a folder in every format."""
    return uri is not None and FORMATS[format_].has_single_files and extension(uri) is not None


@dataclass(frozen=True, slots=True)
class Location:
    """One place to read or write: a file or folder by `uri`, or a `table` of a database.

    A `uri` is a plain absolute path on this machine, or a URI with a scheme elsewhere.
    Databases have none: their data source says where they are.
    """

    format: str
    uri: str | None = None
    table: str | None = None
    schema: str | None = None
    datasource: DataSource | None = None
    # The folder paths are relative to in row identity: of the data source, or the workspace for an inline path in it;
    # None for an inline path outside both.
    root: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    # Set when the location belongs to one period alone, so that rows may lack `_period`.
    period: Period | None = None
    # The period of rows whose `_period` is NULL, such as totals: that of the run that wrote what is there.
    null_period: str | None = None
    # A version that stays readable, of formats that keep them; None for the data as it is.
    version: TableVersion | None = None
    # Of a table whose slices are read in several locations: those that are read here, or those that are not.
    slices: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()

    @property
    def is_database(self) -> bool:
        return FORMATS[self.format].is_database

    @property
    def file_uri(self) -> str:
        """The path or URI of what is no table of a database."""
        if self.uri is None:
            raise ValueError(f"a table of {self.format} has no path")
        return self.uri

    @property
    def table_name(self) -> str:
        """The name of a table of a database."""
        if self.table is None:
            raise ValueError(f"{self.uri} is no table of a database")
        return self.table

    @property
    def database(self) -> DataSource:
        """The data source of a table of a database."""
        if self.datasource is None:
            raise ValueError(f"{self.format} needs a data source")
        return self.datasource

    @property
    def label(self) -> str:
        """The location as messages name it: the address, or the data source and the table."""
        if self.uri is not None:
            return self.uri
        prefix = f"{self.datasource.id}." if self.datasource else ""
        return f"{prefix}{self.schema}.{self.table}" if self.schema else f"{prefix}{self.table}"

    @property
    def local_path(self) -> Path | None:
        """The path on this machine, None for what lies elsewhere."""
        return Path(self.uri) if self.uri is not None and not is_remote(self.uri) else None

    def occupied_path(self, workspace: Path) -> str | None:
        """The file or folder that a location lies in; None on a server."""
        if isinstance(self.datasource, SqliteSource):
            return str((workspace / self.datasource.options.path).absolute())
        if isinstance(self.datasource, IcebergSource):
            return _local_warehouse(self.datasource, workspace)
        return self.uri


def catalog_names(location: Location) -> tuple[str, str, str]:
    """Catalog, schema and table of a table of a Spark catalog."""
    source = location.datasource
    if not isinstance(source, SparkCatalogSource):
        raise ValueError(f"{location.label} is no table of a Spark catalog")
    return source.options.catalog, location.schema or source.options.schema_name, location.table_name


def _local_warehouse(source: IcebergSource, workspace: Path) -> str | None:
    """The folder of the tables of a catalog whose warehouse is on this machine."""
    warehouse = source.options.warehouse
    if source.options.catalog == "rest" or warehouse is None or is_remote(warehouse):
        return None
    return absolute_root(warehouse, workspace)


# For a time filter that no row passes: no identifier is empty.
NO_PERIODS = ("",)


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a resolver made of (table, period), with the reason."""

    locations: tuple[Location, ...]
    # Identifiers the time filter of a period table accepts.
    periods: tuple[str, ...]
    resolver_id: str | None = None
    resolver_version: int | None = None
    rule: str | None = None
    # The day at which bitemporal rows must be valid, where the dataset or the view has a rule of its own.
    as_of: datetime.date | None = None
    # The period that all rows get, instead of the one they carry.
    row_period: str | None = None


def table_location(
    datasource: DataSource, table: str, schema: str | None, root: Path, *, span: Span | None = None
) -> Location:
    """A table by name.

    In a folder it is the subfolder of that name (below one named like the schema, if there is one). Tables of CSV,
    JSON and workbooks may instead be one file, `orders.csv`; when neither exists yet, the table is the folder.
    """
    check_table_name(datasource, table, span)
    match datasource:
        case FolderSource():
            return _table_in_folder(datasource, table, schema, root, span)
        case IcebergSource():
            namespace, _, name = table.rpartition(".")
            schema = schema or namespace or datasource.options.namespace
            return Location("iceberg", table=name, schema=schema, datasource=datasource)
        case PostgresqlSource():
            schema = schema or datasource.options.schema_name
            check_table_name(datasource, schema, span)
            return Location("postgresql", table=table, schema=schema, datasource=datasource)
        case SqliteSource():
            if schema is not None:
                raise DaybookError("RESOLVE_038", span=span, table=table, problem="a SQLite database has no schemas")
            return Location("sqlite", table=table, datasource=datasource)
        case JdbcSource():
            if schema is None and table.count(".") == 1:
                schema, table = table.split(".")
            return Location("jdbc", table=table, schema=schema, datasource=datasource)
        case SparkCatalogSource():
            schema = schema or datasource.options.schema_name
            check_table_name(datasource, schema, span)
            return Location("spark_catalog", table=table, schema=schema, datasource=datasource)
        case _:
            assert_never(datasource)


def path_location(datasource: DataSource, path: str, root: Path, *, span: Span | None = None) -> Location:
    """A file or folder below a data source's folder, in the data source's format."""
    if not isinstance(datasource, FolderSource):
        raise DaybookError("RESOLVE_039", span=span, datasource=datasource.id, type=datasource.type)
    folder = absolute_root(datasource.options.path, root)
    uri = join_inside(folder, path, span=span)
    return Location(datasource.type, uri=uri, datasource=datasource, root=folder, options=datasource.options.options)


def inline_location(
    path: str,
    file_format: str | None,
    options: Mapping[str, Any],
    root: Path,
    *,
    period: Period | None = None,
    span: Span | None = None,
) -> Location:
    """A file or folder named where it is used; `period` is the one that it belongs to alone.

    A relative path lies in the workspace; an absolute one or a URI lies where it says. The format is read off the
    extension when left out.
    """
    file_format = file_format or format_by_extension(path, span)
    if path.startswith("/") or is_remote(path) or path.lower().startswith("file:"):
        return Location(file_format, uri=_absolute_uri(path, root, span), options=options, period=period)
    workspace = absolute_root(".", root)
    uri = join_inside(workspace, path, span=span)
    return Location(file_format, uri=uri, root=workspace, options=options, period=period)


def format_by_extension(path: str, span: Span | None = None) -> str:
    """The format an inline path or its template has by its extension."""
    formats = formats_by_extension()
    format_name = formats.get(extension(path) or "")
    if format_name is None:
        hint = f"write format, or an extension: {', '.join('.' + name for name in formats)}"
        raise DaybookError("RESOLVE_037", span=span, hint=hint, path=path)
    return format_name


def _absolute_uri(path: str, root: Path, span: Span | None) -> str:
    """An absolute path or URI with the same care as one below a root, which here is its first part."""
    if ".." in path.split("/"):
        raise DaybookError("RESOLVE_035", span=span, path=path, problem="it has a part ..")
    uri = absolute_root(path, root)
    start = uri.find("/", uri.find("://") + 3) if is_remote(uri) else 0
    if start < 0 or not uri[start + 1 :]:
        raise DaybookError("RESOLVE_035", span=span, path=path, problem="it names no file or folder")
    return join_inside(uri[:start] if start else "/", uri[start + 1 :], span=span)


def _table_in_folder(
    datasource: FolderSource, table: str, schema: str | None, root: Path, span: Span | None
) -> Location:
    if schema is not None:
        check_table_name(datasource, schema, span)
    relative = table if schema is None else f"{schema}/{table}"
    folder = path_location(datasource, relative, root, span=span)
    if not FORMATS[datasource.type].has_table_files:
        return folder
    file = path_location(datasource, f"{relative}.{datasource.type}", root, span=span)
    if file.local_path is None or not file.local_path.is_file():
        return folder
    if folder.local_path is not None and folder.local_path.exists():
        raise DaybookError("RESOLVE_034", span=span, table=table, file=file.uri, folder=folder.uri)
    return file


def check_table_name(datasource: DataSource, name: str, span: Span | None) -> None:
    """RESOLVE_038 for a name that no table of the data source can have."""
    if isinstance(datasource, FolderSource) and not is_file_name(name):
        problem = "it is the name of a folder here, without slashes, wildcards and escapes"
        raise DaybookError("RESOLVE_038", span=span, table=name, problem=problem)
    if isinstance(datasource, IcebergSource) and not all(map(is_file_name, name.split("."))):
        problem = "a table is named name or namespace.name, without slashes, wildcards and escapes"
        raise DaybookError("RESOLVE_038", span=span, table=name, problem=problem)
    if not name or "\0" in name:
        raise DaybookError("RESOLVE_038", span=span, table=name, problem="it is empty or has a NUL character")
    facts = FORMATS[datasource.type]
    if facts.is_cut(name):
        problem = f"it has {len(name.encode())} bytes, and {datasource.type} cuts names after {facts.max_name_bytes}"
        raise DaybookError("RESOLVE_038", span=span, table=name, problem=problem)
