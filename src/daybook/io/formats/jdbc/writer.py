"""Writing any other database: Spark's JDBC writer fills a staging table, one transaction moves its rows."""

import uuid

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType as SparkType
from pyspark.sql.types import DecimalType as SparkDecimal

from daybook.errors import DaybookError
from daybook.expression import quote_identifier
from daybook.io.column_types import spark_data_type
from daybook.io.fingerprint import FingerprintObserver
from daybook.io.formats.database import (
    check_existing_table,
    ledger_entry,
    refuse_emptying,
    refuse_lost_rows,
    refuse_other_writer,
    replaced_period,
    stored_columns,
)
from daybook.io.formats.jdbc.table import JdbcConnection, jdbc_options, jdbc_source, jdbc_transaction
from daybook.io.target import TableTarget
from daybook.io.writer import Commit, Fence, StagedOutput, no_fence
from daybook.model.secrets import mask_secrets
from daybook.model.types import RUN_PERIOD_COLUMN, DateType, DecimalType, TimestampType

JDBC_LEDGER_TABLE = "daybook_ledger"
# Names that are no key words anywhere, in the order of `entry_of`; the number of the entry comes last.
_LEDGER_DEFINITION = (
    ("run_id", "VARCHAR(128) NOT NULL"),
    ("operation_seq", "INTEGER NOT NULL"),
    ("target_table", "VARCHAR(128) NOT NULL"),
    ("output_mode", "VARCHAR(20) NOT NULL"),
    ("run_period", "VARCHAR(128)"),
    ("row_count", "DECIMAL(19) NOT NULL"),
    ("project_id", "VARCHAR(128) NOT NULL"),
    ("operation_id", "VARCHAR(128) NOT NULL"),
    ("entry", "DECIMAL(19) NOT NULL"),
)


class JdbcWriter:
    def check(self, target: TableTarget) -> None:
        spark = _active_session()
        with jdbc_transaction(spark, jdbc_source(target.datasource), target.workspace) as connection:
            if _find_commit(connection, target) is None:
                _check_table(spark, connection, target)

    def stage(self, df: DataFrame, target: TableTarget) -> StagedOutput:
        spark = df.sparkSession
        source = jdbc_source(target.datasource)
        name = _staging_name(target)
        with jdbc_transaction(spark, source, target.workspace) as connection:
            seen = _slice_version(connection, target)
        watch = FingerprintObserver(target.columns)
        try:
            # Made empty first, to see what the database makes of the types.
            _write_table(_with_period(df.limit(0), target), target, name)
            exact = _refuse_lost_digits(_refuse_lost_days(df, target), target, name)
            _write_table(_with_period(watch.on(exact), target), target, name, mode="append")
        except PySparkException as failure:
            raise DaybookError("IO_026", location=target.label, reason=mask_secrets(str(failure))) from failure
        return StagedOutput(name, watch.rows, watch.fingerprint, seen=seen)

    def commit(self, staged: StagedOutput, target: TableTarget, fence: Fence = no_fence) -> Commit:
        spark = _active_session()
        source = jdbc_source(target.datasource)
        with jdbc_transaction(spark, source, target.workspace) as connection:
            _create_ledger(connection, target)
        with jdbc_transaction(spark, source, target.workspace) as connection:
            if (done := _find_commit(connection, target)) is not None:
                return done
            _check_table(spark, connection, target)
            if not connection.has_table(target.schema, target.table):
                # Made empty by Spark, which knows the database's types; the rows come with the transaction below.
                _write_table(_empty_like(spark, target, staged.staging), target, target.table, mode="append")
            _move_rows(connection, staged, target)
            fence()
            connection.commit()
        self.discard(target)
        return Commit(staged.rows)

    def committed(self, target: TableTarget) -> Commit | None:
        with jdbc_transaction(_active_session(), jdbc_source(target.datasource), target.workspace) as connection:
            return _find_commit(connection, target)

    def discard(self, target: TableTarget) -> None:
        with jdbc_transaction(_active_session(), jdbc_source(target.datasource), target.workspace) as connection:
            for name in connection.tables(_staging_prefix(target)):
                connection.execute(f"drop table {connection.quoted(target.schema, name)}")
            connection.commit()


