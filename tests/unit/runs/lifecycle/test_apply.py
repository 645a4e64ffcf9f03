"""Applying workspaces, on both back ends."""

from typing import Any

import pytest

from daybook.definitions.loading import load_text
from daybook.errors import DaybookError
from daybook.model.dataset import Dataset
from daybook.model.definition import RegisteredDataPin, TableVersion
from daybook.model.serialization import to_yaml
from daybook.runs.lifecycle.activation import activate
from daybook.runs.lifecycle.apply import ApplyPlan, apply, plan
from daybook.store.records import Registration
from daybook.store.store import MetadataStore
from tests.unit.store.samples import NOW, ORDERS, PROJECT, dataset_text, definitions, make_dataset

RESOLVER = """
resolver:
  id: {id}
  is_default: true
  rules: [{{name: all, strategy: {{type: path, datasource_id: files, path: "{{{{identifier}}}}.csv"}}}}]
"""
DATASOURCE = "datasource: {id: files, type: csv, options: {path: data}}"
CALENDAR = """
calendar:
  id: fiscal
  name: Fiscal
  levels: [{name: year, identifier: "FY{{YYYY}}"}]
  periods: [{identifier: FY2026, level: year, start_date: 2026-01-01, end_date: 2026-12-31}]
"""


def put(store: MetadataStore, *texts: str, prune: bool = False, workspace: str = "w") -> ApplyPlan:
    return apply(store, definitions(*texts), workspace=workspace, now=NOW, prune=prune)


def look(store: MetadataStore, *texts: str, prune: bool = False) -> ApplyPlan:
    return plan(store, definitions(*texts), workspace="w", prune=prune)


def actions(difference: ApplyPlan) -> dict[str, str]:
    return {change.id: change.action for change in difference.changes}


def status(store: MetadataStore, project_id: str = "close") -> str:
    with store.read() as transaction:
        return transaction.projects.get(project_id).status


def versions(store: MetadataStore, kind: Any, definition_id: str) -> tuple[int, ...]:
    with store.read() as transaction:
        return transaction.definitions.versions(kind, definition_id)


ORDERS_TEXT = dataset_text(ORDERS)


def test_everything_is_added_then_unchanged(store: MetadataStore) -> None:
    texts = (ORDERS_TEXT, PROJECT, DATASOURCE, RESOLVER.format(id="files-by-period"), CALENDAR)
    assert actions(put(store, *texts)) == dict.fromkeys(
        ("orders", "close", "files", "files-by-period", "fiscal"), "added"
    )
    again = put(store, *texts)
    assert set(actions(again).values()) == {"unchanged"}
    assert all(effect.before == effect.after for effect in again.effects)
    for kind, definition_id in (("dataset", "orders"), ("project", "close"), ("resolver", "files-by-period")):
        assert versions(store, kind, definition_id) == (1,)
    with store.read() as transaction:
        assert transaction.stored_definitions().calendar("fiscal") is not None
        default = transaction.stored_definitions().default_resolver()
        assert default is not None
        assert default.resolver.id == "files-by-period"


def test_what_the_store_holds_already_is_not_written_again(
    store: MetadataStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, ORDERS_TEXT, PROJECT)

    def refuse(_: MetadataStore) -> None:
        raise AssertionError("a transaction that writes waits for all others")

    monkeypatch.setattr(MetadataStore, "write", refuse)
    assert set(actions(put(store, ORDERS_TEXT, PROJECT)).values()) == {"unchanged"}


def test_a_structural_change_is_the_next_version(store: MetadataStore) -> None:
    put(store, ORDERS_TEXT)
    difference = put(store, dataset_text({**ORDERS, "region": "string"}))
    (change,) = difference.changes
    assert (change.action, change.previous_version, change.version) == ("new_version", 1, 2)
    with store.read() as transaction:
        first = transaction.stored_definitions().dataset("orders", 1)
        latest = transaction.stored_definitions().dataset("orders")
        assert first is not None
        assert latest is not None
        assert [column.name for column in first.dataset.main_table.columns] == list(ORDERS)
        assert [column.name for column in latest.dataset.main_table.columns] == [*ORDERS, "region"]


def test_a_title_is_no_version_but_is_stored(store: MetadataStore) -> None:
    put(store, ORDERS_TEXT)
    assert actions(put(store, dataset_text(ORDERS, name="Sales"))) == {"orders": "retitled"}
    assert versions(store, "dataset", "orders") == (1,)
    with store.read() as transaction:
        assert transaction.definitions.get("dataset", "orders").name == "Sales"
    assert actions(put(store, dataset_text(ORDERS, name="Sales"))) == {"orders": "unchanged"}


def test_planning_says_the_same_and_changes_nothing(store: MetadataStore) -> None:
    put(store, ORDERS_TEXT)
    texts = (dataset_text({**ORDERS, "region": "string"}), PROJECT)
    before = look(store, *texts)
    with store.read() as transaction:
        assert transaction.projects.all() == ()
    assert versions(store, "dataset", "orders") == (1,)
    after = put(store, *texts)
    assert [(c.id, c.action, c.version) for c in before.changes] == [(c.id, c.action, c.version) for c in after.changes]
    assert [(e.project_id, e.before, e.after) for e in before.effects] == [("close", None, "draft")]
    assert before.effects[0].after == after.effects[0].after


