"""ALLOCATE: parts that add up to the amount, whatever amounts and weights there are."""

import random
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from daybook.errors import DaybookError
from tests.spark.engine.executed import OUTPUT, World, order
from tests.unit.plan.planned import CUSTOMERS, ORDERS, datasets

D = Decimal
KEYED = datasets(ORDERS.replace("  name: Orders\n", "  name: Orders\n  natural_key_columns: [order_id]\n"), CUSTOMERS)


def update(*expressions: str, selector: str = "") -> str:
    picked = f"selector: '{selector}', " if selector else ""
    values = ", ".join(f"{{column: x{number}, expression: '{text}'}}" for number, text in enumerate(expressions))
    return f"- {{type: update, {picked}arguments: {{assignments: [{values}]}}}}\n"


def group(amount: str | None, *weights: int | None, region: str = "A") -> list[dict[str, Any]]:
    return [
        order(f"{region}-{number}", region=region, amount=amount, quantity=weight)
        for number, weight in enumerate(weights, start=1)
    ]


def shares(world: World, rows: Sequence[Mapping[str, Any]], text: str = "ALLOCATE(amount, quantity)") -> list[Any]:
    found = world.run(update(f"{text} OVER (region)") + OUTPUT, rows, definitions=KEYED).by_id()
    return [found[row["order_id"]]["x0"] for row in rows]


BY_HAND: list[tuple[list[dict[str, Any]], list[str | None]]] = [
    (group("10.00", 1, 1, 1), ["3.34", "3.33", "3.33"]),
    (group("-10.00", 1, 1, 1), ["-3.34", "-3.33", "-3.33"]),
    (group("100.00", 1, 2, 4), ["14.29", "28.57", "57.14"]),
    (group("0.01", 1, 1), ["0.01", "0.00"]),
    (group("0.02", 1, 5, 1), ["0.00", "0.02", "0.00"]),
    (group("7.77", 3), ["7.77"]),
    (group("5.00", 0, 2, None), ["0.00", "5.00", "0.00"]),
    (group("0.00", 1, 2), ["0.00", "0.00"]),
    (group("0.00", 0, None), ["0.00", "0.00"]),
    (group(None, 1, 2), [None, None]),
    (
        group("9999999999999999.99", 9223372036854775807, 9223372036854775807),
        ["5000000000000000.00", "4999999999999999.99"],
    ),
]


def test_shares_by_hand(world: World) -> None:
    rows: list[dict[str, Any]] = []
    expected: list[Any] = []
    for number, (given, parts) in enumerate(BY_HAND):
        rows += [{**row, "region": f"g{number}", "order_id": f"g{number}-{row['order_id']}"} for row in given]
        expected += [None if part is None else D(part) for part in parts]
    assert shares(world, rows) == expected


def test_integers_are_allocated_in_whole_numbers(world: World) -> None:
    assert shares(world, group("1.00", 1, 1, 2), "ALLOCATE(10, quantity)") == [3, 2, 5]


def test_an_amount_that_is_written_out_leaves_its_digits_to_the_weights(world: World) -> None:
    """Amount and weights have 38 digits together; 10 has two of them, not the 19 of any integer."""
    assert shares(world, group("1.00", 1, 1, 2), "ALLOCATE(10, quantity * 1.5)") == [3, 2, 5]


def test_nothing_is_allocated_of_null(world: World) -> None:
    assert shares(world, group("1.00", 1, 2), "ALLOCATE(NULL, quantity)") == [None, None]


def test_only_picked_rows_get_a_share(world: World) -> None:
    rows = [*group("10.00", 1, 1, 1), *group("1.00", 5, region="B")]
    operations = update("ALLOCATE(amount, quantity) OVER (region)", selector='order_id <> "A-3"')
    found = world.run(operations + OUTPUT, rows).by_id()
    assert {key: row["x0"] for key, row in found.items()} == {
        "A-1": D("5.00"),
        "A-2": D("5.00"),
        "A-3": None,
        "B-1": D("1.00"),
    }


def test_all_rows_are_one_group_without_columns(world: World) -> None:
    rows = [*group("10.00", 1, 1), *group("10.00", 1, region="B")]
    found = world.run(update("ALLOCATE(amount, quantity) OVER ()") + OUTPUT, rows, definitions=KEYED).by_id()
    assert {key: row["x0"] for key, row in found.items()} == {"A-1": D("3.34"), "A-2": D("3.33"), "B-1": D("3.33")}


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([*group("10.00", 1), *group("10.01", 1)], "the amount is not the same in all rows"),
        ([*group("10.00", 1), *group(None, 1)], "the amount is NULL in some rows"),
        (group("10.00", 1, -1, 2), "a weight is negative"),
        (group("10.00", 3, -1, -1, -1), "a weight is negative"),
        (group("10.00", 0, None), "all weights are zero"),
        (group("0.00", 1, -1), "a weight is negative"),
        (group(None, 1, -1), "a weight is negative"),
    ],
)
def test_what_cannot_be_divided_fails_the_run_and_names_the_group(
    world: World, rows: list[dict[str, Any]], problem: str
) -> None:
    numbered = [{**row, "order_id": f"O-{number}"} for number, row in enumerate(rows)]
    with pytest.raises(DaybookError) as failed:
        shares(world, [*numbered, *group("1.00", 1, region="B")])
    assert (failed.value.code, failed.value.operation_seq) == ("UPDATE_026", 1)
    assert (failed.value.parameters["group"], failed.value.parameters["problem"]) == ("region = A", problem)


