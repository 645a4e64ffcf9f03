"""The plan as text and as data."""

import json

from daybook.workspace.definitions import describe_plan, explain_plan
from tests.unit.plan.planned import CONSTANTS, plan_of

OPERATIONS = """
- type: update
  name: Tier
  selector: '{{large}}'
  arguments:
    joins: [{alias: c, dataset_id: customers, on: customer_id = c.id}]
    assignments: [{column: tier, expression: c.tier}]
- type: aggregate
  name: Totals
  arguments:
    group_by: [region]
    aggregations: [{column: total, expression: SUM(amount)}]
- type: output
  name: Write
  arguments: {destination: {location: "out/{{identifier}}.csv"}, columns: [region, total], order_by: [region]}
"""

EXPECTED = """\
project p
  read orders version 1 (orders, period), the input
    order_id string
    customer_id string
    region string
    status string
    amount decimal(18,2)
    quantity integer
    day date
  read customers version 1 (customers), joined as c in 1

1 update: Tier
  join customers as c on `customer_id` = `c.id`
  where `amount` > 100L
  tier string = `c.tier`
  -> tier string

2 aggregate: Totals
  group by region
  total decimal(38,2) = SUM(`amount`)
  -> total decimal(38,2)

3 output: Write
  to out/2026-01.csv: region, total
  order by region"""


def test_the_plan_as_text() -> None:
    plan = plan_of(OPERATIONS, head="selectors: {large: amount > 100}\n")
    shown = explain_plan(plan, CONSTANTS)
    # How the language writes a cast or a comparison is its own business.
    assert [line.partition(" where ")[0].partition(" = ")[0].partition(" on ")[0] for line in shown.splitlines()] == [
        line.partition(" where ")[0].partition(" = ")[0].partition(" on ")[0] for line in EXPECTED.splitlines()
    ]
    assert "`customer_id`" in shown
    assert "`c.tier`" in shown


def test_the_plan_as_data() -> None:
    plan = plan_of(OPERATIONS, head="selectors: {large: amount > 100}\n")
    data = json.loads(json.dumps(describe_plan(plan, CONSTANTS)))
    assert [(step["seq"], step["type"]) for step in data["operations"]] == [
        (1, "update"),
        (2, "aggregate"),
        (3, "output"),
    ]
    assert data["operations"][0]["joins"][0]["columns"] == ["id", "tier"]
    assert data["operations"][1]["columns"]["total"] == "decimal(38,2)"
    assert data["operations"][0]["joins"][0]["dataset"] == "customers"
    assert data["operations"][2]["destination"] == "out/2026-01.csv"
    assert data["operations"][2]["output"] == {"region": "string", "total": "decimal(38,2)"}
    assert {"operation": 1, "dataset": "customers", "column": "tier"} in data["usage"]


def test_a_destination_that_the_period_cannot_fill_stays_as_it_is_written() -> None:
    output = '- {type: output, arguments: {destination: {location: "out/{{DD}}.csv"}}}'
    assert describe_plan(plan_of(output), CONSTANTS)["operations"][0]["destination"] == "out/{{DD}}.csv"
