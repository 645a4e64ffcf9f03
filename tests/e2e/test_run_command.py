"""`daybook run` and its companions as a user calls them: exit codes, JSON, progress on a terminal, Ctrl-C."""

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pexpect
import psutil
import pytest

from tests.e2e.conftest import Command
from tests.workspaces import ORDERS, Folder, assign, to_path, to_table

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "DAYBOOK_CLASS_ARCHIVE": "use"}
MANY = 20_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    return made(tmp_path_factory.mktemp("command") / "w")


@pytest.fixture(scope="module")
def ranged(folder: Folder) -> subprocess.CompletedProcess[str]:
    """A range of which the first period completes and the second fails."""
    return daybook(folder, "run", "p", "--period", "2026-01..2026-03", "--json")


def made(root: Path) -> Folder:
    folder = Folder.for_commands(root)
    # February has an amount that the assignment cannot take.
    folder.project(
        assign("code", "TO_NUMBER(IF(amount = 70, order_id, '1'))"),
        to_table(),
        to_path("out/{{identifier}}.csv", columns=["order_id"], order_by=["order_id"]),
    )
    return folder


def daybook(folder: Folder, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "daybook", "--workspace", str(folder.root), *arguments]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=300)


def test_a_range_ends_at_the_first_failure_and_shows_both(
    folder: Folder, ranged: subprocess.CompletedProcess[str]
) -> None:
    assert ranged.returncode == 1
    january, february = json.loads(ranged.stdout)
    assert (january["period"], january["status"]) == ("2026-01", "completed")
    assert [output["rows_written"] for output in january["outputs"]] == [3, 3]
    assert (february["status"], february["outputs"]) == ("failed", [])
    assert [error["code"] for error in february["errors"]] == ["PROJECT_033"]
    assert "Traceback" not in ranged.stderr
    assert folder.csv_rows("out/2026-01.csv") == [{"order_id": row["order_id"]} for row in ORDERS[:3]]


@pytest.mark.usefixtures("ranged", "on_shared_spark")
def test_a_retry_that_fails_again_says_how_to_go_on(folder: Folder, called: Command) -> None:
    failed = next(run for run in folder.all_runs() if run.status == "failed")
    again = called("retry", failed.id, folder=folder.root)
    assert again.returncode == 1
    assert again.stdout == ""
    assert again.stderr.startswith("[PROJECT_033]")
    for shown in (again.stderr, called("show", "run", failed.id, folder=folder.root).stdout):
        assert "definitions/project-p.yaml:11:" in shown
        assert "TO_NUMBER(IF(amount = 70" in shown
    assert f"daybook retry {failed.id}" in again.stderr


@pytest.mark.usefixtures("ranged", "on_shared_spark")
def test_a_replay_is_verified_without_a_word_on_the_error_stream(folder: Folder, called: Command) -> None:
    completed = next(run for run in folder.all_runs() if run.status == "completed")
    done = called("replay", completed.id, "--verify", folder=folder.root)
    assert (done.returncode, done.stderr) == (0, "")
    assert "every output is the same" in done.stdout


@pytest.mark.usefixtures("ranged")
def test_wrong_input_ends_with_2(folder: Folder, called: Command) -> None:
    completed = next(run for run in folder.all_runs() if run.status == "completed")
    for arguments, code in (
        (("run", "nobody", "--period", "2026-01"), "RUN_001"),
        (("run", "p", "--period", "2026-01", "--as-of", "soon"), "RUN_013"),
        (("retry", "nothing"), "STORE_014"),
        (("cancel", completed.id), "STORE_015"),
    ):
        done = called(*arguments, folder=folder.root)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert done.stderr.startswith(f"[{code}]")


