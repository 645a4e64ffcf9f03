"""Where written columns come from; every expectation is worked out from the definition of the operations."""

from daybook.definitions.value import Definitions
from daybook.plan.lineage import PlanLineage, plan_lineage
from tests.unit.plan.planned import ORDERS, WORLD, aggregate, append, datasets, join, output, plan_of

Inputs = set[tuple[str, str, tuple[int, ...]]]


def lineage(operations: str, head: str = "", definitions: Definitions = WORLD) -> PlanLineage:
    return plan_lineage(plan_of(operations, head=head, definitions=definitions))


def inputs(operations: str, column: str, *, head: str = "", definitions: Definitions = WORLD) -> Inputs:
    """The inputs of a column of the last output."""
    found = lineage(operations, head, definitions)
    last = max(seq for seq, _ in found.columns)
    return {
        (f"{each.dataset_id}.{each.column}", each.how, each.operations) for each in found.column(last, column).inputs
    }


def update(expression: str, column: str = "x", selector: str = "") -> str:
    picked = f"selector: '{selector}', " if selector else ""
    return (
        f"- {{type: update, {picked}arguments: {{assignments: [{{column: {column}, expression: '{expression}'}}]}}}}\n"
    )


def test_a_column_that_nobody_touches_is_itself_without_operations() -> None:
    assert inputs(output(), "amount") == {("orders.amount", "identity", ())}


def test_a_copied_column_is_identity_and_a_computed_one_a_transformation() -> None:
    assert inputs(update("amount") + output(), "x") == {("orders.amount", "identity", (1,))}
    assert inputs(update("amount * quantity") + output(), "x") == {
        ("orders.amount", "transformation", (1,)),
        ("orders.quantity", "transformation", (1,)),
    }


def test_a_constant_has_no_input() -> None:
    assert inputs(update("1.5") + output(), "x") == set()
    assert inputs(update("NOW()") + output(), "x") == set()


def test_a_value_passes_through_several_operations() -> None:
    operations = update("amount") + update("x * 2", "y") + output()
    assert inputs(operations, "y") == {("orders.amount", "transformation", (1, 2))}


def test_assignments_of_one_operation_see_the_row_before_it() -> None:
    swap = "[{column: region, expression: status}, {column: status, expression: region}]"
    operations = f"- {{type: update, arguments: {{assignments: {swap}}}}}\n" + output()
    assert inputs(operations, "region") == {("orders.status", "identity", (1,))}


def test_conditions_are_indirect_and_branches_direct() -> None:
    wanted = {
        ("orders.amount", "transformation", (1,)),
        ("orders.quantity", "transformation", (1,)),
        ("orders.status", "condition", (1,)),
    }
    assert inputs(update('IF(status = "open", amount, quantity)') + output(), "x") == wanted
    assert inputs(update('CASE WHEN status = "open" THEN amount ELSE quantity END') + output(), "x") == wanted


def test_a_column_keeps_its_value_on_rows_that_are_not_picked() -> None:
    operations = update("quantity", "amount", 'status = "open"') + output()
    assert inputs(operations, "amount") == {
        ("orders.amount", "identity", ()),
        ("orders.quantity", "identity", (1,)),
        ("orders.status", "selector", (1,)),
    }


def test_an_update_of_all_rows_leaves_nothing_of_the_value_before() -> None:
    assert inputs(update("quantity", "amount") + output(), "amount") == {("orders.quantity", "identity", (1,))}


def test_several_writers_under_different_selectors_are_all_named() -> None:
    operations = update("amount", "x", 'region = "EMEA"') + update("quantity", "x", 'status = "open"') + output()
    assert inputs(operations, "x") == {
        ("orders.amount", "identity", (1,)),
        ("orders.quantity", "identity", (2,)),
        ("orders.region", "selector", (1,)),
        ("orders.status", "selector", (2,)),
    }


def test_a_delete_decides_about_every_column() -> None:
    operations = "- {type: delete, selector: 'quantity = 0'}\n" + output()
    assert inputs(operations, "region") == {
        ("orders.region", "identity", ()),
        ("orders.quantity", "selector", (1,)),
    }


