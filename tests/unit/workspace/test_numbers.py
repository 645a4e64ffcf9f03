"""The rows of a run's output, page by page, as the run committed them; no Spark is started."""

import datetime
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import daybook
from daybook.errors import DaybookError
from daybook.io.stored_rows import RowOrder
from daybook.workspace.numbers import NumbersRequest, read_numbers
from daybook.workspace.open_workspace import open_workspace
from daybook.workspace.result_json import as_json
from tests.workspaces import Folder, no_session, to_path, to_table
from tests.written_runs import write_run

PLAIN: dict[str, Any] = {"columns": ["order_id", "region", "amount"]}


def orders(*rows: tuple[str, str | None, str]) -> pa.Table:
    amounts = pa.array([Decimal(row[2]) for row in rows], pa.decimal128(18, 2))
    ids, regions = [row[0] for row in rows], pa.array([row[1] for row in rows], pa.string())
    return pa.table({"order_id": ids, "region": regions, "amount": amounts})


JANUARY = orders(("O-1", "EMEA", "100.00"), ("O-2", None, "-50.25"), ("O-3", "APAC", "0.10"))
AGAIN = orders(("O-9", "EMEA", "7.00"))


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder.new(tmp_path / "w", no_session)


def workspace(folder: Folder) -> daybook.Workspace:
    return daybook.Workspace(folder.root)


def test_a_page_with_totals(folder: Folder) -> None:
    folder.project(to_table(**PLAIN))
    run_id = write_run(folder, {1: JANUARY}, files=2)
    page = workspace(folder).numbers(run_id)
    assert page.rows == (
        ("O-1", "EMEA", Decimal("100.00")),
        ("O-2", None, Decimal("-50.25")),
        ("O-3", "APAC", Decimal("0.10")),
    )
    assert (page.count, page.totals) == (3, {"amount": Decimal("49.85")})
    assert [(column.name, str(column.type), column.is_number) for column in page.columns] == [
        ("order_id", "string", False),
        ("region", "string", False),
        ("amount", "decimal(18,2)", True),
    ]


def test_sorted_filtered_and_in_pages(folder: Folder) -> None:
    folder.project(to_table(**PLAIN))
    opened, run_id = workspace(folder), write_run(folder, {1: JANUARY})
    largest = opened.numbers(run_id, sort=["-amount"], limit=1, offset=1)
    assert [row[0] for row in largest.rows] == ["O-3"]
    assert (largest.count, largest.next_offset) == (3, 2)
    positive = opened.numbers(run_id, where=[("amount", ">", 0), ("region", "is_not_null")], totals=False)
    assert ([row[0] for row in positive.rows], positive.count, positive.totals) == (["O-1", "O-3"], 2, None)
    nothing = opened.numbers(run_id, where=[("order_id", "=", "none")])
    assert (nothing.rows, nothing.count, nothing.totals) == ((), 0, {"amount": None})


def test_json_has_exact_numbers_as_text(folder: Folder) -> None:
    folder.project(to_table(**PLAIN))
    run_id = write_run(folder, {1: JANUARY})
    found = as_json(workspace(folder).numbers(run_id, sort=["order_id"], where=[("amount", ">=", "0.1")]))
    assert found["rows"] == [
        {"order_id": "O-1", "region": "EMEA", "amount": "100.00"},
        {"order_id": "O-3", "region": "APAC", "amount": "0.10"},
    ]
    assert (found["count"], found["totals"]) == (2, {"amount": "100.10"})
    assert found["where"] == [{"column": "amount", "comparison": ">=", "value": "0.1"}]
    assert found["sort"] == [{"column": "order_id", "is_descending": False}]
    assert (found["output"]["destination"], found["output"]["delta_version"]) == ("lake.result", 0)


