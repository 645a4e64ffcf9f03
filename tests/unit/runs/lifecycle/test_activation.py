"""Draft, active, inactive, conflict, on both back ends."""

import pytest

from daybook.definitions.activated import ProjectInput, as_activated
from daybook.errors import DaybookError
from daybook.model.definition import RegisteredDataPin, TableVersion
from daybook.model.project import Project
from daybook.runs.lifecycle.activation import Activation, activate, deactivate
from daybook.runs.lifecycle.apply import ApplyPlan, apply, plan
from daybook.runs.lifecycle.registration import register_output
from daybook.runs.lifecycle.runnable import require_runnable
from daybook.store.records import ProjectState, Registration
from daybook.store.store import MetadataStore
from tests.unit.store.samples import NOW, ORDERS, PROJECT, dataset_text, definitions, make_dataset

ORDERS_TEXT = dataset_text(ORDERS)
NARROWER = dataset_text({**ORDERS, "amount": "decimal(9,2)"})
WIDER = dataset_text({**ORDERS, "region": "string"})
PINNED = PROJECT.replace("{dataset_id: orders}", "{dataset_id: orders, dataset_version: 1}")
CHANGED = PROJECT.replace("amount * 0.9", "amount * 0.8")
NUMBERED = PROJECT.replace("- type: update", "- seq: 10\n      id: a\n      type: update").replace(
    "- type: output", "- seq: 20\n      id: b\n      type: output"
)
NUMBERED = NUMBERED.replace("columns: [net]", "columns: [amount]")
REORDERED = NUMBERED.replace("seq: 10", "seq: 30")


def put(store: MetadataStore, *texts: str) -> ApplyPlan:
    return apply(store, definitions(*texts), workspace="w", now=NOW)


def turn_on(store: MetadataStore, dataset_version: int | None = None) -> Activation:
    return activate(store, "close", now=NOW, dataset_version=dataset_version)


def state(store: MetadataStore) -> ProjectState:
    with store.read() as transaction:
        return transaction.projects.get("close")


def runnable(store: MetadataStore, text: str | None = None) -> Project:
    written = definitions(text)[0].model if text else None
    with store.read() as transaction:
        return require_runnable(transaction, "close", written).project


def refusal(store: MetadataStore, text: str | None = None) -> DaybookError:
    with pytest.raises(DaybookError) as caught:
        runnable(store, text)
    return caught.value


@pytest.fixture
def active(store: MetadataStore) -> MetadataStore:
    put(store, ORDERS_TEXT, PROJECT)
    turn_on(store)
    return store


def test_activating_raises_the_version_and_records_what_it_was_validated_against(store: MetadataStore) -> None:
    put(store, ORDERS_TEXT, PROJECT)
    activation = turn_on(store)
    assert (activation.version, activation.is_new) == (2, True)
    assert activation.inputs == (ProjectInput("orders", 1, is_pinned=False),)
    assert (state(store).status, state(store).active_version, state(store).latest_version) == ("active", 2, 2)
    with store.read() as transaction:
        assert {(use.operation_seq, use.column) for use in transaction.projects.usage("close", 2)} == {
            (1, "status"),
            (1, "amount"),
        }


def test_activating_again_changes_nothing(active: MetadataStore) -> None:
    again = turn_on(active)
    assert (again.version, again.is_new) == (2, False)


def test_applying_the_unchanged_file_leaves_it_active(active: MetadataStore) -> None:
    assert {change.action for change in put(active, ORDERS_TEXT, PROJECT).changes} == {"unchanged"}
    assert state(active).status == "active"


def test_a_project_that_fails_validation_is_not_activated(store: MetadataStore) -> None:
    put(store, dataset_text({"order_id": "string"}), PROJECT)
    with pytest.raises(DaybookError) as caught:
        turn_on(store)
    assert [error.operation_seq for error in caught.value.errors] == [1, 1]  # type: ignore[attr-defined]
    assert state(store).status == "draft"


def test_a_change_makes_a_draft_and_keeps_the_active_version_known(active: MetadataStore) -> None:
    put(active, ORDERS_TEXT, CHANGED)
    assert (state(active).status, state(active).active_version, state(active).latest_version) == ("draft", 2, 3)
    error = refusal(active, CHANGED)
    assert (error.code, error.parameters["version"]) == ("STORE_021", 2)
    assert turn_on(active).version == 3
    assert (state(active).status, state(active).active_version, state(active).latest_version) == ("active", 3, 3)
    assert runnable(active, CHANGED).operations[0].arguments.assignments[0].expression == "amount * 0.8"  # type: ignore[union-attr]


