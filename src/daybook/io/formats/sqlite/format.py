"""What Daybook knows of SQLite: a database is one file, written by one transaction at a time."""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from daybook.errors import DaybookError
from daybook.io.format import Format, Leftover
from daybook.io.formats.databases.writer import DatabaseWriter
from daybook.io.formats.sqlite.table import SqliteRows, columns_of, database_path, open_for_reading, quote_name
from daybook.io.formats.sqlite.writer import SqliteDialect
from daybook.io.landing.request import LandingRequest
from daybook.io.landing.rows import RowSource
from daybook.io.leftovers import search_folder
from daybook.io.pins import TableState
from daybook.io.rows.stored import SourceBlock, StoredRows, dataset_of
from daybook.io.target import TableTarget
from daybook.io.writer import Commit
from daybook.model.datasource import DataSource
from daybook.resolve.locations.location import Location


class SqliteFormat(Format):
    name = "sqlite"

    @cached_property
    def writer(self) -> DatabaseWriter:
        return DatabaseWriter(SqliteDialect())

    @property
    def storage_errors(self) -> tuple[type[Exception], ...]:
        return (sqlite3.Error, pa.ArrowException)

    def table_rows(self, spark: SparkSession, location: Location, request: LandingRequest, scratch: str) -> RowSource:
        return SqliteRows(location, request.version, request.workspace, request.slices)

    def committed_rows(self, target: TableTarget, commit: Commit) -> StoredRows:
        self.writer.require_current(target)
        slices = None if target.run_period is None else frozenset({target.run_period})
        rows = SqliteRows(target.location, dataset_of(target.columns), target.workspace, slices)
        return StoredRows(target.columns, (SourceBlock(rows),), is_columnar=False)

    def table_exists(self, location: Location, workspace: Path) -> bool:
        path = database_path(location.datasource, workspace)
        if not path.is_file():
            return False
        with closing(open_for_reading(path)) as connection, sqlite_errors(location.label):
            return columns_of(connection, location.table_name) is not None

    def table_state(self, location: Location, column: str, workspace: Path) -> TableState | None:
        path = database_path(location.datasource, workspace)
        with closing(open_for_reading(path)) as connection, sqlite_errors(location.label):
            # A name in quotes that is no column would be taken for a text.
            if column not in (columns_of(connection, location.table_name) or {}):
                raise DaybookError("IO_002", file=location.label, column=column)
            query = f"select count(*), max({quote_name(column)}) from {quote_name(location.table_name)}"
            rows, newest = connection.execute(query).fetchone()
        return TableState(location.label, column, rows, None if newest is None else str(newest))

    def has_appended_slice(self, location: Location, slices: frozenset[str] | None, workspace: Path) -> bool:
        return self.writer.has_appended_slice(location, slices, workspace)

    def identity(self, location: Location, workspace: Path) -> str:
        """Names of tables are the same in any case."""
        path = os.path.realpath(database_path(location.datasource, workspace))
        return f"sqlite:{path}/{(location.table_name).casefold()}"

    def occupied_path(self, location: Location, workspace: Path) -> str | None:
        return str(database_path(location.datasource, workspace))

    def find_leftovers(self, datasource: DataSource, workspace: Path) -> Iterable[Leftover]:
        return search_folder(str(database_path(datasource, workspace).parent))

    def ping(self, datasource: DataSource, workspace: Path) -> str:
        path = database_path(datasource, workspace)
        return str(path) if path.exists() else f"{path} (created by the first write)"


@contextmanager
def sqlite_errors(table: str) -> Iterator[None]:
    """IO_012 for what SQLite refuses."""
    try:
        yield
    except sqlite3.Error as failure:
        raise DaybookError("IO_012", location=table, reason=str(failure)) from failure


FORMAT: Format = SqliteFormat()
