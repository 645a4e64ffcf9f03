"""What Daybook knows of any other database: Spark reads and writes it by its JDBC driver."""

from functools import cached_property
from pathlib import Path

from pyspark.sql import SparkSession

from daybook.io.format import Format
from daybook.io.formats.databases.writer import DatabaseWriter
from daybook.io.formats.jdbc.table import JdbcRows, jdbc_source
from daybook.io.formats.jdbc.writer import JdbcDialect
from daybook.io.landing.request import LandingRequest
from daybook.io.landing.rows import RowSource
from daybook.model.datasource import DataSource
from daybook.resolve.locations.location import Location


class JdbcFormat(Format):
    """What dead runs staged is removed by their retry: without a session nobody can look for it."""

    name = "jdbc"
    needs_session = True

    @cached_property
    def writer(self) -> DatabaseWriter:
        return DatabaseWriter(JdbcDialect())

    def table_rows(self, spark: SparkSession, location: Location, request: LandingRequest, scratch: str) -> RowSource:
        return JdbcRows(spark, location, request.version, request.workspace, scratch)

    def has_appended_slice(self, location: Location, slices: frozenset[str] | None, workspace: Path) -> bool:
        return self.writer.has_appended_slice(location, slices, workspace)

    def identity(self, location: Location, workspace: Path) -> str:
        """Databases fold names in their own way, so case and quotes do not tell tables apart."""
        url = jdbc_source(location.datasource).options.url
        schema, table = (location.schema or "").casefold(), (location.table_name).strip('"').casefold()
        return f"{url}/{schema}/{table}"

    def ping(self, datasource: DataSource, workspace: Path) -> str:
        return f"{jdbc_source(datasource).options.driver}, checked when a run uses it"


FORMAT: Format = JdbcFormat()
