"""Columns that an output names by another word are written by it."""

import csv

import pytest
from deltalake import DeltaTable

from tests.workspaces import Folder, to_path, to_table

COLUMNS = ["order_id", "_source_dataset", "amount"]


def test_the_word_of_the_output_is_the_name_in_the_file(folder: Folder) -> None:
    folder.project(to_path("out.csv", columns=COLUMNS, order_by=["_source_dataset", "order_id"]))
    folder.run()
    with (folder.root / "out.csv").open(newline="") as stream:
        header, *rows = csv.reader(stream)
    assert header == COLUMNS
    assert rows == [["O-1", "orders", "100.00"], ["O-2", "orders", "50.00"], ["O-3", "orders", "0.00"]]


@pytest.mark.parametrize("source", ["_source_dataset", "orders._source_dataset"])
def test_in_a_table_that_collects_periods_and_is_replayed_and_read_again(folder: Folder, source: str) -> None:
    folder.project(to_table(columns=["order_id", source], register_as_dataset="copied"))
    first = folder.run()
    assert folder.run("2026-02").status == first.status == "completed"
    names = [field.name for field in DeltaTable(folder.root / "lake/result").schema().fields]
    assert names == ["order_id", "_source_dataset", "_run_period"]
    assert all(output.is_same for output in folder.replay(first.run_id).outputs)
    folder.project(to_path("again.csv", columns=["order_id", "_source_dataset"]), id_="q", input_="copied")
    again = folder.run(project="q")
    assert [each.code for each in again.notices] == []
    with (folder.root / "again.csv").open(newline="") as stream:
        assert {row["_source_dataset"] for row in csv.DictReader(stream)} == {"copied"}
