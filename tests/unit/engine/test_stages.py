"""Which aggregates are computed in one pass over the rows."""

import pytest

from daybook.engine.stages import AggregatePass, group_into_stages
from tests.unit.plan.planned import plan_of

LINES = "_operation_seq = 0"
OUTPUT = "- {type: output, arguments: {destination: {location: out.csv}}}\n"
UPDATE = "- {type: update, arguments: {assignments: [{column: note, expression: '\"x\"'}]}}\n"
APPEND = "- {type: append, arguments: {source: {dataset_id: budget}}}\n"


def aggregate(by: str, column: str = "total", value: str = "SUM(amount)", selector: str | None = LINES) -> str:
    chosen = f"selector: '{selector}', " if selector else ""
    values = f"aggregations: [{{column: {column}, expression: {value}}}]"
    return f"- {{type: aggregate, {chosen}arguments: {{group_by: [{by}], {values}}}}}\n"


def passes(operations: str) -> list[tuple[int, ...]]:
    plan = plan_of(operations + OUTPUT)
    return [stage.seqs for stage in group_into_stages(plan.steps, plan.input.types) if isinstance(stage, AggregatePass)]


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        (aggregate("region") + aggregate("status"), [(1, 2)]),
        (aggregate("region") + aggregate("region, status") + aggregate("day"), [(1, 2, 3)]),
        # Appended rows are no lines either.
        (aggregate("region") + APPEND + aggregate("status"), [(1, 3)]),
        # One changes rows, one may have been committed.
        (aggregate("region") + UPDATE + aggregate("status"), [(1,), (3,)]),
        (aggregate("region") + OUTPUT.replace("out.csv", "early.csv") + aggregate("status"), [(1,), (3,)]),
        # The second reads what the first adds.
        (aggregate("region", selector=None) + aggregate("status", selector=None), [(1,), (2,)]),
        (
            aggregate("region", selector="_operation_seq < 2") + aggregate("status", selector="_operation_seq < 2"),
            [(1,), (2,)],
        ),
        # Other rows, or rows that could not be told apart.
        (aggregate("region") + aggregate("status", selector="_operation_seq = 0 AND quantity > 1"), [(1,), (2,)]),
        (aggregate("region, status") + aggregate("status, region"), [(1,), (2,)]),
        # The one between would see what the third adds.
        (
            aggregate("region") + aggregate("day", selector="_operation_seq <> 0") + aggregate("status"),
            [(1,), (2,), (3,)],
        ),
        # A column that is not there before the first.
        (aggregate("region") + aggregate("status", "again", "SUM(total)"), [(1,), (2,)]),
    ],
)
def test_aggregates_that_read_the_same_rows_go_together(operations: str, expected: list[tuple[int, ...]]) -> None:
    assert passes(operations) == expected


def test_sums_that_could_become_too_large_in_the_groups_of_the_other_stay_alone() -> None:
    wide = "SUM(amount * 1000000000000.5)"
    assert passes(aggregate("region", "a", wide) + aggregate("status", "b")) == [(1,), (2,)]
    assert passes(aggregate("region", "a", wide) + aggregate("status", "b", wide)) == [(1, 2)]


def test_a_pass_stays_small() -> None:
    columns = ["region", "status", "day", "quantity", "customer_id", "order_id"]
    pairs = [f"{first}, {second}" for first in columns for second in columns if first < second]
    found = passes("".join(aggregate(pair, f"c{number}") for number, pair in enumerate(pairs)))
    assert [len(seqs) for seqs in found] == [8, 7]
