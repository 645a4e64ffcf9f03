"""PostgreSQL: tables are landed by one query; tasks COPY into a staging table, and one transaction moves its rows."""

import re
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import adbc_driver_manager
import psycopg
import pyarrow as pa
from psycopg import sql
from pyspark import cloudpickle
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession

from daybook.engine.java.classic import activate_session
from daybook.engine.java.session_conf import temporary_settings
from daybook.errors import DaybookError
from daybook.io.format import Format, Leftover
from daybook.io.formats.databases.dialect import Database, Dialect, stored_columns
from daybook.io.formats.databases.writer import DatabaseWriter
from daybook.io.formats.postgresql import ingest
from daybook.io.formats.postgresql.table import (
    POSTGRESQL_TYPES,
    Connection,
    PostgresqlRows,
    columns_of,
    connect_postgresql,
    connection_uri,
    postgresql_source,
)
from daybook.io.landing.batches import RowSource
from daybook.io.landing.landing_request import LandingRequest
from daybook.io.pins import TableState
from daybook.io.storage import PROVIDER_STORAGE, Storage
from daybook.io.stored_rows import SourceBlock, StoredRows, dataset_of
from daybook.io.target import STAGED_PREFIX, OutputColumn, TableTarget, parse_staged_name
from daybook.io.writer import Commit, FingerprintObserver, StagedOutput, translate_spark_failures
from daybook.model.datasource import DataSource
from daybook.model.secrets import mask_secrets
from daybook.model.types import INTEGER, RUN_PERIOD_COLUMN
from daybook.resolve.location import Location

_SERVER_ERROR = re.compile(r"ERROR:\s+(?P<reason>.+)")
_COPY_COLUMN = re.compile(r"^CONTEXT:\s+COPY .+, line \d+, column (?P<column>.+?)(?:: \".*)?$", re.MULTILINE)
_NUL_BYTE = "0x00"
_MAX_NAME_BYTES = 63
ACKNOWLEDGED_SUFFIX = ".ack"

# With a limit in bytes Spark measures the whole batch again for every row that it adds.
_ARROW_BATCH_CONF = {
    "spark.sql.execution.arrow.maxBytesPerBatch": str((1 << 31) - 1),
    "spark.sql.execution.arrow.maxRecordsPerBatch": "2000",
}


