"""A run computed again by the second engine is compared cell by cell with what the run wrote."""

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from daybook.errors import DaybookError
from daybook.runs.recomputation import Recomputation, recompute_run
from tests.workspaces import Folder, to_path, to_table

TYPES = {
    "id": "integer",
    "name": "string",
    "amount": "decimal(20,4)",
    "ratio": "float",
    "is_open": "boolean",
    "day": "date",
    "at": "timestamp",
}
COLUMNS: list[dict[str, Any]] = [{"name": name, "type": type_} for name, type_ in TYPES.items()]
ROWS: list[dict[str, Any]] = [
    {
        "id": "1",
        "name": "ä日本",
        "amount": "0.0005",
        "ratio": "2.5",
        "is_open": "true",
        "day": "2026-01-31",
        "at": "2026-01-31T23:59:59.123456Z",
    },
    {
        "id": "2",
        "name": "it's",
        "amount": "-1234567890123456.7891",
        "ratio": "1e-7",
        "is_open": "false",
        "day": "1970-01-01",
        "at": "1969-12-31T00:00:00Z",
    },
    {"id": "", "name": "", "amount": "", "ratio": "", "is_open": "", "day": "", "at": ""},
    # Twice the same row, which numbers tell apart.
    {"id": "", "name": "", "amount": "", "ratio": "", "is_open": "", "day": "", "at": ""},
    {
        "id": "-7",
        "name": "x",
        "amount": "12345678.1",
        "ratio": "-12345678.9",
        "is_open": "true",
        "day": "9999-12-31",
        "at": "2026-01-01T00:00:00.5Z",
    },
]
GROUPED = {
    "group_by": ["amount", "ratio", "is_open", "day", "at"],
    "aggregations": [{"column": "id", "expression": "SUM(id)"}],
}


def recomputed(folder: Folder, run_id: str, keys: dict[str, str | None] | None = None) -> Recomputation:
    with folder.around() as around:
        return recompute_run(around, run_id, keys)


def all_types(folder: Folder) -> None:
    """Rows of every type, loaded, grouped by every type, and appended again: an id of each kind."""
    folder.write_csv("data/all.csv", ROWS)
    folder.dataset("all", COLUMNS, {"path": "data/all.csv"})
    number = [{"column": "place", "expression": "ROW_NUMBER() OVER (is_open ORDER BY day)"}]
    folder.project(
        {"type": "update", "arguments": {"assignments": number}},
        {"type": "append", "arguments": {"source": {"dataset_id": "all"}}},
        {"type": "aggregate", "arguments": GROUPED},
        to_table(),
        to_path("out/all.parquet"),
        input_="all",
    )


def test_every_cell_is_the_same_with_ids_of_every_kind(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder.new(tmp_path / "w", lambda: spark)
    all_types(folder)
    done = folder.run()
    again = recomputed(folder, done.run_id)
    assert [(each.problem, each.differences) for each in again.outputs] == [(None, ()), (None, ())]
    assert again.is_same
    assert [each.rows_written for each in again.outputs] == [14, 14]
    # What was written is read by its file and the row in it: its ids are other ones, and the same on both engines.
    folder.dataset("written", COLUMNS, {"path": "out/all.parquet"})
    folder.project(to_table("copied"), id_="copy", input_="written")
    assert recomputed(folder, folder.run(project="copy").run_id).is_same


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl", "out.xlsx", "out"])
def test_files_of_every_format(spark: SparkSession, tmp_path: Path, name: str) -> None:
    folder = Folder.new(tmp_path / "w", lambda: spark)
    folder.project(to_path(name if "." in name else {"path": name, "format": "parquet"}, system_columns=False))
    (output,) = recomputed(folder, folder.run().run_id).outputs
    assert (output.problem, output.differences, output.rows_written) == (None, (), 3)


def test_a_changed_cell_is_shown_with_its_operation_and_expression(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder.new(tmp_path / "w", lambda: spark)
    change = {"assignments": [{"column": "amount", "expression": "amount * 2"}]}
    folder.project({"id": "double", "type": "update", "arguments": change}, to_table())
    done = folder.run()
    (file,) = (folder.root / "lake" / "result").rglob("*.parquet")
    table = pq.read_table(file, partitioning=None)
    amounts = [value if value != Decimal("100.00") else Decimal("100.01") for value in table["amount"].to_pylist()]
    place = table.column_names.index("amount")
    pq.write_table(table.set_column(place, "amount", pa.array(amounts, table["amount"].type)), file)
    (output,) = recomputed(folder, done.run_id).outputs
    (difference,) = output.differences
    assert (output.count, output.is_same) == (1, False)
    assert (difference.cell.column, difference.cell.written, difference.cell.computed) == ("amount", "100.01", "100.00")
    assert (difference.operation, difference.expression) == ("double", "amount * 2")
    assert recomputed(folder, done.run_id, {"order_id": "O-1"}).is_same
    assert not recomputed(folder, done.run_id, {"order_id": "O-2"}).is_same


def test_sources_that_changed_since_are_an_error(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder.new(tmp_path / "w", lambda: spark)
    pq.write_table(pa.table({"order_id": ["O-1"], "day": [datetime.date(2026, 1, 1)]}), tmp_path / "w" / "in.parquet")
    columns = [{"name": "order_id", "type": "string"}, {"name": "day", "type": "date"}]
    folder.dataset("days", columns, {"path": "in.parquet"})
    folder.project(to_table(), input_="days")
    done = folder.run()
    pq.write_table(pa.table({"order_id": ["O-2"], "day": [datetime.date(2026, 1, 1)]}), tmp_path / "w" / "in.parquet")
    with pytest.raises(DaybookError) as caught:
        recomputed(folder, done.run_id)
    assert caught.value.code == "RUN_012"


def test_an_output_that_was_replaced_is_not_compared(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder.new(tmp_path / "w", lambda: spark)
    folder.project(to_path("out.csv"))
    done = folder.run()
    (tmp_path / "w" / "out.csv").write_text("order_id\nO-9\n", encoding="utf-8")
    (output,) = recomputed(folder, done.run_id).outputs
    assert output.problem is not None
    assert "RECOMPUTE_003" in output.problem
    assert not output.is_same
