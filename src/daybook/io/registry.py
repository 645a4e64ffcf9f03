"""The reader of rows and the writer of every format.

They are imported when asked for, so that a format's packages are only needed by those who use it.
"""

from typing import assert_never

from pyspark.sql import SparkSession

from daybook.io.landing.found_files import FoundFile
from daybook.io.landing.request import LandingRequest
from daybook.io.landing.rows import RowSource
from daybook.io.writing import Commit, Staged, Target, Writer
from daybook.model.catalog import DatasetVersion
from daybook.resolve.location import Format, Location

# Their drivers live in the JVM, so nothing can be asked of their tables before it runs.
NEEDS_SESSION: frozenset[Format] = frozenset({"jdbc"})


def file_rows(file: FoundFile, version: DatasetVersion) -> RowSource:
    """The rows of a text file."""
    from daybook.io.landing.csv_rows import CsvRows
    from daybook.io.landing.json_rows import JsonRows

    rows = CsvRows if file.location.format == "csv" else JsonRows
    return rows(file.stat.path, file.location, version, file.given)


def table_rows(spark: SparkSession, location: Location, request: LandingRequest, scratch: str) -> RowSource:
    """The rows of a table; `scratch` is a folder for what Spark fetches."""
    version, workspace = request.version, request.workspace
    match location.format:
        case "postgresql":
            from daybook.io.formats.postgresql.reading import PostgresqlRows

            return PostgresqlRows(location, version, workspace, request.slices)
        case "sqlite":
            from daybook.io.formats.sqlite.reading import SqliteRows

            return SqliteRows(location, version, workspace, request.slices)
        case "jdbc":
            from daybook.io.formats.jdbc.reading import JdbcRows

            return JdbcRows(spark, location, version, workspace, scratch)
        case _:
            raise ValueError(f"{location.format} has no tables")


def writer_for(format_: Format) -> Writer:
    match format_:
        case "delta":
            from daybook.io.formats.delta.writing import DeltaWriter

            return DeltaWriter()
        case "parquet" | "csv" | "json":
            from daybook.io.formats.files.writing import FileWriter

            return FileWriter()
        case "postgresql":
            from daybook.io.formats.postgresql.writing import PostgresqlWriter

            return PostgresqlWriter()
        case "sqlite":
            from daybook.io.formats.sqlite.writing import SqliteWriter

            return SqliteWriter()
        case "jdbc":
            from daybook.io.formats.jdbc.writing import JdbcWriter

            return JdbcWriter()
        case _:
            assert_never(format_)


def written_fingerprint(spark: SparkSession, target: Target, staged: Staged, commit: Commit) -> str:
    """The fingerprint of what an output wrote: taken in the pass, or from the files of its Delta version."""
    if staged.fingerprint is not None:
        return staged.fingerprint
    from daybook.io.formats.delta.writing import DeltaWriter

    return DeltaWriter().fingerprint(spark, target, commit)
