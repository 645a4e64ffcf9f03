"""Parquet files, read where they lie."""

from collections.abc import Iterator
from functools import cached_property

from pyspark.sql import SparkSession

from daybook.io.format import Format, ReadRequest
from daybook.io.formats.files.format import FolderFormat
from daybook.io.formats.parquet.reader import find_parquet, read_parquet
from daybook.io.formats.parquet.writer import ParquetWriter
from daybook.io.pins import FilesPin, ReadPart


class ParquetFormat(FolderFormat):
    name = "parquet"
    is_landed = False

    @cached_property
    def writer(self) -> ParquetWriter:
        return ParquetWriter()

    def read(self, spark: SparkSession, request: ReadRequest) -> Iterator[ReadPart]:
        found = []
        for each in request.locations:
            pin = each.pin if isinstance(each.pin, FilesPin) else None
            found.append(find_parquet(each.location, request.version, request.slices, pin))
        return read_parquet(spark, found)


FORMAT: Format = ParquetFormat()
