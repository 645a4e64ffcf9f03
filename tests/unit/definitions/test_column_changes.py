"""Two versions of a dataset, compared column by column."""

import pytest

from daybook.definitions.column_changes import ColumnChange, find_column_changes
from daybook.model.dataset import ColumnDef
from tests.unit.store.samples import make_dataset


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("decimal(18,2)", "decimal(10,2)", "narrowed"),
        ("decimal(18,2)", "decimal(18,4)", "narrowed"),  # 16 digits before the point become 14
        ("decimal(18,4)", "decimal(18,2)", "narrowed"),
        ("decimal(18,2)", "decimal(20,4)", "widened"),
        ("decimal(18,2)", "decimal(38,2)", "widened"),
        ("integer", "decimal(38,0)", "retyped"),
        ("decimal(38,0)", "integer", "retyped"),
        ("date", "timestamp", "retyped"),
        ("string", "integer", "retyped"),
    ],
)
def test_a_changed_type_is_named(before: str, after: str, kind: str) -> None:
    changes = find_column_changes(make_dataset({"amount": before}), make_dataset({"amount": after}))
    assert changes == (ColumnChange("amount", kind, before, after),)  # type: ignore[arg-type]


def test_removed_and_added_columns() -> None:
    changes = find_column_changes(make_dataset({"a": "string", "b": "date"}), make_dataset({"b": "date", "c": "float"}))
    assert changes == (ColumnChange("a", "removed", "string", None), ColumnChange("c", "added", None, "float"))
    assert [change.is_breaking for change in changes] == [True, False]


def test_a_renamed_column_is_a_removal_and_an_addition() -> None:
    changes = find_column_changes(make_dataset({"Amount": "string"}), make_dataset({"amount": "string"}))
    assert [(change.column, change.kind) for change in changes] == [("Amount", "removed"), ("amount", "added")]


def test_order_and_description_are_no_change() -> None:
    assert (
        find_column_changes(make_dataset({"a": "string", "b": "date"}), make_dataset({"b": "date", "a": "string"}))
        == ()
    )


@pytest.mark.parametrize(("before", "after", "kind"), [(True, False, "narrowed"), (False, True, "widened")])
def test_nullability_narrows_and_widens(before: bool, after: bool, kind: str) -> None:
    def dataset(nullable: bool):  # type: ignore[no-untyped-def]
        plain = make_dataset({"a": "string"})
        column: ColumnDef = plain.main_table.columns[0].model_copy(update={"nullable": nullable})
        return plain.model_copy(update={"main_table": plain.main_table.model_copy(update={"columns": (column,)})})

    assert [change.kind for change in find_column_changes(dataset(before), dataset(after))] == [kind]
