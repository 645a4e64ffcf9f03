"""Sheets as rows: every cell by its stored type, or an error that names the cell."""

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from daybook.errors import DaybookError
from tests.unit.io.formats.xlsx.handmade import (
    STRICT_MAIN,
    links_xml,
    number,
    read,
    read_batches,
    row,
    sheet_xml,
    text,
    write_workbook,
)

MONEY = {"amount": "decimal(18,2)"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "budget.xlsx"


def column(path: Path, *cells: str, **options: Any) -> Path:
    """A workbook whose sheet Budget has one column, its header in A1."""
    rows = [row(1, text("A1", "amount")), *(row(i, cell) for i, cell in enumerate(cells, start=2))]
    return write_workbook(path, {"Budget": sheet_xml(*rows)}, **options)


def failure(path: Path, types: dict[str, str], **options: Any) -> DaybookError:
    with pytest.raises(DaybookError) as caught:
        read(path, types, **options)
    return caught.value


def test_a_number_is_the_stored_one_at_fifteen_digits(path: Path) -> None:
    column(path, number("A2", "1234.5599999999999"), number("A3", "0.10000000000000001"), number("A4", "-7"))
    assert read(path, MONEY) == [(Decimal("1234.56"),), (Decimal("0.10"),), (Decimal("-7.00"),)]


def test_a_number_with_an_exponent_is_written_out(path: Path) -> None:
    column(path, number("A2", "1.5E3"), number("A3", "1E-2"), number("A4", "2e+2"))
    assert read(path, MONEY) == [(Decimal("1500.00"),), (Decimal("0.01"),), (Decimal("200.00"),)]


def test_a_whole_number_in_a_text_column_is_its_digits(path: Path) -> None:
    column(path, number("A2", "4711"), number("A3", "4711.0"), number("A4", "1E+5"), number("A5", "12.5"))
    assert read(path, {"amount": "string"}) == [("4711",), ("4711",), ("100000",), ("12.5",)]


def test_a_whole_number_of_a_formula_is_an_integer(path: Path) -> None:
    column(path, '<c r="A2"><f>SUM(1,2)</f><v>3.0000000000000004</v></c>')
    assert read(path, {"amount": "integer"}) == [(3,)]


def test_texts_keep_leading_zeros_and_spaces(path: Path) -> None:
    column(path, text("A2", "007"), text("A3", " a "))
    assert read(path, {"amount": "string"}) == [("007",), (" a ",)]


def test_a_number_kept_as_text_counts_as_in_a_csv_file(path: Path) -> None:
    column(path, text("A2", "12345678901234567.89"))
    assert read(path, {"amount": "decimal(20,2)"}) == [(Decimal("12345678901234567.89"),)]


def test_more_decimals_than_the_column_has_are_refused_with_the_cell(path: Path) -> None:
    column(path, number("A2", "1.00"), number("A3", "33.333333333333336"))
    found = failure(path, MONEY)
    assert (found.code, found.parameters["place"]) == ("IO_004", "Budget!A3")
    assert found.parameters["value"] == "the number 33.3333333333333"


@pytest.mark.parametrize("stored", ["4111111111111111", "12345678901234567890", "1234567890123456.7"])
@pytest.mark.parametrize("declared", ["string", "decimal(30,2)"])
def test_numbers_that_fifteen_digits_do_not_hold_are_refused(path: Path, stored: str, declared: str) -> None:
    column(path, number("A2", stored))
    found = failure(path, {"amount": declared})
    assert (found.code, found.parameters["place"]) == ("IO_055", "Budget!A2")


def test_long_whole_numbers_that_fifteen_digits_hold_are_read(path: Path) -> None:
    column(path, number("A2", "1E+20"), number("A3", "1234567890123450"))
    assert read(path, {"amount": "decimal(38,0)"}) == [(Decimal(10) ** 20,), (Decimal(1234567890123450),)]


def test_dates_and_times_are_told_by_the_number_format(path: Path) -> None:
    column(path, number("A2", 46053, 1), number("A3", 46053, 2))
    assert read(path, {"amount": "date"}) == [(datetime.date(2026, 1, 31),)] * 2
    column(path, number("A2", "46053.520833333336", 3), number("A3", 46053, 1))
    assert read(path, {"amount": "timestamp"}) == [
        (datetime.datetime(2026, 1, 31, 12, 30, tzinfo=datetime.UTC),),
        (datetime.datetime(2026, 1, 31, tzinfo=datetime.UTC),),
    ]


def test_workbooks_of_the_other_date_system_count_from_1904(path: Path) -> None:
    column(path, number("A2", 0, 1), number("A3", 44591, 1), properties='date1904="1"')
    assert read(path, {"amount": "date"}) == [(datetime.date(1904, 1, 1),), (datetime.date(2026, 1, 31),)]


def test_the_first_days_of_1900_are_those_that_excel_shows(path: Path) -> None:
    column(path, number("A2", 1, 1), number("A3", 59, 1), number("A4", 61, 1))
    assert read(path, {"amount": "date"}) == [
        (datetime.date(1900, 1, 1),),
        (datetime.date(1900, 2, 28),),
        (datetime.date(1900, 3, 1),),
    ]


@pytest.mark.parametrize("serial", ["60", "0.5", "-1", "2958466"])
def test_days_that_never_were_are_refused(path: Path, serial: str) -> None:
    column(path, number("A2", serial, 1))
    found = failure(path, {"amount": "date"})
    assert (found.code, found.parameters["place"]) == ("IO_004", "Budget!A2")


def test_a_time_of_day_does_not_fit_a_date(path: Path) -> None:
    column(path, number("A2", "46053.5", 3))
    assert failure(path, {"amount": "date"}).parameters["value"] == "the date 2026-01-31 12:00:00"


def test_hours_beyond_a_day_are_a_number(path: Path) -> None:
    column(path, number("A2", "1.5", 4))
    assert read(path, MONEY) == [(Decimal("1.50"),)]


@pytest.mark.parametrize(
    ("cell", "declared"),
    [
        (number("A2", 46053), "date"),
        (number("A2", 46053, 1), "string"),
        (number("A2", 46053, 1), "decimal(18,2)"),
        (number("A2", 1), "boolean"),
        ('<c r="A2" t="b"><v>1</v></c>', "string"),
        ('<c r="A2" t="b"><v>1</v></c>', "integer"),
        (text("A2", "1,234.56"), "decimal(18,2)"),
        (text("A2", "31.01.2026"), "date"),
    ],
)
def test_a_cell_of_another_kind_is_refused_and_never_guessed(path: Path, cell: str, declared: str) -> None:
    column(path, cell)
    found = failure(path, {"amount": declared})
    assert (found.code, found.parameters["place"]) == ("IO_004", "Budget!A2")


def test_an_empty_text_is_no_number(path: Path) -> None:
    rows = [row(1, text("A1", "name"), text("B1", "amount")), row(2, text("A2", "a"), text("B2", ""))]
    write_workbook(path, {"Budget": sheet_xml(*rows)})
    found = failure(path, {"name": "string", "amount": "integer"})
    assert (found.code, found.parameters["place"]) == ("IO_004", "Budget!B2")


def test_booleans_are_booleans(path: Path) -> None:
    column(path, '<c r="A2" t="b"><v>1</v></c>', '<c r="A3" t="b"><v>0</v></c>')
    assert read(path, {"amount": "boolean"}) == [(True,), (False,)]


def test_dates_that_are_stored_as_text_are_dates(path: Path) -> None:
    column(path, '<c r="A2" t="d"><v>2026-01-31</v></c>')
    assert read(path, {"amount": "date"}) == [(datetime.date(2026, 1, 31),)]
    column(path, '<c r="A2" t="d"><v>2026-01-31T12:30:00</v></c>')
    assert read(path, {"amount": "timestamp"}) == [(datetime.datetime(2026, 1, 31, 12, 30, tzinfo=datetime.UTC),)]


def test_a_formula_counts_with_its_stored_value(path: Path) -> None:
    column(path, '<c r="A2"><f>1+1</f><v>2</v></c>', '<c r="A3" t="str"><f>"1"&amp;"0"</f><v>10</v></c>')
    assert read(path, {"amount": "integer"}) == [(2,), (10,)]


@pytest.mark.parametrize(
    "cell", ['<c r="A2"><f>1+1</f></c>', '<c r="A2"><f>1+1</f><v></v></c>', '<c r="A2" t="str"><f/></c>']
)
def test_a_formula_without_a_stored_value_is_an_error(path: Path, cell: str) -> None:
    column(path, cell)
    found = failure(path, MONEY)
    assert (found.code, found.parameters["place"]) == ("IO_053", "Budget!A2")


def test_an_error_cell_is_an_error_with_its_address(path: Path) -> None:
    column(path, number("A2", 1), '<c r="A3" t="e"><f>1/0</f><v>#DIV/0!</v></c>')
    found = failure(path, MONEY)
    assert found.code == "IO_052"
    assert found.parameters["place"] == "Budget!A3"
    assert found.parameters["error"] == "#DIV/0!"


def test_cells_of_columns_that_are_not_read_may_be_errors(path: Path) -> None:
    rows = [
        row(1, text("A1", "amount"), text("B1", "note")),
        row(2, number("A2", 1), '<c r="B2" t="e"><v>#N/A</v></c>'),
    ]
    write_workbook(path, {"Budget": sheet_xml(*rows)})
    assert read(path, MONEY) == [(Decimal("1.00"),)]


def test_blank_cells_are_null_and_blank_rows_are_no_rows(path: Path) -> None:
    rows = [
        row(1, text("A1", "name"), text("B1", "amount")),
        row(2, text("A2", "a"), '<c r="B2" s="1"/>'),
        row(3, '<c r="A3"/>', '<c r="B3"/>'),
        row(5, text("A5", "b"), number("B5", 2)),
        row(6, '<c r="B6" t="str"><f>""</f><v></v></c>'),
        row(7, text("G7", "made by Ada")),
        row(1048576, '<c r="A1048576" s="1"/>'),
    ]
    write_workbook(path, {"Budget": sheet_xml(*rows)})
    assert read(path, {"name": "string", "amount": "decimal(18,2)"}) == [("a", None), ("b", Decimal("2.00"))]


def test_a_row_of_nothing_but_an_uncomputed_formula_is_not_blank(path: Path) -> None:
    column(path, '<c r="A2"><f>A1</f></c>')
    assert failure(path, MONEY).code == "IO_053"


def test_hidden_rows_and_columns_count(path: Path) -> None:
    rows = [row(1, text("A1", "amount")), row(2, number("A2", 5), attributes=' hidden="1"')]
    write_workbook(path, {"Budget": sheet_xml(*rows, after='<cols><col min="1" max="1" hidden="1"/></cols>')})
    assert read(path, MONEY) == [(Decimal("5.00"),)]


MERGED_AT_THE_SIDE = ("D2:E3", "A9:B10")


@pytest.mark.parametrize("merged", ["A2:A3", "A1:B1", "B3:C3"])
def test_a_merged_cell_among_the_data_is_an_error(path: Path, merged: str) -> None:
    after = f'<mergeCells><mergeCell ref="{merged}"/></mergeCells>'
    rows = [row(1, text("A1", "name"), text("B1", "amount")), *_named_rows()]
    write_workbook(path, {"Budget": sheet_xml(*rows, after=after)})
    found = failure(path, {"name": "string", "amount": "decimal(18,2)"})
    assert (found.code, found.parameters["place"]) == ("IO_054", f"Budget!{merged}")


@pytest.mark.parametrize("merged", MERGED_AT_THE_SIDE)
def test_merged_cells_elsewhere_do_not_matter(path: Path, merged: str) -> None:
    after = f'<mergeCells><mergeCell ref="{merged}"/></mergeCells>'
    rows = [row(1, text("A1", "name"), text("B1", "amount")), *_named_rows()]
    write_workbook(path, {"Budget": sheet_xml(*rows, after=after)})
    assert len(read(path, {"name": "string", "amount": "decimal(18,2)"})) == 2


def _named_rows() -> list[str]:
    return [row(i, text(f"A{i}", name), number(f"B{i}", i)) for i, name in ((2, "a"), (3, "b"))]


TITLED = sheet_xml(
    row(1, text("A1", "Budget 2026")),
    row(3, text("B3", "region"), text("C3", "amount")),
    row(4, text("B4", "North"), number("C4", 10)),
    row(5, text("B5", "South"), number("C5", 20)),
    row(6, text("B6", "Total"), number("C6", 30)),
)
REGIONS = {"region": "string", "amount": "decimal(18,2)"}
WITHOUT_TOTAL = [("North", Decimal("10.00")), ("South", Decimal("20.00"))]


def test_the_header_may_stand_in_another_row(path: Path) -> None:
    write_workbook(path, {"Budget": TITLED})
    assert failure(path, REGIONS).code == "IO_002"
    assert read(path, REGIONS, header_row=3)[:2] == WITHOUT_TOTAL


@pytest.mark.parametrize("area", ["B3:C5", "$B$3:$C$5", "Budget!B3:C5", "'Budget'!B3:C5", "budget!b3:c5"])
def test_a_range_is_read_with_its_first_row_as_header(path: Path, area: str) -> None:
    write_workbook(path, {"Budget": TITLED, "Other": sheet_xml()})
    if "!" in area:
        assert read(path, REGIONS, range=area) == WITHOUT_TOTAL
    assert read(path, REGIONS, range=area, sheet="Budget") == WITHOUT_TOTAL


def test_a_range_may_name_whole_columns_and_its_header_may_stand_above(path: Path) -> None:
    write_workbook(path, {"Budget": TITLED})
    assert len(read(path, REGIONS, range="B:C", header_row=3)) == 3
    assert read(path, REGIONS, range="B4:C5", header_row=3) == WITHOUT_TOTAL


def test_a_range_may_be_a_name_of_the_workbook(path: Path) -> None:
    names = '<definedName name="Regions">Budget!$B$3:$C$5</definedName>'
    write_workbook(path, {"Budget": TITLED, "Other": sheet_xml()}, names=names)
    assert read(path, REGIONS, range="regions") == WITHOUT_TOTAL


def test_a_name_of_the_sheet_comes_before_one_of_the_workbook(path: Path) -> None:
    names = (
        '<definedName name="Regions">Budget!$B$3:$C$4</definedName>'
        '<definedName name="Regions" localSheetId="0">Budget!$B$3:$C$5</definedName>'
    )
    write_workbook(path, {"Budget": TITLED, "Other": sheet_xml()}, names=names)
    assert read(path, REGIONS, range="Regions", sheet="Budget") == WITHOUT_TOTAL
    assert read(path, REGIONS, range="Regions") == WITHOUT_TOTAL[:1]


@pytest.mark.parametrize("refers_to", ["OFFSET(Budget!$B$3,0,0,3,2)", "Budget!$A$1,Budget!$B$2", "#REF!", "3.5"])
def test_a_name_that_is_no_range_is_refused(path: Path, refers_to: str) -> None:
    names = f'<definedName name="Regions">{refers_to}</definedName>'
    write_workbook(path, {"Budget": TITLED}, names=names)
    found = failure(path, REGIONS, range="Regions")
    assert found.code == "IO_051"
    assert refers_to in str(found)


def test_a_range_may_be_a_table_without_its_totals(path: Path) -> None:
    table = '<table displayName="Plan" ref="B3:C6" totalsRowCount="1" xmlns="%s"/>'
    parts = {
        "xl/worksheets/_rels/sheet1.xml.rels": links_xml(("rId1", "table", "../tables/table1.xml")),
        "xl/tables/table1.xml": table % "http://schemas.openxmlformats.org/spreadsheetml/2006/main",
    }
    write_workbook(path, {"Budget": TITLED, "Other": sheet_xml()}, parts=parts)
    assert read(path, REGIONS, range="Plan") == WITHOUT_TOTAL
    assert "did you mean Plan?" in str(failure(path, REGIONS, range="Plam").hint)


def test_a_workbook_with_several_sheets_needs_the_name_of_one(path: Path) -> None:
    write_workbook(path, {"Notes": sheet_xml(), "Budget": TITLED, "Old": TITLED}, hidden=["Old"])
    found = failure(path, REGIONS, header_row=3)
    assert (found.code, found.parameters["problem"]) == ("IO_051", "it has 2 sheets: Notes, Budget")
    assert len(read(path, REGIONS, sheet="budget", header_row=3)) == 3
    assert len(read(path, REGIONS, sheet="Old", header_row=3)) == 3
    assert failure(path, REGIONS, sheet="Budgets").hint == "did you mean Budget?"


def test_the_only_sheet_that_can_be_seen_needs_no_name(path: Path) -> None:
    write_workbook(path, {"Lists": sheet_xml(), "Budget": TITLED}, hidden=["Lists"])
    assert len(read(path, REGIONS, header_row=3)) == 3


def test_the_sheet_of_daybooks_own_rows_needs_no_name(path: Path) -> None:
    names = '<definedName name="daybook_rows">Budget!$B$3:$C$5</definedName>'
    write_workbook(path, {"Budget": TITLED, "About": sheet_xml()}, names=names)
    assert len(read(path, REGIONS, header_row=3)) == 3


@pytest.mark.parametrize("options", [{"header_row": 2}, {"range": "E1:F9"}, {"sheet": "Empty"}])
def test_a_blank_header_is_refused(path: Path, options: dict[str, Any]) -> None:
    write_workbook(path, {"Budget": TITLED, "Empty": sheet_xml()}, hidden=["Empty"])
    found = failure(path, REGIONS, **options)
    assert found.code == "IO_051"
    assert "is blank" in found.message


def test_two_columns_of_one_name_are_refused(path: Path) -> None:
    write_workbook(path, {"Budget": sheet_xml(row(1, text("A1", "amount"), text("C1", "amount")))})
    assert failure(path, MONEY).code == "IO_014"


def test_shared_texts_are_put_together_from_their_runs(path: Path) -> None:
    shared = (
        "<si><t>amount</t></si><si><r><t>No</t></r><r><t>rth</t></r><rPh><t>x</t></rPh></si><si><t>a_x000D_b</t></si>"
    )
    cells = ['<c r="A1" t="s"><v>0</v></c>', '<c r="A2" t="s"><v>1</v></c>', '<c r="A3" t="s"><v>2</v></c>']
    rows = [row(i, cell) for i, cell in enumerate(cells, start=1)]
    write_workbook(path, {"Budget": sheet_xml(*rows)}, shared=shared)
    assert read(path, {"amount": "string"}) == [("North",), ("a\rb",)]


LONGEST = 32_767


@pytest.mark.parametrize("value", ["x" * LONGEST, "\N{GRINNING FACE}" * (LONGEST // 2), "_x000D_" * LONGEST])
def test_texts_as_long_as_a_cell(path: Path, value: str) -> None:
    column(path, text("A2", value))
    ((inline,),) = read(path, {"amount": "string"})
    shared_column(path, value)
    assert read(path, {"amount": "string"}) == [(inline,)]
    assert inline == value.replace("_x000D_", "\r")


@pytest.mark.parametrize(
    "value", ["x" * (LONGEST + 1), "\N{GRINNING FACE}" * (LONGEST // 2 + 1), "_x000D_" * (LONGEST + 1), "x" * 2_000_000]
)
@pytest.mark.parametrize("is_shared", [True, False])
def test_longer_texts_are_refused_with_their_cell(path: Path, value: str, is_shared: bool) -> None:
    if is_shared:
        shared_column(path, value)
    else:
        column(path, text("A2", value))
    found = failure(path, {"amount": "string"})
    assert found.code == "IO_050"
    assert "Budget!A2" in found.message
    assert len(found.message) < 1_000


def test_cells_that_share_a_long_text_do_not_grow_without_limit(path: Path) -> None:
    shared_column(path, "x" * LONGEST, cells=9_000)
    assert path.stat().st_size < 100_000
    found = failure(path, {"amount": "string"})
    assert found.code == "IO_050"
    assert "256 MiB of text" in found.message


def test_long_texts_come_in_small_batches(path: Path) -> None:
    shared_column(path, "x" * LONGEST, cells=2_000)
    batches = read_batches(path, {"amount": "string"})
    assert sum(batch.rows for batch in batches) == 2_000
    assert max(batch.columns["amount"].nbytes for batch in batches) < 20 << 20


def shared_column(path: Path, value: str, cells: int = 1) -> None:
    """A column of cells that share one text."""
    below = (row(number, f'<c r="A{number}" t="s"><v>0</v></c>') for number in range(2, cells + 2))
    rows = [row(1, text("A1", "amount")), *below]
    write_workbook(path, {"Budget": sheet_xml(*rows)}, shared=f"<si><t>{value}</t></si>")


def test_escaped_characters_are_what_they_stand_for(path: Path) -> None:
    column(path, text("A2", "_x005F_x000D_"), text("A3", "_xD83D__xDE00_"), text("A4", "_x_"))
    assert read(path, {"amount": "string"}) == [("_x000D_",), ("\N{GRINNING FACE}",), ("_x_",)]


def test_rows_and_cells_without_a_position_follow_the_one_before(path: Path) -> None:
    rows = "<row><c t='str'><v>name</v></c><c t='str'><v>amount</v></c></row><row><c/><c><v>3</v></c></row>"
    write_workbook(path, {"Budget": sheet_xml(rows)})
    assert read(path, MONEY) == [(Decimal("3.00"),)]


def test_strict_workbooks_are_read(path: Path) -> None:
    rows = [row(1, text("A1", "amount")), row(2, number("A2", 3))]
    write_workbook(path, {"Budget": sheet_xml(*rows, namespace=STRICT_MAIN)}, namespace=STRICT_MAIN)
    assert read(path, MONEY) == [(Decimal("3.00"),)]


def test_a_batch_tells_where_its_rows_and_cells_stand(path: Path) -> None:
    write_workbook(path, {"Plan 2026": TITLED})
    (batch,) = read_batches(path, REGIONS, header_row=3)
    assert batch.where(1) == "'Plan 2026'!B5:C5"
    assert batch.position(1, "amount") == "'Plan 2026'!C5"
