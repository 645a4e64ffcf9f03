"""Plans with only what their output needs."""

from collections.abc import Sequence

from daybook.model.types import INTEGER, STRING
from daybook.plan.partial_plan import RowKey, picked_rows, pruned, summary_rows
from daybook.plan.pruned_plan import prune_plan
from daybook.plan.steps import AggregateStep, AppendStep, Plan, UpdateStep
from tests.unit.plan.planned import plan_of

OUTPUT = "- {type: output, selector: '%s', arguments: {destination: {location: out.csv}, columns: [%s]}}"


def short_plan(text: str, selector: str, *columns: str) -> Plan:
    """A plan of operations, of which an output writes these columns."""
    return prune_plan(plan_of(text.rstrip() + "\n    " + OUTPUT % (selector, ", ".join(columns))))


def seqs(plan: Plan) -> list[int]:
    return [step.seq for step in plan.steps]


def loads(plan: Plan) -> dict[str, Sequence[str]]:
    return {load.key: [*load.types] for load in plan.loads}


def assigned(plan: Plan, seq: int) -> list[str]:
    step = plan.step(seq)
    assert isinstance(step, UpdateStep)
    return [value.column for value in step.assignments]


UPDATES = """
    - type: update
      arguments: {assignments: [{column: status, expression: UPPER(status)}, {column: day, expression: day}]}
    - type: update
      selector: quantity > 1
      arguments:
        joins:
          - {alias: customers, dataset_id: customers, on: orders.customer_id = customers.id}
          - {alias: budget, dataset_id: budget, on: orders.region = budget.region}
        assignments:
          - {column: tier, expression: customers.tier}
          - {column: amount, expression: amount - budget.amount}
    - {type: delete, selector: 'status = "VOID"'}
    - {type: check, arguments: {condition: order_id IS NOT NULL}}
"""


def test_values_that_nobody_reads_are_left_out_with_their_joins() -> None:
    plan = short_plan(UPDATES, "amount > 0", "order_id", "amount")
    # The status decides about deleted rows.
    assert assigned(plan, 1) == ["status"]
    assert assigned(plan, 2) == ["amount"]
    assert loads(plan) == {
        "input": ["order_id", "region", "status", "amount", "quantity"],
        "2.budget": ["region", "amount"],
    }


def test_an_update_whose_values_nobody_reads_is_left_out_and_so_are_checks() -> None:
    plan = short_plan(UPDATES, "day IS NOT NULL", "order_id")
    assert seqs(plan) == [1, 3, 5]
    assert assigned(plan, 1) == ["status", "day"]
    assert loads(plan) == {"input": ["order_id", "status", "day"]}
    assert plan.input.columns == frozenset({"order_id", "status", "day"})


def test_the_time_of_change_needs_every_operation_that_changes_rows() -> None:
    plan = short_plan(UPDATES, "order_id IS NOT NULL", "_updated_at")
    assert seqs(plan) == [1, 2, 3, 5]
    assert assigned(plan, 2) == ["tier", "amount"]
    assert plan.input.needs("_updated_at")


def test_a_join_that_another_join_reads_stays() -> None:
    plan = short_plan(
        """
    - type: update
      arguments:
        joins:
          - {alias: customers, dataset_id: customers, on: orders.customer_id = customers.id}
          - {alias: budget, dataset_id: budget, on: customers.tier = budget.region}
        assignments: [{column: amount, expression: budget.amount}, {column: quantity, expression: budget.quantity}]
""",
        "amount > 0",
        "amount",
    )
    assert loads(plan) == {
        "input": ["customer_id", "amount"],
        "1.customers": ["id", "tier"],
        "1.budget": ["region", "amount"],
    }


GROUPS = """
    - type: update
      arguments: {assignments: [{column: day, expression: day}, {column: region, expression: UPPER(region)}]}
    - type: aggregate
      arguments:
        group_by: [region]
        aggregations: [{column: total, expression: SUM(amount)}, {column: pieces, expression: SUM(quantity)}]
    - type: append
      arguments:
        source: {dataset_id: budget}
        source_selector: quantity > 0
        aggregation:
          group_by: [region]
          aggregations: [{column: amount, expression: SUM(amount)}, {column: quantity, expression: COUNT(*)}]
    - {type: append, arguments: {source: {dataset_id: budget}}}
    - type: update
      selector: _operation_seq = 4
      arguments: {assignments: [{column: status, expression: '"planned"'}]}
"""


ASKED = ("_operation_seq = 2", "region", "total")


def test_rows_that_nobody_reads_are_not_made() -> None:
    plan = short_plan(GROUPS, "_operation_seq = 2", "region", "total", "day")
    assert seqs(plan) == [1, 2, 6]
    step = plan.step(2)
    assert isinstance(step, AggregateStep)
    assert [value.column for value in step.aggregations] == ["total"]
    # A summary row has no day, so nobody reads that of the loaded rows.
    assert assigned(plan, 1) == ["region"]
    assert loads(plan) == {"input": ["region", "amount"]}
    assert plan.input.columns == frozenset({"region", "amount"})


def test_a_column_that_only_other_rows_have_is_empty() -> None:
    plan = short_plan(GROUPS, "_operation_seq = 0", "order_id", "total", "status")
    assert seqs(plan) == [6]
    assert loads(plan) == {"input": ["order_id", "status"]}
    assert [*plan.input.empty] == ["total"]


def test_a_column_that_a_later_operation_would_make_is_empty_in_rows_made_before() -> None:
    assignments = "{assignments: [{column: x, expression: 1}]}"
    later = f"    - {{type: update, selector: _operation_seq = 0, arguments: {assignments}}}"
    plan = short_plan(GROUPS + later, "_operation_seq = 2", "region", "x")
    assert seqs(plan) == [1, 2, 7]
    assert [*plan.input.empty] == ["x"]
    assert [*plan.step(2).schema] == ["region"]