def test_the_selector_and_the_order_of_an_output_concern_all_its_columns() -> None:
    operations = output(", columns: [region], order_by: [day]", "amount > 0")
    assert inputs(operations, "region") == {
        ("orders.region", "identity", ()),
        ("orders.amount", "selector", (1,)),
        ("orders.day", "order_by", (1,)),
    }


def test_a_joined_value_names_both_sides_of_the_condition() -> None:
    assert inputs(join() + output(), "x") == {
        ("customers.tier", "identity", (1,)),
        ("customers.id", "join", (1,)),
        ("orders.customer_id", "join", (1,)),
    }


def test_a_join_does_not_concern_assignments_that_do_not_read_it() -> None:
    assignments = "[{column: x, expression: c.tier}, {column: y, expression: amount}]"
    joins = "[{alias: c, dataset_id: customers, on: 'customer_id = c.id'}]"
    operations = f"- {{type: update, arguments: {{joins: {joins}, assignments: {assignments}}}}}\n" + output()
    assert inputs(operations, "y") == {("orders.amount", "identity", (1,))}


def test_a_join_concerns_every_assignment_when_the_selector_reads_it() -> None:
    joins = "[{alias: c, dataset_id: customers, on: 'customer_id = c.id'}]"
    operations = (
        f"- {{type: update, selector: 'c.discount > 0', arguments: {{joins: {joins}, "
        "assignments: [{column: y, expression: amount}]}}\n"
    ) + output()
    assert inputs(operations, "y") == {
        ("orders.amount", "identity", (1,)),
        ("customers.discount", "selector", (1,)),
        ("customers.id", "join", (1,)),
        ("orders.customer_id", "join", (1,)),
    }


def test_a_second_join_brings_the_first_one_it_is_joined_by() -> None:
    joins = "[{alias: c, dataset_id: customers, on: 'customer_id = c.id'}, "
    joins += "{alias: b, dataset_id: budget, on: 'b.region = c.tier'}]"
    operations = (
        f"- {{type: update, arguments: {{joins: {joins}, assignments: [{{column: y, expression: b.amount}}]}}}}\n"
        + output()
    )
    assert inputs(operations, "y") == {
        ("budget.amount", "identity", (1,)),
        ("budget.region", "join", (1,)),
        ("customers.tier", "join", (1,)),
        ("customers.id", "join", (1,)),
        ("orders.customer_id", "join", (1,)),
    }


def test_a_total_of_summary_rows_alone() -> None:
    operations = aggregate() + output(", columns: [region, x]", "_operation_seq = 1")
    assert inputs(operations, "x") == {
        ("orders.amount", "aggregation", (1,)),
        ("orders.region", "group_by", (1,)),
    }
    assert inputs(operations, "region") == {
        ("orders.region", "identity", (1,)),
        ("orders.region", "group_by", (1,)),
    }


def test_counting_rows_reads_no_column() -> None:
    operations = aggregate(expression="COUNT(*)") + output(", columns: [x]", "_operation_seq = 1")
    assert inputs(operations, "x") == {("orders.region", "group_by", (1,))}


def test_summaries_beside_details_come_from_both() -> None:
    operations = aggregate(column="amount", selector='status = "open"') + output()
    assert inputs(operations, "amount") == {
        ("orders.amount", "identity", ()),
        ("orders.amount", "aggregation", (1,)),
        ("orders.status", "selector", (1,)),
        ("orders.region", "group_by", (1,)),
    }


def test_details_alone_know_nothing_of_the_summaries_beside_them() -> None:
    operations = aggregate(column="amount", selector='status = "open"') + output("", "_operation_seq = 0")
    assert inputs(operations, "amount") == {("orders.amount", "identity", ())}


def test_an_update_of_summaries_does_not_concern_details() -> None:
    operations = aggregate() + update("x * quantity", "x", "_operation_seq = 1") + output("", "_operation_seq = 0")
    assert inputs(operations, "x") == set()


