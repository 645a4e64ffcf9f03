"""The months around the one that the demo closes."""

import pytest

from daybook.demo.month_close import quarter_around


@pytest.mark.parametrize(
    ("month", "quarter"),
    [
        ("2026-01", ("2026-01", "2026-03")),
        ("2026-03", ("2026-01", "2026-03")),
        ("2026-04", ("2026-04", "2026-06")),
        ("2026-12", ("2026-10", "2026-12")),
    ],
)
def test_the_quarter_of_a_month(month: str, quarter: tuple[str, str]) -> None:
    assert quarter_around(month) == quarter