def test_an_aggregate_that_picks_nothing_leaves_its_columns() -> None:
    plan = short_plan(GROUPS.replace("type: aggregate", "type: aggregate\n      selector: _operation_seq = 7"), *ASKED)
    assert seqs(plan) == [1, 6]
    assert loads(plan) == {"input": ["region"]}
    assert [*plan.input.empty] == ["total"]


def test_an_append_reads_only_the_columns_that_arrive_and_are_needed() -> None:
    plan = short_plan(GROUPS, "_operation_seq IN (3, 4)", "region", "amount", "status", "_row_id")
    assert seqs(plan) == [3, 4, 5, 6]
    assert loads(plan) == {
        "input": [],
        "3.source": ["region", "amount", "quantity"],
        "4.source": ["region", "amount"],
    }
    step = plan.step(3)
    assert isinstance(step, AppendStep)
    assert [value.column for value in step.aggregations] == ["amount"]


def test_an_append_of_groups_keeps_a_value() -> None:
    step = short_plan(GROUPS, "_operation_seq = 3", "region").step(3)
    assert isinstance(step, AppendStep)
    assert [value.column for value in step.aggregations] == ["amount"]


CHARGED = """
    - {type: append, arguments: {source: {dataset_id: budget}}}
    - type: update
      selector: _source_dataset_id = "budget"
      arguments:
        joins: [{alias: customers, dataset_id: customers, on: orders.customer_id = customers.id}]
        assignments:
          - {column: status, expression: '"planned"'}
          - {column: amount, expression: amount * customers.discount}
"""


def test_rows_that_are_known_to_have_another_text_are_not_made() -> None:
    plan = short_plan(CHARGED, 'status = "paid"', "status", "amount")
    # With them goes the update that changes only rows of their source.
    assert seqs(plan) == [3]
    assert [load.key for load in plan.loads] == ["input"]
    plan = short_plan(CHARGED, 'status IN ("paid", "planned")', "status", "amount")
    assert seqs(plan) == [1, 2, 3]


def test_rows_that_somebody_reads_keep_the_text_that_others_leave_them_out_by() -> None:
    total = """
    - type: aggregate
      selector: status = "paid"
      arguments: {group_by: [region], aggregations: [{column: total, expression: SUM(amount)}]}
"""
    plan = short_plan(CHARGED + total.rstrip(), "_operation_seq > 0", "region", "total")
    assert seqs(plan) == [1, 2, 3, 4]
    assert assigned(plan, 2) == ["status", "amount"]
    plan = short_plan(CHARGED + total.rstrip(), "_operation_seq = 3", "region", "total")
    assert seqs(plan) == [3, 4]


def test_a_deleted_row_may_have_its_old_text() -> None:
    deleted = "    - {type: output, selector: 'status = \"paid\"', arguments: {destination: {location: out.csv}, "
    plan = prune_plan(plan_of(CHARGED.rstrip() + "\n" + deleted + "columns: [status], include_deleted: true}}"))
    assert seqs(plan) == [1, 2, 3]


def test_all_rows_of_a_window_are_needed() -> None:
    plan = short_plan(
        """
    - {type: append, arguments: {source: {dataset_id: budget}}}
    - {type: update, arguments: {assignments: [{column: amount, expression: amount * 2}]}}
    - type: update
      arguments: {assignments: [{column: share, expression: amount / SUM(amount) OVER (region)}]}
""",
        "_operation_seq = 0",
        "share",
    )
    assert seqs(plan) == [1, 2, 3, 4]
    assert loads(plan) == {"input": ["region", "amount"], "1.source": ["region", "amount"]}
    assert all(load.needs("_row_id") for load in plan.loads)


def test_the_key_of_an_update_with_windows_is_read() -> None:
    plan = plan_of(
        """
    - {type: update, arguments: {assignments: [{column: status, expression: UPPER(status)}]}}
    - type: update
      arguments: {assignments: [{column: place, expression: ROW_NUMBER() OVER (region ORDER BY day)}]}
    - {type: output, arguments: {destination: {location: out.csv}}}
    """
    )
    cut = pruned(picked_rows(plan, plan.steps[1], [(RowKey("status", "VOID", STRING),)]))
    assert {"status", "region", "day"} <= cut.plan.input.types.keys()
    assert seqs(cut.plan) == [1, 2, 3]


def test_the_rows_behind_a_total_need_no_other_columns_than_those_shown() -> None:
    plan = plan_of(GROUPS + "    " + OUTPUT % ("total > 0", "region, total"))
    cut = pruned(picked_rows(plan, plan.steps[1], [(RowKey("region", "EMEA", STRING),)]))
    assert [*cut.plan.input.types] == ["region", "amount", "quantity"]
    assert cut.plan.input.columns is not None
    assert cut.plan.input.columns - cut.plan.input.types.keys() == {"_row_id", "_source_table", "_operation_seq"}
    made = summary_rows(plan, plan.steps[1], [(RowKey("region", "EMEA", STRING),)])
    assert made is not None
    short = pruned(made)
    assert short.feeds == {"input": "input"}
    assert short.plan.steps[-1] == made.plan.steps[-1]
    # The id of a loaded row is of no use for that of its group.
    assert short.plan.input.columns == frozenset({"region", "amount", "quantity"})


def test_a_whole_plan_has_every_column() -> None:
    plan = plan_of(GROUPS + "    " + OUTPUT % ("total > 0", "region, total"))
    assert plan.input.needs("_updated_at")
    assert plan.input.types["quantity"] == INTEGER
