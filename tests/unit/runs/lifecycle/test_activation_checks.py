"""The real validation behind activation: what it reports, and which uses of columns it finds."""

from typing import Any

import pytest

from daybook.errors import DaybookError, flatten
from daybook.runs.lifecycle.activation import activate
from daybook.runs.lifecycle.apply import apply
from daybook.store.store import MetadataStore
from tests.unit.store.samples import NOW, definitions


def dataset(name: str, *columns: str) -> str:
    """A dataset of texts and amounts, in a file of its name."""
    types = {"amount": '"decimal(18,2)"'}
    lines = "".join(f"      - {{name: {column}, type: {types.get(column, 'string')}}}\n" for column in columns)
    head = f"dataset:\n  id: {name}\n  main_table:\n    name: {name}\n    columns:\n"
    return f"{head}{lines}    location: {{path: data/{name}.csv}}\n"


ORDERS = dataset("orders", "order_id", "customer_id", "region", "status", "amount", "spare")
CUSTOMERS = dataset("customers", "id", "tier", "city")
BUDGET = dataset("budget", "kind", "region", "amount")
LAKE = "datasource: {id: lake, type: delta, options: {path: lake}}"
PROJECT = """
project:
  id: close
  input: {dataset_id: orders}
  selectors: {active: 'status = "active"'}
  operations:
    - seq: 10
      type: update
      selector: "{{active}}"
      arguments:
        joins: [{alias: c, dataset_id: customers, on: orders.customer_id = c.id}]
        assignments: [{column: bonus, expression: 'IF(c.tier = "gold", amount, 0)'}]
    - seq: 20
      type: append
      arguments:
        source: {dataset_id: budget}
        source_selector: kind = "original"
        aggregation:
          group_by: [region]
          aggregations: [{column: amount, expression: SUM(amount)}]
    - seq: 30
      type: aggregate
      arguments:
        group_by: [region]
        aggregations: [{column: total, expression: SUM(bonus)}]
    - seq: 40
      type: output
      selector: order_id IS NOT NULL
      arguments: {destination: {datasource_id: lake, table: net}, columns: [order_id, bonus]}
"""
ALL = (ORDERS, CUSTOMERS, BUDGET, LAKE, PROJECT)

# By hand: operation, dataset, column, from selectors, joins, assignments, sources, group-bys and outputs.
USES = {
    (10, "orders", "status"),
    (10, "orders", "customer_id"),
    (10, "orders", "amount"),
    (10, "customers", "id"),
    (10, "customers", "tier"),
    (20, "budget", "kind"),
    (20, "budget", "region"),
    (20, "budget", "amount"),
    (30, "orders", "region"),
    (40, "orders", "order_id"),
}


def put(store: MetadataStore, *texts: str) -> None:
    apply(store, definitions(*texts), workspace="w", now=NOW)


def conflict(store: MetadataStore) -> dict[str, Any] | None:
    with store.read() as transaction:
        found = transaction.projects.get("close").conflict
        return dict(found) if found else None


@pytest.fixture
def active(store: MetadataStore) -> MetadataStore:
    put(store, *ALL)
    activate(store, "close", now=NOW)
    return store


def test_the_usage_kept_with_a_version_is_exact(active: MetadataStore) -> None:
    with active.read() as transaction:
        version = transaction.projects.get("close").active_version
        assert version is not None
        usage = transaction.projects.usage("close", version)
    found = {(use.operation_seq, use.dataset_id, use.column) for use in usage}
    # Appended rows land in the columns of the working dataset that carry their names.
    assert found - {(20, "orders", "region"), (20, "orders", "amount")} == USES


@pytest.mark.parametrize(
    ("text", "column", "operations"),
    [
        (ORDERS, "status", {10}),
        (ORDERS, "customer_id", {10}),
        (ORDERS, "order_id", {40}),
        (CUSTOMERS, "id", {10}),
        (CUSTOMERS, "tier", {10}),
        (BUDGET, "kind", {20}),
    ],
)
def test_a_column_that_goes_breaks_the_operations_that_use_it(
    active: MetadataStore, text: str, column: str, operations: set[int]
) -> None:
    put(active, text.replace(f"name: {column},", "name: renamed,"))
    report = conflict(active)
    assert report is not None
    (item,) = report["breaks"]
    assert (item["column"], item["change"], set(item["operations"])) == (column, "removed", operations)
    assert report["errors"]


@pytest.mark.parametrize(("text", "column"), [(ORDERS, "spare"), (CUSTOMERS, "city")])
def test_a_column_that_nobody_uses_may_go(active: MetadataStore, text: str, column: str) -> None:
    put(active, text.replace(f"name: {column},", "name: renamed,"))
    assert conflict(active) is None


@pytest.mark.parametrize(
    ("old", "new", "code", "seq"),
    [
        ("amount, 0)", "amout, 0)", "UPDATE_006", 10),
        ('"{{active}}"', '"{{actve}}"', "UPDATE_003", 10),
        ("expression: SUM(bonus)", "expression: SUM(status)", "AGGREGATE_006", 30),
        ("dataset_id: budget", "dataset_id: budgett", "APPEND_001", 20),
        ("dataset_id: customers", "dataset_id: customrs", None, 10),
        ("dataset_id: orders", "dataset_id: ordrs", None, None),
        ("datasource_id: lake", "datasource_id: laek", "OUTPUT_020", 40),
        (
            "input: {dataset_id: orders}",
            "input: {dataset_id: orders}\n  resolver_overrides: {orders: nobody}",
            None,
            None,
        ),
        ("input: {dataset_id: orders}", "input: {dataset_id: orders}\n  calendar_id: lunar", "RESOLVE_003", None),
        ("input: {dataset_id: orders}", "input: {dataset_id: orders, dataset_version: 7}", None, None),
    ],
)
def test_activation_reports_what_is_wrong_and_where(
    store: MetadataStore, old: str, new: str, code: str | None, seq: int | None
) -> None:
    assert PROJECT.count(old) == 1
    wrong = PROJECT.replace(old, new)
    put(store, *ALL[:-1], wrong)
    (project,) = definitions(wrong)
    with pytest.raises(DaybookError) as caught:
        activate(store, "close", now=NOW, source=project.source)
    findings = flatten(caught.value)
    assert len(findings) == 1
    assert code is None or findings[0].code == code
    assert findings[0].operation_seq == seq
    with store.read() as transaction:
        assert transaction.projects.get("close").status == "draft"


def test_every_failure_is_reported_at_once(store: MetadataStore) -> None:
    wrong = PROJECT.replace("amount, 0)", "amout, 0)").replace("datasource_id: lake", "datasource_id: laek")
    put(store, *ALL[:-1], wrong)
    with pytest.raises(DaybookError) as caught:
        activate(store, "close", now=NOW)
    assert {error.operation_seq for error in flatten(caught.value)} >= {10, 40}


def test_a_destination_that_was_disabled_is_a_conflict(active: MetadataStore) -> None:
    apply(active, definitions(*ALL[:3], PROJECT), workspace="w", now=NOW, prune=True)
    report = conflict(active)
    assert report is not None
    assert [error["code"] for error in report["errors"]] == ["OUTPUT_021"]
