"""`daybook explain` as a user calls it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.e2e.conftest import Command
from tests.workspaces import Folder, assign, to_table

TOTALS = {
    "id": "totals",
    "name": "Totals",
    "type": "aggregate",
    "arguments": {"group_by": ["region"], "aggregations": [{"column": "total", "expression": "SUM(amount)"}]},
}


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Folder:
    folder = Folder.for_commands(tmp_path_factory.mktemp("explain") / "w")
    folder.project(assign("amount", "amount * 2"), TOTALS, to_table())
    Folder(folder.root, lambda: spark).run()
    return folder


def run_id(folder: Folder) -> str:
    return folder.last_run().id


def state(root: Path) -> set[Path]:
    """Without the store and its backups."""
    found = (root / ".daybook").rglob("*")
    return {path for path in found if not any(part.startswith("store.db") for part in path.parts)}


@pytest.mark.usefixtures("on_shared_spark")
def test_a_number_and_the_rows_that_make_it(folder: Folder, called: Command) -> None:
    before = state(folder.root)
    done = called("explain", run_id(folder), "totals", "region=EMEA", "--limit", "1", folder=folder.root)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [" ".join(line.split()[:-1]) for line in done.stdout.splitlines() if line.strip()]
    assert lines[:-1] == [
        f"operation 2 of run {run_id(folder)}: Totals",
        "p for 2026-01, where region =",
        "what it computed: 1",
        "region total rows",
        "EMEA 300.00 2",
        "the rows it summed up, as they were before: 1 of 2",
        "region amount _source_table _operation_seq",
    ]
    assert lines[-1] in ("EMEA 200.00 orders 0", "EMEA 100.00 orders 0")
    assert state(folder.root) == before


@pytest.mark.usefixtures("on_shared_spark")
def test_for_machines(folder: Folder, called: Command) -> None:
    done = called("explain", run_id(folder), "1", "order_id=O-2", "--json", folder=folder.root)
    assert (done.returncode, done.stderr) == (0, "")
    told: dict[str, Any] = json.loads(done.stdout)
    assert told["summary_rows"] is None
    (row,) = told["rows"]["shown"]
    assert (row["order_id"], row["amount"], row["amount (new)"]) == ("O-2", "50.00", "100.00")


def test_wrong_input_ends_with_2(folder: Folder, called: Command) -> None:
    done = called("explain", run_id(folder), "total", folder=folder.root)
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean totals?" in done.stderr


def test_codes_need_no_workspace(tmp_path: Path, called: Command) -> None:
    done = called("explain", "IO_021", folder=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("[IO_021] ")


def test_runs_and_their_operations_are_completed(folder: Folder, offered: Callable[..., list[str]]) -> None:
    assert offered("daybook explain 20", folder=folder.root) == [run_id(folder)]
    assert offered(f"daybook explain {run_id(folder)} ", folder=folder.root) == ["op-1", "totals", "op-3"]


def total(column: str, expression: str, *group_by: str) -> dict[str, Any]:
    aggregations = [{"column": column, "expression": expression}]
    return {"type": "aggregate", "arguments": {"group_by": list(group_by), "aggregations": aggregations}}


@pytest.mark.usefixtures("on_shared_spark")
def test_one_command_goes_from_a_statement_to_journal_lines(tmp_path: Path, called: Command) -> None:
    """Journal lines, ledger, trial balance, statement: each is a project that reads what the one before it wrote."""
    folder = Folder.for_commands(tmp_path / "w")
    lines = [
        ("J-1", "1", "4000", "CC-1", "-100.00", "Invoice 17"),
        ("J-2", "1", "4000", "CC-2", "-50.50", "Invoice 18"),
        ("J-3", "1", "4100", "CC-1", "-20.00", "Maintenance"),
        ("J-4", "1", "6000", "CC-1", "30.25", "Rent"),
    ]
    names = ("journal_id", "line", "account", "cost_centre", "amount", "text")
    rows = [{**dict(zip(names, line, strict=True)), "_period": "2026-01"} for line in lines]
    folder.write_csv("data/journal.csv", rows)
    columns = [{"name": name, "type": "decimal(18,2)" if name == "amount" else "string"} for name in names]
    table = {"name": "journal", "temporal_mode": "period", "columns": columns, "location": {"path": "data/journal.csv"}}
    folder.define("dataset", {"id": "journal", "natural_key_columns": ["journal_id", "line"], "main_table": table})
    balance = [{"name": "balance", "type": "decimal(38,2)"}]
    texts = [{"name": name, "type": "string"} for name in ("account", "cost_centre")]
    for name, own in (("ledger", [*texts, *balance]), ("trial", [texts[0], *balance])):
        folder.dataset(name, own, {"datasource_id": "lake", "table": name}, temporal_mode="period")
    made = {"selector": "_operation_seq = 1"}
    folder.project(
        total("balance", "SUM(amount)", "account", "cost_centre"),
        {**to_table("ledger", columns=["account", "cost_centre", "balance"]), **made},
        id_="post",
        input_="journal",
    )
    folder.project(
        total("balance", "SUM(balance)", "account"),
        {**to_table("trial", columns=["account", "balance"]), **made},
        id_="balances",
        input_="ledger",
    )
    folder.project(
        assign("item", 'IF(STARTS_WITH(account, "4"), "Revenue", "Costs")'),
        total("amount", "0 - SUM(balance)", "item"),
        to_table("statement"),
        id_="statement",
        input_="trial",
    )
    for command in (("apply",), *(("activate", name) for name in ("post", "balances", "statement"))):
        done = called(*command, folder=folder.root)
        assert done.returncode == 0, done.stderr
    done = called("build", "--period", "2026-01", folder=folder.root)
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = [each.id for each in folder.all_runs() if each.project_id == "statement"]
    shown = called("explain", run, "2", "item=Revenue", "--columns", "text", folder=folder.root)
    assert (shown.returncode, shown.stderr) == (0, "")
    told = [" ".join(line.split()) for line in shown.stdout.splitlines()]
    assert told.count("balance: -170.50, the same as above") == 4
    assert [line.rpartition(" journal ")[0] for line in told if line.startswith("J-")] == [
        "J-1 1 4000 CC-1 -100.00 Invoice 17",
        "J-2 1 4000 CC-2 -50.50 Invoice 18",
        "J-3 1 4100 CC-1 -20.00 Maintenance",
    ]
