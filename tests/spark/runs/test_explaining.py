"""The rows behind an operation of a run, by values computed by hand."""

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import daybook
from daybook.engine.working_dataset import StagingFolder
from daybook.errors import DaybookError
from daybook.runs.explain.levels import ShownRows
from daybook.runs.run_result import RunFailedError
from tests.workspaces import Folder, assign, to_path, to_table

JANUARY = "2026-01"
COLUMNS: list[dict[str, Any]] = [
    {"name": "order_id", "type": "string", "nullable": False},
    {"name": "region", "type": "string"},
    {"name": "amount", "type": "decimal(18,2)"},
    {"name": "day", "type": "date"},
    {"name": "status", "type": "string"},
]
HEADER = ["order_id", "region", "amount", "day", "status", "_period"]
ORDERS = [
    ("O-1", "EMEA", "100.00", "2026-01-05", "open", JANUARY),
    ("O-2", "EMEA", "50.00", "2026-01-05", "open", JANUARY),
    ("O-3", "APAC", "30.25", "2026-01-06", "open", JANUARY),
    ("O-4", "", "7.50", "2026-01-05", "open", JANUARY),
    ("O-5", "EMEA", "999.00", "2026-01-05", "void", JANUARY),
    ("O-6", "", "2.50", "2026-01-06", "open", JANUARY),
    ("O-7", "EMEA", "5.00", "2026-02-05", "open", "2026-02"),
]
FIFTH = datetime.date(2026, 1, 5)


def group(*columns: str, selector: str | None = None, **results: str) -> dict[str, Any]:
    aggregations = [{"column": column, "expression": expression} for column, expression in results.items()]
    found = {"type": "aggregate", "arguments": {"group_by": list(columns), "aggregations": aggregations}}
    return {**found, "selector": selector} if selector else found


OPERATIONS = (
    {"type": "delete", "selector": 'status = "void"', "id": "void"},
    assign("amount", "amount * 2", selector='region = "EMEA"', id="double"),
    group("region", "day", selector="_operation_seq = 0", total="SUM(amount)", orders="COUNT(*)"),
    assign("amount", "0", selector="_operation_seq = 0"),
    group("region", selector="_operation_seq = 3", total="SUM(total)"),
    to_table(),
)


def with_orders(folder: Folder) -> Folder:
    folder.dataset("orders", COLUMNS, {"path": "data/orders.csv"}, temporal_mode="period")
    folder.write_csv("data/orders.csv", [dict(zip(HEADER, row, strict=True)) for row in ORDERS])
    return folder


@pytest.fixture
def orders(folder: Folder) -> Folder:
    return with_orders(folder)


@pytest.fixture(scope="module")
def closed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Folder, str]:
    """One run that tests only look at."""
    folder = with_orders(Folder.new(tmp_path_factory.mktemp("explained") / "w", lambda: spark))
    folder.project(*OPERATIONS)
    return folder, folder.run().run_id


def values(shown: ShownRows | None, *columns: str) -> list[tuple[Any, ...]]:
    assert shown is not None
    return sorted((tuple(row[column] for column in columns) for row in shown.rows), key=repr)


def money(text: str) -> Decimal:
    return Decimal(text)


def test_the_rows_behind_a_summary_row_are_as_they_were_then(closed: tuple[Folder, str]) -> None:
    """Doubled by the update before, without the deleted one, and before the later update made them zero."""
    folder, run_id = closed
    found = folder.explain(run_id, 3, {"region": "EMEA", "day": "2026-01-05"})
    assert (found.operation.seq, found.operation.id, found.operation.type, found.period) == (
        3,
        "op-3",
        "aggregate",
        JANUARY,
    )
    assert found.keys == {"region": "EMEA", "day": FIFTH}
    assert values(found.summary_rows, "region", "day", "total", "orders", "rows") == [
        ("EMEA", FIFTH, money("300.00"), 2, 2)
    ]
    trace = ("_source_table", "_operation_seq", "_row_id")
    assert found.rows.columns == ("region", "day", "amount", *trace)
    assert values(found.rows, "region", "amount", "_source_table", "_operation_seq") == [
        ("EMEA", money("100.00"), "orders", 0),
        ("EMEA", money("200.00"), "orders", 0),
    ]
    assert found.rows.count == 2


