"""Batches into Parquet: in memory while they are few, streamed to disk and finished by Spark when they are many."""

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from daybook.engine.path_pattern import literal
from daybook.engine.source import ORDINAL, PLACE
from daybook.expression import quote_identifier
from daybook.io.column_types import arrow_type, spark_type
from daybook.io.landing.area import LandedFile, LandingArea
from daybook.io.landing.ordinals import identity_columns, is_unique, ordinals, with_ordinals
from daybook.io.landing.rows import Batch
from daybook.io.place import child, list_files, spark_uri, store_of
from daybook.io.tables import Binding

# Beyond this much data in memory, rows are streamed to disk.
IN_MEMORY_BYTES = 64 << 20


class Sink:
    """Collects the rows of one landing attempt."""

    def __init__(
        self, area: LandingArea, attempt: str, columns: Sequence[Binding], limit: int = IN_MEMORY_BYTES
    ) -> None:
        self._area = area
        self._attempt = attempt
        self._columns = tuple(columns)
        self._schema = pa.schema([pa.field(c.name, arrow_type(c.type)) for c in columns])
        self._held: list[pa.RecordBatch] = []
        self._held_bytes = 0
        self._limit = limit
        self._writer: pq.ParquetWriter | None = None
        self._stream: pa.NativeFile | None = None
        self.rows = 0

    def add(self, batch: Batch) -> None:
        arrays = [
            batch.columns.get(field.name, pa.nulls(batch.rows, field.type)).cast(field.type) for field in self._schema
        ]
        record = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        self.rows += record.num_rows
        if self._writer is None:
            self._held.append(record)
            self._held_bytes += record.nbytes
            if self._held_bytes > self._limit:
                self._spill()
        else:
            self._writer.write_batch(record)

    def _spill(self) -> None:
        place = store_of(self._area.absolute(f"{self._attempt}/rows.parquet"))
        self._stream = place.system.open_output_stream(place.path)
        self._writer = pq.ParquetWriter(self._stream, self._schema)
        self._writer.write_table(pa.Table.from_batches(self._held, self._schema))
        self._held = []

    def close(self) -> None:
        """Let go of the open file; harmless at any time."""
        if self._writer is not None:
            self._writer.close()
        if self._stream is not None:
            self._stream.close()

    def finish(
        self, spark: SparkSession, carried: Iterable[str], declared: Sequence[str], natural_key: Sequence[str]
    ) -> tuple[tuple[LandedFile, ...], bool]:
        """The files of the landing, and whether no two of its rows are equal."""
        self.close()
        names = {*declared, *carried}
        columns = [column for column in self._columns if column.name in names]
        identity = identity_columns(columns, natural_key)
        if self._writer is None:
            return self._finish_in_memory(columns, identity)
        return self._finish_with_spark(spark, columns, identity)

    def _finish_in_memory(
        self, columns: Sequence[Binding], identity: Sequence[Binding]
    ) -> tuple[tuple[LandedFile, ...], bool]:
        table = pa.Table.from_batches(self._held, self._schema).select([column.name for column in columns])
        numbers = ordinals(table, identity, columns)
        if numbers is not None:
            table = table.append_column(ORDINAL, pa.array(numbers, pa.int64()))
        path = f"{self._attempt}/rows.parquet"
        place = store_of(self._area.absolute(path))
        pq.write_table(table, place.path, filesystem=place.system)
        return (LandedFile(path, table.num_rows),), numbers is None

    def _finish_with_spark(
        self, spark: SparkSession, columns: Sequence[Binding], identity: Sequence[Binding]
    ) -> tuple[tuple[LandedFile, ...], bool]:
        raw = f"{self._attempt}/rows.parquet"
        schema = ", ".join(f"{quote_identifier(c.name)} {spark_type(c.type).simpleString()}" for c in columns)
        df = spark.read.schema(schema).parquet(literal(spark_uri(self._area.absolute(raw))))
        if is_unique(df, identity, self.rows):
            return (LandedFile(raw, self.rows),), True
        numbered = f"{self._attempt}/numbered"
        target = self._area.absolute(numbered)
        with_ordinals(df, identity, columns).drop(PLACE).write.mode("error").parquet(spark_uri(target))
        place = store_of(self._area.absolute(raw))
        place.system.delete_file(place.path)
        files = []
        for file in list_files(target):
            found = store_of(file.path)
            rows = pq.ParquetFile(found.path, filesystem=found.system).metadata.num_rows
            files.append(LandedFile(child(numbered, file.path.rpartition("/")[2]), rows))
        return tuple(files), False
