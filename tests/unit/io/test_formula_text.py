"""One rule says what a spreadsheet takes for a formula; Python and Arrow read it the same way (Spark: see CSV)."""

import re

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from daybook.io.formula_text import FORMULA_START

FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1", "\uff0b1", "\uff0d1", "\uff201")
TEXTS = ("", "1-1", "a=b", " =1", "'=1", "\\\\=", "u", "t", "\uff11")


@pytest.mark.parametrize(("text", "is_formula"), [*((t, True) for t in FORMULAS), *((t, False) for t in TEXTS)])
def test_the_rule(text: str, is_formula: bool) -> None:
    assert bool(re.match(FORMULA_START, text)) is is_formula
    assert pc.match_substring_regex(pa.array([text]), FORMULA_START).to_pylist() == [is_formula]
