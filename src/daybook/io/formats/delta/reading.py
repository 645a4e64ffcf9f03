"""Reading Delta: the log gives files and partition values at a version, Spark reads the files."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from daybook.errors import DaybookError, raise_all
from daybook.io.formats.delta.tables import open_table, refuse_unknown_features, table_uri
from daybook.io.formats.files.parquet import type_findings
from daybook.io.pins import DeltaPin
from daybook.io.place import child, list_files
from daybook.io.read_part import ReadPart
from daybook.io.scanning import DataFile, scan
from daybook.io.tables import bind, extra_columns, is_needed, missing_columns
from daybook.model.catalog import DatasetVersion
from daybook.resolve.location import Location

_READERS = 16


def read_delta(
    spark: SparkSession,
    location: Location,
    version: DatasetVersion,
    slices: frozenset[str] | None,
    pin: DeltaPin | None,
) -> ReadPart:
    uri = location.uri or ""
    at = pin.version if pin else location.delta_version
    table = open_table(uri, at)
    if table is None:
        if pin is not None:
            raise DaybookError("IO_009", location=uri, reason="there is no such table any more")
        raise DaybookError("IO_001", location=uri)
    refuse_unknown_features(table, uri, is_write=False)
    if pin is not None and str(table.metadata().id) != pin.table_id:
        raise DaybookError("IO_009", location=uri, reason="the table has been made anew")
    schema = pa.schema(table.schema().to_arrow())
    bindings = bind(schema.names, version, location)
    raise_all([*missing_columns(bindings, uri), *type_findings(bindings.all, schema, uri)])
    files = [file for file in data_files(table, uri) if is_needed(file.partitions, slices)]
    _refuse_vacuumed(files, uri, at)
    df = scan(spark, files, bindings.all, frozenset(table.metadata().partition_columns), location.root or uri)
    carried = frozenset(binding.name for binding in bindings.carried)
    found = DeltaPin(uri, table.version(), str(table.metadata().id))
    sizes = tuple(file.size for file in files)
    return ReadPart(df, carried, (found,), extra_columns(bindings.extra, uri), sizes)


def data_files(table: DeltaTable, uri: str) -> list[DataFile]:
    """The live files with their partition values as the log writes them, in the order of their paths."""
    columns = table.metadata().partition_columns
    rows: list[dict[str, Any]] = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    base = table_uri(uri)
    files = []
    for row in rows:
        values = {column: _as_text(row[f"partition.{column}"]) for column in columns}
        # The log holds paths as URIs.
        path = unquote(row["path"])
        place = path if "://" in path or path.startswith("/") else child(base, path)
        files.append(DataFile(place, values, row["size_bytes"]))
    return sorted(files, key=lambda file: file.path)


def _as_text(value: object) -> str | None:
    """Partition values come typed; Spark casts them back from text."""
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case _:
            return str(value)


def _refuse_vacuumed(files: list[DataFile], uri: str, version: int | None) -> None:
    """Time travel may name files that a vacuum removed; say so before Spark does."""
    if version is None:
        return
    with ThreadPoolExecutor(_READERS) as pool:
        if not all(pool.map(lambda file: list_files(file.path), files)):
            raise DaybookError("IO_009", location=uri, reason=f"version {version} has been vacuumed")


def table_id_at(uri: str, version: int) -> str | None:
    table = open_table(uri, version)
    return None if table is None else str(table.metadata().id)
