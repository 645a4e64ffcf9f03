"""What the rows of a level sum up to is exact, however many digits it has."""

from decimal import Decimal
from typing import Any

from daybook.runs.explain.levels import _amounts_above
from daybook.runs.explain.row_origins import RowOrigin

WIDE = Decimal("12345678901234567890123456789012345678")


def origin(**values: Any) -> RowOrigin:
    return RowOrigin({}, values=values)


def test_amounts_of_many_digits_are_not_rounded() -> None:
    found = _amounts_above([origin(amount=WIDE), origin(amount=Decimal("0.01")), origin(amount=None)])
    assert found == {"amount": Decimal("12345678901234567890123456789012345678.01")}


def test_only_columns_that_all_rows_have_are_summed() -> None:
    assert _amounts_above([origin(amount=1, tax=2), origin(amount=4)]) == {"amount": 5}
