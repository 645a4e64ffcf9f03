"""What a person sees in a terminal and what a program reads from a pipe, without Spark."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from daybook.store import open_store
from tests.e2e.conftest import Command
from tests.e2e.program import COLUMNS, ESCAPE, PROGRAM, SECONDS, completed, environment, piped, seen
from tests.unit.store.samples import PROCESS, later, new_run, nobody_is_dead

TYPOS = {
    "command": (["rnu"], "Did you mean 'run'?"),
    "inner command": (["periods", "clos", "2026-01"], "Did you mean 'close'?"),
    "option": (["run", "monthly-sales", "--perod", "2026-01"], "--period"),
    "project to run": (["run", "monthly-sale", "-p", "2026-01"], "did you mean monthly-sales?"),
    "project to activate": (["activate", "monthly-sale"], "did you mean monthly-sales?"),
    "project to compile": (["compile", "montly-sales"], "did you mean monthly-sales?"),
    "period": (["run", "monthly-sales", "-p", "2026-1"], "did you mean 2026-01?"),
    "period to close": (["periods", "close", "2026-1"], "did you mean 2026-01?"),
    "level": (["periods", "--level", "mont"], "did you mean month?"),
    "column": (["parse", "amout + 1", "--columns", "amount decimal"], "did you mean amount?"),
    "function": (["functions", "SUMM"], "did you mean SUM?"),
    "workspace": (["validate", "-w", "nowhere"], "nowhere does not exist"),
}

JSON = {
    "validate": ["validate", "--json"],
    "compile": ["compile", "monthly-sales", "--period", "2026-01", "--json"],
    "plan": ["plan", "--json"],
    "apply": ["apply", "--json"],
    "runs": ["runs", "--json"],
    "periods": ["periods", "--year", "2026", "--json"],
    "functions": ["functions", "--json"],
    "parse": ["parse", "1 + 1", "--json"],
    "gc": ["gc", "--dry-run", "--json"],
    "doctor": ["doctor", "--skip-spark", "--json"],
    "show": ["show", "project", "monthly-sales", "--json"],
    "activate": ["activate", "monthly-sales", "--json"],
    "deactivate": ["deactivate", "monthly-sales", "--json"],
}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("person")
    done = piped("init", "sales", folder=folder)
    assert done.returncode == 0, done.stderr
    assert "sales/daybook.yaml" in done.stdout.splitlines()
    assert "daybook run monthly-sales" in done.stderr
    assert piped("apply", folder=folder / "sales").returncode == 0
    return folder / "sales"


@pytest.mark.parametrize(("arguments", "answer"), TYPOS.values(), ids=TYPOS)
def test_a_typo_is_answered_with_what_was_meant(
    workspace: Path, called: Command, arguments: list[str], answer: str
) -> None:
    done = called(*arguments, folder=workspace)
    assert done.returncode == 2, done.stderr
    assert answer in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", JSON.values(), ids=JSON)
def test_json_is_one_document(workspace: Path, called: Command, arguments: list[str]) -> None:
    done = called(*arguments, folder=workspace)
    assert done.returncode in (0, 1), done.stderr
    json.loads(done.stdout)
    assert ESCAPE not in done.stdout


def test_a_failure_is_json_too(workspace: Path, called: Command) -> None:
    done = called("show", "project", "monthly-sale", "--json", folder=workspace)
    assert done.returncode == 2
    (error,) = json.loads(done.stdout)["errors"]
    assert error["code"] == "STORE_007"
    assert error["hint"] == "did you mean monthly-sales?"


def test_errors_are_coloured_on_a_terminal_only(workspace: Path) -> None:
    arguments = ("compile", "monthly-sale")
    shown = seen(*arguments, folder=workspace)
    assert shown.exit_code == 2
    assert f"{ESCAPE}[31m" in shown.raw
    done = piped(*arguments, folder=workspace)
    assert ESCAPE not in done.stdout + done.stderr
    assert done.stderr.split() == shown.text.split()


def test_lines_are_wrapped_for_nobody_but_people(workspace: Path) -> None:
    done = piped("functions", folder=workspace)
    assert max(len(line) for line in done.stdout.splitlines()) > COLUMNS
    shown = seen("functions", folder=workspace)
    assert max(len(line) for line in shown.text.splitlines()) <= COLUMNS


@pytest.mark.parametrize("columns", [60, *(pytest.param(each, marks=pytest.mark.slow) for each in (80, 100))])
def test_ids_of_runs_are_never_cut(tmp_path: Path, columns: int) -> None:
    """What is needed least gives way; where even that is not enough, the terminal wraps."""
    (tmp_path / "daybook.yaml").write_text("name: test\n", encoding="utf-8")
    runs = [new_run(f"2026020{day}-093000-abcdef", project_id=f"monthly-sales-{day}", is_draft=True) for day in (1, 2)]
    with open_store("sqlite:///.daybook/store.db", root=tmp_path) as store, store.write() as transaction:
        for run in runs:
            transaction.runs.start(**run, process=PROCESS, now=later(0), is_dead=nobody_is_dead)
    shown = seen("runs", folder=tmp_path, columns=columns)
    assert shown.exit_code == 0, shown.raw
    header, *lines = (line.rstrip() for line in shown.text.splitlines())
    for line, run in zip(lines, reversed(runs), strict=True):
        assert line.split()[:3] == [run["run_id"], run["project_id"], run["period"]]
        assert len(line) <= max(columns, 64)
    titles = ["run", "project", "period", "status", "started", "seconds", "by"]
    assert header.split() == titles[: {100: 7, 80: 5, 60: 4}[columns]]


def test_quiet_leaves_results_and_errors(workspace: Path, called: Command) -> None:
    assert called("validate", "--quiet", folder=workspace).stderr == ""
    assert "nothing wrong" in called("validate", folder=workspace).stderr
    assert "RUN_001" in called("compile", "nothing", "--quiet", folder=workspace).stderr


def test_debug_adds_the_traceback(workspace: Path, called: Command) -> None:
    assert "Traceback" in called("compile", "nothing", "--debug", folder=workspace).stderr


def test_help_in_a_terminal_and_in_a_pipe_is_the_same(workspace: Path) -> None:
    shown, done = seen("run", "--help", folder=workspace), piped("run", "--help", folder=workspace)
    assert shown.exit_code == done.returncode == 0
    assert shown.text.split() == done.stdout.split()


def test_a_pipe_that_closes_early_is_no_error(workspace: Path) -> None:
    line = f"'{PROGRAM}' functions --json | head -c 10"
    done = subprocess.run(
        line, shell=True, cwd=workspace, env=environment(), capture_output=True, text=True, check=False, timeout=SECONDS
    )
    assert len(done.stdout) == 10
    assert "Traceback" not in done.stderr


def test_a_shell_completes_commands_projects_and_options(workspace: Path, offered: Callable[..., list[str]]) -> None:
    assert completed("daybook run m", folder=workspace) == ["monthly-sales"]
    assert offered("daybook val", folder=workspace) == ["validate"]
    assert offered("daybook show data", folder=workspace) == ["dataset", "datasource"]
    assert offered("daybook functions EO", folder=workspace) == ["EOMONTH"]
    assert offered("daybook run monthly-sales --per", folder=workspace) == ["--period"]


def test_completion_is_silent_where_there_is_no_workspace(tmp_path: Path, offered: Callable[..., list[str]]) -> None:
    assert offered("daybook run m", folder=tmp_path) == []
    assert offered("daybook retry 2", folder=tmp_path) == []
