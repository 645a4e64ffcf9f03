"""Every command with `--json` prints its fixed shape: the files in `tests/golden/json` have it, byte for byte."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pyspark.sql import SparkSession

from daybook.cli.app import main
from tests.printed_json import Stable, check_golden
from tests.spark_session import GivenSession
from tests.workspaces import COLUMNS, Folder, dump, to_path, to_table

PERIOD = "2026-01"
SCENARIO = {
    "name": "Sums by region",
    "period": PERIOD,
    "datasets": [
        {
            "dataset": {"id": "o", "main_table": {"name": "o", "columns": COLUMNS}},
            "rows": [{"order_id": "O-1", "region": "EMEA", "amount": 1}],
        }
    ],
    "project": {"name": "P", "operations": [to_path("out.csv", columns=["order_id", "amount"])]},
    "expect": {"rows": [{"order_id": "O-1", "amount": 2}]},
}


class Commands:
    """Executes commands in this process and collects what they print."""

    def __init__(self, folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
        self._folder = folder
        self._capsys = capsys
        self._stable = Stable(folder.root)
        self.printed: dict[str, str] = {}

    def __call__(self, name: str, *arguments: str, code: int = 0) -> None:
        self._capsys.readouterr()
        assert main(["-w", str(self._folder.root), *arguments, "--json"]) == code, (name, self._capsys.readouterr())
        self.printed[name] = self._stable.text(self._capsys.readouterr().out)


@pytest.fixture
def commands(
    folder: Folder, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Commands:
    """They share the session of the tests."""

    @contextmanager
    def shared(*_: object, **__: object) -> Iterator[Any]:
        yield GivenSession(spark)

    monkeypatch.setattr("daybook.workspace.spark_session.background_session", shared)
    monkeypatch.setenv("DAYBOOK_STATE", str(folder.root / "state"))
    monkeypatch.chdir(folder.root)
    return Commands(folder, capsys)


def _define(folder: Folder, expression: str) -> None:
    """Sums by region, which a second project reads, and one that can fail."""
    total = {
        "name": "By region",
        "type": "aggregate",
        "arguments": {"group_by": ["region"], "aggregations": [{"column": "total", "expression": expression}]},
    }
    leave_out = {"id": "zero", "name": "Leave out", "type": "delete", "selector": "amount = param.least"}
    totals = {"selector": "_operation_seq = 2"}
    folder.project(
        leave_out,
        total,
        {**to_table("totals", register_as_dataset="region-totals", columns=["region", "total"]), **totals},
        {**to_path("out/{{identifier}}.csv", columns=["region", "total"]), **totals},
        id_="close",
        parameters={"least": {"type": "decimal(18,2)", "default": 0}},
    )
    summary = {
        "type": "aggregate",
        "arguments": {"group_by": ["region"], "aggregations": [{"column": "sum", "expression": "SUM(total)"}]},
    }
    folder.project(
        summary,
        {**to_table("summary", columns=["sum"]), "selector": "_operation_seq = 1"},
        id_="summary",
        input_="region-totals",
    )
    holds = {"id": "small", "name": "All small", "type": "check", "arguments": {"condition": "amount < 60"}}
    folder.project(holds, to_table("checked"), id_="fails")


def _definitions(run: Commands, folder: Folder) -> None:
    (folder.root / "tests" / "scenarios").mkdir(parents=True)
    (folder.root / "tests" / "scenarios" / "sums.yaml").write_text(dump(SCENARIO))
    run("validate", "validate")
    run("compile", "compile", "close", "--period", PERIOD)
    run("functions", "functions", "SUM")
    run("parse", "parse", "IF(amount > 0, amount, 0)", "--columns", "amount decimal(18,2)")
    run("explain-code", "explain", "RUN_001")
    run("plan", "plan")
    run("status-empty", "status")
    run("runs-empty", "runs")
    run("apply", "apply")
    run("activate", "activate", "close")
    run("activate-all", "activate", "--all")
    run("refused", "run", "nothing", "--period", PERIOD, code=2)


def _runs(run: Commands, folder: Folder) -> str:
    run("dry-run", "run", "close", "--period", PERIOD, "--dry-run")
    run("build-dry-run", "build", "close", "summary", "--period", PERIOD, "--dry-run")
    run("run", "run", "close", "--period", PERIOD)
    run("run-range", "run", "close", "--period", "2026-02..2026-03", "--set", "least=1.00")
    run("run-failed", "run", "fails", "--period", PERIOD, code=1)
    failed = folder.last_run().id
    run("show-failed", "show", "run", failed)
    run("retry-failed", "retry", failed, code=1)
    run("cancel", "cancel", failed, code=2)
    run("build", "build", "--period", PERIOD, "--full", "--keep-going", "--jobs", "1", code=1)
    first = next(each.id for each in folder.all_runs() if each.project_id == "close" and each.period == PERIOD)
    run("replay", "replay", first)
    run("show-run", "show", "run", first)
    run("status", "status")
    run("graph", "graph")
    run("graph-of-period", "graph", "--period", PERIOD)
    run("runs", "runs", "--limit", "3")
    run("show-project", "show", "project", "close")
    run("show-dataset", "show", "dataset", "region-totals")
    run("show-datasource", "show", "datasource", "lake")
    run("explain", "explain", first, "2", "region=EMEA")
    run("explain-through", "explain", "summary@2026-01", "1")
    run("lineage", "lineage", "summary", "--all")
    run("report", "report", first, "-o", str(folder.root / "report.html"))
    return first


def _comparisons(run: Commands, folder: Folder, first: str) -> None:
    _define(folder, "SUM(amount * 2)")
    rows = [("O-1", "EMEA", "100.00"), ("O-2", "EMEA", "55.00"), ("O-9", "APAC", "7.00")]
    folder.write_csv(
        "data/orders.csv",
        [{"order_id": order, "region": region, "amount": amount, "_period": PERIOD} for order, region, amount in rows],
    )
    run("plan-changed", "plan")
    run("activate-changed", "activate", "close")
    run("status-stale", "status")
    run("run-again", "run", "close", "--period", PERIOD)
    second = folder.last_run().id
    run("diff", "diff", first, second)
    run("diff-loaded-rows", "diff", first, second, "--rows", "0", "--limit", "2", code=2)
    run("bridge", "bridge", first, second, "--measure", "total", "--output", "3", "--by", "region")
    fewer = [column for column in COLUMNS if column["name"] != "region"]
    folder.dataset("orders", fewer, {"path": "data/orders.csv"}, temporal_mode="period")
    run("plan-breaks", "plan")
    run("validate-broken", "validate", code=2)
    folder.dataset("orders", COLUMNS, {"path": "data/orders.csv"}, temporal_mode="period")


def _house_keeping(run: Commands, folder: Folder, first: str) -> None:
    run("periods", "periods", "--year", "2026", "--level", "quarter")
    run("periods-close", "periods", "close", "2026-03", "--reason", "signed off")
    run("periods-lock", "periods", "lock", "2026-03")
    run("periods-reopen", "periods", "reopen", "2026-03", "--reason", "late journal")
    run("periods-history", "periods", "history", "2026-03")
    run("slices", "slices", "list")
    run("slices-drop", "slices", "drop", "lake.summary", PERIOD, "--reason", "wrong", "--yes")
    run("test", "test", code=1)
    run("test-new", "test", "--new", "close", "--run", first, "--out", "tests/scenarios/new.yaml")
    run("deactivate", "deactivate", "close")
    run("deactivate-again", "deactivate", "close")
    run("gc", "gc")
    run("doctor", "doctor", "--skip-spark")
    run("engine-status", "engine", "status")


def _loss(run: Commands, folder: Folder) -> None:
    """The store is damaged, and then lost."""
    with folder.around() as around, around.store.read() as transaction:
        own_id = transaction.identity.ids().own
    store = folder.root / ".daybook" / "store.db"
    (store.parent / "backups").mkdir(exist_ok=True)
    shutil.copyfile(store, store.parent / "backups" / "store-20260101-000000.db")
    store.write_bytes(b"no store")
    run("doctor-restore", "doctor", "--restore")
    shutil.rmtree(store.parent)
    run("slices-take-over", "slices", "take-over", own_id, "--reason", "lost")


def test_every_command_prints_its_json(commands: Commands, folder: Folder) -> None:
    """One test: each command looks at what those before it did."""
    _define(folder, "SUM(amount)")
    _definitions(commands, folder)
    first = _runs(commands, folder)
    _comparisons(commands, folder, first)
    _house_keeping(commands, folder, first)
    _loss(commands, folder)
    check_golden("json", commands.printed)
