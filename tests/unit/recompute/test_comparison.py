"""Rows compared cell by cell."""

import math
from decimal import Decimal

from daybook.recompute.comparison import CellDifference, compare_rows

COLUMNS = ("_row_id", "account", "amount")


def test_equal_rows_in_another_order_are_equal() -> None:
    rows = [("1", "A", Decimal("1.00")), ("2", "B", Decimal("2.00"))]
    compared = compare_rows(COLUMNS, rows, [("2", "B", Decimal("2.0")), ("1", "A", Decimal("1.00"))])
    assert (compared.rows, compared.cells, compared.count) == (2, 6, 0)


def test_a_cell_that_differs_is_named_by_its_row() -> None:
    compared = compare_rows(COLUMNS, [("1", "A", Decimal("1.00"))], [("1", "A", Decimal("1.01"))])
    assert compared.differences == (CellDifference("account = A, amount = 1.00", "amount", "1.00", "1.01"),)


def test_rows_on_one_side_only() -> None:
    compared = compare_rows(COLUMNS, [("1", "A", None)], [("2", "A", None)])
    assert [(cell.written, cell.computed) for cell in compared.differences] == [
        ("a row", "no such row"),
        ("no such row", "a row"),
    ]


def test_rows_that_occur_twice_count_twice() -> None:
    compared = compare_rows(("a",), [(1,), (1,)], [(1,)])
    assert [(cell.column, cell.computed) for cell in compared.differences] == [(None, "no such row")]


def test_floats_are_equal_in_twelve_digits() -> None:
    assert compare_rows(("f",), [(0.1 + 0.2,), (math.nan,), (-0.0,)], [(0.3,), (math.nan,), (0.0,)]).count == 0
    assert compare_rows(("f",), [(1.000000001,)], [(1.0,)]).count == 1
