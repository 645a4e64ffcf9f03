"""Writing SQLite: Spark stages Parquet beside the database, one transaction of one writer takes it in.

The standard library's driver is used: it keeps the type of every value, and a transaction spans all statements.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from daybook.errors import DaybookError
from daybook.io.fingerprint import FingerprintObserver
from daybook.io.formats.database import (
    LEDGER_COLUMNS,
    LEDGER_TABLE,
    check_existing_table,
    ledger_entry,
    refuse_emptying,
    refuse_other_writer,
    replaced_period,
    stored_columns,
)
from daybook.io.formats.sqlite.table import (
    column_type,
    columns_of,
    database_path,
    declared_type,
    open_for_writing,
    quote_name,
    value_encoder,
)
from daybook.io.target import OutputColumn, TableTarget
from daybook.io.writer import (
    Commit,
    Fence,
    StagedOutput,
    no_fence,
    remove_tree,
    staged_parquet_files,
    translate_spark_failures,
)
from daybook.model.types import RUN_PERIOD_COLUMN

_BATCH_ROWS = 20_000


class SqliteWriter:
    def check(self, target: TableTarget) -> None:
        path = _target_database(target)
        if path.exists():
            with _connection(path) as connection:
                if _find_commit(connection, target) is None:
                    _check_table(connection, target)

    def stage(self, df: DataFrame, target: TableTarget) -> StagedOutput:
        path = _target_database(target)
        path.parent.mkdir(parents=True, exist_ok=True)
        seen = "0"
        if path.exists():
            with _connection(path) as connection:
                seen = _slice_version(connection, target)
        work = path.parent / f".{target.new_attempt_name()}"
        watch = FingerprintObserver(target.columns)
        with translate_spark_failures(target):
            watch.on(df).write.mode("error").parquet(str(work))
        files = staged_parquet_files(str(work))
        return StagedOutput(str(work), sum(file.rows for file in files), watch.fingerprint, files, seen)

    def commit(self, staged: StagedOutput, target: TableTarget, fence: Fence = no_fence) -> Commit:
        try:
            with _connection(_target_database(target)) as connection:
                connection.execute("begin immediate")
                if (done := _find_commit(connection, target)) is None:
                    _move_rows(connection, staged, target)
                    fence()
                    connection.execute("commit")
        except sqlite3.Error as failure:
            raise DaybookError("IO_026", location=target.label, reason=str(failure)) from failure
        remove_tree(Path(staged.staging))
        return done or Commit(staged.rows)

    def committed(self, target: TableTarget) -> Commit | None:
        path = _target_database(target)
        if not path.exists():
            return None
        with _connection(path) as connection:
            return _find_commit(connection, target)

    def discard(self, target: TableTarget) -> None:
        parent = _target_database(target).parent
        for work in parent.glob(f".{target.staging_key}.*") if parent.is_dir() else ():
            remove_tree(work)


def _target_database(target: TableTarget) -> Path:
    return database_path(target.datasource, target.workspace)


@contextmanager
def _connection(path: Path) -> Iterator[sqlite3.Connection]:
    """Closing without a commit rolls back."""
    connection = open_for_writing(path)
    try:
        yield connection
    finally:
        connection.close()


def _find_commit(connection: sqlite3.Connection, target: TableTarget) -> Commit | None:
    if columns_of(connection, LEDGER_TABLE) is None:
        return None
    query = f"select rows from {LEDGER_TABLE} where run_id = ? and operation_seq = ?"
    row = connection.execute(query, (target.run_id, target.operation_seq)).fetchone()
    return None if row is None else Commit(row[0], is_repeat=True)


def _check_table(connection: sqlite3.Connection, target: TableTarget) -> tuple[OutputColumn, ...]:
    existing = columns_of(connection, target.table)
    declared = existing and {name: declared_type(type_) for name, type_ in existing.items()}
    return check_existing_table(target, declared)


def _slice_version(connection: sqlite3.Connection, target: TableTarget) -> str:
    if columns_of(connection, LEDGER_TABLE) is None:
        return "0"
    period = replaced_period(target)
    query = (
        f"select coalesce(max(id), 0) from {LEDGER_TABLE} where target = ? and mode <> 'append' "
        "and (? is null or run_period = ? or mode = 'replace')"
    )
    return str(connection.execute(query, (target.table, period, period)).fetchone()[0])


def _column_definitions(columns: tuple[OutputColumn, ...]) -> str:
    return ", ".join(f"{quote_name(column.name)} {column_type(column.type)}" for column in columns)


def _move_rows(connection: sqlite3.Connection, staged: StagedOutput, target: TableTarget) -> None:
    """Everything of a commit but its COMMIT."""
    connection.execute(
        f"create table if not exists {LEDGER_TABLE} (id integer primary key autoincrement, run_id text not null, "
        "operation_seq integer not null, target text not null, mode text not null, run_period text, "
        "rows integer not null, project_id text not null, operation_id text not null, "
        "committed_at text not null default current_timestamp, unique (run_id, operation_seq))"
    )
    refuse_other_writer(target, staged, _slice_version(connection, target))
    columns = stored_columns(target)
    table = quote_name(target.table)
    added = _check_table(connection, target)
    removed = _delete_replaced(connection, target)
    refuse_emptying(target, staged, removed)
    connection.execute(f"create table if not exists {table} ({_column_definitions(columns)})")
    for column in added:
        connection.execute(f"alter table {table} add column {_column_definitions((column,))}")
    _insert_staged(connection, staged, target, columns)
    marks = ", ".join("?" * len(LEDGER_COLUMNS))
    statement = f"insert into {LEDGER_TABLE} ({', '.join(LEDGER_COLUMNS)}) values ({marks})"
    connection.execute(statement, ledger_entry(target, staged.rows))


def _delete_replaced(connection: sqlite3.Connection, target: TableTarget) -> int:
    table = quote_name(target.table)
    if columns_of(connection, target.table) is None:
        return 0
    match target.mode:
        case "replace":
            rows: int = connection.execute(f"select count(*) from {table}").fetchone()[0]
            connection.execute(f"drop table {table}")
            return rows
        case "replace_period":
            return connection.execute(
                f"delete from {table} where {RUN_PERIOD_COLUMN} = ?", (target.run_period,)
            ).rowcount
        case "append" | "error":
            return 0


def _insert_staged(
    connection: sqlite3.Connection, staged: StagedOutput, target: TableTarget, columns: tuple[OutputColumn, ...]
) -> None:
    names = ", ".join(quote_name(column.name) for column in columns)
    marks = ", ".join("?" * len(columns))
    statement = f"insert into {quote_name(target.table)} ({names}) values ({marks})"
    for file in staged.files:
        for batch in pq.ParquetFile(Path(staged.staging) / file.path).iter_batches(_BATCH_ROWS):
            values = [
                _encode_values(batch.column(column.name).to_pylist(), column, target) for column in target.columns
            ]
            if target.run_period is not None:
                values.append([target.run_period] * batch.num_rows)
            connection.executemany(statement, zip(*values, strict=True))


def _encode_values(values: list[Any], column: OutputColumn, target: TableTarget) -> list[Any]:
    convert = value_encoder(column.type)
    try:
        return values if convert is None else [convert(value) for value in values]
    except ValueError as failure:
        raise DaybookError("IO_029", location=target.label, column=column.name, reason=str(failure)) from failure
