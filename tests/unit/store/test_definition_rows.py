"""Definitions and their versions, on both back ends."""

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from daybook.errors import DaybookError
from daybook.model.dataset import Dataset
from daybook.model.definition import RegisteredDataPin, TableVersion
from daybook.model.serialization import decode_definition
from daybook.store.records import Registration
from daybook.store.store import MetadataStore
from tests.unit.store.samples import NOW, make_dataset

OUTPUT = Registration("close", "run-1", 20, RegisteredDataPin("/lake/net", TableVersion("delta", "7")))


def test_versions_count_up_and_stay_readable(store: MetadataStore) -> None:
    first, second = make_dataset({"a": "string"}), make_dataset({"a": "string", "b": "date"})
    with store.write() as transaction:
        assert transaction.definitions.add("dataset", first, workspace="w", now=NOW) == 1
        assert transaction.definitions.add_version("dataset", second, workspace="w", now=NOW) == 2
    with store.read() as transaction:
        assert transaction.definitions.model("dataset", "orders", 1) == first
        assert transaction.definitions.model("dataset", "orders", 2) == second
        assert transaction.definitions.model("dataset", "orders") == second
        assert transaction.definitions.versions("dataset", "orders") == (1, 2)


def test_a_new_name_leaves_the_written_version_alone(store: MetadataStore) -> None:
    with store.write() as transaction:
        transaction.definitions.add("dataset", make_dataset({"a": "string"}), workspace="w", now=NOW)
        transaction.definitions.retitle("dataset", make_dataset({"a": "string"}, name="Sales"), workspace="w", now=NOW)
    with store.read() as transaction:
        assert transaction.definitions.get("dataset", "orders").name == "Sales"
        assert transaction.definitions.versions("dataset", "orders") == (1,)
        written = decode_definition("dataset", transaction.definitions.written("dataset", "orders", 1).body)
        assert written.name == "Orders"


def test_versions_cannot_be_changed_by_anybody(store: MetadataStore) -> None:
    with store.write() as transaction:
        transaction.definitions.add("dataset", make_dataset({"a": "string"}), workspace="w", now=NOW)
    with pytest.raises(DBAPIError, match="immutable"), store.write() as transaction:
        transaction._connection.execute(text("UPDATE definition_version SET body = '{}'"))


def test_unknown_definitions_and_versions_are_named(store: MetadataStore) -> None:
    with store.write() as transaction:
        transaction.definitions.add("dataset", make_dataset({"a": "string"}), workspace="w", now=NOW)
    with store.read() as transaction:
        with pytest.raises(DaybookError) as caught:
            transaction.definitions.get("dataset", "nothing")
        assert (caught.value.code, caught.value.parameters["id"]) == ("STORE_007", "nothing")
        with pytest.raises(DaybookError) as caught:
            transaction.definitions.get("dataset", "orders", 2)
        assert (caught.value.code, caught.value.parameters["versions"]) == ("STORE_008", "1")


def test_a_failed_transaction_leaves_nothing(store: MetadataStore) -> None:
    def fail() -> None:
        with store.write() as transaction:
            transaction.definitions.add("dataset", make_dataset({"a": "string"}), workspace="w", now=NOW)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with store.read() as transaction:
        assert transaction.definitions.heads() == {}


def test_a_registration_is_a_version_with_its_data(store: MetadataStore) -> None:
    dataset = make_dataset({"net": "decimal(18,2)"}, dataset_id="net")
    with store.write() as transaction:
        assert transaction.definitions.register(dataset, OUTPUT, now=NOW) == 1
        again = Registration("close", "run-2", 20, RegisteredDataPin("/lake/net", TableVersion("delta", "8")))
        assert transaction.definitions.register(dataset, again, now=NOW) == 2
    with store.read() as transaction:
        catalog = transaction.stored_definitions()
        first, latest = catalog.dataset("net", 1), catalog.dataset("net")
        assert first is not None
        assert latest is not None
        assert (first.pin, latest.pin, latest.version) == (
            RegisteredDataPin("/lake/net", TableVersion("delta", "7")),
            RegisteredDataPin("/lake/net", TableVersion("delta", "8")),
            2,
        )


