"""Running the real program with Spark: progress for people, plain text and JSON for programs, exit codes, Ctrl-C."""

import json
import re
from pathlib import Path

import pexpect
import pytest

from tests.e2e.program import COLUMNS, ESCAPE, ended, piped, seen, spawned

pytestmark = pytest.mark.slow

PROGRESS = "monthly-sales 2026-01: "


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    assert piped("init", "sales", folder=tmp_path).returncode == 0
    return tmp_path / "sales"


def report(workspace: Path, period: str) -> list[str]:
    return (workspace / "out" / f"sales-{period}.csv").read_text(encoding="utf-8").splitlines()


def test_in_a_terminal(workspace: Path) -> None:
    shown = seen("run", "monthly-sales", "--period", "2026-01", folder=workspace)
    assert shown.exit_code == 0, shown.raw
    assert PROGRESS in shown.text
    assert f"{ESCAPE}[1m" in shown.raw
    # What is left when the progress is gone.
    final = shown.text[shown.text.rindex("monthly-sales for 2026-01: completed") :].splitlines()
    assert final[-1] == "wrote out/sales-2026-01.csv: 4 rows"
    assert [line for line in final if len(line) > COLUMNS] == []
    assert "Traceback" not in shown.raw
    # 1250.00 + 89.90, and three percent of each rounded to cents: 37.50 + 2.70.
    assert "EMEA,1339.90,40.20,2" in report(workspace, "2026-01")


def test_in_a_pipe(workspace: Path) -> None:
    done = piped("run", "monthly-sales", "--period", "2026-01..2026-02", folder=workspace)
    assert done.returncode == 0, done.stderr
    assert ESCAPE not in done.stdout + done.stderr
    assert PROGRESS not in done.stdout + done.stderr
    assert "\r" not in done.stdout + done.stderr
    assert re.findall(r"^monthly-sales for (\S+): completed", done.stdout, re.MULTILINE) == ["2026-01", "2026-02"]
    assert report(workspace, "2026-02") == ["region,sales,fees,orders", "AMER,1999.99,60.00,1", "EMEA,310.00,9.30,1"]


def test_a_run_that_fails_exits_with_1_and_says_so_in_json(workspace: Path) -> None:
    data = workspace / "data" / "orders.csv"
    data.write_text(data.read_text(encoding="utf-8").replace("O-1002,EMEA,shipped", "O-1002,EMEA,"), encoding="utf-8")
    done = piped("run", "monthly-sales", "--period", "2026-01", "--json", folder=workspace)
    assert done.returncode == 1, done.stdout + done.stderr
    (failure,) = json.loads(done.stdout)
    assert failure["status"] == "failed"
    (error,) = failure["errors"]
    assert "status" in error["message"]
    assert "Traceback" not in done.stderr
    assert not (workspace / "out").exists()
    (run,) = json.loads(piped("runs", "--json", folder=workspace).stdout)["runs"]
    assert (run["id"], run["status"]) == (failure["run_id"], "failed")


def test_a_test_that_fails_exits_with_1_and_shows_the_difference(workspace: Path) -> None:
    scenario = workspace / "tests" / "scenarios" / "monthly-sales.yaml"
    scenario.write_text(scenario.read_text(encoding="utf-8").replace("fees: 4.52", "fees: 4.51"), encoding="utf-8")
    shown = seen("test", folder=workspace)
    assert shown.exit_code == 1
    assert f"{ESCAPE}[31m" in shown.raw
    assert "4.51" in shown.text
    assert "4.52" in shown.text
    assert "0 passed, 1 failed" in shown.text


def test_ctrl_c_cancels_the_run_and_leaves_nothing(workspace: Path) -> None:
    terminal = spawned("run", "monthly-sales", "--period", "2026-01", folder=workspace)
    terminal.expect(PROGRESS)
    terminal.sendintr()
    terminal.expect(pexpect.EOF)
    shown = ended(terminal, terminal.before or "")
    assert shown.exit_code == 1
    cancelled = re.search(r"\[RUN_004\] Run (\S+) was cancelled", shown.text)
    assert cancelled is not None, shown.text
    assert f"daybook retry {cancelled[1]}" in shown.text
    assert "Traceback" not in shown.raw
    assert not (workspace / "out").exists()
    (run,) = json.loads(piped("runs", "--json", folder=workspace).stdout)["runs"]
    assert (run["id"], run["status"]) == (cancelled[1], "cancelled")
