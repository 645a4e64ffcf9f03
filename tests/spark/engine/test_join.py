"""Runtime joins."""

import datetime
from decimal import Decimal

import pytest

from daybook.errors import DaybookError
from tests.spark.engine.executed import OUTPUT, World, customer, order
from tests.unit.plan.planned import BUDGET, CUSTOMERS, ORDERS, datasets

pytestmark = pytest.mark.usefixtures("product_settings")

RATES = """
dataset:
  id: rates
  name: Rates
  main_table:
    name: rates
    columns:
      - {name: region, type: string}
      - {name: begins, type: date}
      - {name: ends, type: date}
      - {name: rate, type: "decimal(9,4)"}
"""
CATALOG = datasets(ORDERS, CUSTOMERS, BUDGET, RATES)
CUSTOMER = "{alias: c, dataset_id: customers, on: 'customer_id = c.id'}"


def joined(*joins: str, column: str = "tier", expression: str = "c.tier", selector: str | None = None) -> str:
    picked = f"selector: '{selector}', " if selector else ""
    return (
        f"- {{type: update, {picked}arguments: {{joins: [{', '.join(joins or (CUSTOMER,))}], "
        f"assignments: [{{column: {column}, expression: '{expression}'}}]}}}}\n"
    )


ONE = "- {type: output, arguments: {destination: {location: o.csv}, columns: [order_id]}}\n"


def test_rows_without_match_get_null(world: World) -> None:
    rows = [order("O-1", customer_id="C-1"), order("O-2", customer_id="C-9"), order("O-3", customer_id=None)]
    executed = world.run(joined() + OUTPUT, rows, customers=[customer("C-1", "gold"), customer("C-2", "std")])
    assert {key: row["tier"] for key, row in executed.by_id().items()} == {"O-1": "gold", "O-2": None, "O-3": None}
    assert executed.picked() == {1: (3, 0)}
    assert "c.tier" not in executed.columns[2]


def test_the_seeds_example(world: World) -> None:
    operations = (
        "- {type: update, selector: '{{active}}', arguments: {joins: [{alias: customers, dataset_id: customers, "
        "on: 'orders.customer_id = customers.id'}], assignments: [{column: customer_tier, expression: customers.tier}, "
        "{column: price, expression: 'IF(customers.tier = \"gold\", orders.amount * 0.9, orders.amount)'}]}}\n"
    )
    rows = [
        order("O-1", customer_id="C-1", status="active", amount="100.00"),
        order("O-2", customer_id="C-2", status="active", amount="100.00"),
        order("O-3", customer_id="C-1", status="closed", amount="100.00"),
    ]
    customers = [customer("C-1", "gold"), customer("C-2", "std")]
    executed = world.run(
        operations + OUTPUT, rows, customers=customers, head="selectors: {active: 'orders.status = \"active\"'}\n"
    )
    assert {key: (row["customer_tier"], row["price"]) for key, row in executed.by_id().items()} == {
        "O-1": ("gold", Decimal("90.000")),
        "O-2": ("std", Decimal("100.000")),
        "O-3": (None, None),
    }


@pytest.mark.parametrize("output", [OUTPUT, ONE])
def test_a_picked_row_that_matches_twice_stops_the_run(world: World, output: str) -> None:
    rows = [order("O-1", customer_id="C-1"), order("O-2", customer_id="C-2")]
    customers = [customer("C-1", "a"), customer("C-2", "b"), customer("C-2", "c")]
    with pytest.raises(DaybookError) as caught:
        world.run(joined() + output, rows, customers=customers)
    error = caught.value
    assert (error.code, error.operation_seq) == ("UPDATE_024", 1)
    assert (error.parameters["alias"], error.parameters["key"]) == ("c", "customer_id = C-2")


def test_double_keys_that_no_picked_row_has_are_harmless(world: World) -> None:
    rows = [
        order("O-1", customer_id="C-1", quantity=1),
        order("O-2", customer_id="C-2", quantity=2),
        order("O-3", customer_id="C-2", quantity=1, _deleted=True),
    ]
    customers = [customer("C-1", "a"), customer("C-2", "b"), customer("C-2", "c"), customer("C-3"), customer("C-3")]
    executed = world.run(joined(selector="quantity = 1") + OUTPUT, rows, customers=customers)
    assert {key: row["tier"] for key, row in executed.by_id().items()} == {"O-1": "a", "O-2": None}


