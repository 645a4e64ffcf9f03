"""SQLite: a database is one file, written by one transaction at a time.

Spark stages Parquet beside the database and one writer takes it in. The standard library's driver is used: it keeps the
type of every value, and a transaction spans all statements.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from daybook.errors import DaybookError
from daybook.io.format import Format, Leftover
from daybook.io.formats.databases.dialect import Database, Dialect, stored_columns
from daybook.io.formats.databases.writer import DatabaseWriter
from daybook.io.formats.sqlite.table import (
    SQLITE_TYPES,
    SqliteRows,
    columns_of,
    database_path,
    open_for_reading,
    open_for_writing,
    quote_name,
)
from daybook.io.landing.request import LandingRequest
from daybook.io.landing.rows import RowSource
from daybook.io.leftovers import search_folder
from daybook.io.pins import TableState
from daybook.io.rows.stored import SourceBlock, StoredRows, dataset_of
from daybook.io.target import OutputColumn, TableTarget
from daybook.io.writer import (
    Commit,
    FingerprintObserver,
    StagedOutput,
    remove_tree,
    staged_parquet_files,
    translate_spark_failures,
)
from daybook.model.datasource import DataSource
from daybook.resolve.locations.location import Location

_BATCH_ROWS = 20_000


class SqliteDatabase(Database):
    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def quote(self, *names: str | None) -> str:
        return ".".join(quote_name(name) for name in names if name)

    def execute(self, statement: str, parameters: Sequence[object] = ()) -> int:
        return self.connection.execute(statement, tuple(parameters)).rowcount

    def query(self, statement: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self.connection.execute(statement, tuple(parameters)).fetchall()

    def columns(self, table: str) -> dict[str, str | None] | None:
        found = columns_of(self.connection, table)
        return None if found is None else {name: SQLITE_TYPES.declared(type_) for name, type_ in found.items()}

    def column_definition(self, column: OutputColumn) -> str:
        return f"{quote_name(column.name)} {SQLITE_TYPES[column.type].stored(column.type)}"

    def create_ledger(self) -> None:
        self.execute(
            f"create table if not exists {self.ledger.table} (id integer primary key autoincrement, "
            "run_id text not null, operation_seq integer not null, target text not null, mode text not null, "
            "run_period text, rows integer not null, project_id text not null, operation_id text not null, "
            "workspace text, workspace_id text, committed_at text not null default current_timestamp, "
            "unique (run_id, operation_seq))"
        )

    def ledger_condition(self, table: str) -> tuple[str, tuple[str, ...]]:
        """Names that differ in case are one table."""
        return f"{self.quote(self.ledger.target)} = ? collate nocase", (table,)

    def begin(self) -> None:
        self.execute("begin immediate")

    def commit(self) -> None:
        if self.connection.in_transaction:
            self.execute("commit")


class SqliteDialect(Dialect[SqliteDatabase]):
    @property
    def storage_errors(self) -> tuple[type[Exception], ...]:
        return (sqlite3.Error,)

    @contextmanager
    def connect(self, target: TableTarget) -> Iterator[SqliteDatabase]:
        """Closing without a commit rolls back."""
        connection = open_for_writing(_path(target))
        try:
            yield SqliteDatabase(connection)
        finally:
            connection.close()

    def exists(self, target: TableTarget) -> bool:
        return _path(target).exists()

    def stage(self, df: DataFrame, target: TableTarget) -> StagedOutput:
        folder = _path(target).parent
        folder.mkdir(parents=True, exist_ok=True)
        work = folder / f".{target.new_attempt_name()}"
        watch = FingerprintObserver(target.columns)
        with translate_spark_failures(target):
            watch.on(df).write.mode("error").parquet(str(work))
        files = staged_parquet_files(str(work))
        return StagedOutput(str(work), sum(file.rows for file in files), watch.fingerprint, files)

    def replace_rows(self, database: SqliteDatabase, target: TableTarget) -> int:
        """Creates the table again, because SQLite cannot change the type of a column."""
        table = database.table(target.table)
        ((rows,),) = database.query(f"select count(*) from {table}")
        database.execute(f"drop table {table}")
        columns = ", ".join(map(database.column_definition, stored_columns(target)))
        database.execute(f"create table {table} ({columns})")
        return int(rows)

    def insert_staged(self, database: SqliteDatabase, staged: StagedOutput, target: TableTarget) -> int:
        columns = stored_columns(target)
        names = ", ".join(quote_name(column.name) for column in columns)
        marks = ", ".join("?" * len(columns))
        statement = f"insert into {database.table(target.table)} ({names}) values ({marks})"
        moved = 0
        for file in staged.files:
            for batch in pq.ParquetFile(Path(staged.staging) / file.path).iter_batches(_BATCH_ROWS):
                values = [_encode(batch.column(column.name).to_pylist(), column, target) for column in target.columns]
                if target.run_period is not None:
                    values.append([target.run_period] * batch.num_rows)
                database.connection.executemany(statement, zip(*values, strict=True))
                moved += batch.num_rows
        return moved

    def drop_staging(self, target: TableTarget, staging: str) -> None:
        remove_tree(Path(staging))

    def discard(self, target: TableTarget) -> None:
        folder = _path(target).parent
        for work in folder.glob(f".{target.staging_key}.*") if folder.is_dir() else ():
            remove_tree(work)


def _path(target: TableTarget) -> Path:
    return database_path(target.datasource, target.workspace)


def _encode(values: list[Any], column: OutputColumn, target: TableTarget) -> list[Any]:
    encode = SQLITE_TYPES[column.type].encode
    try:
        return values if encode is None else [None if value is None else encode(value) for value in values]
    except ValueError as failure:
        raise DaybookError("IO_029", location=target.label, column=column.name, reason=str(failure)) from failure


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