def test_null_is_a_group(closed: tuple[Folder, str]) -> None:
    folder, run_id = closed
    found = folder.explain(run_id, "op-3", {"orders.region": None, "day": "2026-01-05"})
    assert values(found.summary_rows, "region", "total") == [(None, money("7.50"))]
    assert values(found.rows, "amount") == [(money("7.50"),)]
    nothing = folder.explain(run_id, 3, {"region": "", "day": "2026-01-05"})
    assert nothing.summary_rows is not None
    assert (nothing.rows.count, nothing.summary_rows.count) == (0, 0)


def test_without_keys_every_summary_row_has_its_number_of_rows(closed: tuple[Folder, str]) -> None:
    folder, run_id = closed
    found = folder.explain(run_id, 3, limit=3)
    assert found.summary_rows is not None
    assert (found.summary_rows.count, len(found.summary_rows.rows)) == (4, 3)
    assert [(row["region"], str(row["day"]), row["rows"]) for row in found.summary_rows.rows] == [
        (None, "2026-01-05", 1),
        (None, "2026-01-06", 1),
        ("APAC", "2026-01-06", 1),
    ]
    assert (found.rows.count, len(found.rows.rows)) == (5, 3)
    again = folder.explain(run_id, 3, limit=3)
    assert again == found


def test_a_summary_of_summaries_leads_to_the_first_ones(closed: tuple[Folder, str]) -> None:
    folder, run_id = closed
    found = folder.explain(run_id, 5, {"region": None})
    written = {row["_row_id"]: row for row in folder.table()}
    (made,) = found.summary_rows.rows if found.summary_rows else ()
    assert (made["total"], made["rows"]) == (money("10.00"), 2)
    assert written[made["_row_id"]]["total"] == money("10.00")
    assert values(found.rows, "total", "_operation_seq") == [(money("2.50"), 3), (money("7.50"), 3)]
    assert {row["_row_id"] for row in found.rows.rows} <= written.keys()
    assert found.leads == {3: {"region": None}}


def test_an_update_shows_what_was_there_and_what_came(closed: tuple[Folder, str]) -> None:
    folder, run_id = closed
    found = folder.explain(run_id, "double")
    shown = ("order_id", "amount", "amount (new)", "status")
    assert values(found.rows, *shown) == [
        ("O-1", money("100.00"), money("200.00"), "open"),
        ("O-2", money("50.00"), money("100.00"), "open"),
    ]
    assert found.summary_rows is None
    one = folder.explain(run_id, 4, {"amount": "30.25"})
    assert values(one.rows, "order_id", "amount", "amount (new)") == [("O-3", money("30.25"), money("0.00"))]


def test_a_delete_shows_what_it_deleted(closed: tuple[Folder, str]) -> None:
    folder, run_id = closed
    found = folder.explain(run_id, "void", {"day": "2026-01-05"})
    assert values(found.rows, "order_id", "amount", "status") == [("O-5", money("999.00"), "void")]


def test_an_output_shows_what_it_wrote(closed: tuple[Folder, str]) -> None:
    folder, run_id = closed
    found = folder.explain(run_id, 6, limit=50)
    written = folder.table()
    assert found.rows.count == len(written) == 12
    shown = ("order_id", "region", "amount", "total", "_row_id")
    assert values(found.rows, *shown) == sorted((tuple(row[name] for name in shown) for row in written), key=repr)
    cut = folder.explain(run_id, 6, {"_operation_seq": "0"}, limit=2)
    assert (cut.rows.count, [row["_row_id"] for row in cut.rows.rows]) == (
        5,
        sorted(row["_row_id"] for row in written if row["_operation_seq"] == 0)[:2],
    )


