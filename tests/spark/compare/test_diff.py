"""Diff: what two runs wrote, by hand-made cases with known answers."""

from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from daybook.compare.bridge import BridgeRequest, bridge
from daybook.compare.diff import DiffRequest, diff
from daybook.compare.diff_result import DiffResult
from daybook.errors import DaybookError
from daybook.runs.run_result import RunFailedError
from tests.workspaces import ORDERS, Folder, assign, to_path, to_table

TOTALS = {
    "type": "aggregate",
    "name": "Totals",
    "arguments": {
        "group_by": ["region"],
        "aggregations": [
            {"column": "total", "expression": "SUM(amount)"},
            {"column": "orders", "expression": "COUNT(*)"},
        ],
    },
}


def compare(folder: Folder, a: str, b: str, **wish: Any) -> DiffResult:
    with folder.around() as around:
        return diff(around, DiffRequest(a, b, **wish))


def totals(found: DiffResult) -> dict[str, tuple[str, str, str]]:
    return {each.column: (str(each.before), str(each.after), str(each.difference)) for each in found.totals}


def counts(found: DiffResult) -> tuple[int, int, int, int]:
    return found.rows.added, found.rows.removed, found.rows.changed, found.rows.same


@pytest.fixture(scope="module")
def shared_folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Folder, str]:
    folder = Folder.new(tmp_path_factory.mktemp("summed") / "w", lambda: spark)
    folder.project(TOTALS, to_table())
    return folder, folder.run().run_id


@pytest.fixture
def summed(shared_folder: tuple[Folder, str]) -> tuple[Folder, str]:
    """A run of the totals of January that tests compare with runs of their own, in a workspace that they share."""
    folder, run_id = shared_folder
    folder.write_csv("data/orders.csv", ORDERS)
    folder.project(TOTALS, to_table())
    return folder, run_id


def test_a_rerun_is_compared_with_what_the_slice_was_before(summed: tuple[Folder, str]) -> None:
    folder, before = summed
    late = {"order_id": "O-9", "region": "EMEA", "amount": "25.50", "_period": "2026-01"}
    new = {"order_id": "O-8", "region": "", "amount": "10.00", "_period": "2026-01"}
    folder.write_csv("data/orders.csv", [row for row in ORDERS if row["region"] == "EMEA"] + [late, new])
    after = folder.run().run_id

    found = compare(folder, before, after)

    assert (found.operation.seq_a, found.operation.seq_b, found.operation.name) == (1, 1, "Totals")
    assert (found.key, found.key_origin) == (("region",), "group_by")
    assert counts(found) == (1, 1, 1, 0)
    assert (found.rows.a, found.rows.b) == (2, 2)
    assert totals(found) == {
        "amount": ("0", "0", "0"),
        "total": ("150.00", "185.50", "35.50"),
        "orders": ("3", "4", "1"),
    }
    assert [dict(change.key) for change in found.changes] == [{"region": "EMEA"}, {"region": None}, {"region": "APAC"}]
    emea, added, removed = found.changes
    assert emea.before is not None
    assert emea.after is not None
    assert (emea.before["total"], emea.after["total"]) == (Decimal("150.00"), Decimal("175.50"))
    assert added.before is None
    assert removed.after is None
    assert not found.a.is_computed


def test_loaded_rows_are_chosen_by_rows_zero_and_never_mixed_with_summaries(summed: tuple[Folder, str]) -> None:
    folder, january = summed

    found = compare(folder, january, january, rows=0, key=("order_id",))

    assert counts(found) == (0, 0, 0, 3)
    assert totals(found)["amount"] == ("150.00", "150.00", "0.00")
    assert found.is_same


def test_two_periods_of_one_project_by_their_names(folder: Folder) -> None:
    """Totals by their group; loaded rows have no key, and the ids of two periods never match."""
    folder.project(TOTALS, to_table())
    folder.runs("2026-01..2026-02")

    found = compare(folder, "p@2026-01", "p@2026-02")

    assert counts(found) == (0, 1, 1, 0)
    assert totals(found)["total"] == ("150.00", "70.00", "-80.00")
    loaded = compare(folder, "p@2026-01", "p@2026-02", rows=0)
    assert loaded.key_origin == "row_id"
    assert [notice.code for notice in loaded.notices] == ["RUN_067"]
    assert counts(loaded) == (1, 3, 0, 0)


