"""Values from text are exact or refused."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daybook.io.bindings import Binding
from daybook.io.column_types import BadValueError, parse_texts, partition_value_errors
from daybook.model.types import BOOLEAN, DATE, FLOAT, INTEGER, TIMESTAMP, ColumnType, DecimalType


def parsed(type_: ColumnType, *texts: str | None) -> list[Any]:
    values: list[Any] = parse_texts(pa.array(texts, pa.string()), type_).to_pylist()
    return values


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        (INTEGER, "-9223372036854775808", -(2**63)),
        (INTEGER, "+7", 7),
        (DecimalType(10, 2), "1.500", Decimal("1.5")),
        (DecimalType(10, 2), "-.5", Decimal("-0.5")),
        (DecimalType(10, 2), "1e2", Decimal(100)),
        (FLOAT, "-Infinity", float("-inf")),
        (FLOAT, "1e308", 1e308),
        (BOOLEAN, "True", True),
        (DATE, "0001-01-01", dt.date(1, 1, 1)),
        (DATE, "2024-02-29", dt.date(2024, 2, 29)),
        (TIMESTAMP, "2026-01-01", dt.datetime(2026, 1, 1, tzinfo=dt.UTC)),
        (TIMESTAMP, "2026-01-01 00:30", dt.datetime(2026, 1, 1, 0, 30, tzinfo=dt.UTC)),
        (TIMESTAMP, "2026-01-01T00:30:00.000001-0130", dt.datetime(2026, 1, 1, 2, 0, 0, 1, tzinfo=dt.UTC)),
    ],
)
def test_values(type_: ColumnType, text: str, value: object) -> None:
    assert parsed(type_, text, None) == [value, None]


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (INTEGER, "9223372036854775808"),
        (INTEGER, "1.0"),
        (INTEGER, " 1"),
        (INTEGER, "0x10"),
        (INTEGER, "1_000"),
        (INTEGER, ""),
        (DecimalType(10, 2), "1.005"),
        (DecimalType(10, 2), "123456789"),
        (DecimalType(10, 2), "1,5"),
        (DecimalType(10, 2), "NaN"),
        (FLOAT, "1e400"),
        (FLOAT, "nan"),
        (BOOLEAN, "1"),
        (BOOLEAN, "yes"),
        (DATE, "2026-02-30"),
        (DATE, "2026-1-1"),
        (DATE, "0000-01-01"),
        (DATE, "2026-01-01T00:00:00"),
        (TIMESTAMP, "2026-01-01T24:00:01"),
        (TIMESTAMP, "2026-01-01T00:00:00.0000001"),
        (TIMESTAMP, "2026-01-01 00:00:00 Europe/Berlin"),
    ],
)
def test_refused(type_: ColumnType, text: str) -> None:
    good = {INTEGER: "1", FLOAT: "1", BOOLEAN: "true", DATE: "2026-01-01", TIMESTAMP: "2026-01-01"}.get(type_, "1")
    with pytest.raises(BadValueError) as caught:
        parsed(type_, good, None, text, good)
    assert (caught.value.index, caught.value.value) == (2, text)


@given(st.lists(st.decimals(min_value=-(10**27), max_value=10**27, places=10), min_size=1, max_size=20))
def test_decimals_keep_every_digit(values: list[Decimal]) -> None:
    assert parsed(DecimalType(38, 10), *(format(value, "f") for value in values)) == values


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=20))
def test_floats_are_those_of_their_shortest_text(values: list[float]) -> None:
    texts = [repr(value).replace("inf", "Infinity") for value in values]
    assert parsed(FLOAT, *texts) == values


@given(st.datetimes())
def test_timestamps_keep_microseconds(moment: dt.datetime) -> None:
    assert parsed(TIMESTAMP, moment.isoformat()) == [moment.replace(tzinfo=dt.UTC)]


def test_a_partition_value_is_of_the_declared_type() -> None:
    bindings = [Binding("quantity", "quantity", INTEGER), Binding("day", "day", DATE)]
    values = {"quantity": "many", "day": "2026-01-31"}
    (error,) = partition_value_errors(bindings, values, "lake/quantity=many/part-0.parquet")
    assert (error.code, error.parameters["column"], error.parameters["value"]) == ("IO_015", "quantity", "many")
