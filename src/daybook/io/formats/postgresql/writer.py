"""What PostgreSQL said to a task, which Spark hands on as the last lines of a traceback.

Writing PostgreSQL: tasks COPY into a staging table, one transaction moves the acknowledged rows.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql
from pyspark import cloudpickle
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession

from daybook.engine.java.session_conf import temporary_settings
from daybook.errors import DaybookError
from daybook.io.fingerprint import FingerprintObserver
from daybook.io.formats.database import (
    LEDGER_COLUMNS,
    LEDGER_TABLE,
    check_existing_table,
    ledger_entry,
    refuse_emptying,
    refuse_lost_rows,
    refuse_other_writer,
    replaced_period,
    stored_columns,
)
from daybook.io.formats.postgresql import ingest
from daybook.io.formats.postgresql.table import (
    Connection,
    column_definitions,
    column_type,
    columns_of,
    connect_postgresql,
    connection_uri,
    create_ledger,
    declared_type,
    postgresql_source,
    qualified_name,
    target_schema,
)
from daybook.io.target import OutputColumn, TableTarget
from daybook.io.writer import Commit, Fence, StagedOutput, no_fence, translate_spark_failures
from daybook.model.secrets import mask_secrets
from daybook.model.types import INTEGER, RUN_PERIOD_COLUMN

_SERVER_ERROR = re.compile(r"ERROR:\s+(?P<reason>.+)")
_COPY_COLUMN = re.compile(r"^CONTEXT:\s+COPY .+, line \d+, column (?P<column>.+?)(?:: \".*)?$", re.MULTILINE)
_NUL_BYTE = "0x00"


@contextmanager
def translate_copy_failures(target: TableTarget) -> Iterator[None]:
    """IO_029 for a value that PostgreSQL refused, IO_026 for whatever else it said; other failures pass."""
    try:
        yield
    except PythonException as failure:
        said = _SERVER_ERROR.search(str(failure))
        if said is None:
            raise
        reason = said["reason"].strip()
        if (found := _COPY_COLUMN.search(str(failure))) is None:
            raise DaybookError("IO_026", location=target.label, reason=reason) from failure
        hint = None
        if reason.endswith(_NUL_BYTE):
            reason = "its text holds the character U+0000, which PostgreSQL has no place for"
            hint = "remove the character where the text comes from"
        raise DaybookError(
            "IO_029", location=target.label, column=found["column"], reason=reason, hint=hint
        ) from failure


_MAX_NAME_BYTES = 63
ACKNOWLEDGED_SUFFIX = ".ack"

# With a limit in bytes Spark weighs the batch anew for every row that it adds.
_ARROW_BATCH_CONF = {
    "spark.sql.execution.arrow.maxBytesPerBatch": str((1 << 31) - 1),
    "spark.sql.execution.arrow.maxRecordsPerBatch": "2000",
}


class PostgresqlWriter:
    def check(self, target: TableTarget) -> None:
        if len(f"{target.new_attempt_name()}{ACKNOWLEDGED_SUFFIX}".encode()) > _MAX_NAME_BYTES:
            raise ValueError(f"run id {target.run_id!r} is too long to name a staging table")
        with _connection(target) as connection:
            if _find_commit(connection, target) is None:
                _check_table(connection, target)

    def stage(self, df: DataFrame, target: TableTarget) -> StagedOutput:
        source = postgresql_source(target.datasource)
        name = target.new_attempt_name()
        with _connection(target) as connection:
            create_ledger(connection, target)
            seen = _slice_version(connection, target)
            tag = OutputColumn(ingest.ATTEMPT, INTEGER)
            # A table that is read once and dropped is not worth vacuuming or analysing.
            _execute(
                connection,
                "create unlogged table {} ({}) with (autovacuum_enabled = off)",
                qualified_name(target, name),
                column_definitions((*target.columns, tag)),
            )
            _execute(
                connection,
                "create unlogged table {} (attempt bigint primary key, rows bigint not null)",
                qualified_name(target, name + ACKNOWLEDGED_SUFFIX),
            )
        register_copy_source(df.sparkSession)
        watch = FingerprintObserver(target.columns)
        writer = (
            watch.on(df)
            .write.format(ingest.FORMAT)
            .option(ingest.ADDRESS, connection_uri(source, target.workspace))
            .option(ingest.SCHEMA, target_schema(target))
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
        with _connection(target) as connection:
            query = sql.SQL("select coalesce(sum(rows), 0)::bigint from {}").format(
                qualified_name(target, name + ACKNOWLEDGED_SUFFIX)
            )
            row = connection.execute(query).fetchone()
        return StagedOutput(name, int(row[0]) if row else 0, watch.fingerprint, seen=seen)

    def commit(self, staged: StagedOutput, target: TableTarget, fence: Fence = no_fence) -> Commit:
        try:
            with _connection(target) as connection:
                if (done := _find_commit(connection, target)) is not None:
                    return done
                _move_rows(connection, staged, target)
                fence()
                connection.commit()
                _drop_staging(connection, target, staged.staging)
        except psycopg.errors.UniqueViolation:
            if (done := self.committed(target)) is not None:
                return done
            raise DaybookError("IO_024", location=target.label, slice=target.slice_note) from None
        except psycopg.Error as failure:
            raise DaybookError("IO_026", location=target.label, reason=mask_secrets(str(failure).strip())) from failure
        return Commit(staged.rows)

    def committed(self, target: TableTarget) -> Commit | None:
        with _connection(target) as connection:
            return _find_commit(connection, target)

    def discard(self, target: TableTarget) -> None:
        with _connection(target) as connection:
            found = connection.execute(
                "select tablename from pg_tables where schemaname = %s and tablename like %s escape '!'",
                (
                    target_schema(target),
                    target.staging_key.replace("!", "!!").replace("_", "!_").replace("%", "!%") + ".%",
                ),
            ).fetchall()
            for (name,) in found:
                _execute(connection, "drop table if exists {}", qualified_name(target, name))


def register_copy_source(spark: SparkSession) -> None:
    """Make the data source known to the session, carried by value."""
    module = sys.modules[ingest.__name__]
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    try:
        spark.dataSource.register(ingest.CopySource)
    finally:
        cloudpickle.unregister_pickle_by_value(module)  # type: ignore[no-untyped-call]


@contextmanager
def _connection(target: TableTarget) -> Iterator[Connection]:
    """A transaction that commits when the block ends well."""
    connection = connect_postgresql(postgresql_source(target.datasource), target.workspace)
    try:
        with connection:
            yield connection
    finally:
        connection.close()


def _execute(connection: Connection, statement: str, *parts: sql.Composable) -> int:
    query = sql.SQL(statement).format(*parts)
    return connection.execute(query).rowcount


def _find_commit(connection: Connection, target: TableTarget) -> Commit | None:
    if columns_of(connection, target_schema(target), LEDGER_TABLE) is None:
        return None
    query = sql.SQL("select rows from {} where run_id = %s and operation_seq = %s").format(
        qualified_name(target, LEDGER_TABLE)
    )
    row = connection.execute(query, (target.run_id, target.operation_seq)).fetchone()
    return None if row is None else Commit(int(row[0]), is_repeat=True)


def _check_table(connection: Connection, target: TableTarget) -> tuple[OutputColumn, ...]:
    """The columns to add to an existing table; what may not be written is refused."""
    existing = columns_of(connection, target_schema(target), target.table)
    declared = existing and {name: declared_type(type_) for name, type_ in existing.items()}
    return check_existing_table(target, declared)


def _slice_version(connection: Connection, target: TableTarget) -> str:
    """The last commit to the slice, or to the whole table."""
    query = sql.SQL(
        "select coalesce(max(id), 0) from {} where target = %s and mode <> 'append' "
        "and (%s::text is null or run_period = %s or mode = 'replace')"
    ).format(qualified_name(target, LEDGER_TABLE))
    period = replaced_period(target)
    row = connection.execute(query, (target.table, period, period)).fetchone()
    return str(row[0]) if row else "0"


def _move_rows(connection: Connection, staged: StagedOutput, target: TableTarget) -> None:
    """Everything of a commit but its COMMIT; the lock keeps other writers out and lets readers go on."""
    columns = stored_columns(target)
    if columns_of(connection, target_schema(target), target.table) is None:
        _execute(connection, "create table {} ({})", qualified_name(target), column_definitions(columns))
    else:
        _execute(connection, "lock table {} in share row exclusive mode", qualified_name(target))
        for column in _check_table(connection, target):
            _execute(connection, "alter table {} add column {}", qualified_name(target), column_definitions((column,)))
    refuse_other_writer(target, staged, _slice_version(connection, target))
    refuse_emptying(target, staged, _delete_replaced(connection, target))
    if target.mode == "replace":
        _replace_columns(connection, target, columns)
    _insert_staged(connection, staged, target)
    _record_commit(connection, staged, target)


def _delete_replaced(connection: Connection, target: TableTarget) -> int:
    match target.mode:
        case "replace":
            return _execute(connection, "delete from {}", qualified_name(target))
        case "replace_period":
            period = sql.Literal(target.run_period)
            return _execute(
                connection,
                "delete from {} where {} = {}",
                qualified_name(target),
                sql.Identifier(RUN_PERIOD_COLUMN),
                period,
            )
        case "append" | "error":
            return 0


def _replace_columns(connection: Connection, target: TableTarget, columns: tuple[OutputColumn, ...]) -> None:
    """Give an emptied table other columns in place, so that readers with an older snapshot keep their rows."""
    existing = columns_of(connection, target_schema(target), target.table) or {}
    stored = {name: declared_type(type_) for name, type_ in existing.items()}
    wanted = {column.name: str(column.type) for column in columns}
    for name, type_ in stored.items():
        if wanted.get(name) != type_:
            _execute(connection, "alter table {} drop column {}", qualified_name(target), sql.Identifier(name))
    for column in columns:
        if stored.get(column.name) != str(column.type):
            _execute(
                connection,
                "alter table {} add column {} {}",
                qualified_name(target),
                sql.Identifier(column.name),
                column_type(column.type),
            )


def _insert_staged(connection: Connection, staged: StagedOutput, target: TableTarget) -> None:
    names = [sql.Identifier(column.name) for column in target.columns]
    into, values = list(names), list[sql.Composable](names)
    if target.run_period is not None:
        into.append(sql.Identifier(RUN_PERIOD_COLUMN))
        values.append(sql.Literal(target.run_period))
    moved = _execute(
        connection,
        "insert into {} ({}) select {} from {} where {} in (select attempt from {})",
        qualified_name(target),
        sql.SQL(", ").join(into),
        sql.SQL(", ").join(values),
        qualified_name(target, staged.staging),
        sql.Identifier(ingest.ATTEMPT),
        qualified_name(target, staged.staging + ACKNOWLEDGED_SUFFIX),
    )
    refuse_lost_rows(target, staged, moved)


def _record_commit(connection: Connection, staged: StagedOutput, target: TableTarget) -> None:
    names = sql.SQL(", ").join(map(sql.Identifier, LEDGER_COLUMNS))
    values = sql.SQL(", ").join([sql.Placeholder()] * len(LEDGER_COLUMNS))
    statement = sql.SQL("insert into {} ({}) values ({})").format(qualified_name(target, LEDGER_TABLE), names, values)
    connection.execute(statement, ledger_entry(target, staged.rows))


def _drop_staging(connection: Connection, target: TableTarget, name: str) -> None:
    _execute(connection, "drop table if exists {}", qualified_name(target, name))
    _execute(connection, "drop table if exists {}", qualified_name(target, name + ACKNOWLEDGED_SUFFIX))
