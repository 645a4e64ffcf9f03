"""Which operations moved: as few as explain the new order."""

from typing import Any

from daybook.compare.alignment import align_operations, moved_pairs
from daybook.model.project import Project
from daybook.model.serialization import frozen


def project(*ids: str) -> Project:
    operations: list[dict[str, Any]] = [
        {
            "id": id_,
            "seq": 10 * number,
            "name": id_,
            "type": "update",
            "arguments": {"assignments": [{"column": "x", "expression": "1"}]},
        }
        for number, id_ in enumerate(ids, 1)
    ]
    return Project.model_validate(
        frozen({"id": "p", "name": "p", "input": {"dataset_id": "d"}, "operations": operations})
    )


def moved(before: str, after: str) -> set[str]:
    """The operations that moved, each named by a letter."""
    pairs = moved_pairs(align_operations(project(*before.split()), project(*after.split())))
    return {pair.either.id for pair in pairs}


def test_an_operation_that_went_to_the_end_is_the_only_one_that_moved() -> None:
    assert moved("a b c d", "b c d a") == {"a"}


def test_new_numbers_alone_move_nothing() -> None:
    assert moved("a b c", "new a b c") == set()
    assert moved("a b c", "a c") == set()


def test_as_few_as_explain_the_order() -> None:
    assert len(moved("a b c d e", "e b a c d")) == 2