class PostgresqlDatabase(Database):
    parameter = "%s"

    def __init__(self, connection: Connection, schema: str) -> None:
        self._connection = connection
        self._schema = schema

    def quote(self, *names: str | None) -> str:
        # A percent sign would begin a parameter.
        return sql.Identifier(*filter(None, names)).as_string(self._connection).replace("%", "%%")

    def table(self, name: str) -> str:
        return self.quote(self._schema, name)

    def execute(self, statement: str, parameters: Sequence[object] = ()) -> int:
        return self._connection.execute(statement.encode(), tuple(parameters)).rowcount

    def query(self, statement: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(statement.encode(), tuple(parameters)).fetchall()

    def columns(self, table: str) -> dict[str, str | None] | None:
        types = columns_of(self._connection, self._schema, table)
        return None if types is None else {name: POSTGRESQL_TYPES.declared(type_) for name, type_ in types.items()}

    def column_definition(self, column: OutputColumn) -> str:
        return f"{self.quote(column.name)} {POSTGRESQL_TYPES[column.type].stored(column.type)}"

    def create_ledger(self) -> None:
        self.execute(
            f"create table if not exists {self.table(self.ledger.table)} (id bigserial primary key, "
            "run_id text not null, operation_seq integer not null, target text not null, mode text not null, "
            "run_period text, rows bigint not null, project_id text not null, operation_id text not null, "
            "workspace text, workspace_id text, committed_at timestamptz not null default now(), "
            "unique (run_id, operation_seq))"
        )

    def begin(self, table: str) -> None:
        # Of two transactions that create a table, one fails; a table that is not there cannot be locked.
        self.query("select pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"daybook {self.table(table)}",))

    def lock(self, table: str) -> None:
        self.execute(f"lock table {self.table(table)} in share row exclusive mode")

    def commit(self) -> None:
        self._connection.commit()


class PostgresqlDialect(Dialect[PostgresqlDatabase]):
    @property
    def storage_errors(self) -> tuple[type[Exception], ...]:
        return (psycopg.Error,)

    @property
    def conflict_errors(self) -> tuple[type[Exception], ...]:
        return (psycopg.errors.UniqueViolation,)

    @contextmanager
    def connect(self, target: TableTarget) -> Iterator[PostgresqlDatabase]:
        connection = connect_postgresql(postgresql_source(target.datasource), target.workspace)
        try:
            yield PostgresqlDatabase(connection, _schema(target))
        finally:
            connection.close()

    def check(self, target: TableTarget) -> None:
        if len(f"{target.new_attempt_name()}{ACKNOWLEDGED_SUFFIX}".encode()) > _MAX_NAME_BYTES:
            raise ValueError(f"run id {target.run_id!r} is too long to name a staging table")

    def stage(self, df: DataFrame, target: TableTarget) -> StagedOutput:
        name = target.new_attempt_name()
        with self.connect(target) as database:
            create_staging(database, name, target.columns)
            database.commit()
        register_copy_source(df.sparkSession)
        watch = FingerprintObserver(target.columns)
        writer = (
            watch.on(df)
            .write.format(ingest.FORMAT)
            .option(ingest.ADDRESS, connection_uri(postgresql_source(target.datasource), target.workspace))
            .option(ingest.SCHEMA, _schema(target))
            .option(ingest.TABLE, name)
            .option(ingest.ACKNOWLEDGED, name + ACKNOWLEDGED_SUFFIX)
            .mode("append")
        )
        with (
            translate_copy_failures(target),
            translate_spark_failures(target),
            temporary_settings(df.sparkSession, _ARROW_BATCH_CONF),
        ):
            writer.save()
        with self.connect(target) as database:
            acknowledged = database.table(name + ACKNOWLEDGED_SUFFIX)
            ((rows,),) = database.query(f"select coalesce(sum(rows), 0)::bigint from {acknowledged}")
        return StagedOutput(name, int(rows), watch.fingerprint, digest=watch.digest)

    def replace_rows(self, database: PostgresqlDatabase, target: TableTarget) -> int:
        """Other columns are given to the emptied table in place, so that readers with an older snapshot keep theirs."""
        table = database.table(target.table)
        removed = database.execute(f"delete from {table}")
        stored = database.columns(target.table) or {}
        target_columns = {column.name: column for column in stored_columns(target)}
        for name, type_ in stored.items():
            if name not in target_columns or str(target_columns[name].type) != type_:
                database.execute(f"alter table {table} drop column {database.quote(name)}")
        for column in target_columns.values():
            if stored.get(column.name) != str(column.type):
                database.add_column(target.table, column)
        return removed

    def insert_staged(self, database: PostgresqlDatabase, staged: StagedOutput, target: TableTarget) -> int:
        names = [database.quote(column.name) for column in target.columns]
        into, values, parameters = names, names, list[object]()
        if target.run_period is not None:
            into, values = [*names, database.quote(RUN_PERIOD_COLUMN)], [*names, database.parameter]
            parameters.append(target.run_period)
        staging, acknowledged = (
            database.table(staged.staging),
            database.table(staged.staging + ACKNOWLEDGED_SUFFIX),
        )
        return database.execute(
            f"insert into {database.table(target.table)} ({', '.join(into)}) select {', '.join(values)} from {staging} "
            f"where {database.quote(ingest.ATTEMPT)} in (select attempt from {acknowledged})",
            parameters,
        )

    def drop_staging(self, target: TableTarget, staging: str) -> None:
        with self.connect(target) as database:
            for name in (staging, staging + ACKNOWLEDGED_SUFFIX):
                database.execute(f"drop table if exists {database.table(name)}")
            database.commit()

    def discard(self, target: TableTarget) -> None:
        with self.connect(target) as database:
            rows = database.query(
                "select tablename from pg_tables where schemaname = %s and starts_with(tablename, %s)",
                (_schema(target), f"{target.staging_key}."),
            )
            for (name,) in rows:
                database.execute(f"drop table if exists {database.table(name)}")
            database.commit()


def _schema(target: TableTarget) -> str:
    return target.schema or postgresql_source(target.datasource).options.schema_name


def create_staging(database: PostgresqlDatabase, name: str, columns: Sequence[OutputColumn]) -> None:
    """A table for the rows, each with its task attempt, and one for the attempts that Spark acknowledged."""
    tagged = (*columns, OutputColumn(ingest.ATTEMPT, INTEGER))
    definitions = ", ".join(map(database.column_definition, tagged))
    # A table that is read once and dropped is not worth vacuuming or analysing.
    database.execute(f"create unlogged table {database.table(name)} ({definitions}) with (autovacuum_enabled = off)")
    database.execute(
        f"create unlogged table {database.table(name + ACKNOWLEDGED_SUFFIX)} "
        "(attempt bigint primary key, rows bigint not null)"
    )


# What is carried by value is known to the whole process, and runs of a build register side by side.
_PICKLING = threading.Lock()


def register_copy_source(spark: SparkSession) -> None:
    """Make the data source known to the session, carried by value, and the session known to this thread.

    Spark looks for it in the session that is active, which another part of the program may have changed.
    """
    module = sys.modules[ingest.__name__]
    with _PICKLING:
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
        try:
            activate_session(spark).dataSource.register(ingest.CopySource)
        finally:
            cloudpickle.unregister_pickle_by_value(module)  # type: ignore[no-untyped-call]


@contextmanager
def translate_copy_failures(target: TableTarget) -> Iterator[None]:
    """IO_029 for a value that PostgreSQL refused, IO_026 for its other errors; other failures pass."""
    try:
        yield
    except PythonException as failure:
        server_error = _SERVER_ERROR.search(str(failure))
        if server_error is None:
            raise
        reason = server_error["reason"].strip()
        if (copy_column := _COPY_COLUMN.search(str(failure))) is None:
            raise DaybookError("IO_026", location=target.label, reason=reason) from failure
        hint = None
        if reason.endswith(_NUL_BYTE):
            reason = "its text holds the character U+0000, which PostgreSQL cannot store"
            hint = "remove the character where the text comes from"
        raise DaybookError(
            "IO_029", location=target.label, column=copy_column["column"], reason=reason, hint=hint
        ) from failure


class PostgresqlFormat(Format):
    name = "postgresql"

    @cached_property
    def writer(self) -> DatabaseWriter:
        return DatabaseWriter(PostgresqlDialect())

    @property
    def storage_errors(self) -> tuple[type[Exception], ...]:
        return (psycopg.Error, adbc_driver_manager.Error, pa.ArrowException)

    def table_rows(
        self, spark: SparkSession | None, location: Location, request: LandingRequest, scratch: str
    ) -> RowSource:
        return PostgresqlRows(location, request.version, request.workspace, request.slices)

    def committed_rows(self, target: TableTarget, commit: Commit) -> StoredRows:
        self.writer.require_current(target)
        slices = None if target.run_period is None else frozenset({target.run_period})
        rows = PostgresqlRows(target.location, dataset_of(target.columns), target.workspace, slices)
        return StoredRows(target.columns, (SourceBlock(rows),), is_columnar=False)

    def table_exists(self, location: Location, workspace: Path, storage: Storage = PROVIDER_STORAGE) -> bool:
        source = postgresql_source(location.datasource)
        with connect_postgresql(source, workspace) as connection:
            return (
                columns_of(connection, location.schema or source.options.schema_name, location.table_name) is not None
            )

    def table_state(self, location: Location, column: str, workspace: Path) -> TableState | None:
        source = postgresql_source(location.datasource)
        table = sql.Identifier(location.schema or source.options.schema_name, location.table_name)
        query = sql.SQL("select count(*), max({})::text from {}").format(sql.Identifier(column), table)
        try:
            with connect_postgresql(source, workspace) as connection:
                # Times are distinguished whatever zone the session has.
                connection.execute("set time zone 'UTC'")
                row = connection.execute(query).fetchone()
        except psycopg.Error as failure:
            reason = mask_secrets(str(failure).strip())
            raise DaybookError("IO_012", location=location.label, reason=reason) from failure
        rows, newest = row or (0, None)
        return TableState(location.label, column, rows, newest)

    def has_appended_slice(self, location: Location, slices: frozenset[str] | None, workspace: Path) -> bool:
        return self.writer.has_appended_slice(location, slices, workspace)

    def find_leftovers(
        self, datasource: DataSource, workspace: Path, storage: Storage = PROVIDER_STORAGE
    ) -> Iterator[Leftover]:
        with connect_postgresql(postgresql_source(datasource), workspace) as connection:
            query = "select schemaname, tablename from pg_tables where starts_with(tablename, %s) order by 1, 2"
            tables = connection.execute(query, (STAGED_PREFIX,)).fetchall()
        for schema, table in tables:
            owner = parse_staged_name(table.removesuffix(ACKNOWLEDGED_SUFFIX))
            if owner is not None:
                yield Leftover(owner[0], datasource=datasource, table=table, schema=schema)

    def remove_leftover(self, leftover: Leftover, workspace: Path) -> None:
        source = postgresql_source(leftover.datasource)
        with connect_postgresql(source, workspace) as connection:
            name = sql.Identifier(leftover.schema or source.options.schema_name, leftover.table or "")
            connection.execute(sql.SQL("drop table if exists {}").format(name))

    def ping(self, datasource: DataSource, workspace: Path, storage: Storage = PROVIDER_STORAGE) -> str:
        source = postgresql_source(datasource)
        with connect_postgresql(source, workspace) as connection:
            return f"PostgreSQL {connection.info.server_version // 10000} at {source.options.host}"


FORMAT: Format = PostgresqlFormat()
