"""Which datasets a project refers to, and what its workspace has to bring along."""

from pathlib import Path

from daybook.definitions.column_usage import ProjectReference, StoredColumnUsage, dataset_references, mark_pinned_usage
from daybook.definitions.loading import LoadedWorkspace
from daybook.definitions.reachable import reachable_definitions
from daybook.model.definition import DEFINITION_KINDS
from daybook.model.settings import WorkspaceSettings
from tests.unit.store.samples import dataset_text, definitions

PROJECT = """
project:
  id: close
  input: {dataset_id: orders, dataset_version: 2}
  resolver_overrides: {orders: special}
  operations:
    - seq: 10
      type: update
      arguments:
        joins:
          - {alias: before, dataset_id: orders, on: orders.a = before.a}
          - {alias: c, dataset_id: customers, on: orders.a = c.a}
        assignments: [{column: b, expression: before.a}]
    - seq: 20
      type: append
      arguments: {source: {dataset_id: budget, dataset_version: 1}}
    - seq: 30
      type: output
      arguments: {destination: {datasource_id: lake, table: t}}
"""


def resolver(resolver_id: str, datasource_id: str, is_default: str = "false") -> str:
    strategy = f"{{type: path, datasource_id: {datasource_id}, path: x.csv}}"
    return f"resolver: {{id: {resolver_id}, is_default: {is_default}, rules: [{{name: all, strategy: {strategy}}}]}}"


def datasource(datasource_id: str) -> str:
    return f"datasource: {{id: {datasource_id}, type: csv, options: {{path: {datasource_id}}}}}"


def test_references_carry_their_operation_and_version() -> None:
    (project,) = definitions(PROJECT)
    assert list(dataset_references(project.model)) == [
        ProjectReference("orders", 2, 0),
        ProjectReference("orders", None, 10),
        ProjectReference("customers", None, 10),
        ProjectReference("budget", 1, 20),
    ]


def test_a_use_is_pinned_when_only_pinned_references_can_be_meant() -> None:
    (project,) = definitions(PROJECT)
    uses = [(10, "orders", "a"), (30, "orders", "a"), (10, "customers", "a"), (20, "budget", "a")]
    assert mark_pinned_usage(project.model, uses) == (
        StoredColumnUsage(10, "orders", "a", is_pinned=False),  # the input is pinned, the join is not
        StoredColumnUsage(30, "orders", "a", is_pinned=True),
        StoredColumnUsage(10, "customers", "a", is_pinned=False),
        StoredColumnUsage(20, "budget", "a", is_pinned=True),
    )


def test_a_project_reaches_what_it_names_and_what_that_names() -> None:
    texts = [
        PROJECT,
        *(dataset_text({"a": "string"}, dataset_id=name) for name in ("orders", "customers", "budget", "unrelated")),
        resolver("special", "special-files"),
        resolver("usual", "usual-files", "true"),
        resolver("other", "other-files"),
        *(datasource(name) for name in ("special-files", "usual-files", "other-files", "lake", "pond")),
    ]
    found = definitions(*texts)
    by_kind = {kind: {item.id: item for item in found if item.kind == kind} for kind in DEFINITION_KINDS}
    workspace = LoadedWorkspace(Path(), WorkspaceSettings(name="w"), by_kind)
    assert {(item.kind, item.id) for item in reachable_definitions(workspace, "close")} == {
        ("project", "close"),
        ("dataset", "orders"),
        ("dataset", "customers"),
        ("dataset", "budget"),
        ("resolver", "special"),
        ("resolver", "usual"),
        ("datasource", "special-files"),
        ("datasource", "usual-files"),
        ("datasource", "lake"),
    }