def _active_session() -> SparkSession:
    """The commit of a JDBC target needs the JVM that has the driver."""
    spark = SparkSession.getActiveSession()
    if spark is None:
        raise DaybookError("IO_031", format="jdbc", missing="an active Spark session")
    return spark


def _staging_prefix(target: TableTarget) -> str:
    return f"{target.staging_key}."


def _staging_name(target: TableTarget) -> str:
    return f"{_staging_prefix(target)}{uuid.uuid4().hex[:8]}"


def _write_table(df: DataFrame, target: TableTarget, table: str, mode: str = "error") -> None:
    source = jdbc_source(target.datasource)
    with jdbc_transaction(df.sparkSession, source, target.workspace) as connection:
        name = connection.quoted(target.schema, table)
    writer = df.write.format("jdbc").options(**jdbc_options(source, target.workspace)).option("dbtable", name)
    if target.run_period is not None:
        # Large-object types, which some databases use for text, cannot be compared.
        writer = writer.option("createTableColumnTypes", f"{RUN_PERIOD_COLUMN} VARCHAR(128)")
    writer.mode(mode).save()


def _refuse_lost_days(df: DataFrame, target: TableTarget) -> DataFrame:
    """Java's dates for JDBC jump from 4 to 15 October 1582 and would move what lies between."""
    days = [column.name for column in target.columns if isinstance(column.type, DateType | TimestampType)]
    checked = {}
    for name in days:
        value = F.col(quote_identifier(name))
        is_lost = value.cast("date").between(F.lit("1582-10-05").cast("date"), F.lit("1582-10-14").cast("date"))
        message = F.lit(f"column {name} holds a day of October 1582 that JDBC cannot store")
        checked[name] = F.when(is_lost, F.raise_error(message).cast(df.schema[name].dataType)).otherwise(value)
    return df.withColumns(checked) if checked else df


def _with_period(df: DataFrame, target: TableTarget) -> DataFrame:
    return df if target.run_period is None else df.withColumn(RUN_PERIOD_COLUMN, F.lit(target.run_period))


def _refuse_lost_digits(df: DataFrame, target: TableTarget, staging: str) -> DataFrame:
    """Databases round decimals that have more digits than a column, or make it narrower than it was asked for."""
    spark = df.sparkSession
    with jdbc_transaction(spark, jdbc_source(target.datasource), target.workspace) as connection:
        is_there = connection.has_table(target.schema, target.table)
    checked: dict[str, Column] = {}
    for table in (staging, target.table) if is_there else (staging,):
        stored = {field.name: field.dataType for field in _read_table(spark, target, table).schema}
        for column in target.columns:
            type_ = stored.get(column.name)
            if not isinstance(column.type, DecimalType) or type_ is None or _holds_decimal(type_, column.type):
                continue
            value = F.col(quote_identifier(column.name))
            is_kept = value.eqNullSafe(value.try_cast(type_).try_cast(spark_data_type(column.type)))
            told = f" in column {column.name} does not fit the database's {type_.simpleString()}"
            failed = F.raise_error(F.concat(value.cast("string"), F.lit(told)))
            kept = checked.get(column.name, value)
            checked[column.name] = F.when(is_kept, kept).otherwise(failed.cast(spark_data_type(column.type)))
    return df.withColumns(checked) if checked else df


def _holds_decimal(stored: SparkType, asked: DecimalType) -> bool:
    if not isinstance(stored, SparkDecimal):
        return False
    return stored.scale >= asked.scale and stored.precision - stored.scale >= asked.precision - asked.scale


def _empty_like(spark: SparkSession, target: TableTarget, staging: str) -> DataFrame:
    return _read_table(spark, target, staging).limit(0)


def _read_table(spark: SparkSession, target: TableTarget, table: str) -> DataFrame:
    source = jdbc_source(target.datasource)
    with jdbc_transaction(spark, source, target.workspace) as connection:
        name = connection.quoted(target.schema, table)
    return spark.read.format("jdbc").options(**jdbc_options(source, target.workspace)).option("dbtable", name).load()