def test_a_delta_table_shows_each_run_what_it_wrote(folder: Folder) -> None:
    folder.project(to_table(**PLAIN))
    first = write_run(folder, {1: JANUARY})
    second = write_run(folder, {1: AGAIN})
    february = write_run(folder, {1: orders(("O-4", "APAC", "70.00"))}, "2026-02")
    opened = workspace(folder)
    shown = {run_id: opened.numbers(run_id).totals for run_id in (first, second, february)}
    assert shown == {first: {"amount": Decimal("49.85")}, second: {"amount": 7}, february: {"amount": 70}}


def test_of_a_table_that_runs_append_to_only_the_own_rows(folder: Folder) -> None:
    folder.project(to_table(mode="append", **PLAIN))
    first, second = write_run(folder, {1: JANUARY}), write_run(folder, {1: AGAIN})
    assert [workspace(folder).numbers(run_id).count for run_id in (first, second)] == [3, 1]


PLACES: Mapping[str, dict[str, Any]] = {
    "parquet table": to_table(datasource="files", **PLAIN),
    "csv table": to_table(datasource="texts", **PLAIN),
    "sqlite table": to_table(datasource="books", **PLAIN),
    "csv file": to_path("out/{{identifier}}.csv", **PLAIN),
}


@pytest.mark.parametrize("place", PLACES)
def test_other_formats_show_the_rows_until_another_run_replaces_them(folder: Folder, place: str) -> None:
    folder.datasource("files", "parquet", path="files")
    folder.datasource("texts", "csv", path="texts")
    folder.datasource("books", "sqlite", path="books.db")
    folder.project(PLACES[place])
    opened = workspace(folder)
    first = write_run(folder, {1: JANUARY})
    other = write_run(folder, {1: orders(("O-4", "APAC", "70.00"))}, "2026-02")
    page = opened.numbers(first, sort=["-amount"])
    assert ([row[0] for row in page.rows], page.totals) == (["O-1", "O-3", "O-2"], {"amount": Decimal("49.85")})
    second = write_run(folder, {1: AGAIN})
    assert opened.numbers(second).rows == (("O-9", "EMEA", Decimal("7.00")),)
    assert opened.numbers(other).count == 1
    with pytest.raises(DaybookError) as caught:
        opened.numbers(first)
    assert caught.value.code == "RUN_084"
    assert f"daybook replay {first}" in str(caught.value.hint)


def test_a_file_that_somebody_edited(folder: Folder) -> None:
    folder.project(to_path("out/x.csv", **PLAIN))
    run_id = write_run(folder, {1: JANUARY})
    (folder.root / "out" / "x.csv").write_text("order_id,region,amount\nO-1,EMEA,1000000.00\n")
    with pytest.raises(DaybookError) as caught:
        workspace(folder).numbers(run_id)
    assert caught.value.code == "RUN_084"


def test_several_outputs_by_their_names(folder: Folder) -> None:
    folder.project(to_table(**PLAIN), to_path("out/x.csv", **PLAIN))
    run_id = write_run(folder, {1: JANUARY, 2: AGAIN})
    opened = workspace(folder)
    assert [output.destination for output in opened.outputs(run_id)] == ["lake.result", "out/x.csv"]
    listed = opened.outputs(run_id)
    assert listed == tuple(opened.numbers(run_id, str(output.operation_seq)).output for output in listed)
    assert opened.numbers(run_id).count == 1
    assert opened.numbers(run_id, "result").count == opened.numbers(run_id, "1").count == 3
    with pytest.raises(DaybookError) as caught:
        opened.numbers(run_id, "reslt")
    assert caught.value.code == "RUN_019"


