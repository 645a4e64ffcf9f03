"""JDBC: options for Spark's reader and writer, and one connection of the driver for the commit."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from daybook.errors import DaybookError
from daybook.io.credentials import secret
from daybook.model.datasource import DataSource, JdbcSource


def source_of(datasource: DataSource | None) -> JdbcSource:
    if not isinstance(datasource, JdbcSource):
        raise ValueError("a JDBC table needs a data source of that type")
    return datasource


def spark_options(source: JdbcSource, workspace: Path) -> dict[str, str]:
    options = {"url": source.options.url, "driver": source.options.driver}
    if source.options.user is not None:
        options["user"] = source.options.user
    if (password := secret(source.credential_ref, workspace)) is not None:
        options["password"] = password
    return options


class JdbcConnection:
    """Statements on the driver's own connection, in one transaction."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._quote = str(connection.getMetaData().getIdentifierQuoteString()).strip()

    def quoted(self, *names: str | None) -> str:
        mark = self._quote
        return ".".join(f"{mark}{name.replace(mark, mark * 2) if mark else name}{mark}" for name in names if name)

    def execute(self, statement: str, parameters: Sequence[object] = ()) -> int:
        prepared = self._connection.prepareStatement(statement)
        try:
            for index, value in enumerate(parameters, start=1):
                prepared.setObject(index, value)
            return int(prepared.executeUpdate())
        finally:
            prepared.close()

    def number(self, query: str, parameters: Sequence[object] = ()) -> int | None:
        """The single number a query gives; None when it gives no row or NULL."""
        prepared = self._connection.prepareStatement(query)
        try:
            for index, value in enumerate(parameters, start=1):
                prepared.setObject(index, value)
            result = prepared.executeQuery()
            if not result.next():
                return None
            value = result.getLong(1)
            return None if result.wasNull() else int(value)
        finally:
            prepared.close()

    def has_table(self, schema: str | None, table: str) -> bool:
        found = self._connection.getMetaData().getTables(None, schema, table, None)
        return bool(found.next())

    def tables(self, prefix: str) -> list[str]:
        found = self._connection.getMetaData().getTables(None, None, prefix + "%", None)
        names = []
        while found.next():
            names.append(str(found.getString("TABLE_NAME")))
        return [name for name in names if name.startswith(prefix)]

    def commit(self) -> None:
        self._connection.commit()


@contextmanager
def transaction(spark: SparkSession, source: JdbcSource, workspace: Path) -> Iterator[JdbcConnection]:
    """A connection that rolls back unless committed.

    Spark runs no statements of others over JDBC, and only the JVM has the driver; so this one module asks the
    classic session's JVM for a connection. A Connect session has none and cannot commit to JDBC.
    """
    jvm = getattr(spark, "_jvm", None)
    if jvm is None:
        raise DaybookError("IO_031", format="jdbc", missing="a classic Spark session instead of Spark Connect")
    from py4j.protocol import Py4JJavaError

    options = spark_options(source, workspace)
    try:
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        driver = loader.loadClass(options["driver"]).getDeclaredConstructor(_no_classes(jvm)).newInstance(_nothing(jvm))
    except Py4JJavaError:
        hint = "Add the jar with engine: {conf: {spark.jars: ...}}."
        raise DaybookError("IO_031", format="jdbc", missing=f"the driver {options['driver']}", hint=hint) from None
    properties = jvm.java.util.Properties()
    for name in ("user", "password"):
        if name in options:
            properties.setProperty(name, options[name])
    try:
        connection = driver.connect(options["url"], properties)
        connection.setAutoCommit(False)
    except Py4JJavaError as failure:
        reason = str(failure.java_exception.getMessage())
        raise DaybookError("IO_012", location=source.id, reason=reason) from failure
    try:
        yield JdbcConnection(connection)
    except Py4JJavaError as failure:
        reason = str(failure.java_exception.getMessage())
        raise DaybookError("IO_026", location=source.id, reason=reason) from failure
    finally:
        connection.rollback()
        connection.close()


def _no_classes(jvm: Any) -> Any:
    return jvm.java.lang.reflect.Array.newInstance(jvm.java.lang.Class.forName("java.lang.Class"), 0)


def _nothing(jvm: Any) -> Any:
    return jvm.java.lang.reflect.Array.newInstance(jvm.java.lang.Class.forName("java.lang.Object"), 0)


def table_expression(spark: SparkSession, source: JdbcSource, workspace: Path, schema: str | None, table: str) -> str:
    """The table as Spark's reader takes it: quoted where it exists just so, else as the user wrote it."""
    if getattr(spark, "_jvm", None) is not None:
        with transaction(spark, source, workspace) as connection:
            if connection.has_table(schema, table):
                return connection.quoted(schema, table)
    return f"{schema}.{table}" if schema else table
