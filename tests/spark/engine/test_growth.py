"""Plans grow with the number of operations, not with its square or its power."""

import contextlib
import io
import re
from dataclasses import replace

import pytest
from pyspark.sql import DataFrame

from daybook.engine import stages
from tests.spark.engine.executed import OUTPUT, World, order, source
from tests.unit.plan.planned import plan_of

ROWS = [order(f"O-{n}", region=f"r{n % 2}", amount="1.00", quantity=n) for n in range(4)]


def optimised_nodes(df: DataFrame) -> int:
    """How many nodes the optimised plan has."""
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        df.explain("extended")
    optimised = shown.getvalue().partition("== Optimized Logical Plan ==")[2].partition("== Physical Plan ==")[0]
    return len([line for line in optimised.splitlines() if re.match(r"[ :]*(?:\+- |:- )?[A-Z]\w*", line)])


def last_frame(world: World, operations: str) -> DataFrame:
    """The frame of the last output; those before it are written, as a run would."""
    plan = plan_of(operations)
    sources = {load.key: source(world.spark, load, ROWS, partitions=2) for load in plan.loads}
    with world.pipeline(plan, sources) as pipeline:
        for group in pipeline.groups():
            if group.is_last:
                return group.outputs[0].df
            for output in group.outputs:
                output.df.toArrow()
    raise AssertionError("no output")


def chained(count: int) -> str:
    """Updates of which each reads what the one before wrote."""
    columns = ["amount", *(f"c{n}" for n in range(19))]
    made = ", ".join(f"{{column: {name}, expression: amount}}" for name in columns[1:])
    operations = [f"- {{type: update, arguments: {{assignments: [{made}]}}}}\n"]
    for number in range(count):
        target, read = columns[(number + 1) % 20], columns[number % 20]
        value = f"ROUND({read} + 1, 2)" if target == "amount" else f"ROUND(IF({read} > 1000000, 0, {read} + 1), 2)"
        operations.append(
            f"- {{type: update, selector: '{read} > {number % 7}', "
            f"arguments: {{assignments: [{{column: {target}, expression: '{value}'}}]}}}}\n"
        )
    return "".join(operations) + OUTPUT


def independent(count: int) -> str:
    """Updates of which none reads what another wrote."""
    return (
        "".join(
            f"- {{type: update, selector: 'quantity > {number}', "
            f"arguments: {{assignments: [{{column: c{number % 20}, expression: amount * {number}}}]}}}}\n"
            for number in range(count)
        )
        + OUTPUT
    )


def aggregates(count: int) -> str:
    return (
        "".join(
            "- {type: aggregate, selector: '_operation_seq = 0', arguments: {group_by: [region], "
            f"aggregations: [{{column: t{number}, expression: SUM(amount)}}]}}}}\n"
            for number in range(count)
        )
        + OUTPUT
    )


def rounds(count: int) -> str:
    """Updates, aggregates and deletes in turn: every round changes the rows that the one before added."""
    return (
        "".join(
            "- {type: update, selector: '_operation_seq = 0', "
            f"arguments: {{assignments: [{{column: amount, expression: amount + {number}}}]}}}}\n"
            "- {type: aggregate, selector: '_operation_seq = 0', arguments: {group_by: [region], "
            f"aggregations: [{{column: t{number}, expression: SUM(amount)}}]}}}}\n"
            f"- {{type: delete, selector: '_operation_seq > 0 AND _operation_seq < {3 * number}'}}\n"
            for number in range(count)
        )
        + OUTPUT
    )


def outputs(count: int) -> str:
    return "".join(
        f"- {{type: update, arguments: {{assignments: [{{column: amount, expression: amount + {number}}}]}}}}\n"
        f"- {{type: output, arguments: {{destination: {{location: o{number}.csv}}}}}}\n"
        for number in range(count)
    )


def test_independent_updates_are_one_projection(world: World) -> None:
    assert optimised_nodes(last_frame(world, independent(30))) == optimised_nodes(last_frame(world, independent(1)))


@pytest.mark.parametrize(
    ("project", "few", "many"),
    [
        (chained, 10, 20),
        (aggregates, 3, 6),
        pytest.param(aggregates, 6, 12, marks=pytest.mark.slow),
        (outputs, 3, 6),
    ],
)
def test_twice_the_operations_make_at_most_twice_the_plan(world: World, project: object, few: int, many: int) -> None:
    assert callable(project)
    small, large = (optimised_nodes(last_frame(world, project(count))) for count in (few, many))
    assert large <= 2 * small + 2


def test_rounds_are_cut_before_their_rows_multiply_the_plan(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "_MAX_WIDTH", 3)
    cut = optimised_nodes(last_frame(world, rounds(5)))
    monkeypatch.setattr(stages, "_MAX_WIDTH", 100)
    assert cut < optimised_nodes(last_frame(world, rounds(5))) / 2


def test_a_very_long_chain_is_cut(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    # With so many projections on each other the rows are written down and the plan begins anew.
    monkeypatch.setattr(stages, "_MAX_DEPTH", 12)
    assert optimised_nodes(last_frame(world, chained(18))) < optimised_nodes(last_frame(world, chained(9)))


def test_a_chain_gives_the_right_value(world: World) -> None:
    found = last_frame(world, chained(25)).toArrow().to_pylist()
    value, columns = 1, [1] * 20
    for number in range(25):
        read, target = number % 20, (number + 1) % 20
        if columns[read] > number % 7:
            columns[target] = columns[read] + 1
    assert value == 1
    assert [row["amount"] for row in found] == [columns[0]] * 4
    assert [row["c4"] for row in found] == [columns[5]] * 4


def test_a_join_is_left_out_of_the_branch_that_does_not_read_it(world: World) -> None:
    operations = (
        "- {type: update, arguments: {joins: [{alias: o, dataset_id: orders, on: 'customer_id = o.order_id'}], "
        "assignments: [{column: found, expression: o.status}]}}\n"
        "- {type: aggregate, arguments: {group_by: [region], aggregations: [{column: t, expression: SUM(amount)}]}}\n"
    )
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        last_frame(world, operations + OUTPUT).explain()
    assert len(re.findall(r"\w+Join", shown.getvalue())) == 1


@pytest.mark.parametrize("is_small", [True, False])
def test_the_keys_of_a_small_table_are_counted_without_a_shuffle(world: World, is_small: bool) -> None:
    operations = (
        "- {type: update, arguments: {joins: [{alias: o, dataset_id: orders, on: 'customer_id = o.order_id'}], "
        "assignments: [{column: found, expression: o.status}]}}\n"
    )
    plan = plan_of(operations + OUTPUT)
    sources = {
        load.key: replace(source(world.spark, load, ROWS, partitions=2), is_small=is_small) for load in plan.loads
    }
    with world.pipeline(plan, sources) as pipeline, contextlib.redirect_stdout(io.StringIO()) as shown:
        for group in pipeline.groups():
            group.outputs[0].df.explain()
    assert ("Exchange hashpartitioning" not in shown.getvalue()) == is_small