def test_an_update_of_all_summaries_leaves_nothing_of_their_value_before() -> None:
    operations = aggregate() + update("quantity", "x", "_operation_seq IN (1, 7)")
    assert inputs(operations + output(", columns: [x]", "_operation_seq = 1"), "x") == {
        ("orders.region", "group_by", (1,)),
    }


def test_deleted_rows_do_not_enter_a_total() -> None:
    operations = (
        "- {type: delete, selector: 'quantity = 0'}\n" + aggregate() + output(", columns: [x]", "_operation_seq = 2")
    )
    assert inputs(operations, "x") == {
        ("orders.amount", "aggregation", (2,)),
        ("orders.quantity", "selector", (1, 2)),
        ("orders.region", "group_by", (2,)),
    }


def test_an_appended_source_stands_beside_the_input() -> None:
    operations = append(more=", source_selector: 'quantity > 1'") + output()
    assert inputs(operations, "amount") == {
        ("orders.amount", "identity", ()),
        ("budget.amount", "identity", (1,)),
        ("budget.quantity", "selector", (1,)),
    }
    assert inputs(operations, "status") == {
        ("orders.status", "identity", ()),
        ("budget.quantity", "selector", (1,)),
    }


def test_an_append_that_maps_takes_over_what_its_expressions_read() -> None:
    more = ", source_selector: 'quantity > 1', columns: {amount: 'amount * 2', status: UPPER(region)}"
    operations = append(more=more) + update("amount", "x") + output("", "_operation_seq = 1")
    assert inputs(operations, "x") == {
        ("budget.amount", "transformation", (1, 2)),
        ("budget.quantity", "selector", (1,)),
    }
    assert inputs(operations, "status") == {
        ("budget.region", "transformation", (1,)),
        ("budget.quantity", "selector", (1,)),
    }
    assert inputs(operations, "region") == {("budget.quantity", "selector", (1,))}


def test_an_appended_aggregation_groups_the_source() -> None:
    more = ", aggregation: {group_by: [region], aggregations: [{column: amount, expression: SUM(amount)}]}"
    operations = append(more=more) + output("", "_operation_seq = 1")
    assert inputs(operations, "amount") == {
        ("budget.amount", "aggregation", (1,)),
        ("budget.region", "group_by", (1,)),
    }


def test_after_all_rows_are_deleted_only_later_ones_count() -> None:
    operations = "- {type: delete}\n" + append() + output()
    assert inputs(operations, "amount") == {("budget.amount", "identity", (2,))}


def test_an_output_of_deleted_rows_depends_on_what_was_deleted_before_an_update() -> None:
    operations = (
        "- {type: delete, selector: 'quantity = 0'}\n" + update("1", "amount") + output(", include_deleted: true")
    )
    assert inputs(operations, "amount") == {
        ("orders.amount", "identity", ()),
        ("orders.quantity", "selector", (1,)),
        ("orders._deleted", "selector", ()),
    }
    assert inputs(operations, "region") == {("orders.region", "identity", ())}


def test_windows_read_their_group_and_order_and_the_rows_they_are_over() -> None:
    operations = (
        "- {type: delete, selector: 'status IS NULL'}\n"
        + update("SUM(amount) OVER (region ORDER BY day)", "x", "quantity > 0")
        + output(", columns: [x]")
    )
    assert inputs(operations, "x") == {
        ("orders.amount", "aggregation", (2,)),
        ("orders.region", "window", (2,)),
        ("orders.day", "window", (2,)),
        ("orders.quantity", "selector", (2,)),
        ("orders.status", "selector", (1, 2)),
    }


def test_the_weight_of_an_allocation_is_indirect() -> None:
    operations = update("ALLOCATE(100.00, quantity) OVER (region)") + output()
    assert inputs(operations, "x") == {("orders.quantity", "window", (1,)), ("orders.region", "window", (1,))}


def test_the_natural_key_decides_between_equal_rows_of_an_order() -> None:
    keyed = datasets(ORDERS.replace("name: Orders", "name: Orders\n  natural_key_columns: [order_id]"))
    operations = update("ROW_NUMBER() OVER (region ORDER BY day)") + output()
    assert inputs(operations, "x", definitions=keyed) == {
        ("orders.region", "window", (1,)),
        ("orders.day", "window", (1,)),
        ("orders.order_id", "window", (1,)),
    }
    operations = update("RANK() OVER (region ORDER BY day)") + output()
    assert inputs(operations, "x", definitions=keyed) == {
        ("orders.region", "window", (1,)),
        ("orders.day", "window", (1,)),
    }


