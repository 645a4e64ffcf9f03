"""Parquet files: read where they lie, written by Spark, joined by copying their rows."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from daybook.io.column_types import arrow_type
from daybook.io.format import Format, ReadRequest
from daybook.io.formats.files.format import FilePart, FolderFormat
from daybook.io.formats.files.writer import FileWriter
from daybook.io.formats.parquet.reader import find_parquet, read_parquet
from daybook.io.pins import FilesPin, ReadPart
from daybook.io.rows.stored import ParquetPart, StoredRows, parquet_rows
from daybook.io.target import FileTarget
from daybook.io.writer import declared_type_text


class ParquetWriter(FileWriter):
    extensions = (".parquet", ".parq", ".pq")

    def write_parts(self, df: DataFrame, folder: Path, target: FileTarget, options: Mapping[str, Any]) -> None:
        df.write.mode("error").parquet(str(folder))

    def join_parts(self, parts: Sequence[Path], file: Path, target: FileTarget, options: Mapping[str, Any]) -> None:
        schema = pa.schema([(column.name, arrow_type(column.type)) for column in target.columns])
        with pq.ParquetWriter(file, schema) as writer:
            for part in parts:
                for batch in pq.ParquetFile(part).iter_batches():
                    writer.write_batch(batch.cast(schema))

    def row_count(self, file: Path) -> int:
        return int(pq.read_metadata(file).num_rows)

    def stored_columns(self, file: Path) -> Mapping[str, str] | None:
        return {field.name: declared_type_text(field.type) for field in pq.read_schema(file)}


class ParquetFormat(FolderFormat):
    name = "parquet"
    is_landed = False

    @cached_property
    def writer(self) -> ParquetWriter:
        return ParquetWriter()

    def stored_rows(self, target: FileTarget, parts: Sequence[FilePart]) -> StoredRows:
        return parquet_rows(target.columns, [ParquetPart(part.path, part.constants) for part in parts], target.label)

    def read(self, spark: SparkSession, request: ReadRequest) -> Iterator[ReadPart]:
        found = []
        for each in request.locations:
            pin = each.pin if isinstance(each.pin, FilesPin) else None
            found.append(find_parquet(each.location, request.version, request.slices, pin))
        return read_parquet(spark, found)


FORMAT: Format = ParquetFormat()