def test_a_draft_is_reordered_freely(store: MetadataStore) -> None:
    """BR-002."""
    put(store, ORDERS_TEXT, NUMBERED)
    put(store, ORDERS_TEXT, REORDERED)
    assert (state(store).status, state(store).active_version) == ("draft", None)
    turn_on(store)
    assert [operation.id for operation in runnable(store, REORDERED).operations] == ["b", "a"]


def test_reordering_an_active_project_makes_a_new_version(store: MetadataStore) -> None:
    """BR-003."""
    put(store, ORDERS_TEXT, NUMBERED)
    turn_on(store)
    put(store, ORDERS_TEXT, REORDERED)
    assert (state(store).status, state(store).active_version, state(store).latest_version) == ("draft", 2, 3)
    assert refusal(store, REORDERED).code == "STORE_021"


def test_undoing_the_change_makes_it_active_again(active: MetadataStore) -> None:
    put(active, ORDERS_TEXT, CHANGED)
    put(active, ORDERS_TEXT, PROJECT)
    assert (state(active).status, state(active).latest_version) == ("active", 4)
    assert runnable(active, PROJECT).id == "close"


def test_a_new_name_leaves_it_active(active: MetadataStore) -> None:
    renamed = PROJECT.replace("name: Close", "name: Month end")
    put(active, ORDERS_TEXT, renamed)
    assert (state(active).status, state(active).latest_version) == ("active", 2)
    assert runnable(active, renamed).name == "Month end"


def test_a_file_that_was_never_applied_is_compared_too(active: MetadataStore) -> None:
    error = refusal(active, CHANGED)
    assert error.code == "STORE_021"
    assert str(error.hint).startswith("`daybook apply`, then `daybook activate close`")
    assert runnable(active, PROJECT).id == "close"


def test_a_draft_that_was_never_active_does_not_run(store: MetadataStore) -> None:
    put(store, ORDERS_TEXT, PROJECT)
    assert refusal(store).code == "STORE_022"


class TestBreakingChanges:
    def test_the_report_names_column_change_and_operations(self, active: MetadataStore) -> None:
        (effect,) = put(active, NARROWER, PROJECT).effects
        assert (effect.before, effect.after) == ("active", "conflict")
        report = state(active).conflict
        assert report is not None
        assert report["breaks"] == [
            {
                "dataset_id": "orders",
                "validated_version": 1,
                "version": 2,
                "column": "amount",
                "change": "narrowed",
                "before": "decimal(18,2)",
                "after": "decimal(9,2)",
                "operations": [1],
            }
        ]
        error = refusal(active, PROJECT)
        assert error.code == "STORE_019"
        assert "amount" in error.message

    def test_a_removed_column_also_fails_validation(self, active: MetadataStore) -> None:
        put(active, dataset_text({"order_id": "string", "status": "string"}), PROJECT)
        report = state(active).conflict
        assert report is not None
        assert [item["change"] for item in report["breaks"]] == ["removed"]
        assert len(report["errors"]) == 1

    def test_a_column_that_is_not_used_may_change(self, active: MetadataStore) -> None:
        put(active, dataset_text({"amount": "decimal(18,2)", "status": "string"}), PROJECT)
        assert state(active).status == "active"

    def test_the_dataset_alone_is_enough(self, active: MetadataStore) -> None:
        put(active, NARROWER)
        assert state(active).status == "conflict"

    def test_planning_shows_it_first(self, active: MetadataStore) -> None:
        difference = plan(active, definitions(NARROWER), workspace="w")
        assert [(effect.project_id, effect.is_broken_now) for effect in difference.effects] == [("close", True)]
        assert state(active).status == "active"

    def test_small_changes_add_up(self, active: MetadataStore) -> None:
        put(active, WIDER)
        assert state(active).status == "active"
        put(active, dataset_text({"order_id": "string", "status": "string", "region": "string"}))
        report = state(active).conflict
        assert report is not None
        assert (report["breaks"][0]["validated_version"], report["breaks"][0]["version"]) == (1, 3)

    def test_taking_the_change_back_resolves_it(self, active: MetadataStore) -> None:
        put(active, NARROWER)
        put(active, ORDERS_TEXT)
        assert (state(active).status, state(active).conflict) == ("active", None)

    def test_adapting_resolves_it(self, active: MetadataStore) -> None:
        put(active, NARROWER, PROJECT)
        put(active, NARROWER, CHANGED)
        assert state(active).status == "draft"
        assert turn_on(active).inputs == (ProjectInput("orders", 2, is_pinned=False),)
        assert state(active).status == "active"

    def test_activating_as_it_is_accepts_the_change(self, active: MetadataStore) -> None:
        put(active, NARROWER, PROJECT)
        assert turn_on(active).version == 3
        assert (state(active).status, state(active).conflict) == ("active", None)

    def test_pinning_resolves_it(self, active: MetadataStore) -> None:
        put(active, NARROWER, PROJECT)
        put(active, NARROWER, PINNED)
        assert turn_on(active).inputs == (ProjectInput("orders", 1, is_pinned=True),)
        put(active, dataset_text({"order_id": "string"}), PINNED)
        assert state(active).status == "active"

    def test_a_pinned_project_never_breaks(self, store: MetadataStore) -> None:
        put(store, ORDERS_TEXT, PINNED)
        turn_on(store)
        put(store, NARROWER)
        assert state(store).status == "active"

    def test_a_registration_breaks_like_a_file(self, store: MetadataStore) -> None:
        reader = PROJECT.replace("dataset_id: orders", "dataset_id: net")
        with store.write() as transaction:
            dataset = make_dataset(ORDERS, dataset_id="net")
            transaction.definitions.register(
                dataset, Registration("maker", "r1", 5, RegisteredDataPin("/net", TableVersion("delta", "0"))), now=NOW
            )
        apply(store, definitions(reader), workspace="w", now=NOW)
        activate(store, "close", now=NOW)
        with store.write() as transaction:
            narrower = make_dataset({**ORDERS, "amount": "integer"}, dataset_id="net")
            registration = Registration("maker", "r2", 5, RegisteredDataPin("/net", TableVersion("delta", "1")))
            registered = register_output(transaction, narrower, registration, now=NOW)
        assert (registered.version, [effect.after for effect in registered.effects]) == (2, ["conflict"])
        assert state(store).status == "conflict"


