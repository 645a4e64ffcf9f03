"""The plan as text and as data."""

import json
from pathlib import Path

from daybook.workspace.compilation import compile_projects
from daybook.workspace.open_workspace import open_workspace
from daybook.workspace.plan_description import describe_plan, explain_plan
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


def test_a_pattern_and_a_file_compile_all_they_stand_for(tmp_path: Path) -> None:
    (tmp_path / "daybook.yaml").write_text("name: close\n")
    (tmp_path / "all.yaml").write_text(
        "dataset: {id: d, main_table: {name: d, columns: [{name: a, type: string}], location: {path: d.csv}}}\n"
        "---\n"
        "project:\n"
        "  for_each: {entity: [de01, us01]}\n"
        "  id: clean-${entity}\n"
        "  input: {dataset_id: d}\n"
        "  operations:\n"
        "    - {type: update, arguments: {assignments: [{column: entity, expression: '\"${entity}\"'}]}}\n"
        "    - {type: output, arguments: {destination: {location: 'out/${entity}.csv'}}}\n"
    )
    workspace = open_workspace(tmp_path)
    for name in ("clean-*", (tmp_path / "all.yaml").as_posix()):
        compiled = compile_projects(workspace, name)
        assert [project.project_id for project in compiled] == ["clean-de01", "clean-us01"]
    assert "'us01'" in compiled[1].text
