"""Rows of a text file as landing takes them, without Spark."""

from pathlib import Path
from typing import Any

from daybook.io.formats.csv.format import CsvRows
from daybook.io.formats.json.format import JsonRows
from daybook.model.dataset import ColumnDef, Dataset, MainTable
from daybook.model.definition import DatasetVersion
from daybook.model.types import parse_type
from daybook.resolve.location import Location


def dataset(**types: str) -> DatasetVersion:
    """A dataset with these columns."""
    columns = tuple(ColumnDef(name=name, type=parse_type(type_)) for name, type_ in types.items())
    return DatasetVersion(Dataset(id="d", name="d", main_table=MainTable(name="t", columns=columns)), 1)


def csv_rows(path: Path, version: DatasetVersion, **options: Any) -> list[dict[str, Any]]:
    return _rows(CsvRows(str(path), Location("csv", uri=str(path), options=options), version))


def json_rows(path: Path, version: DatasetVersion) -> list[dict[str, Any]]:
    return _rows(JsonRows(str(path), Location("json", uri=str(path)), version))


def _rows(source: CsvRows | JsonRows) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for batch in source.batches():
        columns = {name: column.to_pylist() for name, column in batch.columns.items()}
        rows += [{name: column[index] for name, column in columns.items()} for index in range(batch.rows)]
    return rows
