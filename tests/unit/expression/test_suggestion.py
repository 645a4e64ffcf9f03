import pytest

from daybook.errors.suggestion import closest_by_edits, edit_distance


@pytest.mark.parametrize(
    ("left", "right", "edits"),
    [
        ("amount", "amount", 0),
        ("amout", "amount", 1),
        ("amuont", "amount", 1),
        ("", "abc", 3),
        ("kitten", "sitting", 3),
    ],
)
def test_distance(left: str, right: str, edits: int) -> None:
    assert edit_distance(left, right) == edit_distance(right, left) == edits


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("amout", "amount"),
        ("AMOUNT", "amount"),
        ("staus", "status"),
        ("xyz", None),
        ("a", None),
        ("quantty", "quantity"),
    ],
)
def test_the_nearest_name(name: str, meant: str | None) -> None:
    assert closest_by_edits(name, ["amount", "status", "quantity", "region"]) == meant


def test_equally_near_names_give_the_first_in_order() -> None:
    assert closest_by_edits("cat", ["hat", "bat"]) == "bat"
