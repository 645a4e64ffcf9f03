"""`daybook explain` as a user calls it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import completed, piped
from tests.workspaces import Folder, assign, to_table

TOTALS = {
    "id": "totals",
    "name": "Totals",
    "type": "aggregate",
    "arguments": {"group_by": ["region"], "aggregations": [{"column": "total", "expression": "SUM(amount)"}]},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    root = tmp_path_factory.mktemp("explain") / "w"
    folder = Folder.for_commands(root)
    folder.project(assign("amount", "amount * 2"), TOTALS, to_table())
    done = piped("run", "p", "--period", "2026-01", "--json", folder=root)
    assert done.returncode == 0, done.stderr
    return folder


def run_id(folder: Folder) -> str:
    return folder.last_run().id


def state(root: Path) -> set[Path]:
    return {path for path in (root / ".daybook").rglob("*") if not path.name.startswith("store.db")}


def test_a_number_and_the_rows_that_make_it(folder: Folder) -> None:
    before = state(folder.root)
    done = piped("explain", run_id(folder), "totals", "region=EMEA", "--limit", "1", folder=folder.root)
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


def test_for_machines(folder: Folder) -> None:
    done = piped("explain", run_id(folder), "1", "order_id=O-2", "--json", folder=folder.root)
    assert (done.returncode, done.stderr) == (0, "")
    told: dict[str, Any] = json.loads(done.stdout)
    assert told["summary_rows"] is None
    (row,) = told["rows"]["shown"]
    assert (row["order_id"], row["amount"], row["amount (new)"]) == ("O-2", "50.00", "100.00")


def test_wrong_input_ends_with_2(folder: Folder) -> None:
    done = piped("explain", run_id(folder), "total", folder=folder.root)
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean totals?" in done.stderr


def test_codes_need_no_workspace(tmp_path: Path) -> None:
    done = piped("explain", "IO_021", folder=tmp_path)
    assert done.returncode == 0
    assert done.stdout.startswith("[IO_021] ")


def test_runs_and_their_operations_are_completed(folder: Folder) -> None:
    assert completed("daybook explain 20", folder=folder.root) == [run_id(folder)]
    assert completed(f"daybook explain {run_id(folder)} ", folder=folder.root) == ["op-1", "totals", "op-3"]