class TestNewColumns:
    def test_they_are_offered(self, active: MetadataStore) -> None:
        (effect,) = put(active, WIDER, PROJECT).effects
        assert effect.after == "active"
        assert [(item.code, "region" in item.message) for item in effect.notices] == [("STORE_026", True)]

    def test_an_active_project_does_not_see_them(self, active: MetadataStore) -> None:
        put(active, WIDER, PROJECT)
        with active.read() as transaction:
            project = require_runnable(transaction, "close")
            seen = as_activated(transaction.stored_definitions(), project.inputs).dataset("orders")
            assert seen is not None
            assert seen.version == 2
            assert [column.name for column in seen.dataset.main_table.columns] == list(ORDERS)

    def test_activating_takes_them_in(self, active: MetadataStore) -> None:
        put(active, WIDER, PROJECT)
        activation = turn_on(active)
        assert (activation.is_new, activation.inputs) == (True, (ProjectInput("orders", 2, is_pinned=False),))
        (effect,) = put(active, WIDER, PROJECT).effects
        assert effect.notices == ()


class TestInputVersion:
    def test_it_is_what_the_project_reads_from_then_on(self, store: MetadataStore) -> None:
        put(store, ORDERS_TEXT, PROJECT)
        put(store, NARROWER, PROJECT)
        activation = turn_on(store, dataset_version=1)
        assert activation.inputs == (ProjectInput("orders", 1, is_pinned=True),)
        assert runnable(store, PROJECT).input.dataset_version == 1
        assert {change.action for change in put(store, NARROWER, PROJECT).changes} == {"unchanged"}
        put(store, dataset_text({"order_id": "string"}))
        assert state(store).status == "active"

    def test_a_version_that_does_not_exist(self, active: MetadataStore) -> None:
        with pytest.raises(DaybookError) as caught:
            turn_on(active, dataset_version=9)
        assert (caught.value.code, caught.value.parameters["versions"]) == ("STORE_008", "1")

    def test_a_pin_in_the_file_wins(self, store: MetadataStore) -> None:
        put(store, ORDERS_TEXT, PINNED)
        put(store, WIDER, PINNED)
        with pytest.raises(DaybookError) as caught:
            turn_on(store, dataset_version=2)
        assert (caught.value.code, caught.value.parameters["pinned"]) == ("STORE_024", 1)


class TestDeactivating:
    def test_an_inactive_project_does_not_run(self, active: MetadataStore) -> None:
        assert deactivate(active, "close", now=NOW)
        assert not deactivate(active, "close", now=NOW)
        assert refusal(active, PROJECT).code == "STORE_020"

    def test_it_stays_inactive_until_activated(self, active: MetadataStore) -> None:
        deactivate(active, "close", now=NOW)
        put(active, NARROWER, CHANGED)
        assert state(active).status == "inactive"
        turn_on(active)
        assert state(active).status == "active"

    def test_a_draft_cannot_be_deactivated(self, store: MetadataStore) -> None:
        put(store, ORDERS_TEXT, PROJECT)
        with pytest.raises(DaybookError) as caught:
            deactivate(store, "close", now=NOW)
        assert caught.value.code == "STORE_022"

    def test_an_unknown_project(self, store: MetadataStore) -> None:
        with pytest.raises(DaybookError) as caught:
            deactivate(store, "close", now=NOW)
        assert caught.value.code == "STORE_007"
