"""What operations did is counted wherever their rows pass by, whoever writes the rows in the end."""

import contextlib
import io
import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from daybook.engine import pipeline
from daybook.engine.java.session_conf import read_setting
from daybook.errors import DaybookError
from tests.spark.engine.executed import World, customer, order, source
from tests.unit.plan.planned import plan_of

ORDERS = [
    order("O-1", region="EU", customer_id="C-1", amount="1.00", quantity=1),
    order("O-2", region="EU", customer_id="C-2", amount="2.00", quantity=2),
    order("O-3", region="US", customer_id="C-1", amount="4.00", quantity=3),
]
CUSTOMERS = [customer("C-1", "gold"), customer("C-2", "basic")]

UPDATE = (
    "- {type: update, selector: quantity > 1, arguments: {assignments: [{column: status, expression: '\"big\"'}]}}\n"
)
DELETE = "- {type: delete, selector: quantity = 3}\n"
BY_REGION = (
    "- {{type: aggregate, selector: '{selector}', arguments: "
    "{{group_by: [region], aggregations: [{{column: {column}, expression: SUM(amount)}}]}}}}\n"
)
LINES, SUMMARIES = "_operation_seq = 0", "_operation_seq > 0"


def aggregate(column: str = "total", selector: str = LINES) -> str:
    return BY_REGION.format(selector=selector, column=column)


def output(selector: str | None = None, name: str = "o") -> str:
    chosen = f"selector: {selector}, " if selector else ""
    return f"- {{type: output, {chosen}arguments: {{destination: {{location: {name}.csv}}}}}}\n"


@pytest.mark.parametrize("selectors", [(None,), (LINES,), (SUMMARIES,), (LINES, SUMMARIES), (SUMMARIES, LINES)])
def test_counts_do_not_depend_on_what_is_written(world: World, selectors: tuple[str | None, ...]) -> None:
    outputs = "".join(output(selector, f"o{number}") for number, selector in enumerate(selectors))
    executed = world.run(UPDATE + DELETE + aggregate() + outputs, ORDERS)
    # Two orders have more than one piece; one of them is deleted, so the two that are left sum up to one row.
    assert executed.counts[0].input_rows == 3
    assert executed.picked() == {1: (2, 0), 2: (1, 0), 3: (2, 1)}


def test_an_aggregate_that_nobody_reads_is_counted(world: World) -> None:
    # The second aggregate is the only one that reads the rows of the first.
    operations = aggregate() + aggregate("again", "total > 0") + output(LINES)
    assert world.run(operations, ORDERS).picked() == {1: (3, 2), 2: (2, 2)}


def test_rows_that_are_first_written_by_a_later_output_are_counted_there(world: World) -> None:
    executed = world.run(aggregate() + output(LINES, "a") + UPDATE + output(None, "b"), ORDERS)
    assert [counts.input_rows for counts in executed.counts] == [3, None]
    assert executed.picked() == {1: (3, 2), 3: (2, 0)}
    assert sorted(row["total"] for row in executed.summaries()) == [3, 4]


def test_updates_between_aggregates_count_what_the_first_one_added(world: World) -> None:
    update = (
        '- {type: update, selector: region = "EU", arguments: {assignments: [{column: status, expression: \'"x"\'}]}}\n'
    )
    executed = world.run(aggregate() + update + aggregate("again") + output(), ORDERS)
    assert executed.picked() == {1: (3, 2), 2: (3, 0), 3: (3, 2)}


def test_added_rows_have_columns_that_came_later(world: World) -> None:
    executed = world.run(aggregate() + aggregate("again") + output(SUMMARIES), ORDERS)
    found = sorted((row["region"], row["total"], row["again"]) for row in executed.rows if row["total"])
    assert found == [("EU", 3, None), ("US", 4, None)]


@pytest.mark.parametrize("selector", [LINES, SUMMARIES])
def test_a_row_that_matches_twice_fails_whatever_is_written(world: World, selector: str) -> None:
    join = (
        "- {type: update, arguments: {joins: [{alias: c, dataset_id: customers, on: customer_id = c.id}], "
        "assignments: [{column: tier, expression: c.tier}]}}\n"
    )
    with pytest.raises(DaybookError) as caught:
        world.run(join + aggregate() + output(selector), ORDERS, customers=[*CUSTOMERS, customer("C-2", "gold")])
    assert caught.value.code == "UPDATE_024"
    assert "C-2" in str(caught.value)


def staged(world: World, operations: str, folder: Path) -> list[str]:
    """What was written down between operations."""
    plan = plan_of(operations)
    sources = {load.key: source(world.spark, load, ORDERS) for load in plan.loads}
    with world.pipeline(plan, sources) as executing:
        for group in executing.groups():
            for each in group.outputs:
                each.df.toArrow()
    return sorted(path.name for path in folder.glob("*/*") if path.is_dir())


def test_summaries_are_written_down_only_where_they_are_read_twice(world: World, tmp_path: Path) -> None:
    apart = World(world.spark, tmp_path / "apart")
    assert staged(apart, aggregate() + output(LINES, "a") + output(SUMMARIES, "b"), tmp_path / "apart") == []
    twice = World(world.spark, tmp_path / "twice")
    assert staged(twice, aggregate() + output(None, "a") + output(SUMMARIES, "b"), tmp_path / "twice") == [
        "001-added-by-1"
    ]


def counters_above_and_below_the_shuffle(world: World) -> tuple[int, int]:
    plan = plan_of(UPDATE + aggregate() + output())
    sources = {load.key: source(world.spark, load, ORDERS) for load in plan.loads}
    with world.pipeline(plan, sources) as executing, contextlib.redirect_stdout(io.StringIO()) as shown:
        next(iter(executing.groups())).outputs[0].df.explain()
    above, _, below = shown.getvalue().partition("HashAggregate")
    return len(re.findall("CollectMetrics", above)), len(re.findall("CollectMetrics", below))


def test_an_aggregate_counts_in_its_groups_and_nothing_is_counted_below_a_shuffle(world: World) -> None:
    assert counters_above_and_below_the_shuffle(world) == (1, 0)


def test_summaries_of_summaries_are_counted_once_where_tasks_may_be_repeated(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "may_lose_tasks", lambda spark: True)
    executed = world.run(UPDATE + DELETE + aggregate() + aggregate("again", "total > 0") + output(), ORDERS)
    assert executed.picked() == {1: (2, 0), 2: (1, 0), 3: (2, 1), 4: (1, 1)}


def test_local_threads_lose_nothing(spark: SparkSession) -> None:
    is_local = (read_setting(spark, "spark.master") or "").startswith("local[")
    assert pipeline.may_lose_tasks(spark) != is_local
