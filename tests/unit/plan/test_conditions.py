"""Join conditions taken apart."""

import pytest

from daybook.expression import Scope, compile_expression
from daybook.model.types import DATE, FLOAT, INTEGER, STRING, ColumnType, DecimalType
from daybook.plan.conditions import split_join_condition

OWN: dict[str, ColumnType] = {"id": STRING, "n": INTEGER, "f": FLOAT, "day": DATE, "m": DecimalType(9, 2)}
SCOPE = Scope(OWN, {"t": OWN, "j": OWN, "k": OWN}, frozenset({"j", "k"}))


@pytest.mark.parametrize(
    ("condition", "keys", "joined_only", "own_only", "rest", "is_by_key"),
    [
        ("id = j.id", 1, 0, 0, 0, True),
        ("j.id = id", 1, 0, 0, 0, True),
        ("id = j.id AND n = j.n", 2, 0, 0, 0, True),
        ("id = j.id AND (n = j.n AND j.f > 1)", 2, 1, 0, 0, True),
        ("id = j.id AND n > 3", 1, 0, 1, 0, True),
        ("k.id = j.id", 1, 0, 0, 0, True),
        ("UPPER(id) = j.id", 1, 0, 0, 0, True),
        # Exact numbers of different types still stand for one value each; floats do not.
        ("n = j.m", 1, 0, 0, 0, True),
        ("m = j.f", 0, 0, 0, 1, False),
        ("id = j.id AND day >= j.day", 1, 0, 0, 1, False),
        ("id = j.id OR n = j.n", 0, 0, 0, 1, False),
        ("n + j.n = 5", 0, 0, 0, 1, False),
        ("n < j.n", 0, 0, 0, 1, False),
        ("j.n = 5", 0, 1, 0, 0, False),
        ("TRUE", 0, 0, 1, 0, False),
    ],
)
def test_the_shape_of_a_condition(
    condition: str, keys: int, joined_only: int, own_only: int, rest: int, is_by_key: bool
) -> None:
    shape = split_join_condition(compile_expression(condition, SCOPE, expect="boolean").tree, "j")
    found = (len(shape.keys), len(shape.joined_only), len(shape.own_only), len(shape.rest), shape.is_by_key)
    assert found == (keys, joined_only, own_only, rest, is_by_key)
