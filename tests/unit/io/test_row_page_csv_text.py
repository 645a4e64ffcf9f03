"""Rows as CSV text that other readers read back exactly, and that no spreadsheet takes for formulas."""

import csv
import datetime
import io
from decimal import Decimal

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from daybook.io.column_types import arrow_type
from daybook.io.row_page import csv_texts
from daybook.io.target import OutputColumn
from daybook.model.types import BOOLEAN, DATE, FLOAT, INTEGER, STRING, TIMESTAMP, DecimalType

COLUMNS = (
    OutputColumn("text", STRING),
    OutputColumn("amount", DecimalType(38, 10)),
    OutputColumn("count", INTEGER),
    OutputColumn("is_paid", BOOLEAN),
    OutputColumn("day", DATE),
    OutputColumn("at", TIMESTAMP),
    OutputColumn("rate", FLOAT),
)


def text_of(*rows: tuple[object, ...]) -> str:
    arrays = [pa.array([row[index] for row in rows], arrow_type(column.type)) for index, column in enumerate(COLUMNS)]
    batch = pa.RecordBatch.from_arrays(arrays, [column.name for column in COLUMNS])
    return b"".join(csv_texts(COLUMNS, [batch])).decode()


def test_every_type_and_null() -> None:
    at = datetime.datetime(2026, 1, 31, 12, 30, 0, 500000, tzinfo=datetime.UTC)
    full = ('a "b", c', Decimal("0.0000000001"), -7, True, datetime.date(2026, 1, 31), at, 0.1)
    lines = text_of(full, (None,) * 7, ("", Decimal(0), 0, False, None, at.replace(microsecond=0), None)).splitlines()
    assert lines == [
        "text,amount,count,is_paid,day,at,rate",
        '"a ""b"", c",0.0000000001,-7,true,2026-01-31,2026-01-31T12:30:00.500000Z,0.1',
        ",,,,,,",
        '"",0.0000000000,0,false,,2026-01-31T12:30:00Z,',
    ]


def test_null_in_a_single_column_is_a_row() -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([1, None, 2])], ["count"])
    text = b"".join(csv_texts(COLUMNS[2:3], [batch])).decode()
    assert list(csv.reader(io.StringIO(text))) == [["count"], ["1"], [""], ["2"]]


def test_texts_that_begin_like_formulas_are_texts() -> None:
    lines = text_of(*((text, *[None] * 6) for text in ("=1+1", "-5", "@x", "+a"))).splitlines()[1:]
    assert [line.rstrip(",") for line in lines] == ["'=1+1", "'-5", "'@x", "'+a"]


@given(st.lists(st.text(st.characters(exclude_characters="\r\x00", exclude_categories=["Cs"])), min_size=1))
def test_texts_come_back(texts: list[str]) -> None:
    found = list(csv.reader(io.StringIO(text_of(*((text, *[None] * 6) for text in texts)))))[1:]
    starts = ("=", "+", "-", "@", "\t", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
    assert [row[0] for row in found] == [f"'{text}" if text.startswith(starts) else text for text in texts]
