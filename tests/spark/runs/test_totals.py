"""Totals of runs, worked out by hand: where every amount came from and where it went."""

import sqlite3
import uuid
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from daybook.engine.java.connect import is_connect
from daybook.engine.jobs import tag_jobs
from daybook.errors import DaybookError, flatten
from daybook.io.formats.files.format import FileWriter
from daybook.runs.run_result import RunFailedError
from daybook.runs.totals import MadeBy, MeasureTotals, RunTotals
from daybook.workspace.close import close_status
from daybook.workspace.open_workspace import open_workspace
from daybook.workspace.result_json import as_json
from daybook.workspace.totals import run_totals
from tests.workspaces import COLUMNS, ORDERS, Folder, assign, to_path, to_table

AMOUNT = ["amount"]


def totals(folder: Folder, run: str = "p@2026-01") -> RunTotals:
    return run_totals(open_workspace(folder.root), run).totals


def measure(folder: Folder, column: str = "amount") -> MeasureTotals:
    return next(one for one in totals(folder).measures if one.column == column)


def texts(figures: tuple[MadeBy, ...]) -> dict[int, str]:
    return {one.made_by: one.total for one in figures}


def steps(flow: MeasureTotals) -> dict[int, tuple[dict[int, str], ...]]:
    """Before, added, changed, deleted and after of every operation."""
    return {
        one.seq: tuple(texts(part) for part in (one.before, one.added, one.changed, one.deleted, one.after))
        for one in flow.operations
    }


def outputs(flow: MeasureTotals) -> dict[int, tuple[dict[int, str], ...]]:
    return {one.seq: (texts(one.written), texts(one.left_out), texts(one.deleted)) for one in flow.outputs}


def failed(folder: Folder) -> list[str]:
    """The codes with which a run fails."""
    with pytest.raises(RunFailedError) as raised:
        folder.run()
    return [error.code for error in flatten(raised.value.error)]


def test_the_way_of_a_measure(folder: Folder) -> None:
    """January has 100.00 and 50.00 in EMEA and 0.00 in APAC."""
    folder.project(
        assign("amount", "amount + 1", selector='region = "EMEA"'),
        {"type": "delete", "selector": 'order_id = "O-2"'},
        {
            "type": "aggregate",
            "arguments": {"group_by": ["region"], "aggregations": [{"column": "amount", "expression": "SUM(amount)"}]},
        },
        to_table(),
        to_path("out/emea.csv", columns=["order_id"]) | {"selector": 'region = "EMEA" AND _operation_seq = 0'},
        measures=AMOUNT,
    )
    folder.run()
    flow = measure(folder)
    assert steps(flow) == {
        1: ({0: "150.00"}, {}, {0: "2.00"}, {}, {0: "152.00"}),
        2: ({0: "152.00"}, {}, {}, {0: "51.00"}, {0: "101.00"}),
        3: ({0: "101.00"}, {3: "101.00"}, {}, {}, {0: "101.00", 3: "101.00"}),
    }
    assert outputs(flow) == {
        4: ({0: "101.00", 3: "101.00"}, {}, {}),
        5: ({0: "101.00"}, {0: "0.00", 3: "101.00"}, {}),
    }
    (source,) = totals(folder).sources
    assert (source.rows.read, source.rows.other_periods, source.rows.loaded) == (4, 1, 3)
    assert source.totals == {"amount": "150.00"}


def test_the_json_is_as_it_is_documented(folder: Folder) -> None:
    folder.project(to_table(), measures=AMOUNT)
    run = folder.run().run_id
    found = as_json(run_totals(open_workspace(folder.root), run))
    assert found == {
        "run": run,
        "sources": [
            {
                "dataset": "orders",
                "location": str(folder.root / "data/orders.csv"),
                "rows": {"read": 4, "other_periods": 1, "loaded": 3},
                "totals": {"amount": "150.00"},
                "control": None,
            }
        ],
        "measures": [
            {
                "column": "amount",
                "operations": [],
                "outputs": [
                    {
                        "seq": 1,
                        "label": "lake.result",
                        "rows": 3,
                        "written": [{"made_by": 0, "total": "150.00"}],
                        "left_out": [],
                        "deleted": [],
                    }
                ],
            }
        ],
    }


