import datetime
from decimal import Decimal

import pytest

from daybook.model.types import Value, value_text

MOMENT = datetime.datetime(2026, 1, 31, 23, 59, 59, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        (True, "true"),
        (False, "false"),
        (-7, "-7"),
        (Decimal("1E-10"), "0.0000000001"),
        (Decimal("1E+3"), "1000"),
        (Decimal("1e999999999"), "1E+999999999"),
        (0.1, "0.1"),
        ("a b", "a b"),
        (datetime.date(2026, 1, 31), "2026-01-31"),
        (MOMENT, "2026-01-31T23:59:59Z"),
    ],
)
def test_a_value_as_it_stands_in_a_file(value: Value, text: str) -> None:
    assert value_text(value) == text


def test_what_stands_for_null_is_the_callers_choice() -> None:
    assert value_text(None, null="null") == "null"
