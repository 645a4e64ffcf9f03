"""Runs that read workbooks and write them: what a controller opens shows the numbers that Daybook computed."""

import datetime
import zipfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from daybook.runs.run_result import RunFailedError
from tests.office import convert, sheet_formulas, sheet_values, without_stored_values
from tests.workspaces import Folder, assign, to_path

SALES: list[dict[str, Any]] = [
    {"name": "sale_id", "type": "string", "nullable": False},
    {"name": "region", "type": "string"},
    {"name": "day", "type": "date"},
    {"name": "quantity", "type": "integer"},
    {"name": "price", "type": "decimal(12,2)"},
    {"name": "note", "type": "string"},
    {"name": "weight", "type": "float"},
]
ROWS: list[list[Any]] = [
    ["S-1", "North", datetime.date(2026, 1, 3), 3, 19.99, "a", 0.1],
    ["S-2", "north", datetime.date(2026, 1, 9), 1, 0.01, None, 0.2],
    ["S-3", "North", datetime.date(2026, 1, 1), 2, 1234.56, None, 0.3],
    ["S-4", None, datetime.date(2026, 1, 31), 5, 0.07, "b", None],
    ["S-5", "So*th", None, None, None, None, None],
    ["S-6", "North", datetime.date(2026, 1, 20), 7, 33.33, "c", 1.5],
]


@pytest.fixture
def sales(folder: Folder) -> Folder:
    """A workbook with a title, the sales below it, and a total at the end."""
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.title = "Sales"
    sheet.append(["Sales of January"])
    sheet.append([])
    sheet.append([column["name"] for column in SALES])
    for row in ROWS:
        sheet.append(row)
    sheet.append(["Total", None, None, 18])
    book.create_sheet("Notes")
    (folder.root / "data").mkdir(exist_ok=True)
    book.save(folder.root / "data" / "sales.xlsx")
    location = {"path": "data/sales.xlsx", "options": {"range": "Sales!A3:G9"}}
    folder.define(
        "dataset",
        {
            "id": "sales",
            "natural_key_columns": ["sale_id"],
            "main_table": {"name": "sales", "columns": SALES, "location": location},
        },
    )
    return folder


TYPES = {"share": "decimal(14,4)"}


def total(**columns: str) -> dict[str, Any]:
    aggregations = [
        {"column": column, "expression": text, **({"type": TYPES[column]} if column in TYPES else {})}
        for column, text in columns.items()
    ]
    arguments = {"group_by": ["region"], "aggregations": aggregations}
    return {"type": "aggregate", "arguments": arguments}


def live(**more: Any) -> dict[str, Any]:
    return to_path({"path": "out/totals.xlsx", "options": {"live": True, **more}}, system_columns=False)  # type: ignore[dict-item]


TOTALS = {
    "amount": "SUM(price)",
    "lines": "COUNT(*)",
    "counted": "COUNT(quantity)",
    "noted": "COUNT(note)",
    "average": "AVG(price)",
    "lowest": "MIN_AGG(price)",
    "last_day": "MAX_AGG(day)",
    "net": "(SUM(price * quantity) - SUM(price)) * 0.81",
    "per_line": "ROUND(SUM(price) / COUNT(*) * 3, 2)",
    "share": "SUM(price) / 7",
    "rounded": "ROUND(SUM(price) / 7, 1)",
    "weighed": "SUM(weight)",
}


