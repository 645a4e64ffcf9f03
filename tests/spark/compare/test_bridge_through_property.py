"""Bridges through random closes: every state between two closes is computed by the second engine, and shares agree."""

import random

import pytest

from daybook.compare.bridge import BridgeRequest, bridge
from daybook.compare.exact_numbers import add
from tests.spark.compare.random_closes import between, changed, random_close
from tests.workspaces import Folder


@pytest.mark.parametrize(
    ("seed", "entities", "months"),
    [(1, 1, 2), *(pytest.param(seed, 2, 3, marks=pytest.mark.slow) for seed in range(2, 12))],
)
def test_the_shares_are_those_of_the_second_engine(folder: Folder, seed: int, entities: int, months: int) -> None:
    rng = random.Random(seed)
    before = random_close(rng, entities=entities, months=months)
    first = before.run(folder)
    after = changed(rng, before)
    second = after.run(folder)
    wanted = rng.choice([(), ("definition", "data")])

    with folder.around() as around:
        result = bridge(around, BridgeRequest(first, second, "total", order=wanted))

    assert (result.before, result.after) == (before.total(), after.total())
    reached = result.before
    order = list(result.order)
    for cause in result.causes:
        reached = add(reached, cause.share)
        swapped = order[: max(map(order.index, cause.members)) + 1]
        assert reached == between(before, after, swapped).total(), (seed, cause.label, [name.text for name in order])
    assert reached == result.after