def test_each_of_several_outputs_can_be_looked_at(orders: Folder) -> None:
    operations = [to_table(), to_table("again"), assign("amount", "0"), to_table("after")]
    orders.project(assign("amount", "amount * 2"), *operations)
    run_id = orders.run().run_id
    for seq, amount in ((2, "200.00"), (3, "200.00"), (5, "0.00")):
        first = min(orders.explain(run_id, seq).rows.rows, key=lambda row: row["order_id"])
        assert (first["order_id"], first["amount"]) == ("O-1", money(amount))


def test_it_leaves_nothing_behind(closed: tuple[Folder, str]) -> None:
    folder, run_id = closed

    def everything() -> list[Path]:
        found = folder.root.rglob("*")
        return sorted(path for path in found if not any(part.startswith("store.db") for part in path.parts))

    before, runs = everything(), folder.all_runs()
    folder.explain(run_id, 6)
    assert folder.staged() == []
    assert [path for path in everything() if path not in before and path.name != "staging"] == []
    assert folder.all_runs() == runs


def test_rows_of_a_completed_run_are_neither_written_down_nor_counted(
    closed: tuple[Folder, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The summary rows of operation 3 are read twice on the way; a run would write them down."""

    def refuse(*_: object) -> None:
        raise AssertionError("a look at rows writes and counts nothing")

    folder, run_id = closed
    monkeypatch.setattr(StagingFolder, "keep", refuse)
    monkeypatch.setattr("daybook.engine.counters.observe_rows", refuse)
    assert folder.explain(run_id, 6).rows.count == 12
    assert folder.explain(run_id, 5, {"region": None}).rows.count == 2


def test_the_totals_of_one_group_are_those_that_it_has_among_all_groups(orders: Folder) -> None:
    """One group is summed up while its rows are sought, several are grouped by a query of their own."""
    results = {
        "most": "MAX_AGG(amount)",
        "first_day": "MIN_AGG(day)",
        "mean": "AVG(amount)",
        "lines": "COUNT(*)",
        "known": "COUNT(region)",
        "loaded": "MAX_AGG(_created_at)",
        "net": "COALESCE(SUM(amount), 0) - COUNT(day)",
        "none": "SUM(NULLIF(amount, amount))",
        "is_most": "MAX_AGG(amount) > 40",
    }
    orders.project(group("region", **results), to_table(selector="_operation_seq = 1"))
    run_id = orders.run().run_id
    every = orders.explain(run_id, 1).summary_rows
    assert every is not None
    assert len(every.rows) == 3
    for row in every.rows:
        one = orders.explain(run_id, 1, {"region": row["region"]}, limit=1).summary_rows
        assert one is not None
        assert [*map(dict, one.rows)] == [dict(row)]
        assert (one.columns, one.count) == (every.columns, 1)
    asia = next(row for row in every.rows if row["region"] == "APAC")
    shown = {name: asia[name] for name in ("most", "first_day", "mean", "lines", "net", "none", "is_most")}
    assert shown == {
        "most": money("30.25"),
        "first_day": datetime.date(2026, 1, 6),
        "mean": money("30.25"),
        "lines": 1,
        "net": money("29.25"),
        "none": None,
        "is_most": False,
    }


def test_a_group_without_rows_has_no_totals(closed: tuple[Folder, str]) -> None:
    folder, run_id = closed
    found = folder.explain(run_id, 5, {"region": "Mars"})
    assert found.summary_rows is not None
    assert (found.summary_rows.columns, found.summary_rows.rows, found.rows.count) == (
        ("region", "total", "rows", "_row_id"),
        (),
        0,
    )


def test_an_operation_after_the_last_output_was_never_checked(orders: Folder) -> None:
    """The join matches twice, which no run has noticed so far."""
    orders.dataset("areas", [{"name": "code", "type": "string"}], {"path": "data/areas.csv"})
    orders.write_csv("data/areas.csv", [{"code": "APAC"}, {"code": "APAC"}])
    joined = {"joins": [{"alias": "a", "dataset_id": "areas", "on": "orders.region = a.code"}]}
    late = assign("area", "a.code")
    orders.project(to_table(), {**late, "arguments": {**late["arguments"], **joined}})
    run_id = orders.run().run_id
    with pytest.raises(DaybookError) as raised:
        orders.explain(run_id, 2)
    assert raised.value.code == "UPDATE_024"


@pytest.mark.parametrize(
    ("operation", "keys", "code"),
    [
        ("3", {"region": "EMEA", "day": "soon"}, "RUN_025"),
        ("3", {"amount": "3"}, "RUN_024"),
        ("3", {"regoin": "EMEA"}, "RUN_023"),
        ("7", {}, "RUN_022"),
        ("voids", {}, "RUN_022"),
    ],
)
def test_what_is_asked_wrongly(
    closed: tuple[Folder, str], operation: str, keys: dict[str, str | None], code: str
) -> None:
    folder, run_id = closed
    with pytest.raises(DaybookError) as refused:
        folder.explain(run_id, operation, keys)
    assert refused.value.code == code


def test_in_a_notebook(closed: tuple[Folder, str], spark: SparkSession) -> None:
    folder, run_id = closed
    workspace = daybook.Workspace(folder.root, spark=spark)
    found = workspace.explain(run_id, 3, region="EMEA", day=FIFTH)
    assert (found.count, [row["total"] for row in found.summary_rows]) == (2, [money("300.00")])
    assert "300.00" in found._repr_html_()
    assert workspace.explain(run_id, 4, amount=money("30.25")).count == 1


def test_the_data_of_the_run_counts_until_it_is_gone(orders: Folder) -> None:
    orders.project(*OPERATIONS[:3], to_table())
    run = orders.run()
    orders.write_csv("data/orders.csv", [dict(zip(HEADER, ORDERS[0], strict=True))])
    orders.project(to_table("other"))
    found = orders.explain(run.run_id, 3, {"region": "EMEA", "day": "2026-01-05"})
    assert values(found.summary_rows, "total") == [(money("300.00"),)]
    for manifest in orders.root.glob(".daybook/landing/files/*/manifest.json"):
        manifest.unlink()
    with pytest.raises(DaybookError) as gone:
        orders.explain(run.run_id, 3)
    assert gone.value.code == "RUN_012"
    assert orders.staged() == []


def test_types_are_those_of_the_whole_project(orders: Folder) -> None:
    """A later operation makes `rate` wider, and with it what is divided before."""
    orders.project(
        assign("rate", "0.1"),
        group("region", share="SUM(rate) / 3"),
        assign("rate", "0.000123", selector='order_id = "O-1"'),
        to_table(),
    )
    run = orders.run()
    found = orders.explain(run.run_id, 2)
    written = [(row["_row_id"], row["share"]) for row in orders.table() if row["_operation_seq"] == 2]
    assert values(found.summary_rows, "_row_id", "share") == sorted(written, key=repr)


def test_joins_decide_and_give_values(orders: Folder) -> None:
    orders.write_csv("data/tiers.csv", [{"region": "EMEA", "factor": "3"}, {"region": "APAC", "factor": "1"}])
    columns = [{"name": "region", "type": "string"}, {"name": "factor", "type": "integer"}]
    orders.dataset("tiers", columns, {"path": "data/tiers.csv"})
    update = assign("amount", "amount * tiers.factor", selector="tiers.factor > 1")
    update["arguments"]["joins"] = [{"alias": "tiers", "dataset_id": "tiers", "on": "orders.region = tiers.region"}]
    update["arguments"]["assignments"].append({"column": "_labels", "expression": '"tripled"'})
    orders.project(update, to_table())
    run = orders.run()
    found = orders.explain(run.run_id, 1, {"status": "open"})
    assert values(found.rows, "order_id", "amount", "amount (new)", "_labels", "_labels (new)") == [
        ("O-1", money("100.00"), money("300.00"), "", "tripled"),
        ("O-2", money("50.00"), money("150.00"), "", "tripled"),
    ]


def test_an_append_shows_what_it_read(orders: Folder) -> None:
    rows = [("EMEA", "10.00", "a"), ("EMEA", "20.00", "a"), ("APAC", "1.00", "a"), ("EMEA", "99.00", "b")]
    orders.write_csv(
        "data/plan.csv", [{"region": region, "amount": amount, "kind": kind} for region, amount, kind in rows]
    )
    columns = [
        {"name": "region", "type": "string"},
        {"name": "amount", "type": "decimal(20,4)"},
        {"name": "kind", "type": "string"},
    ]
    orders.dataset("plan", columns, {"path": "data/plan.csv"})
    summed = {"group_by": ["region"], "aggregations": [{"column": "amount", "expression": "SUM(amount)"}]}
    source = {"source": {"dataset_id": "plan"}, "source_selector": 'kind = "a"'}
    orders.project(
        assign("kind", '"order"'),
        {"type": "append", "arguments": source},
        {"type": "append", "arguments": {**source, "aggregation": summed}},
        to_table(),
    )
    run = orders.run()
    plain = orders.explain(run.run_id, 2, {"region": "EMEA"})
    assert values(plain.rows, "region", "amount", "kind", "_source_table", "_operation_seq") == [
        ("EMEA", money("10.0000"), "a", "plan", 0),
        ("EMEA", money("20.0000"), "a", "plan", 0),
    ]
    assert plain.summary_rows is None
    grouped = orders.explain(run.run_id, 3, {"region": "EMEA"})
    (made,) = grouped.summary_rows.rows if grouped.summary_rows else ()
    assert (made["amount"], made["rows"], grouped.rows.count) == (money("30.00"), 2, 2)
    assert {row["_row_id"]: row["amount"] for row in orders.table()}[made["_row_id"]] == money("30.00")


def test_data_that_only_later_operations_read_may_be_gone(orders: Folder) -> None:
    orders.project(to_path("data/lines.parquet", columns=["order_id", "region"]))
    orders.run()
    columns = [{"name": "order_id", "type": "string"}, {"name": "region", "type": "string"}]
    orders.dataset("lines", columns, {"path": "data/lines.parquet"})
    orders.project(
        group("region", total="SUM(amount)"),
        {"type": "append", "arguments": {"source": {"dataset_id": "lines"}}},
        to_table(),
        id_="q",
    )
    run = orders.run(project="q")
    (orders.root / "data/lines.parquet").unlink()
    assert orders.explain(run.run_id, 1, {"region": "APAC"}).rows.count == 1
    with pytest.raises(DaybookError) as gone:
        orders.explain(run.run_id, 2)
    assert gone.value.code == "RUN_012"


def test_a_failed_run_can_be_looked_at_up_to_what_failed(orders: Folder) -> None:
    orders.project(
        assign("amount", "amount * 2"), assign("code", 'TO_NUMBER("x")', selector='region = "APAC"'), to_table()
    )
    with pytest.raises(RunFailedError) as failed:
        orders.run()
    run_id = failed.value.run_id
    assert values(orders.explain(run_id, 1, {"order_id": "O-3"}).rows, "amount (new)") == [(money("60.50"),)]
    with pytest.raises(DaybookError) as broken:
        orders.explain(run_id, 2)
    assert (broken.value.code, broken.value.parameters["seq"]) == ("PROJECT_033", 2)


def test_a_window_is_explained_by_all_rows_of_its_group(orders: Folder) -> None:
    share = assign("share", "amount / SUM(amount) OVER (region)", selector='status = "open"')
    orders.project(share, to_table())
    run = orders.run()
    found = orders.explain(run.run_id, 1, {"order_id": "O-2"}).rows
    assert values(found, "order_id", "amount", "share (new)") == [
        ("O-1", money("100.00"), money("0.6666666666666666666666666667")),
        ("O-2", money("50.00"), money("0.3333333333333333333333333333")),
    ]
    # Without keys all rows that the update picked are shown, each with the value it got.
    assert orders.explain(run.run_id, 1).rows.count == 5
