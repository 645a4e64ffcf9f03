"""What makes a version, what only a title, what nothing."""

import pytest

from daybook.definitions.changes import DefinitionHead, find_changes
from daybook.model.serialization import encode_definition
from tests.unit.store.samples import PROJECT, definitions

DATASET = """
dataset:
  id: orders
  name: Orders
  description: All orders
  main_table:
    name: orders
    columns:
      - {name: order_id, type: string, description: Key}
      - {name: amount, type: "decimal(18,2)"}
    location: {path: data/orders.csv, format: csv, options: {description: one, delimiter: ";"}}
"""


def action(before: str, after: str, status: str = "active") -> str:
    (old,), (new,) = definitions(before), definitions(after)
    text = encode_definition(old.kind, old.model)
    head = DefinitionHead(old.kind, old.id, 1, status, text.text_digest, text.structure_digest, "w")  # type: ignore[arg-type]
    (change,) = find_changes([new], {(old.kind, old.id): head}, workspace="w", prune=False)
    return change.action


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("name: Orders", "name: All orders", "retitled"),
        ("description: All orders", "description: Some orders", "retitled"),
        ("description: Key", "description: The key", "retitled"),
        ("  name: Orders", "  # a comment\n  name: 'Orders'", "unchanged"),
        ("decimal(18,2)", "decimal( 18, 2 )", "unchanged"),
        ("decimal(18,2)", "decimal(18,3)", "new_version"),
        ("    name: orders", "    name: sales", "new_version"),
        (
            "{name: order_id, type: string, description: Key}",
            "{name: order_id, type: string, nullable: false}",
            "new_version",
        ),
        ("description: one", "description: two", "new_version"),  # a reader's option, not a description of ours
        ("data/orders.csv", "data/other.csv", "new_version"),
    ],
)
def test_datasets(old: str, new: str, expected: str) -> None:
    assert DATASET.count(old) == 1
    assert action(DATASET, DATASET.replace(old, new)) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("name: Close", "name: Month-end close", "retitled"),
        ("    - type: output", "    - name: Write\n      type: output", "retitled"),
        ("    - type: output", "    - accept: [PROJECT_024]\n      type: output", "retitled"),
        ("    - type: output", "    - id: write\n      type: output", "new_version"),
        ("amount * 0.9", "amount * 0.8", "new_version"),
        ("{dataset_id: orders}", "{dataset_id: orders, dataset_version: 1}", "new_version"),
        ('selector: status = "open"', 'selector: status = "closed"', "new_version"),
    ],
)
def test_projects(old: str, new: str, expected: str) -> None:
    assert PROJECT.count(old) == 1
    assert action(PROJECT, PROJECT.replace(old, new)) == expected


def test_a_column_called_description_is_no_description() -> None:
    append = """- type: append
      arguments:
        source: {dataset_id: plan}
        columns: {amount: planned, description: UPPER(area)}
    - type: output"""
    mapped = PROJECT.replace("- type: output", append)
    assert action(mapped, mapped.replace("UPPER(area)", "LOWER(area)")) == "new_version"


def test_reordering_operations_is_a_version() -> None:
    numbered = PROJECT.replace("- type: update", "- seq: 10\n      id: a\n      type: update").replace(
        "- type: output", "- seq: 20\n      id: b\n      type: output"
    )
    assert action(numbered, numbered.replace("seq: 10", "seq: 30")) == "new_version"


def test_what_was_disabled_comes_back() -> None:
    assert action(DATASET, DATASET, status="disabled") == "enabled"


def test_pruning_disables_only_what_this_workspace_s_files_defined() -> None:
    def head(dataset_id: str, workspace: str | None, status: str = "active") -> DefinitionHead:
        return DefinitionHead("dataset", dataset_id, 3, status, "", "", workspace)  # type: ignore[arg-type]

    heads = [head("mine", "w"), head("theirs", "other"), head("registered", None), head("gone", "w", "disabled")]
    known = {(item.kind, item.id): item for item in heads}
    assert [change.id for change in find_changes([], known, workspace="w", prune=True)] == ["mine"]
    assert find_changes([], known, workspace="w", prune=False) == ()
