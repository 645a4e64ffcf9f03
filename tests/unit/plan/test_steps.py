"""Exactly which columns of which datasets operations use."""

from tests.unit.plan.planned import plan_of


def used(operations: str, head: str = "") -> set[tuple[int, str, str]]:
    return {(use.operation_seq, use.dataset_id, use.column) for use in plan_of(operations, head=head).usage}


def test_every_way_of_using_a_column_is_found() -> None:
    operations = """
    - type: update
      selector: "{{active}} AND _labels = ''"
      arguments:
        joins:
        - {alias: c, dataset_id: customers, on: "orders.customer_id = c.id"}
        assignments:
        - {column: tier, expression: c.tier}
        - {column: amount, expression: quantity * c.discount}
    - type: aggregate
      arguments:
        group_by: [orders.region, tier]
        aggregations: [{column: total, expression: SUM(amount)}]
    - type: append
      arguments:
        source: {dataset_id: budget}
        source_selector: quantity > 0
        aggregation:
          group_by: [region]
          aggregations: [{column: total, expression: MAX_AGG(amount)}]
    - type: delete
      selector: day IS NULL
    - type: output
      selector: total > 0
      arguments: {destination: {location: out.csv}, columns: [region, tier, total], order_by: [order_id]}
    """
    assert used(operations, head="selectors: {active: 'status = \"active\"'}\n") == {
        (1, "orders", "status"),
        (1, "orders", "customer_id"),
        (1, "orders", "quantity"),
        (1, "orders", "amount"),
        (1, "customers", "id"),
        (1, "customers", "tier"),
        (1, "customers", "discount"),
        (2, "orders", "region"),
        (2, "orders", "amount"),
        (3, "budget", "quantity"),
        (3, "budget", "region"),
        (3, "budget", "amount"),
        (3, "orders", "region"),
        (4, "orders", "day"),
        (5, "orders", "region"),
        (5, "orders", "order_id"),
    }


def test_an_output_of_all_columns_uses_all_columns() -> None:
    columns = {column for _, _, column in used("- {type: output, arguments: {destination: {location: o.csv}}}\n")}
    assert columns == {"order_id", "customer_id", "region", "status", "amount", "quantity", "day"}
