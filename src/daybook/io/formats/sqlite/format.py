"""What Daybook knows of SQLite: a database is one file, written by one transaction at a time."""

import os
import sqlite3
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from daybook.io.format import Format, Leftover
from daybook.io.formats.databases.writer import DatabaseWriter
from daybook.io.formats.sqlite.table import SqliteRows, database_path
from daybook.io.formats.sqlite.writer import SqliteDialect
from daybook.io.landing.request import LandingRequest
from daybook.io.landing.rows import RowSource
from daybook.io.leftovers import search_folder
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


FORMAT: Format = SqliteFormat()
