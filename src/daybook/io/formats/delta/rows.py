"""Rows of a Delta table without Spark: the log gives the files, Arrow reads them.

`DeltaTable.to_pyarrow_table` does the same, and ends about one process in 25 by an abort after all was done
(deltalake 1.6.6 with pyarrow 26), so it is not used.
"""

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.parquet as pq

from daybook.errors import DaybookError
from daybook.io.filesystem import arrow_path, relative_to
from daybook.io.formats.delta.log import table_uri
from daybook.io.formats.delta.table import (
    data_files,
    open_table,
    refuse_foreign_files,
    refuse_unknown_features,
    version_number,
)
from daybook.io.rows.stored import ParquetPart, StoredRows, parquet_rows
from daybook.io.target import FileTarget, parse_staged_name
from daybook.io.writer import Commit
from daybook.model.types import RUN_PERIOD_COLUMN


def read_rows(uri: str, *, run_period: str | None = None, version: int | None = None) -> pa.Table:
    """The rows of a table, or of the slice of one period, with the columns of its schema."""
    table = open_table(uri, version)
    if table is None:
        raise DaybookError("IO_001", location=uri)
    refuse_unknown_features(table, uri, is_write=False)
    schema = pa.schema(table.schema().to_arrow())
    parts = []
    files = data_files(table, uri)
    refuse_foreign_files(files, uri, {})
    for file in files:
        if run_period is None or file.partitions.get(RUN_PERIOD_COLUMN) == run_period:
            place = arrow_path(file.path)
            with place.system.open_input_file(place.path) as source:
                stored = pq.ParquetFile(source).read()
            parts.append(_with_schema(stored, schema, file.partitions))
    return pa.concat_tables(parts) if parts else schema.empty_table()


def _with_schema(stored: pa.Table, schema: pa.Schema, partitions: Mapping[str, str | None]) -> pa.Table:
    """Columns that the file does not have are those of its folder, or NULL."""
    columns = []
    for field in schema:
        if field.name in stored.column_names:
            columns.append(stored[field.name].cast(field.type))
        else:
            value = pa.scalar(partitions.get(field.name), pa.string()).cast(field.type)
            columns.append(pa.repeat(value, stored.num_rows))
    return pa.table(columns, schema=schema)


def committed_rows(target: FileTarget, commit: Commit) -> StoredRows:
    """What a commit added, at the version it made: the files below the folder that is named after run and operation."""
    uri = target.uri
    table = open_table(uri, version_number(commit.version))
    if table is None:
        raise DaybookError("RUN_084", run_id=target.run_id, location=target.label, reason="the table does not exist")
    refuse_unknown_features(table, uri, is_write=False)
    files = data_files(table, uri)
    refuse_foreign_files(files, uri, target.options)
    parts = [
        ParquetPart(file.path, file.partitions)
        for file in files
        if parse_staged_name(relative_to(file.path, table_uri(uri)).partition("/")[0])
        == (target.run_id, target.operation_seq)
    ]
    rows = parquet_rows(target.columns, parts, target.label)
    if (found := sum(block.rows or 0 for block in rows.blocks)) != commit.rows:
        reason = f"the table has {found} of {commit.rows} rows"
        raise DaybookError("RUN_084", run_id=target.run_id, location=target.label, reason=reason)
    return rows
