"""What a selector rules out by `_operation_seq` is known before anything runs."""

import pytest

from daybook.expression import Scope, compile_expression
from daybook.model.types import BOOLEAN, INTEGER, STRING
from daybook.plan.conditions import excludes

SCOPE = Scope({"_operation_seq": INTEGER, "region": STRING, "is_new": BOOLEAN}, {"t": {"_operation_seq": INTEGER}})


@pytest.mark.parametrize(
    ("selector", "excluded"),
    [
        ("_operation_seq = 0", {3, 5}),
        ("0 = _operation_seq", {3, 5}),
        ("_operation_seq <> 3", {3}),
        ("_operation_seq > 0", {0}),
        ("3 > _operation_seq", {3, 5}),
        ("_operation_seq >= 3 AND _operation_seq <= 3", {0, 5}),
        ("_operation_seq IN (0, 5)", {3}),
        ("_operation_seq NOT IN (0, 5)", {0, 5}),
        ('region = "EU" AND _operation_seq = 5', {0, 3}),
        # What is not one of several conditions that must all hold rules nothing out.
        ('region = "EU" OR _operation_seq = 5', set()),
        ("NOT _operation_seq = 0", set()),
        ("_operation_seq + 0 = 0", set()),
        ("_operation_seq = _operation_seq", set()),
        ("_operation_seq IN (0, NULL)", set()),
        ("is_new", set()),
    ],
)
def test_operations_are_ruled_out(selector: str, excluded: set[int]) -> None:
    compiled = compile_expression(selector, SCOPE, expect="boolean")
    assert {seq for seq in (0, 3, 5) if excludes(compiled, seq)} == excluded


def test_no_selector_excludes_nothing() -> None:
    assert not excludes(None, 0)
