"""Other databases through JDBC: Spark fills a staging table, one transaction moves its rows."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType as SparkType
from pyspark.sql.types import DecimalType as SparkDecimal

from daybook.errors import DaybookError
from daybook.expression import quote_identifier
from daybook.io.column_types import spark_data_type
from daybook.io.format import Format
from daybook.io.formats.databases.dialect import Database, Dialect, Ledger, stored_columns
from daybook.io.formats.databases.writer import DatabaseWriter
from daybook.io.formats.jdbc.table import (
    JdbcConnection,
    JdbcRows,
    TableName,
    jdbc_options,
    jdbc_source,
    jdbc_transaction,
)
from daybook.io.landing.batches import RowSource
from daybook.io.landing.landing_request import LandingRequest
from daybook.io.storage import PROVIDER_STORAGE, Storage
from daybook.io.target import OutputColumn, TableTarget
from daybook.io.writer import FingerprintObserver, StagedOutput
from daybook.model.datasource import DataSource
from daybook.model.secrets import mask_secrets
from daybook.model.types import RUN_PERIOD_COLUMN, DateType, DecimalType, TimestampType
from daybook.resolve.location import Location

# Names that are no key words anywhere.
_LEDGER = Ledger("daybook_ledger", entry="entry", target="target_table", mode="output_mode", rows="row_count")
_LEDGER_COLUMNS = {
    "run_id": "VARCHAR(128) NOT NULL",
    "operation_seq": "INTEGER NOT NULL",
    "target_table": "VARCHAR(128) NOT NULL",
    "output_mode": "VARCHAR(20) NOT NULL",
    "run_period": "VARCHAR(128)",
    "row_count": "DECIMAL(19) NOT NULL",
    "project_id": "VARCHAR(128) NOT NULL",
    "operation_id": "VARCHAR(128) NOT NULL",
    "entry": "DECIMAL(19) NOT NULL",
    "workspace": "VARCHAR(128)",
    "workspace_id": "VARCHAR(128)",
}


class JdbcDatabase(Database):
    ledger = _LEDGER

    def __init__(self, connection: JdbcConnection, schema: str | None) -> None:
        self.connection = connection
        self._schema = schema
        self._tables: dict[str, TableName] = {}

    def quote(self, *names: str | None) -> str:
        return self.connection.quoted(*names)

    def table(self, name: str) -> str:
        table_name = self._find(name)
        return (
            self.quote(table_name.schema or self._schema, table_name.name)
            if table_name
            else self.quote(self._schema, name)
        )

    def execute(self, statement: str, parameters: Sequence[object] = ()) -> int:
        return self.connection.execute(statement, parameters)

    def query(self, statement: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return self.connection.query(statement, parameters)

    def has_table(self, table: str) -> bool:
        return self._find(table) is not None

    def columns(self, table: str) -> dict[str, str | None] | None:
        """Types are every database's own."""
        table_name = self._find(table)
        return None if table_name is None else dict.fromkeys(self.connection.columns(table_name))

    def column_definition(self, column: OutputColumn) -> str:
        raise NotImplementedError("Spark knows the types of the database")

    def create_ledger(self) -> None:
        defined = ", ".join(f"{self.quote(name)} {type_}" for name, type_ in _LEDGER_COLUMNS.items())
        key = f"PRIMARY KEY ({self.quote('run_id')}, {self.quote('operation_seq')})"
        unique = f"UNIQUE ({self.quote(self.ledger.entry)})"
        self.execute(f"create table {self.table(self.ledger.table)} ({defined}, {key}, {unique})")

    def add_ledger_column(self, name: str) -> None:
        """Every database has the first of these words, and some have only them."""
        self.execute(f"alter table {self.table(self.ledger.table)} add {self.quote(name)} {_LEDGER_COLUMNS[name]}")

    def ledger_condition(self, table: str) -> tuple[str, tuple[str, ...]]:
        """As it is written, and as the database spells it."""
        table_name = self._find(table)
        names = tuple(dict.fromkeys((table, *([table_name.name] if table_name else []))))
        return f"{self.quote(self.ledger.target)} in ({', '.join('?' * len(names))})", names

    def entry_number(self) -> dict[str, object]:
        """Entries count up and are unique, so that of two commits at once one fails."""
        entry = self.ledger.entry
        ((last,),) = self.query(f"select max({self.quote(entry)}) from {self.table(self.ledger.table)}")
        return {entry: int(last or 0) + 1}

    def commit(self) -> None:
        self.connection.commit()

    def _find(self, name: str) -> TableName | None:
        if name not in self._tables and (table_name := self.connection.find_table(self._schema, name)) is not None:
            self._tables[name] = table_name
        return self._tables.get(name)