def test_null_counts_as_nothing_and_so_does_a_column_before_it_exists(folder: Folder) -> None:
    folder.write_csv("data/orders.csv", [*ORDERS[:2], {**ORDERS[2], "amount": ""}])
    folder.project(
        assign("amount", "5", selector="ISNULL(amount)"),
        assign("eur", "amount * 0.5", selector='region = "EMEA"'),
        to_table(),
        measures=["amount", "eur"],
    )
    folder.run()
    assert steps(measure(folder))[1] == ({0: "150.00"}, {}, {0: "5.00"}, {}, {0: "155.00"})
    assert steps(measure(folder, "eur"))[2] == ({0: "0.000"}, {}, {0: "75.000"}, {}, {0: "75.000"})


def test_deleted_rows_are_followed_where_they_are_written(folder: Folder) -> None:
    """Rows that the source carries as deleted are read, and are no live rows of any operation."""
    carried = [{**row, "_deleted": str(row["order_id"] == "O-1").lower()} for row in ORDERS]
    folder.write_csv("data/orders.csv", carried)
    folder.project(
        {"type": "delete", "selector": 'order_id = "O-2"'},
        to_table(include_deleted=True),
        to_path("out/all.csv", include_deleted=True, columns=["order_id"]),
        measures=AMOUNT,
    )
    folder.run()
    (source,) = totals(folder).sources
    assert (source.rows.read, source.rows.other_periods, source.rows.loaded) == (4, 1, 2)
    flow = measure(folder)
    assert steps(flow)[1] == ({0: "50.00"}, {}, {}, {0: "50.00"}, {0: "0.00"})
    assert outputs(flow) == {2: ({0: "0.00"}, {}, {0: "150.00"}), 3: ({0: "0.00"}, {}, {0: "150.00"})}


def test_joins_and_appends_with_aggregation(folder: Folder) -> None:
    columns = [{"name": "region", "type": "string"}, {"name": "amount", "type": "decimal(18,2)"}]
    folder.write_csv("data/budget.csv", [{"region": "EMEA", "amount": "10.00"}, {"region": "APAC", "amount": "4.00"}])
    folder.dataset("budget", columns, {"path": "data/budget.csv"})
    folder.project(
        {
            "type": "update",
            "arguments": {
                "joins": [{"alias": "b", "dataset_id": "budget", "on": "region = b.region"}],
                "assignments": [{"column": "amount", "expression": "amount + b.amount"}],
            },
        },
        {
            "type": "append",
            "arguments": {
                "source": {"dataset_id": "budget"},
                "source_selector": "amount > 5",
                "aggregation": {
                    "group_by": ["region"],
                    "aggregations": [{"column": "amount", "function": "sum", "source_column": "amount"}],
                }
                | {"aggregations": [{"column": "amount", "expression": "SUM(amount)"}]},
            },
        },
        {"type": "append", "arguments": {"source": {"dataset_id": "budget"}, "source_selector": "amount < 5"}},
        to_table(),
        measures=AMOUNT,
    )
    folder.run()
    flow = measure(folder)
    # Two rows of EMEA get 10.00 each, the one of APAC 4.00.
    assert steps(flow) == {
        1: ({0: "150.00"}, {}, {0: "24.00"}, {}, {0: "174.00"}),
        2: ({0: "174.00"}, {2: "10.00"}, {}, {}, {0: "174.00", 2: "10.00"}),
        3: ({0: "174.00", 2: "10.00"}, {3: "4.00"}, {}, {}, {0: "174.00", 2: "10.00", 3: "4.00"}),
    }
    assert outputs(flow)[4][0] == {0: "174.00", 2: "10.00", 3: "4.00"}
    appended = [source for source in totals(folder).sources if source.role == "append"]
    assert [(source.seq, source.rows.loaded, source.totals) for source in appended] == [
        (2, 2, {"amount": "14.00"}),
        (3, 2, {"amount": "14.00"}),
    ]


def test_each_output_is_of_the_rows_at_its_point(folder: Folder) -> None:
    folder.project(
        to_table("first"),
        assign("amount", "amount * 2"),
        to_table("second"),
        {"type": "delete"},
        to_path("out/none.csv", on_empty="replace"),
        measures=AMOUNT,
    )
    folder.run()
    flow = measure(folder)
    assert outputs(flow) == {
        1: ({0: "150.00"}, {}, {}),
        3: ({0: "300.00"}, {}, {}),
        5: ({0: "0.00"}, {}, {}),
    }
    assert steps(flow)[4] == ({0: "300.00"}, {}, {}, {0: "300.00"}, {0: "0.00"})


