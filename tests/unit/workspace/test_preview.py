"""A preview computes what a run would write, without Spark and without a trace."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from daybook.errors import DaybookError
from daybook.runs.attempt.run_request import RunRequest
from daybook.workspace import preview as previewing
from daybook.workspace.open_workspace import open_workspace
from daybook.workspace.preview import Preview, preview_project
from daybook.workspace.result_json import json_text
from tests.workspaces import Folder, assign, no_session, to_path, to_table

TOTALS = {"group_by": ["region"], "aggregations": [{"column": "amount", "expression": "SUM(amount)"}]}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder.new(tmp_path / "w", no_session)
    folder.project(
        {"id": "zeros", "type": "delete", "selector": "amount = 0"},
        assign("fee", "amount * param.rate", id="fee"),
        {"id": "positive", "type": "check", "arguments": {"condition": "fee > 0"}},
        {"id": "totals", "type": "aggregate", "arguments": TOTALS},
        to_table("fees", columns=["order_id", "amount", "fee"], order_by=["order_id"]),
        {**to_path("out/totals.csv", columns=["region", "amount"]), "selector": "_operation_seq = 4"},
        parameters={"rate": {"type": "decimal(3,2)", "default": "0.10"}},
    )
    return folder


def shown(folder: Folder, period: str = "2026-01", **options: Any) -> Preview:
    rows = options.pop("rows", 10)
    return preview_project(open_workspace(folder.root), RunRequest("p", period, **options), rows=rows)


def test_counts_rows_totals_and_checks(folder: Folder) -> None:
    preview = shown(folder)
    assert preview.input_rows == 3
    assert [(each.id, each.picked, each.added) for each in preview.operations] == [
        ("zeros", 1, 0),
        ("fee", 2, 0),
        ("positive", 2, 0),
        ("totals", 2, 1),
    ]
    assert preview.checks == {"positive": 2}
    fees, totals = preview.outputs
    assert fees.destination == "lake.fees"
    assert [row for row in fees.rows if row[0] is not None] == [
        ("O-1", Decimal("100.00"), Decimal("10.0000")),
        ("O-2", Decimal("50.00"), Decimal("5.0000")),
    ]
    assert fees.totals["fee"] == Decimal("15.0000")
    assert totals.rows == (("EMEA", Decimal("150.00")),)
    assert totals.columns == {"region": "string", "amount": "decimal(18,2)"}


def test_parameters_and_the_number_of_rows(folder: Folder) -> None:
    preview = shown(folder, parameters={"rate": "0.20"}, rows=1)
    assert preview.parameters == {"rate": "0.20"}
    assert preview.outputs[0].totals["fee"] == Decimal("30.0000")
    assert (preview.outputs[0].row_count, len(preview.outputs[0].rows)) == (3, 1)


def test_nothing_is_written(folder: Folder) -> None:
    before = sorted(path for path in folder.root.rglob("*"))
    shown(folder)
    assert sorted(path for path in folder.root.rglob("*")) == before


def test_the_json_has_exact_numbers(folder: Folder) -> None:
    preview = json.loads(json_text(shown(folder, rows=1)))
    assert preview["outputs"][1]["rows"] == [{"region": "EMEA", "amount": "150.00"}]
    assert preview["outputs"][1]["totals"] == {"amount": "150.00"}


def test_what_would_fail_the_run_is_raised(folder: Folder) -> None:
    with pytest.raises(DaybookError) as caught:
        shown(folder, parameters={"rate": "-1"})
    assert (caught.value.code, caught.value.operation_seq) == ("CHECK_020", 3)


def test_many_lines_are_refused(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(previewing, "MOST_ROWS", 3)
    with pytest.raises(DaybookError) as caught:
        shown(folder)
    assert caught.value.code == "RECOMPUTE_002"
    assert caught.value.parameters["rows"] == 4


def test_what_only_spark_can_read_is_refused(folder: Folder) -> None:
    folder.datasource("dwh", "jdbc", url="jdbc:postgresql://127.0.0.1:1/none", driver="org.postgresql.Driver")
    columns = [{"name": "region", "type": "string"}]
    folder.dataset("regions", columns, {"datasource_id": "dwh", "table": "regions"})
    join = {"alias": "r", "dataset_id": "regions", "on": "region = r.region"}
    update = {"joins": [join], "assignments": [{"column": "found", "expression": "r.region"}]}
    folder.project({"type": "update", "arguments": update}, to_table("fees"))
    with pytest.raises(DaybookError) as caught:
        shown(folder)
    assert "RECOMPUTE_001" in {caught.value.code, *(cause.code for cause in caught.value.causes)}


def budgets(
    folder: Folder, periods: str, view: dict[str, str] | None = None, **append: Any
) -> list[tuple[str, int | None]]:
    """What is warned of for January, where a budget file has rows of these periods."""
    rows = [{"region": "EMEA", "amount": "1.00", "_period": period} for period in periods.split()]
    folder.write_csv("data/budget.csv", rows)
    columns = [{"name": "region", "type": "string"}, {"name": "amount", "type": "decimal(18,2)"}]
    location = {"path": "data/budget.csv", "data_level": "year"}
    folder.dataset("budget", columns, location, temporal_mode="period")
    folder.define("dataset", {"id": "year", "view": {"of": "budget", "window": {"to_date": "year"}, **(view or {})}})
    selector = {"source_selector": append.pop("selector")} if "selector" in append else {}
    arguments = {"source": {"dataset_id": "budget" if view is None else "year"}, **selector}
    folder.project({"type": "append", "arguments": arguments, **append}, to_table("result"))
    return [(warning.code, warning.operation_seq) for warning in shown(folder).notices]


def test_an_append_of_a_file_without_rows_of_the_period_is_noticed(folder: Folder) -> None:
    """Data by year has the year as its period: rows of months are left out."""
    assert budgets(folder, "2026-01 2026-02") == [("RUN_005", 1)]
    assert budgets(folder, "2026-01 2026-02", view={}) == [("RUN_005", 1)]
    assert budgets(folder, "2026") == []
    assert budgets(folder, "2026-01", view={"missing": "empty"}) == []
    assert budgets(folder, "2026-01", accept=["RUN_005"]) == []
    # A selector may well pick none.
    assert budgets(folder, "2026-01", selector="amount > 5") == []


def test_an_input_without_rows_is_noticed(folder: Folder) -> None:
    assert "RUN_005" in {warning.code for warning in shown(folder, "2026-07").notices}
