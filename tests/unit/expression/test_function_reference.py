"""The published reference is what the function table says today."""

from pathlib import Path

from daybook.expression.functions.function_reference import reference_page
from daybook.expression.functions.function_table import FUNCTIONS

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "functions.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference_page(), "write it again: make reference"


def test_every_function_has_its_row() -> None:
    rows = [line for line in reference_page().splitlines() if line.startswith("| `")]
    assert all(any(row.startswith(f"| `{name}(") for row in rows) for name in FUNCTIONS)


def test_no_row_breaks_its_table() -> None:
    tables = [line for line in reference_page().splitlines() if line.startswith("|")]
    assert all(line.count("|") - line.count("\\|") in {3, 4} for line in tables)