def test_ctrl_c_on_a_terminal(tmp_path: Path) -> None:
    """Progress is shown, the run ends in order, and nothing is left."""
    folder = made(tmp_path / "w")
    rows = [{"order_id": f"O-{n}", "region": "x", "amount": "1.00", "_period": "2026-05"} for n in range(MANY)]
    folder.write_csv("data/orders.csv", rows)
    command = ["-m", "daybook", "--workspace", str(folder.root), "run", "p", "--period", "2026-05"]
    process = pexpect.spawn(sys.executable, command, env=ENVIRONMENT, encoding="utf-8", timeout=180)
    process.expect(r"p 2026-05: (reading|writing)")
    process.sendintr()
    process.expect(pexpect.EOF)
    process.close()
    assert process.exitstatus == 1
    shown = str(process.before)
    assert "[RUN_004]" in shown
    assert "Traceback" not in shown
    (run_id,) = set(re.findall(r"daybook retry (\S+)`", shown))
    run = folder.last_run()
    assert (run.id, run.status) == (run_id, "cancelled")
    assert folder.staged() == []
    assert not (folder.root / "out/2026-05.csv").exists()


@pytest.mark.usefixtures("on_shared_spark")
def test_ctrl_c_ends_a_build_with_130(tmp_path: Path, called: Command) -> None:
    """What runs is cancelled, the rest is not begun, and building again completes it."""
    folder = made(tmp_path / "w")
    rows = [
        {"order_id": f"O-{n}", "region": "x", "amount": "1.00", "_period": f"2026-0{5 + n % 2}"} for n in range(MANY)
    ]
    folder.write_csv("data/orders.csv", rows)
    folder.apply()
    folder.activate()
    command = [sys.executable, "-m", "daybook", "--workspace", str(folder.root), "build", "--json", "--jobs", "1"]
    with subprocess.Popen([*command, "--period", "2026-05..2026-06"], env=ENVIRONMENT, stdout=subprocess.PIPE) as build:
        assert build.stdout is not None
        events = []
        for line in build.stdout:
            events.append(json.loads(line))
            if events[-1]["event"] == "started":
                build.send_signal(signal.SIGINT)
        assert build.wait(timeout=180) == 130
    assert [each["event"] for each in events] == ["planned", "started", "finished", "finished", "done"]
    ended = {each["period"]: (each["result"], each["reason"]) for each in events if each["event"] == "finished"}
    assert ended["2026-05"][0] == "failed"
    assert ended["2026-05"][1].startswith("RUN_004 ")
    assert ended["2026-06"] == ("blocked", "the build was cancelled")
    assert [(run.period, run.status) for run in folder.all_runs()] == [("2026-05", "cancelled")]
    assert folder.staged() == []
    assert not list((folder.root / "out").glob("*"))
    again = called("build", "--period", "2026-05..2026-06", folder=folder.root)
    assert again.returncode == 0, again.stderr
    for period in ("2026-05", "2026-06"):
        assert len(folder.csv_rows(f"out/{period}.csv")) == MANY / 2
    assert Counter(row["_run_period"] for row in folder.table()) == {"2026-05": MANY / 2, "2026-06": MANY / 2}
    assert folder.staged() == []


@pytest.mark.usefixtures("on_shared_spark")
def test_java_that_is_killed_fails_the_run_and_a_retry_completes_it(tmp_path: Path, called: Command) -> None:
    folder = made(tmp_path / "w")
    rows = [{"order_id": f"O-{n}", "region": "x", "amount": "1.00", "_period": "2026-05"} for n in range(MANY)]
    folder.write_csv("data/orders.csv", rows)
    command = ["-m", "daybook", "--workspace", str(folder.root), "run", "p", "--period", "2026-05"]
    process = pexpect.spawn(sys.executable, command, env=ENVIRONMENT, encoding="utf-8", timeout=180)
    process.expect("p 2026-05: writing")
    (java,) = (each for each in psutil.Process(process.pid).children() if each.name() == "java")
    java.kill()
    process.expect(pexpect.EOF)
    process.close()
    shown = str(process.before)
    assert process.exitstatus == 1, shown
    assert "[RUN_030]" in shown, shown
    assert "Traceback" not in shown
    run = folder.last_run()
    assert (run.status, run.error and run.error["code"]) == ("failed", "RUN_030")
    assert f"daybook retry {run.id}" in shown
    again = called("retry", run.id, "--json", folder=folder.root)
    assert again.returncode == 0, again.stderr
    assert [output["rows_written"] for output in json.loads(again.stdout)["outputs"]] == [MANY, MANY]
    assert folder.staged() == []