def _ledger_name(connection: JdbcConnection, target: TableTarget) -> str:
    return connection.quoted(target.schema, JDBC_LEDGER_TABLE)


def _create_ledger(connection: JdbcConnection, target: TableTarget) -> None:
    if connection.has_table(target.schema, JDBC_LEDGER_TABLE):
        return
    defined = ", ".join(f"{connection.quoted(name)} {type_}" for name, type_ in _LEDGER_DEFINITION)
    keys = f"{connection.quoted('run_id')}, {connection.quoted('operation_seq')}"
    unique = f"UNIQUE ({connection.quoted('entry')})"
    connection.execute(f"create table {_ledger_name(connection, target)} ({defined}, PRIMARY KEY ({keys}), {unique})")
    connection.commit()


def _find_commit(connection: JdbcConnection, target: TableTarget) -> Commit | None:
    if not connection.has_table(target.schema, JDBC_LEDGER_TABLE):
        return None
    query = (
        f"select {connection.quoted('row_count')} from {_ledger_name(connection, target)} "
        f"where {connection.quoted('run_id')} = ? and {connection.quoted('operation_seq')} = ?"
    )
    rows = connection.number(query, (target.run_id, target.operation_seq))
    return None if rows is None else Commit(rows, is_repeat=True)


def _slice_version(connection: JdbcConnection, target: TableTarget) -> str:
    """The last commit to the slice or to the whole table."""
    if not connection.has_table(target.schema, JDBC_LEDGER_TABLE):
        return "0"
    name = connection.quoted
    query = (
        f"select max({name('entry')}) from {_ledger_name(connection, target)} "
        f"where {name('target_table')} = ? and {name('output_mode')} <> 'append'"
    )
    parameters: tuple[object, ...] = (target.table,)
    if (period := replaced_period(target)) is not None:
        query += f" and ({name('run_period')} = ? or {name('output_mode')} = 'replace')"
        parameters += (period,)
    return str(connection.number(query, parameters) or 0)


def _check_table(spark: SparkSession, connection: JdbcConnection, target: TableTarget) -> None:
    """Types and their changes are every database's own, so a table keeps the columns it has, whatever the mode."""
    if not connection.has_table(target.schema, target.table):
        return
    existing = dict.fromkeys(_read_table(spark, target, target.table).columns)
    if check_existing_table(target, existing, is_changeable=False):
        reason = "columns cannot be added by JDBC"
        raise DaybookError("IO_032", location=target.label, mode=target.mode, reason=reason)


def _move_rows(connection: JdbcConnection, staged: StagedOutput, target: TableTarget) -> None:
    table = connection.quoted(target.schema, target.table)
    # The ledger row comes first: it makes a second writer of the table wait or fail.
    _record_commit(connection, staged, target)
    removed = 0
    if target.mode == "replace":
        removed = connection.execute(f"delete from {table}")
    elif target.mode == "replace_period":
        where = f"where {connection.quoted(RUN_PERIOD_COLUMN)} = ?"
        removed = connection.execute(f"delete from {table} {where}", (target.run_period,))
    refuse_emptying(target, staged, removed)
    listed = ", ".join(connection.quoted(column.name) for column in stored_columns(target))
    staging = connection.quoted(target.schema, staged.staging)
    moved = connection.execute(f"insert into {table} ({listed}) select {listed} from {staging}")
    refuse_lost_rows(target, staged, moved)


def _record_commit(connection: JdbcConnection, staged: StagedOutput, target: TableTarget) -> None:
    """Entries count up and are unique, so that of two commits at once one fails."""
    name = connection.quoted
    ledger = _ledger_name(connection, target)
    refuse_other_writer(target, staged, _slice_version(connection, target))
    entry = (connection.number(f"select max({name('entry')}) from {ledger}") or 0) + 1
    listed = ", ".join(name(column) for column, _ in _LEDGER_DEFINITION)
    values = (*ledger_entry(target, staged.rows), entry)
    # A typed NULL cannot be bound by every driver, so a missing period is written as one.
    marks = ["NULL" if value is None else "?" for value in values]
    given = [value for value in values if value is not None]
    connection.execute(f"insert into {ledger} ({listed}) values ({', '.join(marks)})", given)
