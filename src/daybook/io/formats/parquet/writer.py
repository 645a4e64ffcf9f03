"""Writing Parquet: files as Spark writes them, joined by copying their rows."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from daybook.io.column_types import arrow_type
from daybook.io.formats.files.writer import FileWriter
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
