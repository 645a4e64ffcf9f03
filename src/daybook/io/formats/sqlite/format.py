"""SQLite: a database is one file, written by one transaction at a time.

SQLite has no decimals, dates or booleans: they are stored as exact texts and as 0 or 1, and checked when landed.
Spark stages Parquet beside the database and one writer inserts it. The driver of the standard library is used: it keeps
the type of every value, and a transaction spans all statements.
"""

import datetime
import math
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from daybook.errors import DaybookError, raise_all
from daybook.io.bindings import Binding, bind_columns, missing_column_errors
from daybook.io.column_types import BadValueError, parse_texts
from daybook.io.format import Format, Leftover
from daybook.io.formats.databases.dialect import Database, Dialect, SqlType, SqlTypes, stored_columns
from daybook.io.formats.databases.writer import DatabaseWriter
from daybook.io.landing.batches import Batch, RowSource, bad_value_error, row_position_from
from daybook.io.landing.landing_request import LandingRequest
from daybook.io.leftovers import search_folder
from daybook.io.pins import TableState
from daybook.io.storage import PROVIDER_STORAGE, Storage
from daybook.io.stored_rows import SourceBlock, StoredRows, dataset_of
from daybook.io.target import OutputColumn, TableTarget
from daybook.io.writer import (
    Commit,
    FingerprintObserver,
    StagedOutput,
    remove_tree,
    staged_parquet_files,
    translate_spark_failures,
)
from daybook.model.datasource import DataSource, SqliteSource
from daybook.model.definition import DatasetVersion
from daybook.model.types import (
    BooleanType,
    ColumnType,
    DateType,
    DecimalType,
    FloatType,
    IntegerType,
    StringType,
    TimestampType,
)
from daybook.resolve.location import Location

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_BUSY_SECONDS = 60.0


def database_path(datasource: DataSource | None, workspace: Path) -> Path:
    if not isinstance(datasource, SqliteSource):
        raise ValueError("a SQLite table needs a data source of that type")
    return (workspace / datasource.options.path).absolute()


def open_for_reading(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise DaybookError("IO_001", location=str(path))
    try:
        return sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=_BUSY_SECONDS)
    except sqlite3.Error as failure:
        raise DaybookError("IO_012", location=str(path), reason=str(failure)) from failure


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Transactions begin and end where the code says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    except sqlite3.Error as failure:
        raise DaybookError("IO_012", location=str(path), reason=str(failure)) from failure


def quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def columns_of(connection: sqlite3.Connection, table: str) -> dict[str, str] | None:
    """Columns with the types they were declared with; None when there is no such table."""
    rows = connection.execute("select name, type from pragma_table_info(?)", (table,)).fetchall()
    return dict(rows) if rows else None


_BATCH_ROWS = 20_000


class SqliteRows:
    def __init__(
        self, location: Location, version: DatasetVersion, workspace: Path, slices: frozenset[str] | None
    ) -> None:
        self._path = database_path(location.datasource, workspace)
        self._table = location.table_name
        self.name = f"{self._path.name}:{self._table}"
        self.carried: frozenset[str] = frozenset()
        self.extra: frozenset[str] = frozenset()
        self._location = location
        self._version = version
        self._slices = slices

    def batches(self) -> Iterator[Batch]:
        connection = open_for_reading(self._path)
        try:
            stored = columns_of(connection, self._table)
            if stored is None:
                raise DaybookError("IO_001", location=self.name)
            bindings = bind_columns(stored, self._version, self._location)
            raise_all(missing_column_errors(bindings, self.name))
            self.carried = frozenset(binding.name for binding in bindings.carried)
            self.extra = frozenset(bindings.extra)
            cursor = connection.execute(*self._query(bindings.all, stored))
            start = 0
            while rows := cursor.fetchmany(_BATCH_ROWS):
                yield self._batch(rows, bindings.all, start)
                start += len(rows)
        except sqlite3.Error as failure:
            raise DaybookError("IO_012", location=self.name, reason=str(failure)) from failure
        finally:
            connection.close()

    def _query(self, bindings: tuple[Binding, ...], stored: dict[str, str]) -> tuple[str, tuple[str, ...]]:
        query = f"select {', '.join(quote_name(b.stored) for b in bindings)} from {quote_name(self._table)}"
        sliced = next((name for name in ("_run_period", "_period") if name in stored), None)
        if self._slices is None or sliced is None:
            return query, ()
        periods = tuple(sorted(self._slices))
        return f"{query} where {quote_name(sliced)} in ({', '.join('?' * len(periods))})", periods

    def _batch(self, rows: list[tuple[object, ...]], bindings: tuple[Binding, ...], start: int) -> Batch:
        where = row_position_from(start)
        columns = {}
        for binding, values in zip(bindings, zip(*rows, strict=True), strict=True):
            try:
                columns[binding.name] = SQLITE_TYPES[binding.type].decode(values, binding.type)
            except BadValueError as bad:
                place = where(bad.index)
                raise bad_value_error(self.name, place, binding.stored, bad.value, binding.type) from None
        return Batch(columns, len(rows), where)


# Any decimal of so many digits survives being stored as a double.
_SAFE_DIGITS = 15
_SAFE_INTEGER = 1 << 53


@dataclass(frozen=True, slots=True)
class SqliteType(SqlType):
    """How a declared type is stored: a type name that says what is meant and that SQLite does not convert."""

    # SQLite lets every row have its own type, so every value is looked at.
    decode: Callable[[Sequence[Any], ColumnType], pa.Array]
    # How a value that is not NULL is stored; None when as it is.
    encode: Callable[[Any], Any] | None = None


