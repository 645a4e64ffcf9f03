"""Plans that end at one operation."""

from collections.abc import Sequence

from daybook.model.types import DATE, STRING
from daybook.plan.partial_plan import PartialPlan, RowKey, picked_rows, summary_rows
from daybook.plan.steps import OutputStep, Plan, UpdateStep
from tests.unit.plan.planned import CONSTANTS, plan_of, types

PLAN = plan_of(
    """
    - {type: delete, selector: 'status = "void"'}
    - type: update
      selector: '{{large}} OR customers.tier = "gold"'
      arguments:
        joins: [{alias: customers, dataset_id: customers, on: orders.customer_id = customers.id}]
        assignments:
          - {column: amount, expression: amount * 2}
          - {column: tier, expression: customers.tier}
    - type: aggregate
      selector: _operation_seq = 0
      arguments: {group_by: [region], aggregations: [{column: rows, expression: "SUM(amount) + COUNT(quantity)"}]}
    - type: append
      arguments:
        source: {dataset_id: budget}
        source_selector: amount > 0
        aggregation: {group_by: [region], aggregations: [{column: amount, expression: SUM(amount)}]}
    - {type: output, selector: quantity > 1, arguments: {destination: {location: out.csv}, order_by: [day]}}
    - type: output
      arguments: {destination: {location: all.csv}, columns: [region], order_by: [day], include_deleted: true}
    """,
    head="selectors: {large: amount > 100}\n",
)
EMEA = (RowKey("region", "EMEA", STRING),)
TRACE = ["_source_table", "_operation_seq", "_row_id"]


def cut_at(seq: int, keys: Sequence[RowKey] = (), plan: Plan = PLAN) -> PartialPlan:
    return picked_rows(plan, plan.steps[seq - 1], [keys] if keys else ())


def last(cut: PartialPlan) -> OutputStep:
    step = cut.plan.steps[-1]
    assert isinstance(step, OutputStep)
    return step


def condition(cut: PartialPlan) -> str | None:
    selector = last(cut).selector
    return selector.sql(CONSTANTS) if selector else None


def test_the_selector_and_the_keys_decide() -> None:
    assert condition(cut_at(1)) == "`status` = 'void'"
    assert condition(cut_at(1, EMEA)) == "(`status` = 'void') AND (`region` = 'EMEA')"
    assert condition(cut_at(1, (RowKey("region", None, STRING),))) == "(`status` = 'void') AND (`region` IS NULL)"
    assert condition(cut_at(6)) is None
    assert condition(cut_at(6, (RowKey("region", "it's", STRING),))) == "`region` = 'it\\'s'"


def test_many_values_of_one_column_are_looked_up_together() -> None:
    keys = [[RowKey("region", text, STRING)] for text in ("EMEA", "APAC", None, "EMEA")]
    assert condition(picked_rows(PLAN, PLAN.steps[5], keys)) == "(`region` IS NULL) OR (`region` IN ('EMEA', 'APAC'))"


def test_of_several_columns_the_one_with_the_fewest_values_is_compared_first() -> None:
    pairs = [("O-1", "EMEA"), ("O-2", "EMEA"), ("O-3", "APAC")]
    keys = [[RowKey("order_id", order, STRING), RowKey("region", region, STRING)] for order, region in pairs]
    assert condition(picked_rows(PLAN, PLAN.steps[5], keys)) == (
        "((`region` = 'EMEA') AND (`order_id` IN ('O-1', 'O-2'))) OR ((`region` = 'APAC') AND (`order_id` = 'O-3'))"
    )


def test_only_what_stands_before_is_computed_and_read() -> None:
    assert [step.seq for step in cut_at(1).plan.steps] == [1]
    assert cut_at(1).feeds == {"input": "input"}
    assert [type(step) for step in cut_at(2).plan.steps[1:]] == [UpdateStep, OutputStep]
    assert cut_at(2).feeds == {"input": "input", "2.customers": "2.customers"}
    assert [step.seq for step in cut_at(5).plan.steps] == [1, 2, 3, 4, 5]
    assert set(cut_at(5).feeds) == {"input", "2.customers", "4.source"}


def test_outputs_on_the_way_are_left_out() -> None:
    assert [step.seq for step in cut_at(6).plan.steps] == [1, 2, 3, 4, 6]


def test_an_update_writes_beside_what_is_there() -> None:
    cut = cut_at(2, EMEA)
    update = cut.plan.steps[1]
    assert isinstance(update, UpdateStep)
    assert update.selector is not None
    assert update.selector.sql(CONSTANTS).endswith("AND (`region` = 'EMEA')")
    columns = list(last(cut).columns)
    assert columns == [
        "order_id",
        "customer_id",
        "region",
        "status",
        "amount",
        "amount (new)",
        "quantity",
        "day",
        "tier (new)",
        *TRACE,
    ]
    assert types(last(cut).columns)["amount (new)"] == "decimal(18,2)"


def test_an_aggregate_shows_what_it_reads() -> None:
    assert list(last(cut_at(3)).columns) == ["region", "amount", "quantity", *TRACE]
    made = summary_rows(PLAN, PLAN.steps[2], [EMEA])
    assert made is not None
    # The project has a column of its own that is called rows.
    assert list(last(made).columns) == ["region", "rows", "rows_", "_row_id"]
    assert made.order == ("region", "_row_id")
    assert condition(made) == "`_operation_seq` = 3L"


def test_the_source_of_an_append_becomes_the_input() -> None:
    cut = cut_at(4, EMEA)
    assert cut.feeds == {"input": "4.source"}
    assert (cut.plan.input.dataset_id, cut.plan.input.role) == ("budget", "input")
    assert condition(cut) == "(`amount` > 0BD) AND (`region` = 'EMEA')"
    made = summary_rows(PLAN, PLAN.steps[3], [EMEA])
    assert made is not None
    assert made.feeds["4.source"] == "4.source"


def test_an_output_shows_what_it_writes() -> None:
    named = cut_at(6)
    assert list(last(named).columns) == ["region", "day", "_deleted", *TRACE]
    assert last(named).arguments.include_deleted
    assert named.order == ("day", "_row_id")
    everything = last(cut_at(5, (RowKey("_labels", "x", STRING),)))
    assert list(everything.columns) == [*PLAN.steps[3].schema, "_labels", *TRACE]


def test_only_what_groups_has_summary_rows() -> None:
    assert [summary_rows(PLAN, step, ()) is not None for step in PLAN.steps] == [False, False, True, True, False, False]


def test_rows_of_several_keys() -> None:
    day = RowKey("day", None, DATE)
    cut = picked_rows(PLAN, PLAN.steps[0], [EMEA, (*EMEA, day)])
    either = "(`region` = 'EMEA') OR ((`region` = 'EMEA') AND (`day` IS NULL))"
    assert condition(cut) == f"(`status` = 'void') AND ({either})"


def test_further_columns_stand_before_the_trace() -> None:
    cut = picked_rows(PLAN, PLAN.steps[2], (), ["order_id", "amount", "_period", "nothing"])
    assert list(last(cut).columns) == ["region", "amount", "quantity", "order_id", "_period", *TRACE]


def test_summary_rows_by_their_ids() -> None:
    made = summary_rows(PLAN, PLAN.steps[2], (), ["a", "b"])
    assert made is not None
    assert condition(made) == "(`_operation_seq` = 3L) AND (`_row_id` IN ('a', 'b'))"