RANGE = "{alias: r, dataset_id: rates, on: 'region = r.region AND day >= r.begins AND day < r.ends'}"


def rate(region: str, begins: int, ends: int, value: str) -> dict[str, object]:
    return {
        "region": region,
        "begins": datetime.date(2026, 1, begins),
        "ends": datetime.date(2026, 1, ends),
        "rate": Decimal(value),
    }


def test_a_condition_that_is_more_than_keys(world: World) -> None:
    rows = [
        order("O-1", region="US", day=datetime.date(2026, 1, 5)),
        order("O-2", region="US", day=datetime.date(2026, 1, 10)),
    ]
    rates = [rate("US", 1, 10, "1.5"), rate("US", 10, 20, "1.75"), rate("EMEA", 1, 31, "9")]
    operations = joined(RANGE, column="rate", expression="r.rate")
    executed = world.run(operations + OUTPUT, rows, definitions=CATALOG, more={"rates": rates})
    assert {key: row["rate"] for key, row in executed.by_id().items()} == {
        "O-1": Decimal("1.5"),
        "O-2": Decimal("1.75"),
    }


@pytest.mark.parametrize("output", [OUTPUT, ONE])
@pytest.mark.parametrize("condition", ["region = r.region AND day >= r.begins", "day >= r.begins OR region = r.region"])
def test_a_row_that_matches_twice_without_keys_stops_the_run(world: World, output: str, condition: str) -> None:
    rows = [
        order("O-1", region="US", day=datetime.date(2026, 1, 15)),
        order("O-2", region="EMEA", day=datetime.date(2025, 1, 1)),
    ]
    join = f"{{alias: r, dataset_id: rates, on: '{condition}'}}"
    rates = [rate("US", 1, 10, "1.5"), rate("US", 10, 20, "1.75")]
    with pytest.raises(DaybookError) as caught:
        world.run(
            joined(join, column="rate", expression="r.rate") + output, rows, definitions=CATALOG, more={"rates": rates}
        )
    assert (caught.value.code, caught.value.parameters["alias"]) == ("UPDATE_024", "r")
    assert caught.value.parameters["key"] == "day = 2026-01-15, region = US"


def test_unpicked_rows_do_not_match_without_keys_either(world: World) -> None:
    rows = [order("O-1", quantity=1), order("O-2", quantity=2)]
    join = "{alias: c, dataset_id: customers, on: 'quantity <> LEN(c.id)'}"
    executed = world.run(
        joined(join, selector="quantity = 3") + OUTPUT, rows, customers=[customer("C-1", "a"), customer("C-2", "b")]
    )
    assert [row["tier"] for row in executed.rows] == [None, None]


def test_a_selector_that_looks_at_joined_columns(world: World) -> None:
    rows = [
        order("gold", customer_id="C-1"),
        order("std", customer_id="C-2"),
        order("nobody", customer_id="C-9"),
        # Two matches, but neither makes the row a picked one.
        order("twice-std", customer_id="C-3"),
    ]
    customers = [customer("C-1", "gold"), customer("C-2", "std"), customer("C-3", "std"), customer("C-3", "std")]
    operations = joined(column="status", expression='"vip"', selector='c.tier = "gold"')
    executed = world.run(operations + OUTPUT, rows, customers=customers)
    assert sorted((row["order_id"], row["status"]) for row in executed.rows) == [
        ("gold", "vip"),
        ("nobody", None),
        ("std", None),
        ("twice-std", None),
    ]
    assert executed.picked() == {1: (1, 0)}


@pytest.mark.parametrize("on", ["customer_id = c.id", "customer_id <= c.id AND customer_id >= c.id"])
def test_a_row_picked_by_one_of_two_matches_stops_the_run(world: World, on: str) -> None:
    join = f"{{alias: c, dataset_id: customers, on: '{on}'}}"
    operations = joined(join, column="status", expression='"vip"', selector='c.tier = "gold"')
    customers = [customer("C-1", "std"), customer("C-1", "gold")]
    with pytest.raises(DaybookError) as caught:
        world.run(operations + OUTPUT, [order("O-1", customer_id="C-1")], customers=customers)
    assert (caught.value.code, caught.value.parameters["key"]) == ("UPDATE_024", "customer_id = C-1")