def _texts(values: Sequence[Any], type_: ColumnType) -> pa.Array:
    _refuse_other_types(values, lambda value: isinstance(value, str))
    return parse_texts(pa.array(values, pa.string()), type_)


def _integers(values: Sequence[Any], type_: ColumnType) -> pa.Array:
    _refuse_other_types(values, lambda value: isinstance(value, int))
    return pa.array(values, pa.int64())


def _booleans(values: Sequence[Any], type_: ColumnType) -> pa.Array:
    _refuse_other_types(values, lambda value: isinstance(value, int) and value in (0, 1))
    return pa.array([None if value is None else bool(value) for value in values], pa.bool_())


def _floats(values: Sequence[Any], type_: ColumnType) -> pa.Array:
    _refuse_other_types(values, lambda v: isinstance(v, float) or (isinstance(v, int) and abs(v) <= _SAFE_INTEGER))
    return pa.array([None if value is None else float(value) for value in values], pa.float64())


def _decimals(values: Sequence[Any], type_: ColumnType) -> pa.Array:
    texts = [_decimal_text(value, index) for index, value in enumerate(values)]
    return parse_texts(pa.array(texts, pa.string()), type_)


def _refuse_other_types(values: Sequence[Any], is_kind: Callable[[Any], bool]) -> None:
    for index, value in enumerate(values):
        if value is not None and not is_kind(value):
            raise BadValueError(index, value)


def _decimal_text(value: Any, index: int) -> str | None:
    """A double counts as the decimal that was written when it has few enough digits to be certain."""
    match value:
        case None:
            return None
        case int():
            return str(value)
        case str():
            return value
        case float() if (
            math.isfinite(value) and len(Decimal(repr(value)).normalize().as_tuple().digits) <= _SAFE_DIGITS
        ):
            return format(Decimal(repr(value)), "f")
        case _:
            raise BadValueError(index, value)


def _timestamp_text(value: datetime.datetime) -> str:
    return value.replace(tzinfo=None).isoformat() + "Z"


def _refuse_nan(value: float) -> float:
    if math.isnan(value):
        raise ValueError("SQLite stores NaN as NULL")
    return value


SQLITE_TYPES = SqlTypes(
    {
        StringType: SqliteType("TEXT", _texts),
        IntegerType: SqliteType("INTEGER", _integers),
        DecimalType: SqliteType("DECIMAL_TEXT", _decimals, lambda value: format(value, "f")),
        FloatType: SqliteType("REAL", _floats, _refuse_nan),
        BooleanType: SqliteType("BOOLEAN", _booleans, int),
        DateType: SqliteType("DATE_TEXT", _texts, lambda value: value.isoformat()),
        TimestampType: SqliteType("TIMESTAMP_TEXT", _texts, _timestamp_text),
    }
)


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
        types = columns_of(self.connection, table)
        return None if types is None else {name: SQLITE_TYPES.declared(type_) for name, type_ in types.items()}

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

    def begin(self, table: str) -> None:
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

    def stage(self, df: "DataFrame", target: TableTarget) -> StagedOutput:
        folder = _path(target).parent
        folder.mkdir(parents=True, exist_ok=True)
        work = folder / f".{target.new_attempt_name()}"
        watch = FingerprintObserver(target.columns)
        with translate_spark_failures(target):
            watch.on(df).write.mode("error").parquet(str(work))
        files = staged_parquet_files(str(work))
        return StagedOutput(str(work), sum(file.rows for file in files), watch.fingerprint, files, digest=watch.digest)

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

    def table_rows(
        self, spark: "SparkSession | None", location: Location, request: LandingRequest, scratch: str
    ) -> RowSource:
        return SqliteRows(location, request.version, request.workspace, request.slices)

    def committed_rows(self, target: TableTarget, commit: Commit) -> StoredRows:
        self.writer.require_current(target)
        slices = None if target.run_period is None else frozenset({target.run_period})
        rows = SqliteRows(target.location, dataset_of(target.columns), target.workspace, slices)
        return StoredRows(target.columns, (SourceBlock(rows),), is_columnar=False)

    def table_exists(self, location: Location, workspace: Path, storage: Storage = PROVIDER_STORAGE) -> bool:
        path = database_path(location.datasource, workspace)
        if not path.is_file():
            return False
        with closing(open_for_reading(path)) as connection, sqlite_errors(location.label):
            return columns_of(connection, location.table_name) is not None

    def table_state(self, location: Location, column: str, workspace: Path) -> TableState | None:
        path = database_path(location.datasource, workspace)
        with closing(open_for_reading(path)) as connection, sqlite_errors(location.label):
            # SQLite reads a quoted name that is no column as a text.
            if column not in (columns_of(connection, location.table_name) or {}):
                raise DaybookError("IO_002", file=location.label, column=column)
            query = f"select count(*), max({quote_name(column)}) from {quote_name(location.table_name)}"
            rows, newest = connection.execute(query).fetchone()
        return TableState(location.label, column, rows, None if newest is None else str(newest))

    def has_appended_slice(self, location: Location, slices: frozenset[str] | None, workspace: Path) -> bool:
        return self.writer.has_appended_slice(location, slices, workspace)

    def find_leftovers(
        self, datasource: DataSource, workspace: Path, storage: Storage = PROVIDER_STORAGE
    ) -> Iterable[Leftover]:
        return search_folder(str(database_path(datasource, workspace).parent))

    def ping(self, datasource: DataSource, workspace: Path, storage: Storage = PROVIDER_STORAGE) -> str:
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
