"""Rows as workbooks: typed cells that read back as they were, the same bytes for the same rows, limits refused."""

import datetime
import time
import zipfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from daybook.errors import DaybookError
from daybook.io.formats.xlsx import book
from tests.unit.io.formats.xlsx.handmade import read
from tests.unit.io.formats.xlsx.written import FACTS, write_rows

EVERY_TYPE = {
    "name": "string",
    "count": "integer",
    "amount": "decimal(18,2)",
    "ratio": "float",
    "is_open": "boolean",
    "day": "date",
    "moment": "timestamp",
}
ROWS: list[list[Any]] = [
    [
        "North",
        7,
        Decimal("1234.56"),
        0.5,
        True,
        datetime.date(2026, 1, 31),
        datetime.datetime(2026, 1, 31, 12, 30, 0, 250000, tzinfo=datetime.UTC),
    ],
    [None, None, None, None, None, None, None],
    [
        "",
        -(10**14),
        Decimal("-0.01"),
        1e300,
        False,
        datetime.date(1900, 1, 1),
        datetime.datetime(1900, 3, 1, tzinfo=datetime.UTC),
    ],
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "report.xlsx"


def opened(path: Path, sheet: str = "Data") -> Any:
    return openpyxl.load_workbook(path)[sheet]


def refusal(path: Path, types: dict[str, str], rows: list[list[Any]], **options: Any) -> DaybookError:
    with pytest.raises(DaybookError) as caught:
        write_rows(path, types, rows, **options)
    assert not path.exists()
    return caught.value


def test_every_type_reads_back_as_it_was_written(path: Path) -> None:
    write_rows(path, EVERY_TYPE, ROWS)
    assert read(path, EVERY_TYPE) == [tuple(row) for row in ROWS]


def test_rows_without_a_value_read_back_and_rows_added_below_count_only_with_one(path: Path) -> None:
    write_rows(path, {"name": "string"}, [[None], ["a"], [None], [""], [None]])
    assert read(path, {"name": "string"}) == [(None,), ("a",), (None,), ("",), (None,)]
    book = openpyxl.load_workbook(path)
    book["Data"]["A9"] = "added"
    book.save(path)
    assert [text for (text,) in read(path, {"name": "string"})] == [None, "a", None, None, None, "added"]


@pytest.mark.parametrize(
    "text", ["=1+1", "@x", "007", " a ", "a\r\nb", "_x000D_", "\x01", "\N{GRINNING FACE}", "<&>", "1e5"]
)
@pytest.mark.parametrize("spreadsheet_safe", [True, False])
def test_texts_stay_texts(path: Path, text: str, spreadsheet_safe: bool) -> None:
    write_rows(path, {"name": "string"}, [[text]], spreadsheet_safe=spreadsheet_safe)
    assert read(path, {"name": "string"}) == [(text,)]
    assert opened(path)["A2"].data_type == "s"


def test_texts_that_look_like_formulas_are_quoted_when_that_is_asked_for(path: Path) -> None:
    write_rows(path, {"name": "string"}, [["=1+1"], ["plain"]], spreadsheet_safe=True)
    assert [opened(path)[place].quotePrefix for place in ("A2", "A3")] == [True, False]


@pytest.mark.parametrize(
    ("declared", "value", "shown"),
    [
        ("integer", 1, "0"),
        ("decimal(18,0)", Decimal(1), "#,##0"),
        ("decimal(18,2)", Decimal(1), "#,##0.00"),
        ("decimal(18,4)", Decimal(1), "#,##0.0000"),
        ("decimal(15,6)", Decimal(1), "#,##0.00####"),
        ("float", 1.5, "General"),
        ("date", datetime.date(2026, 1, 1), "yyyy-mm-dd"),
        ("timestamp", datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), "yyyy-mm-dd hh:mm:ss"),
    ],
)
def test_the_number_format_follows_the_scale(path: Path, declared: str, value: Any, shown: str) -> None:
    write_rows(path, {"value": declared}, [[value]])
    assert opened(path)["A2"].number_format == shown


def test_the_header_is_frozen_and_filtered_and_the_rows_have_a_name(path: Path) -> None:
    write_rows(
        path, {"name": "string", "amount": "decimal(18,2)"}, [["a", Decimal(1)], ["b", Decimal(2)]], sheet="Board"
    )
    book = openpyxl.load_workbook(path)
    sheet = book["Board"]
    assert sheet.freeze_panes == "A2"
    assert sheet.auto_filter.ref == "A1:B3"
    assert sheet["A1"].font.bold
    assert book.defined_names["daybook_rows"].attr_text == "Board!$A$1:$B$3"


def test_a_sheet_tells_about_the_run(path: Path) -> None:
    write_rows(path, {"name": "string"}, [["a"]])
    told = [[cell.value for cell in row] for row in opened(path, "About").iter_rows(max_col=2)]
    assert told == [
        ["Run", None],
        ["run", "20260203-093000-abc123"],
        ["period", "2026-01"],
        [None, None],
        ["Sources", None],
        ["orders", "version 3"],
    ]


def test_the_sheet_about_the_run_gives_way_to_one_of_the_same_name(path: Path) -> None:
    write_rows(path, {"name": "string"}, [["a"]], sheet="about")
    assert openpyxl.load_workbook(path).sheetnames == ["about", "Run"]


def test_the_creation_time_is_the_runs(path: Path) -> None:
    write_rows(path, {"name": "string"}, [["a"]])
    properties = openpyxl.load_workbook(path).properties
    assert properties.created == FACTS.timestamp.replace(tzinfo=None)
    assert properties.creator == "Daybook"