def test_a_workbook_stores_the_numbers_of_daybook_and_computes_them_again(sales: Folder, tmp_path: Path) -> None:
    sales.project(
        total(**TOTALS), {**live(), "selector": "_operation_seq > 0"}, to_path("out/totals.csv"), input_="sales"
    )
    sales.run()
    written = sales.root / "out" / "totals.xlsx"
    stored = {row["region"]: row["amount"] for row in sheet_values(written, "Data")}
    assert stored == {"North": 1287.88, "north": 0.01, None: 0.07, "So*th": None}

    empty = without_stored_values(written, tmp_path / "emptied.xlsx")
    assert {row["amount"] for row in sheet_values(empty, "Data")} <= {0, None}
    computed = sheet_values(convert(empty, "xlsx", tmp_path), "Data")

    by_hand: dict[str | None, dict[str, Any]] = {
        "North": {"amount": 1287.88, "lines": 3, "counted": 3, "noted": 2, "average": 429.293333, "lowest": 19.99},
        "north": {"amount": 0.01, "lines": 1, "counted": 1, "noted": 0, "average": 0.01, "lowest": 0.01},
        None: {"amount": 0.07, "lines": 1, "counted": 1, "noted": 1, "average": 0.07, "lowest": 0.07},
        "So*th": {"amount": None, "lines": 1, "counted": 0, "noted": 0, "average": None, "lowest": None},
    }
    found = {row["region"]: row for row in computed}
    assert {region: {name: found[region][name] for name in by_hand["North"]} for region in found} == by_hand
    north = found["North"]
    assert north["last_day"] == datetime.datetime(2026, 1, 20)  # noqa: DTZ001
    # 3 x 19.99 + 2 x 1234.56 + 7 x 33.33 = 2762.40; (2762.40 - 1287.88) x 0.81
    assert north["net"] == 1194.3612
    # A quotient of decimal(38,2) by one digit has 3 places (reference of functions): 183.982857 is 183.983 before it
    # gets the 4 places of its column.
    assert (north["per_line"], north["share"]) == (1287.88, 183.983)
    assert north["rounded"] == 184.0
    assert north["weighed"] == pytest.approx(1.9)

    said = {row["region"] or None: row for row in sales.csv_rows("out/totals.csv") if row["_operation_seq"] != "0"}
    for region, row in found.items():
        for name in TOTALS:
            if isinstance(row[name], int | float):
                assert row[name] == pytest.approx(float(said[region][name]), rel=1e-14), (region, name)
            elif row[name] is None:
                assert said[region][name] == ""


def test_a_total_is_a_formula_over_the_rows_of_its_group(sales: Folder) -> None:
    selector = "region = 'North' AND _operation_seq = 1"
    sales.project(total(amount="SUM(price)"), {**live(), "selector": selector}, input_="sales")
    sales.run()
    path = sales.root / "out" / "totals.xlsx"
    (formula,) = sheet_formulas(path, "Data").values()
    details = sheet_values(path, "Details 1")
    rows = [number for number, row in enumerate(details, start=2) if row["region"] == "North"]
    assert formula == f"=ROUND(SUM('Details 1'!$C${rows[0]}:$C${rows[-1]}),2)"
    assert list(details[0]) == ["region", "sale_id", "price"]
    assert [row["sale_id"] for row in details if row["region"] == "North"] == ["S-1", "S-3", "S-6"]


def test_values_that_are_no_formulas_stay_values_and_are_told(sales: Folder) -> None:
    sales.project(
        total(amount="SUM(price)", best="MAX_AGG(note)", odd="IF(SUM(price) > 100, 1, 0)", later="SUM(quantity)"),
        assign("later", "later + 1", selector="_operation_seq = 1"),
        {**live(), "selector": "_operation_seq = 1"},
        input_="sales",
    )
    told = [one.message for one in sales.run().notices if one.code == "IO_057"]
    assert told == [
        "out/totals.xlsx contains values, not formulas, for best of operation 1: MAX_AGG of a text has no formula",
        "out/totals.xlsx contains values, not formulas, for odd of operation 1: IF has no formula",
        "out/totals.xlsx contains values, not formulas, for later of operation 1: operation 2 changes it afterwards",
    ]
    path = sales.root / "out" / "totals.xlsx"
    header = list(sheet_values(path, "Data")[0])
    letters = {"ABCDEFGHIJKLMNOP"[header.index(name)] for name in ("amount",)}
    assert {cell[0] for cell in sheet_formulas(path, "Data")} == letters
    assert {row["later"] for row in sheet_values(path, "Data")} == {13, 2, 6, None}


def test_a_live_workbook_needs_numbers_of_fifteen_digits_in_its_details(sales: Folder) -> None:
    sales.project(
        assign("big", "DATEDIFF(day, day) + 1234567890123456"),
        total(amount="COUNT(big)"),
        {**live(), "selector": "_operation_seq = 2"},
        input_="sales",
    )
    with pytest.raises(RunFailedError) as caught:
        sales.run()
    causes = caught.value.error.causes
    assert [cause.code for cause in causes] == ["IO_029"]
    assert "sheet Details 2" in str(causes[0])
    assert not (sales.root / "out" / "totals.xlsx").exists()


