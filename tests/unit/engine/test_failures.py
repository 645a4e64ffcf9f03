"""Wherever an expression fails, what Spark quotes of it tells where it comes from."""

import re

import pytest

from daybook.engine.failures import last_mark, mark_sql
from daybook.expression import compile_expression
from tests.unit.expression.world import CONSTANTS, SCOPE

EXPRESSIONS = [
    "LEFT(status, quantity * 9223372036854775807)",
    'CASE WHEN status = "a rather long text, with (all) of the THEN and ELSE" THEN quantity + 1 ELSE quantity * 2 END',
    'IF(CONTAINS(status, "WHEN it\'s (`so`)"), DATEADD(order_date, quantity * 100000), order_date)',
]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_every_part_has_a_mark_within_reach(text: str) -> None:
    sql = compile_expression(text, SCOPE).sql(CONSTANTS)
    marked = mark_sql(sql, 12, "value", 3)
    assert re.sub(r" ?/\* 12:value.3 \*/ ", "", marked).replace(" ", "") == sql.replace(" ", "")
    for part in re.finditer(r"`quantity` [+*] \d+L|CAST\(", marked):
        assert last_mark(marked[max(part.start() - 32, 0) : part.end() + 20]) == (12, "value", 3)


def test_a_short_expression_has_one_mark() -> None:
    assert mark_sql("`a` + 1L", 1, "selector") == "/* 1:selector */ `a` + 1L"


def test_texts_and_names_stay_as_they_are() -> None:
    quoted = "CONCAT('(WHEN, it\\'s, (so), THEN, it, is, (long), ELSE, not)', `a (column), WHEN, named, (so)`)"
    marked = mark_sql(quoted, 1, "value", 0)
    assert all(part in marked for part in re.findall(r"'.*'|`.*`", quoted))