def largest_remainders(amount: Decimal, weights: Sequence[Fraction]) -> list[Decimal]:
    """The specification in exact fractions: whole cents down, then one cent each to the largest remainders."""
    cents, total = int(abs(amount) * 100), sum(weights)
    exact = [cents * weight / total for weight in weights]
    whole = [int(share) for share in exact]
    order_ = sorted(range(len(weights)), key=lambda n: (whole[n] - exact[n], n))
    for n in order_[: cents - sum(whole)]:
        whole[n] += 1
    return [D(part if amount >= 0 else -part).scaleb(-2) for part in whole]


@pytest.mark.usefixtures("product_settings")
@pytest.mark.parametrize("count", [1_500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_random_groups(world: World, count: int) -> None:
    chance = random.Random(17)
    rows: list[dict[str, Any]] = []
    groups: dict[str, tuple[Decimal, list[int]]] = {}
    for number in range(count):
        amount = D(
            chance.choice((0, 1, -1, chance.randint(-(10**4), 10**4), chance.randint(-(10**17), 10**17)))
        ).scaleb(-2)
        top = chance.choice((1, 3, 100, 10**9))
        weights = [chance.randint(0, top) for _ in range(chance.randint(1, 7))]
        weights[chance.randrange(len(weights))] += 1
        groups[f"G{number}"] = (amount, weights)
        rows += [
            {**order(f"G{number}-{n}", region=f"G{number}", quantity=weight), "amount": amount}
            for n, weight in enumerate(weights)
        ]
    chance.shuffle(rows)
    weight = "{column: weight, type: 'decimal(14,2)', expression: quantity * 0.37}"
    operations = f"- {{type: update, arguments: {{assignments: [{weight}]}}}}\n"
    texts = ("amount, quantity", "-amount, quantity", "amount, weight")
    operations += update(*(f"ALLOCATE({text}) OVER (region)" for text in texts))
    output = "- {type: output, arguments: {destination: {location: out.csv}, columns: [order_id, x0, x1, x2]}}\n"
    found = world.run(operations + output, rows, definitions=KEYED, partitions=3).by_id()
    for name, (amount, weights) in groups.items():
        parts = [found[f"{name}-{n}"] for n in range(len(weights))]
        expected = largest_remainders(amount, [Fraction(weight) for weight in weights])
        assert [part["x0"] for part in parts] == expected, (name, amount, weights)
        assert [part["x1"] for part in parts] == [-part for part in expected]
        assert [part["x2"] for part in parts] == expected
        assert sum(part["x0"] for part in parts) == amount
        exact = [Fraction(amount) * weight / sum(weights) for weight in weights]
        distances = [abs(Fraction(part["x0"]) - share) for part, share in zip(parts, exact, strict=True)]
        assert max(distances) < Fraction(1, 100)


@pytest.mark.usefixtures("product_settings")
def test_the_shares_are_the_same_in_every_partitioning_and_ties_go_by_row_id_without_a_natural_key(
    world: World,
) -> None:
    chance = random.Random(18)
    groups = {
        f"G{number}": (D(chance.randint(-999, 999)).scaleb(-2), [chance.randint(1, 3) for _ in range(6)])
        for number in range(150)
    }
    rows = [
        {**order(f"{name}-{n}", region=name, quantity=weight), "amount": amount}
        for name, (amount, weights) in groups.items()
        for n, weight in enumerate(weights)
    ]
    operations = update("ALLOCATE(amount, quantity) OVER (region)") + OUTPUT
    found = [world.run(operations, rows, partitions=partitions).by_id() for partitions in (1, 7)]
    parts = [{key: (row["_row_id"], row["x0"]) for key, row in each.items()} for each in found]
    assert parts[0] == parts[1]
    for name, (amount, weights) in groups.items():
        by_id = sorted(range(len(weights)), key=lambda n: parts[0][f"{name}-{n}"][0])
        expected = largest_remainders(amount, [Fraction(weights[n]) for n in by_id])
        assert [parts[0][f"{name}-{n}"][1] for n in by_id] == expected, (name, amount, weights)
