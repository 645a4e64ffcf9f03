"""Reads tables through JDBC: Spark reads them into temporary Parquet, one connection of the driver commits."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import types as spark_types

from daybook.errors import DaybookError, raise_all
from daybook.expression import quote_identifier
from daybook.io.bindings import Binding, bind_columns, missing_column_errors
from daybook.io.column_types import arrow_equivalent, arrow_type, stored_type_fits
from daybook.io.filesystem import arrow_path, list_files, spark_uri
from daybook.io.formats.databases.dialect import read_secret
from daybook.io.landing.batches import Batch, row_position_from
from daybook.io.storage import Storage
from daybook.model.datasource import DataSource, JdbcSource
from daybook.model.definition import DatasetVersion
from daybook.model.secrets import mask_secrets
from daybook.resolve.location import Location

# Names that mean themselves without quotes in every database.
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def jdbc_source(datasource: DataSource | None) -> JdbcSource:
    if not isinstance(datasource, JdbcSource):
        raise ValueError("a JDBC table needs a data source of that type")
    return datasource


def jdbc_options(source: JdbcSource, workspace: Path) -> dict[str, str]:
    options = {"url": source.options.url, "driver": source.options.driver}
    if source.options.user is not None:
        options["user"] = source.options.user
    if (password := read_secret(source.credential_ref, workspace)) is not None:
        options["password"] = password
    return options


@dataclass(frozen=True, slots=True)
class TableName:
    """A table as the database itself spells it."""

    schema: str | None
    name: str


class JdbcConnection:
    """Statements on the driver's own connection, in one transaction."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._metadata = connection.getMetaData()
        self._quote = str(self._metadata.getIdentifierQuoteString()).strip()

    def quoted(self, *names: str | None) -> str:
        mark = self._quote
        if not mark and any(name and not _PLAIN_NAME.fullmatch(name) for name in names):
            shown = ".".join(filter(None, names))
            raise DaybookError("IO_012", location=shown, reason="this database has no quotes for such a name")
        return ".".join(f"{mark}{name.replace(mark, mark * 2) if mark else name}{mark}" for name in names if name)

    def execute(self, statement: str, parameters: Sequence[object] = ()) -> int:
        prepared = self._prepare(statement, parameters)
        try:
            return int(prepared.executeUpdate())
        finally:
            prepared.close()

    def query(self, statement: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Numbers come as numbers or decimals, texts as text."""
        prepared = self._prepare(statement, parameters)
        try:
            result = prepared.executeQuery()
            width = range(1, result.getMetaData().getColumnCount() + 1)
            rows = []
            while result.next():
                rows.append(tuple(result.getObject(index) for index in width))
            return rows
        finally:
            prepared.close()

    def _prepare(self, statement: str, parameters: Sequence[object]) -> Any:
        prepared = self._connection.prepareStatement(statement)
        for index, value in enumerate(parameters, start=1):
            prepared.setObject(index, value)
        return prepared

    def find_table(self, schema: str | None, table: str) -> TableName | None:
        """As it is written, else in the case that the database folds names to."""
        for change in (str, str.upper, str.lower):
            name, below = change(table), change(schema) if schema else None
            for candidate in self._tables(below, name):
                # Some databases have no schemas and ignore the one that is asked for.
                if candidate.name == name and (below is None or candidate.schema in (None, below)):
                    return TableName(below, name)
        return None

    def find_schema(self, name: str | None) -> str | None:
        """As the database spells it; as it is written where there is none."""
        schemas = self._metadata.getSchemas()
        stored_names = set()
        while schemas.next():
            stored_names.add(str(schemas.getString("TABLE_SCHEM")))
        spellings = (name, name.upper(), name.lower()) if name else ()
        return next((spelling for spelling in spellings if spelling in stored_names), name)

    def columns(self, at: TableName) -> list[str]:
        rows = self._metadata.getColumns(None, self._pattern(at.schema), self._pattern(at.name), None)
        names = []
        while rows.next():
            if str(rows.getString("TABLE_NAME")) == at.name:
                names.append(str(rows.getString("COLUMN_NAME")))
        return names

    def tables_beginning(self, prefix: str) -> list[str]:
        tables = self._tables(None, prefix, "%")
        return [table.name for table in tables if table.name.startswith(prefix)]

    def _tables(self, schema: str | None, name: str, rest: str = "") -> list[TableName]:
        rows = self._metadata.getTables(None, self._pattern(schema), f"{self._pattern(name)}{rest}", None)
        tables = []
        while rows.next():
            below = rows.getString("TABLE_SCHEM")
            tables.append(TableName(None if below is None else str(below), str(rows.getString("TABLE_NAME"))))
        return tables

    def _pattern(self, name: str | None) -> str | None:
        """A name with escaped wildcards."""
        escape = str(self._metadata.getSearchStringEscape())
        return None if name is None else re.sub(r"[_%]", lambda match: escape + match[0], name)

    def commit(self) -> None:
        self._connection.commit()


@contextmanager
def jdbc_transaction(spark: SparkSession, source: JdbcSource, workspace: Path) -> Iterator[JdbcConnection]:
    """A connection that rolls back unless committed.

    Spark runs no statements of others over JDBC, and only the JVM has the driver; so this one module asks the
    classic session's JVM for a connection. A Connect session has none and cannot commit to JDBC.
    """
    jvm = getattr(spark, "_jvm", None)
    if jvm is None:
        raise DaybookError("IO_031", format="jdbc", missing="a classic Spark session instead of Spark Connect")
    from py4j.protocol import Py4JJavaError

    options = jdbc_options(source, workspace)
    try:
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        driver = (
            loader.loadClass(options["driver"])
            .getDeclaredConstructor(_empty_class_array(jvm))
            .newInstance(_empty_object_array(jvm))
        )
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
        reason = mask_secrets(str(failure.java_exception.getMessage()))
        raise DaybookError("IO_012", location=source.id, reason=reason) from failure
    try:
        yield JdbcConnection(connection)
    except Py4JJavaError as failure:
        reason = mask_secrets(str(failure.java_exception.getMessage()))
        raise DaybookError("IO_026", location=source.id, reason=reason) from failure
    finally:
        connection.rollback()
        connection.close()


def _empty_class_array(jvm: Any) -> Any:
    return jvm.java.lang.reflect.Array.newInstance(jvm.java.lang.Class.forName("java.lang.Class"), 0)


def _empty_object_array(jvm: Any) -> Any:
    return jvm.java.lang.reflect.Array.newInstance(jvm.java.lang.Class.forName("java.lang.Object"), 0)


def table_expression(spark: SparkSession, source: JdbcSource, workspace: Path, schema: str | None, table: str) -> str:
    """The table as Spark's reader takes it: a quoted name, or one that needs no quotes; never a query."""
    # Snapshots of earlier Daybooks keep both in one name.
    if schema is None and table.count(".") == 1:
        schema, table = table.split(".")
    label = ".".join(filter(None, (source.id, schema, table)))
    if getattr(spark, "_jvm", None) is None:
        # Only the virtual machine could say how the database quotes.
        names = [name for name in (schema, table) if name]
        if not all(map(_PLAIN_NAME.fullmatch, names)):
            reason = "over Spark Connect names of tables have letters, digits and _ only"
            raise DaybookError("IO_012", location=label, reason=reason)
        return ".".join(names)
    with jdbc_transaction(spark, source, workspace) as connection:
        table_name = connection.find_table(schema, table)
        if table_name is None:
            hint = "write table, or schema and table, as the database has them; a query cannot be used"
            raise DaybookError("IO_001", location=label, hint=hint)
        return connection.quoted(table_name.schema, table_name.name)


_FETCH_SIZE = 10_000


class JdbcRows:
    def __init__(
        self,
        spark: SparkSession,
        location: Location,
        version: DatasetVersion,
        workspace: Path,
        scratch: str,
        storage: Storage,
    ) -> None:
        self._spark = spark
        self._storage = storage
        self._source = jdbc_source(location.datasource)
        self.name = ".".join(part for part in (self._source.id, location.schema, location.table) if part)
        self.carried: frozenset[str] = frozenset()
        self.extra: frozenset[str] = frozenset()
        self._location = location
        self._version = version
        self._workspace = workspace
        self._scratch = scratch

    def batches(self) -> Iterator[Batch]:
        reader = self._spark.read.format("jdbc").options(**jdbc_options(self._source, self._workspace))
        try:
            df = reader.option("fetchsize", _FETCH_SIZE).option("dbtable", self._table()).load()
        except PySparkException as failure:
            raise DaybookError("IO_012", location=self.name, reason=mask_secrets(str(failure))) from failure
        # Databases that fold names to upper case still bind to declared names.
        stored = {field.name: field.dataType for field in df.schema.fields}
        bindings = bind_columns(stored, self._version, self._location)
        raise_all([*missing_column_errors(bindings, self.name), *self._type_findings(bindings.all, stored)])
        self.carried = frozenset(binding.name for binding in bindings.carried)
        self.extra = frozenset(bindings.extra)
        try:
            names = [quote_identifier(binding.stored) for binding in bindings.all]
            writer = df.select(*names).write.options(**self._storage.spark_options(self._scratch))
            writer.mode("error").parquet(spark_uri(self._scratch, self._storage))
        except PySparkException as failure:
            raise DaybookError("IO_012", location=self.name, reason=mask_secrets(str(failure))) from failure
        yield from self._read_back(bindings.all)

    def _table(self) -> str:
        at = self._location
        return table_expression(self._spark, self._source, self._workspace, at.schema, at.table_name)

    def _read_back(self, bindings: tuple[Binding, ...]) -> Iterator[Batch]:
        first = 0
        for file in list_files(self._scratch, storage=self._storage):
            place = arrow_path(file.path, self._storage)
            with place.system.open_input_file(place.path) as stream:
                for batch in pq.ParquetFile(stream).iter_batches():
                    columns = {b.name: batch.column(b.stored).cast(arrow_type(b.type)) for b in bindings}
                    yield Batch(columns, batch.num_rows, row_position_from(first))
                    first += batch.num_rows
            place.system.delete_file(place.path)

    def _type_findings(
        self, bindings: tuple[Binding, ...], stored: dict[str, spark_types.DataType]
    ) -> list[DaybookError]:
        errors = []
        for binding in bindings:
            stored_type = stored.get(binding.stored)
            if stored_type is not None and not stored_type_fits(arrow_equivalent(stored_type), binding.type):
                name, declared = stored_type.simpleString(), str(binding.type)
                errors.append(
                    DaybookError("IO_003", file=self.name, column=binding.stored, found=name, declared=declared)
                )
        return errors