def test_registering_twice_in_one_run_is_one_version(store: MetadataStore) -> None:
    dataset = make_dataset({"net": "decimal(18,2)"}, dataset_id="net")
    for _ in range(2):
        with store.write() as transaction:
            assert transaction.definitions.register(dataset, OUTPUT, now=NOW) == 1


def test_every_registration_is_a_version_also_without_a_pin(store: MetadataStore) -> None:
    dataset = make_dataset({"net": "decimal(18,2)"}, dataset_id="net")
    with store.write() as transaction:
        assert transaction.definitions.register(dataset, Registration("close", "run-1", 20), now=NOW) == 1
        assert transaction.definitions.register(dataset, Registration("close", "run-2", 20), now=NOW) == 2


def test_an_output_registers_what_a_file_declares(store: MetadataStore) -> None:
    declared = make_dataset({"net": "decimal(20,4)"}, dataset_id="net")
    table = declared.main_table.model_copy(update={"location": None})
    declared = declared.model_copy(update={"main_table": table, "description": "What is left"})
    written = make_dataset({"net": "decimal(18,2)", "tax": "float"}, dataset_id="net")
    with store.write() as transaction:
        transaction.definitions.add("dataset", declared, workspace="w", now=NOW)
        assert transaction.definitions.register(written, OUTPUT, now=NOW) == 2
        found = transaction.stored_definitions().declared("net")
        assert found is not None
        assert (found.version, found.pin) == (2, OUTPUT.pin)
        assert found.contract == declared
        # The file's text, and the location it left open.
        assert isinstance(found.dataset, Dataset)
        assert found.dataset.description == "What is left"
        assert found.dataset.main_table.columns == declared.main_table.columns
        assert found.dataset.main_table.location == written.main_table.location


def test_an_output_that_writes_something_else_is_not_registered(store: MetadataStore) -> None:
    with store.write() as transaction:
        declared = make_dataset({"a": "string", "b": "date"}, dataset_id="net")
        transaction.definitions.add("dataset", declared, workspace="w", now=NOW)
    with pytest.raises(DaybookError) as caught, store.write() as transaction:
        transaction.definitions.register(make_dataset({"a": "float"}, dataset_id="net"), OUTPUT, now=NOW)
    assert caught.value.code == "STORE_010"
    assert (
        caught.value.parameters["difference"]
        == "a is string in the declaration and float in the output; b is not written"
    )


def test_a_column_stays_nullable_once_a_version_had_it_so(store: MetadataStore) -> None:
    nullable = make_dataset({"net": "float"}, dataset_id="net")
    columns = tuple(column.model_copy(update={"nullable": False}) for column in nullable.main_table.columns)
    table = nullable.main_table.model_copy(update={"columns": columns})
    required = nullable.model_copy(update={"main_table": table})
    with store.write() as transaction:
        transaction.definitions.register(nullable, Registration("close", "run-1", 20), now=NOW)
        transaction.definitions.register(required, Registration("close", "run-2", 20), now=NOW)
        found = transaction.stored_definitions().dataset("net")
        assert found is not None
        assert [column.nullable for column in found.dataset.main_table.columns] == [True]


def test_sandbox_registrations_are_for_drafts_only(store: MetadataStore) -> None:
    with store.write() as transaction:
        transaction.definitions.register(make_dataset({"a": "string"}, dataset_id="sandbox.net"), OUTPUT, now=NOW)
        assert transaction.stored_definitions().dataset("sandbox.net") is None
        assert transaction.stored_definitions().ids("dataset") == ()
        drafts = transaction.stored_definitions(with_sandbox=True)
        assert drafts.dataset("sandbox.net") is not None
        assert drafts.ids("dataset") == ("sandbox.net",)


def test_a_disabled_dataset_is_known_as_disabled(store: MetadataStore) -> None:
    with store.write() as transaction:
        transaction.definitions.add("dataset", make_dataset({"a": "string"}), workspace="w", now=NOW)
        transaction.definitions.set_status("dataset", "orders", "disabled", NOW)
        found = transaction.stored_definitions().dataset("orders")
        assert found is not None
        assert found.status == "disabled"
        assert transaction.stored_definitions().ids("dataset") == ()