def test_csv_streams_what_the_page_shows(folder: Folder) -> None:
    folder.project(to_table(**PLAIN))
    run_id = write_run(folder, {1: JANUARY})
    download = workspace(folder).numbers_csv(run_id, where=[("amount", "!=", "0.10")], sort=["amount"])
    assert download.file_name == "p-2026-01-1.csv"
    assert b"".join(download.pieces).decode() == "order_id,region,amount\nO-2,,-50.25\nO-1,EMEA,100.00\n"


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"where": [("amuont", "=", 1)]}, "RUN_080"),
        ({"sort": ["-amuont"]}, "RUN_080"),
        ({"where": [("amount", "~", 1)]}, "RUN_081"),
        ({"where": [("amount", "=", "1; DROP TABLE x")]}, "RUN_082"),
        ({"sort": ["amount"], "offset": 10**9}, "RUN_083"),
        ({"limit": 5000}, "RUN_031"),
        ({"offset": -1}, "RUN_031"),
        ({"where": ["amount > 1"]}, "RUN_031"),
    ],
)
def test_wrong_questions(folder: Folder, given: dict[str, Any], code: str) -> None:
    folder.project(to_table(**PLAIN))
    run_id = write_run(folder, {1: JANUARY})
    with pytest.raises(DaybookError) as caught:
        workspace(folder).numbers(run_id, **given)
    assert caught.value.code == code


def test_an_unknown_run(folder: Folder) -> None:
    with pytest.raises(DaybookError) as caught:
        workspace(folder).numbers("20260101-000000-000000")
    assert caught.value.code == "STORE_014"


def test_a_version_that_was_vacuumed(folder: Folder) -> None:
    folder.project(to_table(**PLAIN))
    run_id = write_run(folder, {1: JANUARY})
    for file in (folder.root / "lake").rglob("*.parquet"):
        file.unlink()
    with pytest.raises(DaybookError) as caught:
        workspace(folder).numbers(run_id)
    assert caught.value.code == "IO_009"


def test_system_columns_have_no_totals(folder: Folder) -> None:
    folder.project(to_table(columns=["order_id", "amount", "_operation_seq", "_created_at"]))
    at = datetime.datetime(2026, 1, 31, tzinfo=datetime.UTC)
    rows = pa.table(
        {
            "order_id": ["O-1"],
            "amount": pa.array([Decimal(1)], pa.decimal128(18, 2)),
            "_operation_seq": [5],
            "_created_at": pa.array([at], pa.timestamp("us", tz="UTC")),
        }
    )
    page = workspace(folder).numbers(write_run(folder, {1: rows}))
    assert page.totals == {"amount": 1}
    assert page.rows[0][3] == at


def test_totals_of_large_outputs_are_left_out_unless_they_are_asked_for(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.project(to_table(**PLAIN))
    run_id = write_run(folder, {1: JANUARY})
    opened = open_workspace(folder.root)
    assert read_numbers(opened, NumbersRequest(run_id)).totals == {"amount": Decimal("49.85")}
    monkeypatch.setattr("daybook.workspace.numbers._MOST_SUMMED_ROWS", 2)
    assert read_numbers(opened, NumbersRequest(run_id)).totals is None
    assert read_numbers(opened, NumbersRequest(run_id, has_totals=True)).totals == {"amount": Decimal("49.85")}


def test_people_read_small_outputs_by_their_names(folder: Folder) -> None:
    folder.project(to_table(columns=["region", "order_id", "amount"]))
    stored = JANUARY.select(["region", "order_id", "amount"])
    run_id, opened = write_run(folder, {1: stored}), open_workspace(folder.root)
    read = read_numbers(opened, NumbersRequest(run_id, has_reading_order=True))
    assert [row[1] for row in read.rows] == ["O-3", "O-1", "O-2"]
    asked = read_numbers(opened, NumbersRequest(run_id, sort=(RowOrder("amount"),), has_reading_order=True))
    assert [row[1] for row in asked.rows] == ["O-2", "O-3", "O-1"]


def test_the_order_that_a_project_names_stays(folder: Folder) -> None:
    folder.project(to_path("out/orders.csv", columns=["region", "order_id", "amount"], order_by=["amount"]))
    stored = JANUARY.select(["region", "order_id", "amount"]).take([1, 2, 0])
    run_id = write_run(folder, {1: stored})
    read = read_numbers(open_workspace(folder.root), NumbersRequest(run_id, has_reading_order=True))
    assert [row[1] for row in read.rows] == ["O-2", "O-3", "O-1"]
