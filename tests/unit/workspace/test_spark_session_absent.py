"""What works where no Spark is installed: its package is hidden from a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

WITHOUT_SPARK = """
import sys
sys.modules.update(pyspark=None, py4j=None)
from daybook.cli.app import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def starter(tmp_path: Path) -> Path:
    assert daybook("init sales", tmp_path).returncode == 0
    return tmp_path / "sales"


def daybook(words: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", WITHOUT_SPARK, *words.split()]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)


def test_scenarios_run_on_the_second_engine(starter: Path) -> None:
    done = daybook("test", starter)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "1 passed, 0 failed")


def test_a_preview_is_computed(starter: Path) -> None:
    done = daybook("preview monthly-sales --period 2026-01", starter)
    assert done.returncode == 0, done.stderr
    # By hand from data/orders.csv, without the cancelled order, with a fee of three percent.
    assert done.stdout.splitlines()[-1] == "totals: sales = 4155.65, fees = 124.68, orders = 5"


def test_the_doctor_says_what_is_missing_and_checks_the_rest(starter: Path) -> None:
    done = daybook("doctor", starter)
    assert done.returncode == 1
    assert "no  pyspark: This needs Spark, and no Spark is installed" in done.stdout
    assert "ok  Store: " in done.stdout
    assert "ok  Left behind: " in done.stdout
    assert done.stderr == ""


def test_a_run_is_refused(starter: Path) -> None:
    done = daybook("run monthly-sales --period 2026-01", starter)
    assert done.returncode == 2
    assert "[RUN_919] This needs Spark, and no Spark is installed" in done.stderr
    assert "Traceback" not in done.stderr
    assert json.loads(daybook("runs --json", starter).stdout)["runs"] == []