def test_two_runs_write_the_same_sheets_and_a_replay_agrees(sales: Folder) -> None:
    sales.project(total(amount="SUM(price)", lines="COUNT(*)"), live(), input_="sales")

    def sheets() -> dict[str, bytes]:
        with zipfile.ZipFile(sales.root / "out" / "totals.xlsx") as archive:
            # The third tells which run it was.
            return {
                name: archive.read(name) for name in archive.namelist() if name[-10:] in ("sheet1.xml", "sheet2.xml")
            }

    sales.run()
    first = sheets()
    assert len(first) == 2
    again = sales.run()
    assert sheets() == first
    assert sales.replay(again.run_id).is_same


def test_a_wrong_cell_fails_the_run_with_its_address(sales: Folder) -> None:
    path = sales.root / "data" / "sales.xlsx"
    book = openpyxl.load_workbook(path)
    book["Sales"]["E5"] = "12,50"
    book.save(path)
    sales.project(to_path("out/x.csv"), input_="sales")
    with pytest.raises(RunFailedError) as caught:
        sales.run()
    error = caught.value.error
    assert (error.code, error.parameters["place"]) == ("IO_004", "Sales!E5")


def test_a_blank_cell_in_a_column_that_may_not_be_null_has_an_address(sales: Folder) -> None:
    path = sales.root / "data" / "sales.xlsx"
    book = openpyxl.load_workbook(path)
    book["Sales"]["A6"] = None
    book.save(path)
    sales.project(to_path("out/x.csv"), input_="sales")
    with pytest.raises(RunFailedError) as caught:
        sales.run()
    error = caught.value.error
    assert (error.code, error.parameters["place"]) == ("IO_006", "Sales!A6")


def test_an_explanation_names_the_cells_of_every_row(sales: Folder) -> None:
    sales.project(total(amount="SUM(price)"), to_path("out/x.csv"), input_="sales")
    run = sales.run()
    found = sales.explain(run.run_id, 1, {"region": "North"}).rows
    assert found.columns[-1] == "_row_position"
    assert {row["sale_id"]: row["_row_position"] for row in found.rows} == {
        "S-1": "data/sales.xlsx Sales!A4:G4",
        "S-3": "data/sales.xlsx Sales!A6:G6",
        "S-6": "data/sales.xlsx Sales!A9:G9",
    }


def test_rows_that_are_equal_have_each_their_own_cells(sales: Folder) -> None:
    path = sales.root / "data" / "sales.xlsx"
    book = openpyxl.load_workbook(path)
    for number in (4, 5, 6):
        for column, value in enumerate(["S-9", "East", None, 1, 2.5, None, None], start=1):
            book["Sales"].cell(number, column, value)
    book.save(path)
    columns = [{**column, "nullable": True} for column in SALES]
    location = {"path": "data/sales.xlsx", "options": {"range": "Sales!A3:G9"}}
    sales.dataset("sales", columns, location)
    sales.project(total(amount="SUM(price)"), to_path("out/x.csv"), input_="sales")
    rows = sales.explain(sales.run().run_id, 1, {"region": "East"}).rows.rows
    assert sorted(row["_row_position"] for row in rows) == [f"data/sales.xlsx Sales!A{n}:G{n}" for n in (4, 5, 6)]


def test_the_workbook_tells_where_its_numbers_come_from(sales: Folder) -> None:
    sales.project(to_path("out/all.xlsx"), input_="sales")
    result = sales.run()
    sheet = openpyxl.load_workbook(sales.root / "out" / "all.xlsx")["About"]
    told = [(row[0].value, row[1].value) for row in sheet.iter_rows(max_col=2)]
    assert ("Period", "2026-01 (2026-01-01 to 2026-01-31)") in told
    assert ("Project", "p (p), version 1") in told
    assert ("Run", f"{result.run_id}, a draft") in told
    assert (None, "data/sales.xlsx (xlsx)") in told


def test_an_output_is_read_again_as_it_was_written(sales: Folder) -> None:
    sales.project(
        to_path("out/all.xlsx", register_as_dataset="copied", columns=["sale_id", "day", "price"]), input_="sales"
    )
    sales.run()
    sales.project(to_path("out/again.csv", columns=["sale_id", "day", "price"]), id_="q", input_="copied")
    sales.run(project="q")
    again = sales.csv_rows("out/again.csv")
    assert [(row["sale_id"], row["price"]) for row in again][:2] == [("S-1", "19.99"), ("S-2", "0.01")]
    assert sum((Decimal(row["price"] or 0) for row in again), Decimal(0)) == Decimal("1287.96")
