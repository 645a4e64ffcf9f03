"""Values as people read them: every digit, thousands apart, negative numbers as the reader prefers."""

import datetime
from decimal import Decimal
from typing import Any

import pytest

from daybook.pictures.shown_values import format_duration, format_number, format_value, plural

MINUS = "\N{MINUS SIGN}"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Decimal("1234567.50"), "1,234,567.50"),
        (Decimal("-0.10"), f"{MINUS}0.10"),
        (Decimal("0.0000000001"), "0.0000000001"),
        (Decimal("12345678901234567890123456789012345678"), "12,345,678,901,234,567,890,123,456,789,012,345,678"),
        (-1234, f"{MINUS}1,234"),
        (0, "0"),
        (0.1, "0.1"),
    ],
)
def test_numbers_keep_every_digit(value: Any, shown: str) -> None:
    assert format_number(value) == shown


def test_negative_numbers_in_parentheses() -> None:
    assert format_number(Decimal("-1234.00"), "parentheses") == "(1,234.00)"
    assert format_number(Decimal("1234.00"), "parentheses") == "1,234.00"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "\N{EN DASH}"),
        (True, "true"),
        ("4711", "4711"),
        (datetime.date(2026, 1, 31), "2026-01-31"),
        (datetime.datetime(2026, 1, 31, 8, tzinfo=datetime.UTC), "2026-01-31T08:00:00Z"),
    ],
)
def test_other_values_are_as_files_have_them(value: Any, shown: str) -> None:
    assert format_value(value) == shown


def test_whole_numbers_that_identify_something_have_no_separators() -> None:
    assert format_value(20261, is_key=True) == "20261"
    assert format_value(Decimal("20261.5"), is_key=True) == "20,261.5"


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [(None, ""), (49, "0.0 s"), (1250, "1.2 s"), (61_000, "1 min 01 s"), (3_660_000, "1 h 01 min")],
)
def test_durations(milliseconds: int | None, shown: str) -> None:
    assert format_duration(milliseconds) == shown


def test_plurals() -> None:
    assert [plural(1, "row"), plural(1200, "row"), plural(2, "box", "boxes")] == ["1 row", "1,200 rows", "2 boxes"]