def test_a_natural_key_matches_loaded_rows(folder: Folder) -> None:
    columns = [{"name": "order_id", "type": "string"}, {"name": "amount", "type": "decimal(18,2)"}]
    table = {"name": "orders", "columns": columns, "temporal_mode": "period", "location": {"path": "data/orders.csv"}}
    folder.define("dataset", {"id": "orders", "natural_key_columns": ["order_id"], "main_table": table})
    folder.project(assign("amount", "amount + 1"), to_table())
    first = folder.run().run_id
    folder.project(assign("amount", "amount + 1.01"), to_table())
    second = folder.run().run_id

    found = compare(folder, first, second)

    assert found.key_origin == "natural_key"
    assert counts(found) == (0, 0, 3, 0)
    assert totals(found)["amount"] == ("153.00", "153.03", "0.03")
    within = compare(folder, first, second, tolerance=Decimal("0.01"))
    assert counts(within) == (0, 0, 0, 3)


def test_keys_and_ratios_are_compared_but_have_no_totals(folder: Folder) -> None:
    """Lines 1 and 2 of an order of 10.00 and 9.00 become 12.00 and 9.00; line numbers and prices are not added up."""
    names = {"order_id": "string", "line": "integer", "quantity": "integer", "amount": "decimal(18,2)"}
    table = {
        "name": "lines",
        "columns": [{"name": name, "type": type_} for name, type_ in names.items()],
        "location": {"path": "data/lines.csv"},
    }
    folder.define("dataset", {"id": "lines", "natural_key_columns": ["order_id", "line"], "main_table": table})
    folder.project(assign("price", "amount / quantity"), to_table(), input_="lines")
    runs = []
    for amount in ("10.00", "12.00"):
        rows = [("O-1", "1", "2", amount), ("O-1", "2", "3", "9.00")]
        folder.write_csv("data/lines.csv", [dict(zip(names, row, strict=True)) for row in rows])
        runs.append(folder.run().run_id)

    by_order = compare(folder, *runs, key=("order_id",))

    assert totals(by_order) == {"quantity": ("5", "5", "0"), "amount": ("19.00", "21.00", "2.00")}
    (change,) = compare(folder, *runs).changes
    assert change.key == {"order_id": "O-1", "line": 1}
    assert change.before is not None
    assert change.after is not None
    assert (change.before["price"], change.after["price"]) == (Decimal(5), Decimal(6))


def test_repeated_keys_are_counted_and_never_multiplied(folder: Folder) -> None:
    def changed(**values: str) -> str:
        """A run with other values of the second order of EMEA."""
        rows = [{**row, **values} if row["order_id"] == "O-2" else row for row in ORDERS]
        folder.write_csv("data/orders.csv", rows)
        return folder.run().run_id

    folder.project(to_table())
    first, second, third = folder.run().run_id, changed(amount="50.01"), changed(order_id="O-9")

    found = compare(folder, first, first, key=("region",))

    assert (found.repeated.a, found.repeated.b) == (1, 1)
    assert counts(found) == (0, 0, 0, 3)
    again = compare(folder, first, second, key=("region",))
    assert counts(again) == (0, 0, 2, 1)
    assert totals(again)["amount"] == ("150.00", "150.01", "0.01")
    (change,) = again.changes
    assert (change.rows_a, change.rows_b) == (2, 2)
    # Within a tolerance they are the same by their sums; a text that differs is a change within any tolerance.
    cent = Decimal("0.01")
    assert counts(compare(folder, first, second, key=("region",), tolerance=cent)) == (0, 0, 0, 3)
    assert counts(compare(folder, first, third, key=("region",), tolerance=cent)) == (0, 0, 2, 1)


def test_columns_of_one_side_and_new_types_are_named(folder: Folder) -> None:
    folder.project(assign("fee", "1"), assign("note", '"x"'), TOTALS, to_table("first", system_columns=False))
    first = folder.run().run_id
    folder.project(assign("fee", "1.5"), assign("tax", "2"), TOTALS, to_table("second", system_columns=False))
    second = folder.run().run_id

    found = compare(folder, first, second, rows=0, key=("order_id",))

    assert (found.only_in.a, found.only_in.b) == (("note",), ("tax",))
    assert [each.column for each in found.retyped] == ["fee"]
    assert totals(found)["fee"] == ("3.0", "4.5", "1.5")
    # The tables have no `_operation_seq`, so the loaded rows could only be told apart by computing them again.
    assert found.a.is_computed
    assert found.b.is_computed


