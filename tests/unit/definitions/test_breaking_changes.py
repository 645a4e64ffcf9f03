"""Which uses a newer dataset version breaks."""

from daybook.definitions.breaking_changes import find_breaking_changes
from daybook.definitions.column_changes import added_columns
from daybook.definitions.column_usage import StoredColumnUsage
from daybook.model.definition import DatasetVersion
from tests.unit.store.samples import make_dataset

OLD = DatasetVersion(make_dataset({"amount": "decimal(18,2)", "status": "string", "note": "string"}), 3)
NEW = DatasetVersion(make_dataset({"amount": "decimal(9,2)", "status": "integer", "region": "string"}), 5)


def test_each_used_column_is_reported_with_its_operations() -> None:
    usage = [
        StoredColumnUsage(20, "orders", "amount"),
        StoredColumnUsage(10, "orders", "amount"),
        StoredColumnUsage(10, "orders", "status"),
        StoredColumnUsage(30, "customers", "note"),
    ]
    found = find_breaking_changes(OLD, NEW, usage)
    assert [(item.change.column, item.change.kind, item.operations) for item in found] == [
        ("amount", "narrowed", (10, 20)),
        ("status", "retyped", (10,)),
    ]
    assert {(item.validated_version, item.version) for item in found} == {(3, 5)}


def test_a_column_nobody_uses_may_go() -> None:
    assert find_breaking_changes(OLD, NEW, [StoredColumnUsage(10, "orders", "order_id")]) == ()


def test_pinned_uses_do_not_break() -> None:
    assert find_breaking_changes(OLD, NEW, [StoredColumnUsage(10, "orders", "note", is_pinned=True)]) == ()


def test_new_columns_are_offered() -> None:
    assert added_columns(OLD, NEW) == ("region",)


def test_the_report_is_data_and_an_error() -> None:
    (found,) = find_breaking_changes(OLD, NEW, [StoredColumnUsage(10, "orders", "note")])
    assert found.as_data() == {
        "dataset_id": "orders",
        "validated_version": 3,
        "version": 5,
        "column": "note",
        "change": "removed",
        "before": "string",
        "after": None,
        "operations": [10],
    }
    error = found.as_error()
    assert (error.code, error.parameters["column"], error.parameters["version"]) == ("STORE_025", "note", 5)
