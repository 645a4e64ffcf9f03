"""What a selector rules out by `_operation_seq` is known before anything runs."""

from dataclasses import replace

import pytest

from daybook.expression import Scope, compile_expression
from daybook.model.types import BOOLEAN, INTEGER, STRING
from daybook.plan.conditions import excludes, excludes_known, holds_for

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


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ('region = "EU"', True),
        ('"US" = region', False),
        ('region IN ("US", "UK") OR _operation_seq = 5', False),
        ('region IN ("US", "UK") OR is_new', None),
        ('region = "EU" OR is_new', True),
        ('region = "US" AND is_new', False),
        ("is_new", None),
        ('area = "EU"', False),
        ('area <> "EU"', False),
        ('area NOT IN ("EU")', False),
        ("area IS NULL", True),
        ("area IS NOT NULL", False),
        # A row may come without a value that nobody reads.
        ("region IS NULL", None),
        ("region = area", None),
        ("t._operation_seq = 5", None),
    ],
)
def test_known_values_decide_about_a_condition(condition: str, holds: bool | None) -> None:
    scope = replace(SCOPE, columns={**SCOPE.columns, "area": STRING}, aliases=frozenset({"t"}))
    compiled = compile_expression(condition, scope, expect="boolean")
    assert holds_for(compiled.tree, {"_operation_seq": 3, "region": "EU", "area": None}) is holds
    assert excludes_known(compiled, {"_operation_seq": 3, "region": "EU", "area": None}) is (holds is False)
