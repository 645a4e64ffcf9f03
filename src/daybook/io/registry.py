"""The writer of every format."""

from typing import assert_never

from pyspark.sql import SparkSession

from daybook.io.writing import Commit, Staged, Target, Writer
from daybook.resolve.location import Format

# Their drivers live in the JVM, so nothing can be asked of their tables before it runs.
NEEDS_SESSION: frozenset[Format] = frozenset({"jdbc"})


def writer_for(format_: Format) -> Writer:
    """Imported when asked for, so that a format's packages are only needed by those who use it."""
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
