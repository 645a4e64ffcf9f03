"""The reader of rows and the writer of every format.

They are imported when asked for, so that a format's packages are only needed by those who use it.
"""

from typing import assert_never

from pyspark.sql import SparkSession

from daybook.io.landing.request import LandingRequest, TextFile
from daybook.io.landing.rows import RowSource
from daybook.io.writer import Commit, StagedOutput, Target, Writer
from daybook.model.definition import DatasetVersion
from daybook.resolve.locations.location import Format, Location

# Their drivers live in the JVM, so nothing can be asked of their tables before it runs.
FORMATS_NEEDING_SESSION: frozenset[Format] = frozenset({"jdbc"})


def open_file_rows(file: TextFile, version: DatasetVersion) -> RowSource:
    """The rows of a text file."""
    from daybook.io.formats.files.csv import CsvRows
    from daybook.io.formats.files.json import JsonRows

    rows = CsvRows if file.location.format == "csv" else JsonRows
    return rows(file.stat.path, file.location, version, file.given)


def open_table_rows(spark: SparkSession, location: Location, request: LandingRequest, scratch: str) -> RowSource:
    """The rows of a table; `scratch` is a folder for what Spark fetches."""
    version, workspace = request.version, request.workspace
    match location.format:
        case "postgresql":
            from daybook.io.formats.postgresql.table import PostgresqlRows

            return PostgresqlRows(location, version, workspace, request.slices)
        case "sqlite":
            from daybook.io.formats.sqlite.table import SqliteRows

            return SqliteRows(location, version, workspace, request.slices)
        case "jdbc":
            from daybook.io.formats.jdbc.table import JdbcRows

            return JdbcRows(spark, location, version, workspace, scratch)
        case _:
            raise ValueError(f"{location.format} has no tables")


def writer_for(format_: Format) -> Writer:
    match format_:
        case "delta":
            from daybook.io.formats.delta.writer import DeltaWriter

            return DeltaWriter()
        case "parquet" | "csv" | "json":
            from daybook.io.formats.files.writer import FileWriter

            return FileWriter()
        case "postgresql":
            from daybook.io.formats.postgresql.writer import PostgresqlWriter

            return PostgresqlWriter()
        case "sqlite":
            from daybook.io.formats.sqlite.writer import SqliteWriter

            return SqliteWriter()
        case "jdbc":
            from daybook.io.formats.jdbc.writer import JdbcWriter

            return JdbcWriter()
        case _:
            assert_never(format_)


def written_fingerprint(spark: SparkSession, target: Target, staged: StagedOutput, commit: Commit) -> str:
    """The fingerprint of what an output wrote: taken in the pass, or from the files of its Delta version."""
    if staged.fingerprint is not None:
        return staged.fingerprint
    from daybook.io.formats.delta.writer import DeltaWriter

    return DeltaWriter().fingerprint(spark, target, commit)
