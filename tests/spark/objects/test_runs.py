"""Runs whose sources, tables and state are on an object store."""

from decimal import Decimal

from tests.spark.objects.folder import ObjectFolder


def test_a_run_from_csv_to_delta_is_replayed_and_explained(folder: ObjectFolder) -> None:
    result = folder.run("2026-01")
    amounts = {row["order_id"]: row["amount"] for row in folder.table()}
    assert amounts == {"O-1": Decimal("200.00"), "O-2": Decimal("100.00"), "O-3": Decimal("0.00")}
    assert folder.replay(result.run_id).is_same
