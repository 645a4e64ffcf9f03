"""Writing PostgreSQL: tasks COPY into a staging table, one transaction moves the acknowledged rows."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession

from daybook.engine.settings import set_meanwhile
from daybook.errors import DaybookError
from daybook.io.fingerprint import Watch
from daybook.io.formats.postgresql import ingest
from daybook.io.formats.postgresql.connecting import address, connect, options_of_source
from daybook.io.formats.postgresql.refusal import told_by_column
from daybook.io.formats.postgresql.tables import (
    Connection,
    column_list,
    column_type,
    columns_of,
    create_ledger,
    declared_type,
    named,
    schema_of,
)
from daybook.io.ledger import (
    COLUMNS,
    LEDGER,
    check_existing,
    entry_of,
    refuse_emptying,
    refuse_lost_rows,
    refuse_other_writer,
    replaced_period,
    stored_columns,
)
from daybook.io.staging import attempt_name, spark_writes
from daybook.io.writing import Commit, Fence, OutputColumn, Staged, Target, no_fence
from daybook.model.system_columns import RUN_PERIOD
from daybook.model.types import INTEGER

_MAX_NAME = 63
_ACKNOWLEDGED = ".ack"

# With a limit in bytes Spark weighs the batch anew for every row that it adds.
_BATCHES = {
    "spark.sql.execution.arrow.maxBytesPerBatch": str((1 << 31) - 1),
    "spark.sql.execution.arrow.maxRecordsPerBatch": "2000",
}


class PostgresqlWriter:
    def check(self, target: Target) -> None:
        if len(f"{attempt_name(target)}{_ACKNOWLEDGED}".encode()) > _MAX_NAME:
            raise ValueError(f"run id {target.run_id!r} is too long to name a staging table")
        with _connection(target) as connection:
            if _committed(connection, target) is None:
                _check_table(connection, target)

    def stage(self, df: DataFrame, target: Target) -> Staged:
        source = options_of_source(target.datasource)
        name = attempt_name(target)
        with _connection(target) as connection:
            create_ledger(connection, target)
            seen = _slice_version(connection, target)
            tag = OutputColumn(ingest.ATTEMPT, INTEGER)
            # A table that is read once and dropped is not worth vacuuming or analysing.
            _execute(
                connection,
                "create unlogged table {} ({}) with (autovacuum_enabled = off)",
                named(target, name),
                column_list((*target.columns, tag)),
            )
            _execute(
                connection,
                "create unlogged table {} (attempt bigint primary key, rows bigint not null)",
                named(target, name + _ACKNOWLEDGED),
            )
        register(df.sparkSession)
        watch = Watch(target.columns)
        writer = (
            watch.on(df)
            .write.format(ingest.FORMAT)
            .option(ingest.ADDRESS, address(source, target.workspace))
            .option(ingest.SCHEMA, schema_of(target))
            .option(ingest.TABLE, name)
            .option(ingest.ACKNOWLEDGED, name + _ACKNOWLEDGED)
            .mode("append")
        )
        with told_by_column(target), spark_writes(target), set_meanwhile(df.sparkSession, _BATCHES):
            writer.save()
        with _connection(target) as connection:
            query = sql.SQL("select coalesce(sum(rows), 0)::bigint from {}").format(named(target, name + _ACKNOWLEDGED))
            row = connection.execute(query).fetchone()
        return Staged(name, int(row[0]) if row else 0, watch.fingerprint, seen=seen)

    def commit(self, staged: Staged, target: Target, fence: Fence = no_fence) -> Commit:
        try:
            with _connection(target) as connection:
                if (done := _committed(connection, target)) is not None:
                    return done
                _move(connection, staged, target)
                fence()
                connection.commit()
                _drop(connection, target, staged.place)
        except psycopg.errors.UniqueViolation:
            if (done := self.committed(target)) is not None:
                return done
            raise DaybookError("IO_024", location=target.place, slice=target.slice_note) from None
        except psycopg.Error as failure:
            raise DaybookError("IO_026", location=target.place, reason=str(failure).strip()) from failure
        return Commit(staged.rows)

    def committed(self, target: Target) -> Commit | None:
        with _connection(target) as connection:
            return _committed(connection, target)

    def discard(self, target: Target) -> None:
        with _connection(target) as connection:
            found = connection.execute(
                "select tablename from pg_tables where schemaname = %s and tablename like %s escape '!'",
                (schema_of(target), target.key.replace("!", "!!").replace("_", "!_").replace("%", "!%") + ".%"),
            ).fetchall()
            for (name,) in found:
                _execute(connection, "drop table if exists {}", named(target, name))


def register(spark: SparkSession) -> None:
    """Make the data source known to the session, carried by value."""
    module = sys.modules[ingest.__name__]
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    try:
        spark.dataSource.register(ingest.CopySource)
    finally:
        cloudpickle.unregister_pickle_by_value(module)  # type: ignore[no-untyped-call]


@contextmanager
def _connection(target: Target) -> Iterator[Connection]:
    """A transaction that commits when the block ends well."""
    connection = connect(options_of_source(target.datasource), target.workspace)
    try:
        with connection:
            yield connection
    finally:
        connection.close()


def _execute(connection: Connection, statement: str, *parts: sql.Composable) -> int:
    query = sql.SQL(statement).format(*parts)
    return connection.execute(query).rowcount


def _committed(connection: Connection, target: Target) -> Commit | None:
    if columns_of(connection, schema_of(target), LEDGER) is None:
        return None
    query = sql.SQL("select rows from {} where run_id = %s and operation_seq = %s").format(named(target, LEDGER))
    row = connection.execute(query, (target.run_id, target.operation_seq)).fetchone()
    return None if row is None else Commit(int(row[0]), is_repeat=True)


def _check_table(connection: Connection, target: Target) -> tuple[OutputColumn, ...]:
    """The columns to add to an existing table; what may not be written is refused."""
    existing = columns_of(connection, schema_of(target), target.table or "")
    declared = existing and {name: declared_type(type_) for name, type_ in existing.items()}
    return check_existing(target, declared)


def _slice_version(connection: Connection, target: Target) -> str:
    """The last commit to the slice, or to the whole table."""
    query = sql.SQL(
        "select coalesce(max(id), 0) from {} where target = %s and mode <> 'append' "
        "and (%s::text is null or run_period = %s or mode = 'replace')"
    ).format(named(target, LEDGER))
    period = replaced_period(target)
    row = connection.execute(query, (target.table, period, period)).fetchone()
    return str(row[0]) if row else "0"


def _move(connection: Connection, staged: Staged, target: Target) -> None:
    """Everything of a commit but its COMMIT; the lock keeps other writers out and lets readers go on."""
    columns = stored_columns(target)
    if columns_of(connection, schema_of(target), target.table or "") is None:
        _execute(connection, "create table {} ({})", named(target), column_list(columns))
    else:
        _execute(connection, "lock table {} in share row exclusive mode", named(target))
        for column in _check_table(connection, target):
            _execute(connection, "alter table {} add column {}", named(target), column_list((column,)))
    refuse_other_writer(target, staged, _slice_version(connection, target))
    refuse_emptying(target, staged, _remove(connection, target))
    if target.mode == "replace":
        _take_columns(connection, target, columns)
    _insert(connection, staged, target)
    _record(connection, staged, target)


def _remove(connection: Connection, target: Target) -> int:
    match target.mode:
        case "replace":
            return _execute(connection, "delete from {}", named(target))
        case "replace_period":
            period = sql.Literal(target.run_period)
            return _execute(
                connection, "delete from {} where {} = {}", named(target), sql.Identifier(RUN_PERIOD), period
            )
        case "append" | "error":
            return 0


def _take_columns(connection: Connection, target: Target, columns: tuple[OutputColumn, ...]) -> None:
    """Give an emptied table other columns in place, so that readers with an older snapshot keep their rows."""
    existing = columns_of(connection, schema_of(target), target.table or "") or {}
    stored = {name: declared_type(type_) for name, type_ in existing.items()}
    wanted = {column.name: str(column.type) for column in columns}
    for name, type_ in stored.items():
        if wanted.get(name) != type_:
            _execute(connection, "alter table {} drop column {}", named(target), sql.Identifier(name))
    for column in columns:
        if stored.get(column.name) != str(column.type):
            _execute(
                connection,
                "alter table {} add column {} {}",
                named(target),
                sql.Identifier(column.name),
                column_type(column.type),
            )


def _insert(connection: Connection, staged: Staged, target: Target) -> None:
    names = [sql.Identifier(column.name) for column in target.columns]
    into, values = list(names), list[sql.Composable](names)
    if target.run_period is not None:
        into.append(sql.Identifier(RUN_PERIOD))
        values.append(sql.Literal(target.run_period))
    moved = _execute(
        connection,
        "insert into {} ({}) select {} from {} where {} in (select attempt from {})",
        named(target),
        sql.SQL(", ").join(into),
        sql.SQL(", ").join(values),
        named(target, staged.place),
        sql.Identifier(ingest.ATTEMPT),
        named(target, staged.place + _ACKNOWLEDGED),
    )
    refuse_lost_rows(target, staged, moved)


def _record(connection: Connection, staged: Staged, target: Target) -> None:
    names = sql.SQL(", ").join(map(sql.Identifier, COLUMNS))
    values = sql.SQL(", ").join([sql.Placeholder()] * len(COLUMNS))
    statement = sql.SQL("insert into {} ({}) values ({})").format(named(target, LEDGER), names, values)
    connection.execute(statement, entry_of(target, staged.rows))


def _drop(connection: Connection, target: Target, name: str) -> None:
    _execute(connection, "drop table if exists {}", named(target, name))
    _execute(connection, "drop table if exists {}", named(target, name + _ACKNOWLEDGED))
