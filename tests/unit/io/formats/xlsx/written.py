"""Workbooks written from rows of Python values, without Spark."""

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from daybook.io.bindings import checked_options
from daybook.io.column_types import arrow_type
from daybook.io.formats.xlsx.format import WorkbookWriter
from daybook.io.target import FileTarget, OutputColumn, RunFacts, SliceOwner
from daybook.model.types import parse_type
from daybook.resolve.location import Location

FACTS = RunFacts(
    datetime.datetime(2026, 2, 3, 9, 30, tzinfo=datetime.UTC),
    (("Run", (("run", "20260203-093000-abc123"), ("period", "2026-01"))), ("Sources", (("orders", "version 3"),))),
)


def write_rows(
    path: Path,
    types: Mapping[str, str],
    rows: Sequence[Sequence[Any]],
    *,
    facts: RunFacts | None = FACTS,
    part_rows: int = 1000,
    **options: Any,
) -> Path:
    """The rows staged in part files, as Spark leaves them, and made a workbook."""
    columns = tuple(OutputColumn(name, parse_type(type_)) for name, type_ in types.items())
    schema = pa.schema([(column.name, arrow_type(column.type)) for column in columns])
    arrays = [pa.array([row[i] for row in rows], schema.field(i).type) for i in range(len(columns))]
    table = pa.table(arrays, schema=schema)
    parts = path.parent / f"parts-{path.stem}"
    parts.mkdir()
    for number, start in enumerate(range(0, max(len(rows), 1), part_rows)):
        pq.write_table(table.slice(start, part_rows), parts / f"part-{number:05}.parquet")
    target = FileTarget(
        location=Location("xlsx", uri=str(path), options=options),
        mode="replace",
        columns=columns,
        run_id="run",
        operation_seq=10,
        owner=SliceOwner("project", "op"),
        facts=facts,
    )
    checked = checked_options("xlsx", options, is_output=True)
    WorkbookWriter().complete_parts(parts, path, target, checked)
    return path
