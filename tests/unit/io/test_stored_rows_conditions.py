"""Comparisons of columns with values: exact, typed, and refused with a code where they make no sense."""

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daybook.errors import DaybookError
from daybook.io.column_types import arrow_type
from daybook.io.stored_rows import RowCondition, RowOrder, check_order, type_conditions
from daybook.io.target import OutputColumn
from daybook.model.types import BOOLEAN, DATE, FLOAT, INTEGER, STRING, TIMESTAMP, ColumnType, DecimalType

MONEY = DecimalType(5, 2)


def picked(type_: ColumnType, values: list[Any], comparison: str, value: Any = None) -> list[Any]:
    column = OutputColumn("c", type_)
    (condition,) = type_conditions([RowCondition("c", comparison, value)], [column], "out")
    batch = pa.RecordBatch.from_arrays([pa.array(values, arrow_type(type_))], ["c"])
    found: list[Any] = batch.filter(condition.mask(batch)).column(0).to_pylist()
    return found


def money(*texts: str) -> list[Decimal]:
    return [Decimal(text) for text in texts]


@pytest.mark.parametrize(
    ("type_", "values", "comparison", "value", "expected"),
    [
        (MONEY, [*money("1.00", "2.50"), None], ">=", "2.5", money("2.50")),
        (MONEY, money("2.50", "2.51"), "<", "2.505", money("2.50")),
        (MONEY, money("2.50", "2.51"), ">", "2.505", money("2.51")),
        (MONEY, money("-2.51", "-2.50"), "<", "-2.505", money("-2.51")),
        (MONEY, money("2.50"), "=", "2.505", []),
        (MONEY, [*money("2.50"), None], "!=", "2.505", money("2.50")),
        (MONEY, money("999.99"), "<", "123456", money("999.99")),
        (MONEY, money("999.99"), ">", "123456", []),
        (MONEY, money("-999.99"), ">=", "-123456", money("-999.99")),
        (INTEGER, [1, 2, 3, None], ">", "2", [3]),
        (INTEGER, [1, 2, 3], ">=", "2.5", [3]),
        (INTEGER, [2**63 - 1], "<", str(2**63), [2**63 - 1]),
        (INTEGER, [-(2**63)], "=", -(2**63), [-(2**63)]),
        (STRING, ["Rent", "rent paid", "Fee", None], "contains", "RENT", ["Rent", "rent paid"]),
        (STRING, ["Rent", "prepaid rent"], "starts_with", "re", ["Rent"]),
        (STRING, ["a", None, ""], "is_null", None, [None]),
        (STRING, ["a", None, ""], "is_not_null", None, ["a", ""]),
        (STRING, ["a", None, ""], "!=", "a", [""]),
        (STRING, ["a' OR 1=1 --", "a"], "=", "a' OR 1=1 --", ["a' OR 1=1 --"]),
        (BOOLEAN, [True, False, None], "=", "true", [True]),
        (BOOLEAN, [True, False, None], "=", False, [False]),
        (FLOAT, [0.5, 1.5], ">", 1, [1.5]),
        (DATE, [datetime.date(2026, 1, 31)], "<=", "2026-01-31", [datetime.date(2026, 1, 31)]),
        (DATE, [datetime.date(2026, 1, 31)], "<", datetime.date(2026, 1, 31), []),
        (
            TIMESTAMP,
            [datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)],
            "<=",
            "2026-01-01T12:00:00Z",
            [datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.UTC)],
        ),
    ],
)
def test_comparisons(type_: ColumnType, values: list[Any], comparison: str, value: Any, expected: list[Any]) -> None:
    assert picked(type_, values, comparison, value) == expected


NUMBERS = st.decimals(-2000, 2000, places=4, allow_nan=False)


@given(
    st.lists(st.decimals("-999.99", "999.99", places=2), max_size=8), NUMBERS, st.sampled_from(["<", "<=", ">", ">="])
)
def test_numbers_of_any_length_compare_as_numbers_do(values: list[Decimal], value: Decimal, comparison: str) -> None:
    compare = {"<": Decimal.__lt__, "<=": Decimal.__le__, ">": Decimal.__gt__, ">=": Decimal.__ge__}[comparison]
    assert picked(MONEY, values, comparison, value) == [each for each in values if compare(each, value)]
    assert picked(MONEY, values, "=", value) == [each for each in values if each == value]
    assert picked(MONEY, values, "!=", value) == [each for each in values if each != value]


@pytest.mark.parametrize(
    ("type_", "comparison", "value", "code"),
    [
        (STRING, "like", "a%", "RUN_081"),
        (STRING, "= 1 OR", "a", "RUN_081"),
        (INTEGER, "contains", "1", "RUN_081"),
        (BOOLEAN, "<", "true", "RUN_081"),
        (INTEGER, "=", "1,000", "RUN_082"),
        (INTEGER, "=", "1e9", "RUN_082"),
        (INTEGER, "=", "9" * 200, "RUN_082"),
        (INTEGER, "=", "NaN", "RUN_082"),
        (INTEGER, "=", True, "RUN_082"),
        (MONEY, "=", 0.1, "RUN_082"),
        (MONEY, "=", None, "RUN_082"),
        (DATE, "=", "31.01.2026", "RUN_082"),
        (BOOLEAN, "=", 1, "RUN_082"),
        (STRING, "is_null", "x", "RUN_082"),
    ],
)
def test_what_makes_no_sense_is_refused(type_: ColumnType, comparison: str, value: Any, code: str) -> None:
    with pytest.raises(DaybookError) as caught:
        picked(type_, [], comparison, value)
    assert caught.value.code == code


def test_an_unknown_column_names_a_known_one() -> None:
    columns = [OutputColumn("amount", MONEY)]
    for call in (
        lambda: type_conditions([RowCondition("amout", "=", "1")], columns, "out"),
        lambda: check_order([RowOrder("amout")], columns, "out"),
    ):
        with pytest.raises(DaybookError) as caught:
            call()
        assert (caught.value.code, "amount" in str(caught.value.hint)) == ("RUN_080", True)
