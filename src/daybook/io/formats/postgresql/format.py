"""PostgreSQL: tables are landed by one query and written through a staging table."""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import adbc_driver_manager
import psycopg
import pyarrow as pa
from psycopg import sql
from pyspark.sql import SparkSession

from daybook.errors import DaybookError
from daybook.io.format import Format, Leftover
from daybook.io.formats.databases.writer import DatabaseWriter
from daybook.io.formats.postgresql.table import PostgresqlRows, columns_of, connect_postgresql, postgresql_source
from daybook.io.formats.postgresql.writer import ACKNOWLEDGED_SUFFIX, PostgresqlDialect
from daybook.io.landing.request import LandingRequest
from daybook.io.landing.rows import RowSource
from daybook.io.pins import TableState
from daybook.io.rows.stored import SourceBlock, StoredRows, dataset_of
from daybook.io.target import STAGED_PREFIX, TableTarget, parse_staged_name
from daybook.io.writer import Commit
from daybook.model.datasource import DataSource
from daybook.model.secrets import mask_secrets
from daybook.resolve.locations.location import Location


class PostgresqlFormat(Format):
    name = "postgresql"

    @cached_property
    def writer(self) -> DatabaseWriter:
        return DatabaseWriter(PostgresqlDialect())

    @property
    def storage_errors(self) -> tuple[type[Exception], ...]:
        return (psycopg.Error, adbc_driver_manager.Error, pa.ArrowException)

    def table_rows(self, spark: SparkSession, location: Location, request: LandingRequest, scratch: str) -> RowSource:
        return PostgresqlRows(location, request.version, request.workspace, request.slices)

    def committed_rows(self, target: TableTarget, commit: Commit) -> StoredRows:
        self.writer.require_current(target)
        slices = None if target.run_period is None else frozenset({target.run_period})
        rows = PostgresqlRows(target.location, dataset_of(target.columns), target.workspace, slices)
        return StoredRows(target.columns, (SourceBlock(rows),), is_columnar=False)

    def table_exists(self, location: Location, workspace: Path) -> bool:
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
                # Times are told apart whatever zone the session has.
                connection.execute("set time zone 'UTC'")
                found = connection.execute(query).fetchone()
        except psycopg.Error as failure:
            reason = mask_secrets(str(failure).strip())
            raise DaybookError("IO_012", location=location.label, reason=reason) from failure
        rows, newest = found or (0, None)
        return TableState(location.label, column, rows, newest)

    def has_appended_slice(self, location: Location, slices: frozenset[str] | None, workspace: Path) -> bool:
        return self.writer.has_appended_slice(location, slices, workspace)

    def find_leftovers(self, datasource: DataSource, workspace: Path) -> Iterator[Leftover]:
        with connect_postgresql(postgresql_source(datasource), workspace) as connection:
            query = "select schemaname, tablename from pg_tables where starts_with(tablename, %s) order by 1, 2"
            found = connection.execute(query, (STAGED_PREFIX,)).fetchall()
        for schema, table in found:
            owner = parse_staged_name(table.removesuffix(ACKNOWLEDGED_SUFFIX))
            if owner is not None:
                yield Leftover(owner[0], datasource=datasource, table=table, schema=schema)

    def remove_leftover(self, leftover: Leftover, workspace: Path) -> None:
        source = postgresql_source(leftover.datasource)
        with connect_postgresql(source, workspace) as connection:
            name = sql.Identifier(leftover.schema or source.options.schema_name, leftover.table or "")
            connection.execute(sql.SQL("drop table if exists {}").format(name))

    def ping(self, datasource: DataSource, workspace: Path) -> str:
        source = postgresql_source(datasource)
        with connect_postgresql(source, workspace) as connection:
            return f"PostgreSQL {connection.info.server_version // 10000} at {source.options.host}"


FORMAT: Format = PostgresqlFormat()
