"""Landing any other database: Spark reads it by JDBC into scratch Parquet, which is landed like the rest."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import types as spark_types

from daybook.errors import DaybookError, raise_all
from daybook.expression import quote_identifier
from daybook.io.column_types import arrow_type, stored_type_fits
from daybook.io.formats.jdbc.connecting import source_of, spark_options, table_expression
from daybook.io.landing.rows import Batch, row_numbers
from daybook.io.place import list_files, spark_uri, store_of
from daybook.io.tables import Binding, bind, missing_columns
from daybook.model.catalog import DatasetVersion
from daybook.resolve.location import Location

_FETCHED = 10_000


class JdbcRows:
    def __init__(
        self, spark: SparkSession, location: Location, version: DatasetVersion, workspace: Path, scratch: str
    ) -> None:
        self._spark = spark
        self._source = source_of(location.datasource)
        self.name = ".".join(part for part in (self._source.id, location.schema, location.table) if part)
        self.carried: frozenset[str] = frozenset()
        self.extra: frozenset[str] = frozenset()
        self._location = location
        self._version = version
        self._workspace = workspace
        self._scratch = scratch

    def batches(self) -> Iterator[Batch]:
        reader = self._spark.read.format("jdbc").options(**spark_options(self._source, self._workspace))
        try:
            df = reader.option("fetchsize", _FETCHED).option("dbtable", self._table()).load()
        except PySparkException as failure:
            raise DaybookError("IO_012", location=self.name, reason=str(failure)) from failure
        # Databases that fold names to upper case still bind to declared names.
        stored = {field.name: field.dataType for field in df.schema.fields}
        bindings = bind(stored, self._version, self._location)
        raise_all([*missing_columns(bindings, self.name), *self._type_findings(bindings.all, stored)])
        self.carried = frozenset(binding.name for binding in bindings.carried)
        self.extra = frozenset(bindings.extra)
        try:
            names = [quote_identifier(binding.stored) for binding in bindings.all]
            df.select(*names).write.mode("error").parquet(spark_uri(self._scratch))
        except PySparkException as failure:
            raise DaybookError("IO_012", location=self.name, reason=str(failure)) from failure
        yield from self._read_back(bindings.all)

    def _table(self) -> str:
        at = self._location
        return table_expression(self._spark, self._source, self._workspace, at.schema, at.table or "")

    def _read_back(self, bindings: tuple[Binding, ...]) -> Iterator[Batch]:
        first = 0
        for file in list_files(self._scratch):
            place = store_of(file.path)
            with place.system.open_input_file(place.path) as stream:
                for batch in pq.ParquetFile(stream).iter_batches():
                    columns = {b.name: batch.column(b.stored).cast(arrow_type(b.type)) for b in bindings}
                    yield Batch(columns, batch.num_rows, row_numbers(first))
                    first += batch.num_rows
            place.system.delete_file(place.path)

    def _type_findings(
        self, bindings: tuple[Binding, ...], stored: dict[str, spark_types.DataType]
    ) -> list[DaybookError]:
        errors = []
        for binding in bindings:
            found = stored.get(binding.stored)
            if found is not None and not stored_type_fits(_as_arrow(found), binding.type):
                name, declared = found.simpleString(), str(binding.type)
                errors.append(
                    DaybookError("IO_003", file=self.name, column=binding.stored, found=name, declared=declared)
                )
        return errors


def _as_arrow(type_: spark_types.DataType) -> pa.DataType:
    match type_:
        case spark_types.DecimalType():
            return pa.decimal128(type_.precision, type_.scale)
        case spark_types.TimestampType() | spark_types.TimestampNTZType():
            return pa.timestamp("us", tz="UTC")
        case _:
            names = {
                "tinyint": pa.int8(),
                "smallint": pa.int16(),
                "int": pa.int32(),
                "bigint": pa.int64(),
                "float": pa.float32(),
                "double": pa.float64(),
                "boolean": pa.bool_(),
                "date": pa.date32(),
            }
            text = isinstance(type_, spark_types.StringType)
            return pa.string() if text else names.get(type_.simpleString(), pa.binary())