def test_what_was_overwritten_is_computed_again(folder: Folder) -> None:
    folder.project(TOTALS, to_path("out/x.csv"))
    first = folder.run().run_id
    folder.write_csv("data/orders.csv", ORDERS[:1])
    second = folder.run().run_id

    found = compare(folder, first, second)

    assert totals(found)["total"] == ("150.00", "100.00", "-50.00")
    assert found.a.is_computed


def test_inputs_that_expired_and_a_table_that_is_gone_are_an_error(folder: Folder) -> None:
    folder.project(TOTALS, to_path("out/x.csv"))
    first = folder.run().run_id
    folder.write_csv("data/orders.csv", ORDERS[:1])
    for landing in folder.root.glob(".daybook/landing/files/*/manifest.json"):
        landing.unlink()
    second = folder.run().run_id

    with pytest.raises(DaybookError) as found:
        compare(folder, first, second)
    assert found.value.code == "RUN_012"


@pytest.mark.parametrize(
    ("wish", "code"),
    [
        ({"b": "p@2026-07"}, "RUN_061"),
        ({"b": "q@2026-01"}, "RUN_061"),
        ({"key": ("regoin",)}, "RUN_064"),
        ({"rows": 7}, "RUN_065"),
        ({"output": "lake.none"}, "RUN_019"),
        ({"b": "20260101-000000-000000"}, "STORE_014"),
    ],
)
def test_wrong_questions_are_refused_before_spark_is_needed(
    summed: tuple[Folder, str], wish: dict[str, Any], code: str
) -> None:
    with pytest.raises(DaybookError) as found:
        compare(summed[0], **{"a": "p@2026-01", "b": "p@2026-01", **wish})
    assert found.value.code == code


def test_a_draft_in_the_sandbox_is_compared_with_the_active_version(folder: Folder) -> None:
    settings = folder.root / "daybook.yaml"
    settings.write_text(settings.read_text() + "sandbox: sandbox\n")
    folder.project(TOTALS, to_table())
    folder.apply()
    folder.activate()
    active = folder.run().run_id
    folder.project(assign("amount", "amount * 2"), TOTALS, to_table())
    draft = folder.run(is_draft=True).run_id

    found = compare(folder, active, draft)

    assert found.b.is_draft
    assert (found.operation.seq_a, found.operation.seq_b) == (1, 2)
    assert totals(found)["total"] == ("150.00", "300.00", "150.00")


def test_integers_are_summed_beyond_64_bits(folder: Folder) -> None:
    folder.project(assign("number", "9000000000000000000"), to_table())
    run = folder.run().run_id

    found = compare(folder, run, run)

    assert totals(found)["number"] == ("27000000000000000000", "27000000000000000000", "0")


def test_a_run_that_failed_has_nothing_to_compare(summed: tuple[Folder, str]) -> None:
    folder, right = summed
    check = {"type": "check", "arguments": {"condition": "amount > 1000"}}
    folder.project(check, TOTALS, to_table())
    with pytest.raises(RunFailedError):
        folder.run()
    wrong = folder.last_run().id

    for pair in ((right, wrong), (wrong, right)):
        with pytest.raises(DaybookError) as found:
            compare(folder, *pair)
        assert found.value.code == "RUN_062"
        assert wrong in str(found.value)


def test_an_output_without_rows_is_compared_like_any_other(folder: Folder) -> None:
    folder.project(TOTALS, to_table(on_empty="replace"))
    before = folder.run().run_id
    folder.write_csv("data/orders.csv", [row for row in ORDERS if row["_period"] == "2026-02"])
    after = folder.run().run_id

    found = compare(folder, before, after)

    assert counts(found) == (0, 2, 0, 0)
    assert totals(found)["total"] == ("150.00", "0", "-150.00")
    assert compare(folder, after, after).is_same


def test_a_scale_that_changed_changes_no_number(folder: Folder) -> None:
    folder.project(assign("rounded", "amount * 1.00"), to_table("first"))
    first = folder.run().run_id
    folder.project(assign("rounded", "amount * 1.0000"), to_table("second"))
    second = folder.run().run_id

    found = compare(folder, first, second, key=("order_id",))

    assert found.is_same
    assert [(each.column, each.type_a, each.type_b) for each in found.retyped] == [
        ("rounded", "decimal(22,4)", "decimal(24,6)")
    ]
    with folder.around() as around:
        moved = bridge(around, BridgeRequest(first, second, "rounded"))
    assert (moved.causes, [each.text for each in moved.order]) == ((), ["definition:op-1"])


