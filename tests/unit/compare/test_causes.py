"""The order of causes, and which operations moved."""

from typing import Any

import pytest

from daybook.compare.alignment import align_operations, moved_pairs
from daybook.compare.causes import order_causes
from daybook.compare.result import CauseName
from daybook.errors import DaybookError
from daybook.model.project import Project
from daybook.model.serialization import frozen

ORDERS = CauseName("data", "orders", "data of orders")
RATES = CauseName("data", "rates", "data of rates")
ROUND = CauseName("definition", "round", "30 Round (changed)")
CAUSES = (ORDERS, RATES, ROUND)


def test_kinds_come_in_the_wanted_order_and_the_rest_as_usual() -> None:
    assert order_causes(CAUSES, ()) == CAUSES
    assert order_causes(CAUSES, ("definition",)) == (ROUND, ORDERS, RATES)
    assert order_causes(CAUSES, ("data:rates", "definition")) == (RATES, ROUND, ORDERS)


@pytest.mark.parametrize("word", ["defintion", "data:rate", "rates"])
def test_a_word_that_names_no_cause_is_refused(word: str) -> None:
    with pytest.raises(DaybookError) as found:
        order_causes(CAUSES, (word,))
    assert found.value.code == "RUN_078"


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