def test_the_nearest_decision_names_how_a_column_is_read() -> None:
    operations = update('IF(status = "open", "a", "b")') + aggregate("[x]", "t") + output("", "_operation_seq = 2")
    assert inputs(operations, "t") == {
        ("orders.amount", "aggregation", (2,)),
        ("orders.status", "group_by", (1, 2)),
    }


def test_system_columns_say_where_they_come_from() -> None:
    operations = append() + output()
    assert inputs(operations, "_operation_seq") == set()
    assert inputs(operations, "_period") == {
        ("orders._period", "identity", ()),
        ("budget._period", "identity", (1,)),
    }
    assert inputs(operations, "_origin_seq") == {
        ("orders._operation_seq", "identity", ()),
        ("budget._operation_seq", "identity", (1,)),
    }


def test_ids_and_times_of_rows_are_left_out() -> None:
    written = {column for _, column in lineage(output()).columns}
    assert {"_labels", "_period", "amount"} <= written
    assert not {"_row_id", "_created_at", "_updated_at"} & written


def test_reading_when_a_row_was_updated_depends_on_what_picked_it() -> None:
    operations = update("1", "x", 'status = "open"') + update("_updated_at = NOW()", "y") + output(", columns: [y]")
    assert inputs(operations, "y") == {("orders.status", "selector", (1, 2))}


def test_a_named_selector_is_what_it_stands_for() -> None:
    found = inputs(update("1", "x", "{{open}}") + output(), "x", head="selectors: {open: 'status = \"open\"'}\n")
    assert found == {("orders.status", "selector", (1,))}


def test_a_named_expression_is_what_it_stands_for() -> None:
    found = inputs(update("{{NET}} * 2") + output(), "x", head="expressions: {NET: amount - quantity}\n")
    assert found == {("orders.amount", "transformation", (1,)), ("orders.quantity", "transformation", (1,))}


def test_a_parameter_is_no_input() -> None:
    head = "parameters: {rate: {type: decimal, default: 2}}\n"
    assert inputs(update("param.rate") + output(), "x", head=head) == set()
    assert inputs(update("amount * param.rate") + output(), "x", head=head) == {
        ("orders.amount", "transformation", (1,))
    }


def test_labels_that_an_update_sets_are_followed() -> None:
    assert inputs(update("region", "_labels") + output(), "_labels") == {("orders.region", "identity", (1,))}


def test_the_steps_on_the_way_are_told_with_their_texts() -> None:
    found = lineage(update("amount * 2", "x", "quantity > 0") + aggregate("[region]", "t", "SUM(x)") + output())
    steps = found.steps(found.column(3, "t"))
    assert [(each.seq, each.role, each.column, each.text, each.names) for each in steps] == [
        (1, "selector", None, "quantity > 0", ()),
        (1, "value", "x", "amount * 2", ()),
        (2, "group", None, "", ("region",)),
        (2, "value", "t", "SUM(x)", ()),
    ]


def test_the_rows_of_sources_are_told_apart_from_their_columns() -> None:
    found = lineage(append() + aggregate(expression="COUNT(*)") + output("", "_operation_seq = 2"))
    assert {each.dataset_id for each in found.column(3, "x").row_sources} == {"budget", "orders"}
    assert {each.dataset_id for each in found.rows(3).row_sources} == {"budget", "orders"}


def test_columns_that_are_computed_alike_have_the_same_signature() -> None:
    one = lineage(update("amount * 2") + output())
    same = lineage(update("1", "other") + update("amount*2") + output())
    different = lineage(update("amount * 3") + output())
    assert one.signature(2, "x") == same.signature(3, "x")
    assert one.signature(2, "x") != different.signature(2, "x")
    assert one.signature(2, "amount") == different.signature(2, "amount")
