"""Results as JSON where commands of a small workspace do not show every key: `tests/golden/results` has them."""

import datetime
from decimal import Decimal
from typing import Any

from daybook.compare.bridge_result import Cause, CauseShare, GroupBridge, RowCounts, RowEffect
from daybook.compare.compared_run import RepeatedRowKeys
from daybook.compare.diff_result import ColumnTotal, DiffCounts, DiffResult, OneSidedColumns, RetypedColumn, RowChange
from daybook.engine.java.warm_folder import WarmUpProgress
from daybook.errors import DaybookError, Span, notice
from daybook.errors.render import findings_of
from daybook.graph.build import BuildResult, NodeResult
from daybook.graph.nodes import Node
from daybook.model.calendar import Period
from daybook.runs.explain.levels import (
    ExplainedOperation,
    ExplainedSum,
    ExplanationGap,
    ExplanationLevel,
    NumberExplanation,
    OperationExplanation,
    PickedRows,
    ShownRows,
)
from daybook.runs.explain.row_origins import NextQuestion, RowOrigin
from daybook.runs.recovery import Recovery
from daybook.runs.slices import SliceDrop, SliceEntry
from daybook.store.records import Slice
from daybook.workspace.build_events import done_event, finished_event, planned_event, started_event
from daybook.workspace.maintenance import EngineStatus
from daybook.workspace.result_json import as_json, json_text
from tests.comparisons import ORDERS, ROUNDING, ROWS, A, B, a_bridge
from tests.printed_json import check_golden

NOW = datetime.datetime(2026, 2, 1, 18, 30, tzinfo=datetime.UTC)
LATE = RowEffect({"order_id": "O-9"}, None, {"amount": Decimal("30.00"), "at": NOW, "ok": True}, Decimal("3E+1"))
TWICE = RowEffect({}, {"rate": 0.5}, None, None, rows_a=2, rows_b=0)
WARNING = notice("RUN_122", project="p", span=Span("id: p\n", 4, 5, "projects/p.yaml", 3), hint="adapt it")


def _diff() -> DiffResult:
    changes = (
        RowChange({"region": None}, None, {"total": Decimal("20.50"), "on": datetime.date(2026, 1, 31)}),
        RowChange({"region": "EMEA"}, {"total": 1}, {"total": 2}, rows_a=2, rows_b=2),
    )
    return DiffResult(
        A,
        B,
        "lake.close",
        ROWS,
        ("region",),
        "group_by",
        DiffCounts(3, 4, 1, 0, 1, 2),
        (ColumnTotal("total", Decimal("150.00"), Decimal("1.705E+2"), Decimal("20.50")),),
        changes,
        RepeatedRowKeys(1, 0),
        OneSidedColumns(("old",), ("new",)),
        (RetypedColumn("amount", "integer", "decimal(18,2)"),),
        (WARNING,),
    )


def _explanation(origins: tuple[RowOrigin, ...] = (), **more: Any) -> OperationExplanation:
    rows = ({"amount": Decimal("1E+2"), "at": NOW}, {"amount": None, "at": None})
    return OperationExplanation(
        run_id="run-2",
        project_id="close",
        period="2026-01",
        operation=ExplainedOperation(10, "sum", "By region", "aggregate"),
        keys={"region": "EMEA"},
        summary_rows=ShownRows(7, ("amount", "at"), rows),
        rows=PickedRows(7, ("amount", "at"), rows, origins),
        **{"parameters": {}, "groups": (), **more},
    )


def _number() -> NumberExplanation:
    following = NextQuestion("run-1", "clean", "2026-01", 20, {"order_id": "O-1", "region": None})
    origins = (RowOrigin({"order_id": "O-1"}, "orders", following), RowOrigin({"at": NOW}))
    sums = (
        ExplainedSum("amount", None, Decimal("100"), Decimal("1E+2")),
        ExplainedSum("count", 3, 2, 3),
    )
    first = _explanation(origins, leads={10: {}}, groups=({"region": "APAC"},), sums=sums, parameters={"least": "1.00"})
    gap = ExplanationGap("run-0", 5, DaybookError("RUN_012", run_id="run-0"))
    return NumberExplanation(first, (ExplanationLevel(2, (_explanation(),), (gap,)),), is_complete=True)


def _entry() -> SliceEntry:
    stored = Slice("/w/lake/t", "2026-01", "close", "op-2", "run-1", 3, NOW)
    return SliceEntry("lake.t", "/w/lake/t", "2026-01", None, None, "run-1", None, None, ("booked",), stored)


def test_results() -> None:
    month = Period("2026-01", "month", datetime.date(2026, 1, 1), datetime.date(2026, 1, 31))
    node = Node("close", month)
    done = NodeResult(node, "failed", "run-1", "[RUN_012] gone", 1.25, is_failure=True)
    printed = {
        "diff": as_json(_diff()),
        "bridge": as_json(
            a_bridge(
                Cause((ORDERS,), Decimal("30.00"), RowCounts(1, 0, 1), (LATE, TWICE), repeated=RepeatedRowKeys(0, 2)),
                Cause((ROUNDING, ORDERS), Decimal("0.25"), reason="column tax is unknown", explained_by=10),
                by=(
                    GroupBridge(
                        {"region": None},
                        Decimal("6E+1"),
                        1.5,
                        (CauseShare.of((ORDERS,), Decimal("30.00")), CauseShare.of((ROUNDING, ORDERS), 0)),
                    ),
                ),
            )
        ),
        "explanation": as_json(_number()),
        "engine": as_json(EngineStatus(7, 8, NOW, "30m", True, ("conf",), WarmUpProgress(1, 8, is_over=False))),
        "slice": as_json(_entry()),
        "dropped": as_json(SliceDrop(_entry(), 3, (("booked", 4),))),
        "recovery": as_json(
            Recovery((), (("lake.t", "2026-01"),), (("booked", 3),), (("lake.u", "no log"),), ("close",))
        ),
        "events": [
            planned_event((node,)),
            started_event(node, "run-1"),
            finished_event(done),
            done_event(BuildResult("build-1", (done,))),
        ],
        "errors": findings_of([DaybookError("RUN_012", run_id="run-0", span=Span("id: p", 0, 2, "p.yaml"))]),
    }
    check_golden("results", {name: json_text(value) + "\n" for name, value in printed.items()})