def test_a_number_that_became_a_text_is_compared_as_text(folder: Folder) -> None:
    folder.project(assign("code", "1"), assign("flag", "amount > 60"), to_table("first"))
    first = folder.run().run_id
    folder.project(assign("code", '"1"'), assign("flag", "amount > 40"), to_table("second"))
    second = folder.run().run_id

    found = compare(folder, first, second, key=("order_id",))

    # 50.00 lies between; 1 is 1 as a text.
    assert counts(found) == (0, 0, 1, 2)
    assert [change.columns for change in found.changes] == [("flag",)]
    with folder.around() as around, pytest.raises(DaybookError) as refused:
        bridge(around, BridgeRequest(first, second, "flag"))
    assert refused.value.code == "RUN_079"


@pytest.mark.slow
def test_sandbox_and_live_data_are_compared_where_a_chain_of_drafts_wrote_both(folder: Folder) -> None:
    """The draft of the second project reads what the draft of the first wrote into the sandbox."""
    settings = folder.root / "daybook.yaml"
    settings.write_text(settings.read_text() + "sandbox: sandbox\n")

    def chain(factor: int) -> None:
        folder.project(assign("amount", f"amount * {factor}"), to_table("doubled", register_as_dataset="doubled"))
        folder.project(TOTALS, to_table("sums"), id_="q", input_="doubled")

    chain(1)
    folder.project(assign("amount", "amount * 1"), to_table("doubled", register_as_dataset="doubled"))
    folder.apply()
    folder.activate()
    folder.run()
    folder.apply()
    folder.activate("q")
    live = folder.run(project="q").run_id
    chain(2)
    folder.run(is_draft=True)
    draft = folder.run(project="q", is_draft=True).run_id

    found = compare(folder, live, draft)

    assert (found.a.is_draft, found.b.is_draft) == (False, True)
    assert totals(found)["total"] == ("150.00", "300.00", "150.00")
    with folder.around() as around:
        moved = bridge(around, BridgeRequest(live, draft, "total", is_through=False))
        through = bridge(around, BridgeRequest(live, draft, "total"))
    assert [(cause.kind, cause.name, str(cause.share)) for cause in moved.causes] == [("data", "doubled", "150.00")]
    assert [(cause.kind, cause.project, str(cause.share)) for cause in through.causes] == [
        ("definition", "p", "150.00")
    ]


def test_a_total_that_no_decimal_holds_is_an_error_with_a_code(folder: Folder) -> None:
    columns = [{"name": "order_id", "type": "string"}, {"name": "amount", "type": "decimal(38,0)"}]
    folder.dataset("large", columns, {"path": "data/large.csv"})
    folder.write_csv("data/large.csv", [{"order_id": name, "amount": "9" * 38} for name in ("O-1", "O-2")])
    folder.project(to_table(), input_="large")
    run = folder.run().run_id

    with pytest.raises(DaybookError) as found:
        compare(folder, run, run)
    assert found.value.code == "PROJECT_034"
    assert "overflow" in str(found.value).lower()
    with folder.around() as around, pytest.raises(DaybookError) as refused:
        bridge(around, BridgeRequest(run, run, "amount"))
    assert refused.value.code == "PROJECT_034"


@pytest.mark.parametrize(
    ("first", "second", "wish", "code"),
    [
        # The region is a text in one run and a number in the other.
        ("region", "7", {"key": ("place",), "rows": 0}, "RUN_066"),
        ("region", "region", {"key": ("order_id",), "rows": 0}, "RUN_063"),
    ],
)
def test_outputs_that_have_too_little_in_common(
    folder: Folder, first: str, second: str, wish: dict[str, Any], code: str
) -> None:
    names = ("place", "place") if code == "RUN_066" else ("place", "area")
    runs: list[str] = []
    for name, expression in zip(names, (first, second), strict=True):
        folder.project(assign(name, expression), to_table(f"t{len(runs)}", columns=["order_id", name]))
        runs.append(folder.run().run_id)

    with pytest.raises(DaybookError) as found:
        compare(folder, *runs, **wish)
    assert found.value.code == code