def test_the_same_rows_give_the_same_bytes_at_any_time_and_in_any_parts(tmp_path: Path) -> None:
    rows = ROWS * 1500
    first = write_rows(tmp_path / "a.xlsx", EVERY_TYPE, rows).read_bytes()
    time.sleep(2.1)  # what a zip archive counts time in
    second = write_rows(tmp_path / "b.xlsx", EVERY_TYPE, rows, part_rows=700).read_bytes()
    assert first == second
    with zipfile.ZipFile(tmp_path / "a.xlsx") as archive:
        assert len({info.date_time for info in archive.infolist()}) == 1


def test_no_rows_are_a_header_alone(path: Path) -> None:
    write_rows(path, EVERY_TYPE, [])
    assert [cell.value for cell in opened(path)[1]] == list(EVERY_TYPE)
    assert read(path, EVERY_TYPE) == []


def test_nothing_is_left_beside_the_file(path: Path) -> None:
    write_rows(path, EVERY_TYPE, ROWS)
    assert [entry.name for entry in path.parent.iterdir()] == ["report.xlsx"]


LONG = Decimal("12345678901234.56")


def test_a_number_of_sixteen_digits_is_refused(path: Path) -> None:
    found = refusal(path, {"amount": "decimal(18,2)"}, [[Decimal(1)], [LONG]])
    assert found.code == "IO_029"
    assert found.parameters["reason"] == "12345678901234.56 has more than 15 significant digits"
    assert "long_numbers: text" in str(found.hint)


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        ("decimal(18,2)", Decimal("1234567890123.45")),
        ("decimal(38,10)", Decimal("99999.9999900000")),
        ("decimal(38,0)", Decimal(10) ** 30),
        ("integer", 999_999_999_999_999),
        ("integer", 10**18),
        ("float", 0.1 + 0.2),
    ],
)
def test_numbers_of_fifteen_digits_are_written_however_long_they_are(path: Path, declared: str, value: Any) -> None:
    write_rows(path, {"value": declared}, [[value]])
    assert read(path, {"value": declared}) == [(0.3 if declared == "float" else value,)]


@pytest.mark.parametrize(
    ("declared", "value"),
    [("decimal(38,10)", Decimal("100000.0000000001")), ("integer", 10**15 + 1), ("integer", -(2**63))],
)
def test_numbers_of_more_digits_are_found_in_every_type(path: Path, declared: str, value: Any) -> None:
    assert refusal(path, {"value": declared}, [[value]]).code == "IO_029"


def test_long_numbers_may_make_their_whole_column_text(path: Path) -> None:
    types = {"amount": "decimal(18,2)", "other": "decimal(18,2)"}
    rows = [[Decimal("1.50"), Decimal("1.50")], [LONG, Decimal("2.00")]]
    write_rows(path, types, rows, long_numbers="text")
    assert [opened(path)[place].value for place in ("A2", "A3", "B2")] == ["1.50", "12345678901234.56", 1.5]
    assert read(path, types) == [tuple(row) for row in rows]


def test_long_whole_numbers_become_their_digits(path: Path) -> None:
    write_rows(path, {"count": "integer"}, [[-(2**63)], [1]], long_numbers="text")
    assert read(path, {"count": "integer"}) == [(-(2**63),), (1,)]


@pytest.mark.parametrize("day", ["1900-01-01", "1900-02-28", "1900-03-01", "2026-01-31", "9999-12-31"])
def test_days_and_times_are_what_excel_counts(path: Path, day: str) -> None:
    """The serial numbers are those of Excel's documentation: 1 is the first of January 1900, 61 the first of March."""
    serials = {"1900-01-01": 1, "1900-02-28": 59, "1900-03-01": 61, "2026-01-31": 46053, "9999-12-31": 2958465}
    moment = datetime.datetime.fromisoformat(f"{day}T18:00:00.0006+00:00")
    write_rows(path, {"day": "date", "moment": "timestamp"}, [[moment.date(), moment]])
    with zipfile.ZipFile(path) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml").decode()
    assert f"<v>{serials[day]}</v>" in sheet
    rounded = datetime.datetime.fromisoformat(f"{day}T18:00:00.001+00:00")
    assert read(path, {"day": "date", "moment": "timestamp"}) == [(moment.date(), rounded)]


def test_a_text_that_no_cell_holds_is_refused(path: Path) -> None:
    found = refusal(path, {"name": "string"}, [["x" * 32_768]])
    assert (found.code, found.parameters["reason"]) == ("IO_029", "a cell has at most 32,767 characters, not 32,768")
    assert refusal(path.with_name("b.xlsx"), {"name": "string"}, [["\N{GRINNING FACE}" * 16_384]]).code == "IO_029"
    longest = write_rows(path.with_name("c.xlsx"), {"name": "string"}, [["x" * 32_767]])
    assert read(longest, {"name": "string"}) == [("x" * 32_767,)]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_no_spreadsheet_has_are_refused(path: Path, value: float) -> None:
    assert refusal(path, {"ratio": "float"}, [[value]]).code == "IO_029"


def test_dates_before_1900_are_refused(path: Path) -> None:
    found = refusal(path, {"day": "date"}, [[datetime.date(1899, 12, 31)]])
    assert (found.code, found.parameters["column"]) == ("IO_029", "day")


def test_more_rows_than_a_sheet_has_are_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert book.MAX_DATA_ROWS == 1_048_575
    monkeypatch.setattr(book, "MAX_DATA_ROWS", 2)
    found = refusal(path, {"name": "string"}, [["a"], ["b"], ["c"]])
    assert (found.code, found.parameters["reason"]) == ("IO_056", "a sheet has at most 2 rows below its header, not 3")


def test_more_columns_than_a_sheet_has_are_refused(path: Path) -> None:
    assert refusal(path, {f"c{i}": "boolean" for i in range(16_385)}, []).code == "IO_056"