def test_an_allocation_conserves_its_amount(folder: Folder) -> None:
    """100.00 over three rows is 33.34, 33.33 and 33.33."""
    folder.project(
        assign("share", "ALLOCATE(100.00, 1) OVER ()"),
        to_table(),
        measures=["share"],
    )
    folder.run()
    (changed,) = measure(folder, "share").operations[0].changed
    assert changed == MadeBy(0, "100.00")


def test_floats_have_twelve_digits_and_are_marked(folder: Folder) -> None:
    columns = [{**column, "type": "float"} if column["name"] == "amount" else column for column in COLUMNS]
    folder.dataset("orders", columns, {"path": "data/orders.csv"}, temporal_mode="period")
    folder.write_csv(
        "data/orders.csv",
        [{**row, "amount": text} for row, text in zip(ORDERS, ("0.1", "0.2", "1e15", "1"), strict=True)],
    )
    folder.project({"type": "delete", "selector": "amount > 1"}, to_table(), measures=AMOUNT)
    folder.run()
    flow = measure(folder)
    assert flow.is_approximate
    assert texts(flow.operations[0].before) == {0: "1000000000000000"}
    assert outputs(flow)[2][0] == {0: "0.3"}


def test_a_retry_counts_what_the_first_attempt_did_not_write(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.project(
        assign("amount", "amount + 1"),
        to_table("first"),
        assign("amount", "amount + 1", selector='region = "EMEA"'),
        to_path("out/second.csv"),
        measures=AMOUNT,
    )

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(FileWriter, "stage", full)
        with pytest.raises(Exception):  # noqa: B017, PT011
            folder.run()
    folder.retry(folder.last_run().id)
    flow = measure(folder)
    assert steps(flow) == {
        1: ({0: "150.00"}, {}, {0: "3.00"}, {}, {0: "153.00"}),
        3: ({0: "153.00"}, {}, {0: "2.00"}, {}, {0: "155.00"}),
    }
    assert outputs(flow) == {2: ({0: "153.00"}, {}, {}), 4: ({0: "155.00"}, {}, {})}


def test_a_violation_fails_the_run_before_its_commit(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written is summed from the files: here a row gets lost on the way to them."""
    from daybook.io.formats.delta.writer import DeltaWriter

    stage = DeltaWriter.stage

    def lose_one(self: DeltaWriter, df: Any, *others: Any) -> Any:
        return stage(self, df.where("order_id <> 'O-2'"), *others)

    monkeypatch.setattr(DeltaWriter, "stage", lose_one)
    folder.project(to_table(), measures=AMOUNT)
    assert failed(folder) == ["TOTALS_020"]
    assert not (folder.root / "lake/result/_delta_log").exists()


@pytest.mark.usefixtures("product_settings")
def test_measures_take_no_job_of_their_own(folder: Folder) -> None:
    operations = [
        assign("amount", "amount + 1", selector='region = "EMEA"'),
        {"type": "delete", "selector": 'order_id = "O-2"'},
        to_table("details"),
        {
            "type": "aggregate",
            "selector": "_operation_seq = 0",
            "arguments": {"group_by": ["region"], "aggregations": [{"column": "amount", "expression": "SUM(amount)"}]},
        },
        to_table("sums") | {"selector": "_operation_seq > 0"},
        to_path("out/x.csv") | {"selector": 'region = "EMEA"'},
    ]
    folder.project(*operations)
    without = jobs(folder, folder.run)
    folder.project(*operations, measures=AMOUNT)
    assert jobs(folder, folder.run) == without


def jobs(folder: Folder, action: Callable[[], object]) -> int:
    spark = folder.session()
    if is_connect(spark):
        pytest.skip("a Connect server does not tell its jobs")
    tag = f"totals-{uuid.uuid4()}"
    with tag_jobs(spark, tag):
        action()
    return len(spark.sparkContext._jsc.sc().statusTracker().getJobIdsForTag(tag))


def test_a_run_without_measures_has_no_totals(folder: Folder) -> None:
    folder.project(to_table())
    folder.run()
    with pytest.raises(DaybookError) as raised:
        totals(folder)
    assert raised.value.code == "TOTALS_030"


def test_one_measure_can_be_asked_for(folder: Folder) -> None:
    folder.project(to_table(), measures=AMOUNT)
    folder.run()
    with pytest.raises(DaybookError) as raised:
        run_totals(open_workspace(folder.root), "p@2026-01", measure="net")
    assert raised.value.code == "TOTALS_031"


def controlled(folder: Folder, control: dict[str, Any], location: str = "data/orders.csv", **table: Any) -> None:
    where = {"location": {"path": location}, "temporal_mode": "period", **table}
    main_table = {"name": "orders", "columns": COLUMNS, **where}
    folder.define("dataset", {"id": "orders", "control": control, "main_table": main_table})


PATH = {"path": "data/{{identifier}}.control.csv"}


def say(folder: Folder, text: str, period: str = "2026-01") -> None:
    (folder.root / f"data/{period}.control.csv").write_text(text)


def test_a_delivery_is_what_its_control_file_says(folder: Folder) -> None:
    """All 4 rows of the file, of both periods, are 220.00."""
    controlled(folder, PATH)
    folder.project(to_table())
    say(folder, "rows,total_amount\n4,220.00\n")
    folder.run()
    (source,) = totals(folder).sources
    assert source.control is not None
    assert (source.control.rows, source.control.totals, source.control.holds) == (4, {"amount": "220.00"}, True)


@pytest.mark.parametrize("text", ["rows,total_amount\n4,220.01\n", "rows\n3\n"])
def test_a_difference_fails_the_run_with_both_figures(folder: Folder, text: str) -> None:
    controlled(folder, PATH)
    folder.project(to_table())
    say(folder, text)
    with pytest.raises(RunFailedError) as raised:
        folder.run()
    (error,) = flatten(raised.value.error)
    assert error.code == "TOTALS_010"
    figures = {str(error.parameters[key]) for key in ("actual", "expected")}
    assert figures in ({"220.00", "220.01"}, {"4", "3"})
    assert not (folder.root / "lake/result").exists()


def test_a_missing_control_file_fails_the_run_and_a_retry_reads_it_anew(folder: Folder) -> None:
    controlled(folder, PATH)
    folder.project(to_table())
    assert failed(folder) == ["TOTALS_011"]
    say(folder, "rows\n4\n")
    folder.retry(folder.last_run().id)
    assert len(folder.table()) == 3


def test_a_tolerance_counts_only_if_it_is_written(folder: Folder) -> None:
    controlled(folder, {**PATH, "tolerance": 0.01})
    folder.project(to_table())
    say(folder, "total_amount\n220.01\n")
    folder.run()


def test_every_period_of_a_window_is_checked(folder: Folder) -> None:
    for period, row in (("2025-12", "7.00"), ("2026-01", "9.00")):
        rows = [{**ORDERS[0], "amount": row, "_period": period}]
        folder.write_csv(f"data/{period}.csv", rows)
        say(folder, f"rows,total_amount\n1,{row}\n", period)
    controlled(folder, PATH, "data/{{identifier}}.csv")
    folder.define("dataset", {"id": "recent", "view": {"of": "orders", "window": {"last": 2}}})
    folder.project(to_table(), input_="recent")
    folder.run()
    (source,) = totals(folder).sources
    assert source.control is not None
    assert (source.control.rows, source.control.totals) == (2, {"amount": "16.00"})
    say(folder, "rows,total_amount\n1,7.50\n", "2025-12")
    assert failed(folder) == ["TOTALS_010"]


def test_floats_that_cancel_out_are_their_total(folder: Folder) -> None:
    """0.1 and 0.2 and -0.3 are 0 for the sender; as floats they add up to 0.00000000000000003."""
    columns = [{**column, "type": "float"} if column["name"] == "amount" else column for column in COLUMNS]
    values = zip(ORDERS, ("0.1", "0.2", "-0.3"), strict=False)
    folder.write_csv("data/orders.csv", [{**row, "amount": text} for row, text in values])
    main_table = {"name": "orders", "columns": columns, "location": {"path": "data/orders.csv"}}
    folder.define("dataset", {"id": "orders", "control": {"totals": {"amount": 0}}, "main_table": main_table})
    folder.project(to_table())
    folder.run()
    folder.define("dataset", {"id": "orders", "control": {"totals": {"amount": "1e-9"}}, "main_table": main_table})
    assert failed(folder) == ["TOTALS_010"]


def test_a_control_is_of_the_rows_that_are_read_also_after_a_retry(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A retry reads the rows that the first attempt landed; files that came since are not compared in their place."""
    for period, amount in (("2025-12", "7.00"), ("2026-01", "9.00")):
        folder.write_csv(f"data/{period}.csv", [{**ORDERS[0], "amount": amount, "_period": period}])
        say(folder, f"rows,total_amount\n1,{amount}\n", period)
    controlled(folder, PATH, "data/{{identifier}}.csv")
    folder.define("dataset", {"id": "recent", "view": {"of": "orders", "window": {"last": 2}}})
    folder.project(to_path("out/recent.csv"), input_="recent")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(FileWriter, "stage", full)
        with pytest.raises(Exception):  # noqa: B017, PT011
            folder.run()
    folder.write_csv("data/2025-12.csv", [{**ORDERS[0], "amount": "8.00", "_period": "2025-12"}])
    say(folder, "rows,total_amount\n1,8.00\n", "2025-12")
    with pytest.raises(RunFailedError) as raised:
        folder.retry(folder.last_run().id)
    assert {error.code for error in flatten(raised.value.error)} <= {"IO_008", "IO_009"}
    assert not (folder.root / "out/recent.csv").exists()


def test_delta_and_parquet_are_compared_without_a_job(folder: Folder) -> None:
    folder.project(to_table("copy"), to_path("out/copy.parquet", columns=["order_id", "amount"]))
    folder.run()
    columns = [{"name": "order_id", "type": "string"}, {"name": "amount", "type": "decimal(18,2)"}]
    for id_, location in (
        ("by-delta", {"datasource_id": "lake", "table": "copy"}),
        ("by-parquet", {"path": "out/copy.parquet"}),
    ):
        table = {"name": "copy", "columns": columns, "location": location}
        control = {"rows": 3, "totals": {"amount": "150.00"}}
        folder.define("dataset", {"id": id_, "control": control, "main_table": table})
        folder.project(to_path(f"out/{id_}.csv"), input_=id_)
        folder.run()
        (source,) = totals(folder).sources
        assert source.rows.read == 3


def test_tables_of_a_database_that_are_read_together_cannot_be_told_apart(folder: Folder) -> None:
    with closing(sqlite3.connect(folder.root / "erp.db")) as database, database:
        for table in ("orders_2025_12", "orders_2026_01"):
            database.execute(f"CREATE TABLE {table} (order_id TEXT, region TEXT, amount DECIMAL(18,2), _period TEXT)")
    folder.datasource("erp", "sqlite", path="erp.db")
    location = {"datasource_id": "erp", "table": "orders_{{YYYY}}_{{MM}}"}
    main_table = {"name": "orders", "columns": COLUMNS, "location": location, "temporal_mode": "period"}
    folder.define("dataset", {"id": "orders", "control": PATH, "main_table": main_table})
    folder.define("dataset", {"id": "recent", "view": {"of": "orders", "window": {"last": 2}}})
    for period in ("2025-12", "2026-01"):
        say(folder, "rows\n0\n", period)
    folder.project(to_table(), input_="recent")
    assert failed(folder) == ["TOTALS_013"]


def test_a_node_is_stale_when_its_control_file_changes(folder: Folder) -> None:
    controlled(folder, PATH)
    folder.project(to_table(), level="month")
    say(folder, "rows\n4\n")
    folder.apply()
    folder.activate()
    folder.run()
    workspace = open_workspace(folder.root)

    def state() -> str:
        (node,) = close_status(workspace, period="2026-01").nodes
        return str(node.state)

    assert state() == "fresh"
    say(folder, "rows,total_amount\n4,220.00\n")
    assert state() == "stale"


def test_a_sum_may_be_larger_than_any_number_of_its_column(folder: Folder) -> None:
    """Twelve times the largest decimal(18,2), summed in the groups of an aggregate."""
    rows = [{**ORDERS[0], "order_id": f"O-{n}", "amount": "9999999999999999.99"} for n in range(12)]
    folder.write_csv("data/orders.csv", rows)
    folder.project(
        {"type": "delete", "selector": 'order_id = "O-0"'},
        {
            "type": "aggregate",
            "arguments": {"group_by": ["region"], "aggregations": [{"column": "total", "expression": "SUM(amount)"}]},
        },
        to_table(),
        measures=AMOUNT,
    )
    folder.run()
    before, after = "119999999999999999.88", "109999999999999999.89"
    assert steps(measure(folder))[1] == ({0: before}, {}, {}, {0: "9999999999999999.99"}, {0: after})