def test_a_new_project_is_a_draft_with_its_usage(store: MetadataStore) -> None:
    put(store, ORDERS_TEXT, PROJECT)
    with store.read() as transaction:
        state = transaction.projects.get("close")
        assert (state.status, state.active_version, state.warnings) == ("draft", None, ())
        usage = transaction.projects.usage("close", 1)
        assert {(use.operation_seq, use.column) for use in usage} == {(1, "status"), (1, "amount")}


def test_a_semantic_failure_leaves_a_draft_with_warnings(store: MetadataStore) -> None:
    difference = put(store, dataset_text({"order_id": "string"}), PROJECT)
    (effect,) = difference.effects
    assert effect.after == "draft"
    assert {error.parameters["name"] for error in effect.validation.errors} == {"status", "amount"}
    with store.read() as transaction:
        assert len(transaction.projects.get("close").warnings) == 2


def test_two_defaults_refuse_everything(store: MetadataStore) -> None:
    with pytest.raises(DaybookError) as caught:
        put(store, ORDERS_TEXT, RESOLVER.format(id="one"), RESOLVER.format(id="two"))
    assert (caught.value.code, caught.value.parameters["ids"]) == ("STORE_011", "one, two")
    with store.read() as transaction:
        assert transaction.definitions.heads() == {}


def test_another_default_is_refused_until_the_first_is_gone(store: MetadataStore) -> None:
    put(store, RESOLVER.format(id="one"))
    with pytest.raises(DaybookError) as caught:
        put(store, RESOLVER.format(id="two"))
    assert caught.value.code == "STORE_011"
    put(store, RESOLVER.format(id="two"), prune=True)
    with store.read() as transaction:
        default = transaction.stored_definitions().default_resolver()
        assert default is not None
        assert default.resolver.id == "two"


def test_pruning_disables_and_files_bring_back(store: MetadataStore) -> None:
    put(store, ORDERS_TEXT, PROJECT, DATASOURCE)
    assert actions(put(store, PROJECT, prune=True)) == {"close": "unchanged", "orders": "disabled", "files": "disabled"}
    with store.read() as transaction:
        found = transaction.stored_definitions().dataset("orders")
        assert found is not None
        assert found.status == "disabled"
        assert transaction.stored_definitions().is_datasource_disabled("files")
    assert actions(put(store, ORDERS_TEXT, DATASOURCE)) == {"orders": "enabled", "files": "enabled"}
    with store.read() as transaction:
        found = transaction.stored_definitions().dataset("orders")
        assert found is not None
        assert (found.status, found.version) == ("active", 1)


def test_pruning_a_dataset_puts_its_projects_into_conflict(store: MetadataStore) -> None:
    put(store, ORDERS_TEXT, PROJECT)
    activate(store, "close", now=NOW)
    put(store, PROJECT, prune=True)
    assert status(store) == "conflict"
    put(store, ORDERS_TEXT, PROJECT)
    assert status(store) == "active"


def test_pruning_a_project_makes_it_inactive(store: MetadataStore) -> None:
    put(store, ORDERS_TEXT, PROJECT)
    activate(store, "close", now=NOW)
    put(store, ORDERS_TEXT, prune=True)
    assert status(store) == "inactive"


def test_registered_datasets_are_never_pruned(store: MetadataStore) -> None:
    with store.write() as transaction:
        dataset = make_dataset({"net": "float"}, dataset_id="net")
        transaction.definitions.register(dataset, Registration("close", "r1", 20), now=NOW)
    assert actions(put(store, ORDERS_TEXT, prune=True)) == {"orders": "added"}


def test_a_file_may_declare_what_an_output_registered(store: MetadataStore) -> None:
    pin = RegisteredDataPin("/lake/net", TableVersion("delta", "7"))
    with store.write() as transaction:
        dataset = make_dataset({"net": "float", "tax": "float"}, dataset_id="net")
        transaction.definitions.register(dataset, Registration("close", "r1", 20, pin), now=NOW)
    done = put(store, dataset_text({"net": "float"}, dataset_id="net"))
    assert [item.code for item in done.notices] == ["STORE_009"]
    assert actions(done) == {"net": "new_version"}
    with store.read() as transaction:
        found = transaction.stored_definitions().declared("net")
        assert found is not None
        # The data is what it was; the file says how it is read.
        assert (found.version, found.pin) == (2, pin)
        assert isinstance(found.dataset, Dataset)
        assert [column.name for column in found.dataset.main_table.columns] == ["net"]
    assert actions(put(store, dataset_text({"net": "float"}, dataset_id="net"))) == {"net": "unchanged"}


def test_another_workspace_takes_over_with_a_notice(store: MetadataStore) -> None:
    put(store, ORDERS_TEXT)
    difference = put(store, ORDERS_TEXT, workspace="v")
    assert [item.code for item in difference.notices] == ["STORE_027"]
    assert put(store, ORDERS_TEXT, workspace="v").notices == ()
    assert actions(look(store, prune=True)) == {}


@pytest.mark.parametrize(
    "kind_and_id", [("dataset", "orders"), ("project", "close"), ("resolver", "r"), ("calendar", "fiscal")]
)
def test_what_is_stored_loads_again_as_yaml(store: MetadataStore, kind_and_id: tuple[Any, str]) -> None:
    texts = (ORDERS_TEXT, PROJECT, RESOLVER.format(id="r"), CALENDAR)
    put(store, *texts)
    kind, definition_id = kind_and_id
    with store.read() as transaction:
        stored = transaction.definitions.model(kind, definition_id)
    (again,) = load_text(to_yaml(kind, stored), "again.yaml")
    (original,) = [item for item in definitions(*texts) if item.kind == kind]
    assert again.model == original.model