def test_unpicked_rows_with_two_matches_stay_one_row_without_keys(world: World) -> None:
    join = "{alias: c, dataset_id: customers, on: 'customer_id <= c.id'}"
    operations = joined(join, column="status", expression='"vip"', selector='c.tier = "gold"')
    customers = [customer("C-1", "std"), customer("C-2", "std"), customer("C-3", "gold")]
    rows = [order("O-1", customer_id="C-3"), order("O-2", customer_id="C-9")]
    executed = world.run(operations + OUTPUT, rows, customers=customers)
    assert sorted((row["order_id"], row["status"]) for row in executed.rows) == [("O-1", "vip"), ("O-2", None)]
    with pytest.raises(DaybookError, match="UPDATE_024"):
        world.run(operations + OUTPUT, [order("O-1", customer_id="C-2")], customers=customers)


def test_rows_of_a_missing_match_can_be_picked(world: World) -> None:
    rows = [order("O-1", customer_id="C-1"), order("O-2", customer_id="C-9")]
    operations = joined(column="status", expression='"unknown"', selector="c.id IS NULL")
    executed = world.run(operations + OUTPUT, rows, customers=[customer("C-1", "a")])
    assert {key: row["status"] for key, row in executed.by_id().items()} == {"O-1": None, "O-2": "unknown"}


def test_joins_apply_in_order_and_later_ones_see_earlier_ones(world: World) -> None:
    second = "{alias: d, dataset_id: customers, on: 'c.tier = d.id'}"
    operations = joined(CUSTOMER, second, column="status", expression="d.tier")
    customers = [customer("C-1", "C-2"), customer("C-2", "found")]
    executed = world.run(operations + OUTPUT, [order("O-1", customer_id="C-1"), order("O-2")], customers=customers)
    assert {key: row["status"] for key, row in executed.by_id().items()} == {"O-1": "found", "O-2": None}


def test_a_join_to_the_stored_rows_of_the_input(world: World) -> None:
    join = "{alias: o, dataset_id: orders, on: 'customer_id = o.order_id'}"
    operations = "- {type: update, arguments: {assignments: [{column: status, expression: '\"changed\"'}]}}\n"
    operations += joined(join, column="found", expression="o.status")
    rows = [order("O-1", customer_id="O-2", status="one"), order("O-2", status="two")]
    executed = world.run(operations + OUTPUT, rows)
    assert executed.by_id()["O-1"]["found"] == "two"


def test_deleted_rows_of_a_joined_dataset_are_not_read(world: World) -> None:
    customers = [customer("C-1", "old") | {"_deleted": True}, customer("C-1", "new") | {"_deleted": False}]
    executed = world.run(joined() + OUTPUT, [order("O-1", customer_id="C-1")], customers=customers)
    assert executed.by_id()["O-1"]["tier"] == "new"


def test_joined_data_has_its_own_time_filter(world: World) -> None:
    definitions = datasets(
        ORDERS,
        CUSTOMERS.replace("name: customers\n    columns", "name: customers\n    temporal_mode: period\n    columns"),
    )
    customers = [customer("C-1", "old") | {"_period": "2025-12"}, customer("C-1", "new") | {"_period": "2026-01"}]
    executed = world.run(
        joined() + OUTPUT, [order("O-1", customer_id="C-1")], customers=customers, definitions=definitions
    )
    assert executed.by_id()["O-1"]["tier"] == "new"


def test_a_null_in_joined_data_that_matches_nothing_stops_the_run(world: World) -> None:
    customers = [customer("C-1", "a"), customer(None, "b")]
    with pytest.raises(DaybookError) as caught:
        world.run(joined() + ONE, [order("O-1", customer_id="C-1")], customers=customers)
    assert (caught.value.code, caught.value.parameters["dataset_id"]) == ("PROJECT_030", "customers")


def test_a_computed_key_does_not_fail_on_rows_that_are_not_picked(world: World) -> None:
    join = "{alias: c, dataset_id: customers, on: 'TO_NUMBER(status) = c.discount'}"
    rows = [order("O-1", status="0.5"), order("O-2", status="text")]
    executed = world.run(
        joined(join, selector='order_id = "O-1"') + OUTPUT, rows, customers=[customer("C-1", "half", "0.5")]
    )
    assert {key: row["tier"] for key, row in executed.by_id().items()} == {"O-1": "half", "O-2": None}