class JdbcDialect(Dialect[JdbcDatabase]):
    # Types and their changes are every database's own.
    has_changeable_columns = False
    records_first = True

    @contextmanager
    def connect(self, target: TableTarget) -> Iterator[JdbcDatabase]:
        source = jdbc_source(target.datasource)
        with jdbc_transaction(_active_session(), source, target.workspace) as connection:
            yield JdbcDatabase(connection, connection.find_schema(target.schema) if target.schema else None)

    def stage(self, df: DataFrame, target: TableTarget) -> StagedOutput:
        name = target.new_attempt_name()
        watch = FingerprintObserver(target.columns)
        try:
            # Made empty first, to see what the database makes of the types.
            self._write_table(_with_period(df.limit(0), target), target, name)
            exact = self._refuse_lost_digits(_refuse_lost_days(df, target), target, name)
            self._write_table(_with_period(watch.on(exact), target), target, name, mode="append")
        except PySparkException as failure:
            raise DaybookError("IO_026", location=target.label, reason=mask_secrets(str(failure))) from failure
        return StagedOutput(name, watch.rows, watch.fingerprint, digest=watch.digest)

    def create_table(self, database: JdbcDatabase, staged: StagedOutput, target: TableTarget) -> None:
        """Made empty by Spark, which knows the database's types; the rows come with the transaction."""
        empty = self._read_table(_active_session(), target, staged.staging).limit(0)
        self._write_table(empty, target, target.table, mode="append")

    def replace_rows(self, database: JdbcDatabase, target: TableTarget) -> int:
        return database.execute(f"delete from {database.table(target.table)}")

    def insert_staged(self, database: JdbcDatabase, staged: StagedOutput, target: TableTarget) -> int:
        listed = ", ".join(database.quote(column.name) for column in stored_columns(target))
        table, staging = database.table(target.table), database.table(staged.staging)
        return database.execute(f"insert into {table} ({listed}) select {listed} from {staging}")

    def drop_staging(self, target: TableTarget, staging: str) -> None:
        self.discard(target)

    def discard(self, target: TableTarget) -> None:
        with self.connect(target) as database:
            for name in database.connection.tables_beginning(f"{target.staging_key}."):
                database.execute(f"drop table {database.table(name)}")
            database.commit()

    def _write_table(self, df: DataFrame, target: TableTarget, table: str, mode: str = "error") -> None:
        writer = df.write.format("jdbc").options(**self._table_options(target, table))
        if target.run_period is not None:
            # Large-object types, which some databases use for text, cannot be compared.
            writer = writer.option("createTableColumnTypes", f"{RUN_PERIOD_COLUMN} VARCHAR(128)")
        writer.mode(mode).save()

    def _read_table(self, spark: SparkSession, target: TableTarget, table: str) -> DataFrame:
        return spark.read.format("jdbc").options(**self._table_options(target, table)).load()

    def _table_options(self, target: TableTarget, table: str) -> dict[str, str]:
        with self.connect(target) as database:
            name = database.table(table)
        return {**jdbc_options(jdbc_source(target.datasource), target.workspace), "dbtable": name}

    def _refuse_lost_digits(self, df: DataFrame, target: TableTarget, staging: str) -> DataFrame:
        """Databases round decimals that have more digits than a column, or make it narrower than it was asked for."""
        with self.connect(target) as database:
            tables = (staging, target.table) if database.has_table(target.table) else (staging,)
        checked: dict[str, Column] = {}
        for table in tables:
            schema = self._read_table(df.sparkSession, target, table).schema
            stored = {field.name: field.dataType for field in schema}
            for column in target.columns:
                type_ = stored.get(column.name)
                if not isinstance(column.type, DecimalType) or type_ is None or _holds_decimal(type_, column.type):
                    continue
                value = F.col(quote_identifier(column.name))
                is_kept = value.eqNullSafe(value.try_cast(type_).try_cast(spark_data_type(column.type)))
                problem = f" in column {column.name} does not fit the database's {type_.simpleString()}"
                failed = F.raise_error(F.concat(value.cast("string"), F.lit(problem)))
                kept = checked.get(column.name, value)
                checked[column.name] = F.when(is_kept, kept).otherwise(failed.cast(spark_data_type(column.type)))
        return df.withColumns(checked) if checked else df


def _active_session() -> SparkSession:
    """The commit of a JDBC target needs the JVM that has the driver."""
    spark = SparkSession.getActiveSession()
    if spark is None:
        raise DaybookError("IO_031", format="jdbc", missing="an active Spark session")
    return spark


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


def _holds_decimal(stored: SparkType, declared: DecimalType) -> bool:
    if not isinstance(stored, SparkDecimal):
        return False
    return stored.scale >= declared.scale and stored.precision - stored.scale >= declared.precision - declared.scale


class JdbcFormat(Format):
    """A retry removes what killed runs staged; without a session it cannot be found."""

    name = "jdbc"
    needs_session = True

    @cached_property
    def writer(self) -> DatabaseWriter:
        return DatabaseWriter(JdbcDialect())

    def table_rows(
        self, spark: SparkSession | None, location: Location, request: LandingRequest, scratch: str
    ) -> RowSource:
        if spark is None:
            raise ValueError("the driver needs a session")
        return JdbcRows(spark, location, request.version, request.workspace, scratch, request.storage)

    def has_appended_slice(self, location: Location, slices: frozenset[str] | None, workspace: Path) -> bool:
        return self.writer.has_appended_slice(location, slices, workspace)

    def ping(self, datasource: DataSource, workspace: Path, storage: Storage = PROVIDER_STORAGE) -> str:
        return f"{jdbc_source(datasource).options.driver}, checked when a run uses it"


FORMAT: Format = JdbcFormat()
