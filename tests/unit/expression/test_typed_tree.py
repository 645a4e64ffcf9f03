"""Traversal of typed trees: children in order, map over them, walk through all."""

import pytest

from daybook.expression import Scope, compile_expression
from daybook.expression.typed_tree import ColumnValue, InvalidNode, LiteralValue, TypedNode
from daybook.model.types import INTEGER, STRING, ColumnType

_COLUMNS: dict[str, ColumnType] = {"a": INTEGER, "b": INTEGER, "t": STRING}


def _tree(text: str) -> TypedNode:
    return compile_expression(text, Scope(_COLUMNS, {}), allow_windows=True).tree


def _leaves(tree: TypedNode) -> list[object]:
    found: list[object] = []
    for node in tree.walk():
        match node:
            case ColumnValue(use):
                found.append(use.name)
            case LiteralValue(value):
                found.append(value)
    return found


@pytest.mark.parametrize(
    ("text", "leaves"),
    [
        ("a", ["a"]),
        ("-a", ["a"]),
        ("a + 1 - b", ["a", 1, "b"]),
        ("NOT (a = 1 OR b > 2)", ["a", 1, "b", 2]),
        ("a IN (1, b)", ["a", 1, "b"]),
        ("a NOT BETWEEN 1 AND b", ["a", 1, "b"]),
        ('t LIKE "x%"', ["t", "x%"]),
        ("a IS NULL", ["a"]),
        ('CASE WHEN a = 1 THEN "x" WHEN b = 2 THEN t ELSE "y" END', ["a", 1, "x", "b", 2, "t", "y"]),
        ("IF(a = 1, t, CONCAT(t, t))", ["a", 1, "t", "t", "t"]),
        ("SUM(a) OVER (t ORDER BY b DESC, a + 1)", ["a", "t", "b", "a", 1]),
    ],
)
def test_a_walk_meets_every_part_in_the_order_it_was_written(text: str, leaves: list[object]) -> None:
    assert _leaves(_tree(text)) == leaves


def test_a_map_changes_children_and_nothing_else() -> None:
    tree = _tree("CASE WHEN a = 1 THEN b ELSE 2 END")
    changed = tree.map(lambda _: InvalidNode())
    assert changed.children() == (InvalidNode(),) * 3
    assert (type(changed), changed.type) == (type(tree), tree.type)


def test_a_map_to_itself_is_the_same_tree() -> None:
    tree = _tree('IF(a IN (1, 2), CONCAT(t, "x"), NULL)')
    assert tree.map(lambda child: child) == tree
