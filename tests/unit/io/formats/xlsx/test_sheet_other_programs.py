"""Workbooks that other programs write are read as they mean them."""

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import xlsxwriter
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl.worksheet.table import Table

from daybook.errors import DaybookError
from tests.unit.io.formats.xlsx.handmade import read

TYPES = {"name": "string", "amount": "decimal(18,2)", "day": "date", "is_open": "boolean"}
HEADER = list(TYPES)
ROW = ["007", 1234.56, datetime.date(2026, 1, 31), True]
EXPECTED = [("007", Decimal("1234.56"), datetime.date(2026, 1, 31), True)]


def test_a_workbook_of_openpyxl(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.append(HEADER)
    sheet.append(ROW)
    sheet.add_table(Table(displayName="Plan", ref="A1:D2"))
    book.save(tmp_path / "budget.xlsx")
    assert read(tmp_path / "budget.xlsx", TYPES) == EXPECTED
    assert read(tmp_path / "budget.xlsx", TYPES, range="Plan") == EXPECTED


def test_a_formula_of_openpyxl_has_no_value_yet(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.worksheets[0].append(["amount"])
    book.worksheets[0].append(["=1+1"])
    book.save(tmp_path / "budget.xlsx")
    with pytest.raises(DaybookError) as caught:
        read(tmp_path / "budget.xlsx", {"amount": "decimal(18,2)"})
    assert (caught.value.code, caught.value.parameters["place"]) == ("IO_053", "Sheet!A2")


@pytest.mark.parametrize("is_1904", [False, True])
def test_a_workbook_of_xlsxwriter(tmp_path: Path, is_1904: bool) -> None:
    with xlsxwriter.Workbook(tmp_path / "budget.xlsx", {"date_1904": is_1904}) as book:
        sheet = book.add_worksheet("Budget")
        sheet.write_row(0, 0, HEADER)
        sheet.write_string(1, 0, ROW[0])
        sheet.write_number(1, 1, ROW[1])
        sheet.write_datetime(1, 2, ROW[2], book.add_format({"num_format": "d mmm yyyy"}))
        sheet.write_boolean(1, 3, ROW[3])
        book.define_name("Lines", "=Budget!$A$1:$D$2")
    assert read(tmp_path / "budget.xlsx", TYPES, range="Lines") == EXPECTED


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20),
            st.decimals(min_value=-(10**12), max_value=10**12, places=2),
            st.datetimes(datetime.datetime.fromisoformat("1900-03-01"), datetime.datetime.fromisoformat("9999-12-31")),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_what_xlsxwriter_writes_is_what_is_read(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, Decimal, datetime.datetime]]
) -> None:
    path = tmp_path_factory.mktemp("books") / "any.xlsx"
    moments = [moment.replace(microsecond=moment.microsecond // 1000 * 1000) for _, _, moment in rows]
    with xlsxwriter.Workbook(path, {"strings_to_formulas": False, "strings_to_urls": False}) as book:
        sheet = book.add_worksheet()
        style = book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss.000"})
        sheet.write_row(0, 0, ["name", "amount", "moment"])
        for index, (name, amount, _) in enumerate(rows, start=1):
            sheet.write_string(index, 0, name)
            sheet.write_number(index, 1, float(amount))
            sheet.write_datetime(index, 2, moments[index - 1], style)
    types = {"name": "string", "amount": "decimal(18,2)", "moment": "timestamp"}
    expected: list[tuple[Any, ...]] = [
        (name, amount, moment.replace(tzinfo=datetime.UTC))
        for (name, amount, _), moment in zip(rows, moments, strict=True)
    ]
    assert read(path, types) == expected
