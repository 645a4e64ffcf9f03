"""The example files for orchestrators: a task per node of `graph --json`, in its order."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.workspaces import Folder, assign, no_session, to_table

EXAMPLES = Path(__file__).parents[3] / "examples"

# Builds are written down instead of run; everything else is the program itself.
PROGRAM = """#!{python}
import os, sys
if "build" in sys.argv:
    with open({calls!r}, "a") as stream:
        stream.write(" ".join(sys.argv[sys.argv.index("build"):]) + "\\n")
    sys.exit(3 if {fails!r} and {fails!r} in sys.argv else 0)
os.execve(sys.executable, [sys.executable, "-m", "daybook", *sys.argv[1:]], {{**os.environ, "PYTHONPATH": {path!r}}})
"""


@pytest.fixture
def chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    folder = Folder.new(tmp_path / "w", no_session)
    folder.project(assign("x", "1"), to_table(register_as_dataset="booked"), id_="maker")
    folder.project(to_table("copy"), id_="reader", input_="booked")
    monkeypatch.setenv("DAYBOOK_WORKSPACE", str(folder.root))
    monkeypatch.setenv("DAYBOOK_PERIOD", "2026-01")
    return folder


def replace_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str = "") -> Path:
    calls, program = tmp_path / "calls", tmp_path / "bin" / "daybook"
    program.parent.mkdir()
    path = os.pathsep.join(sys.path)
    program.write_text(PROGRAM.format(python=sys.executable, calls=str(calls), fails=fails, path=path))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return calls


# Runs a file with the orchestrator, as its own program would, and says whether it ended well.
RUN_JOB = """
import runpy, sys
print(runpy.run_path(sys.argv[1])["job"].execute_in_process(raise_on_error=False).success)
"""
READ_DAG = """
import json, runpy, sys
dag = runpy.run_path(sys.argv[1])["dag"]
print(json.dumps({each.task_id: [each.bash_command, sorted(each.upstream_task_ids)] for each in dag.tasks}))
"""


def orchestrated(package: str, program: str) -> str:
    """The last line that a program says about an example, in a Python that has the orchestrator.

    They bring hundreds of packages along, so they have environments of their own: `make orchestrators`.
    """
    python = os.environ.get(f"DAYBOOK_TEST_{package.upper()}")
    if python is None:
        pytest.skip(f"{package} is not here")
    variables = {**os.environ, "PYTHONPATH": ""}
    command = [python, "-c", program, str(EXAMPLES / f"{package}_close.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


@pytest.mark.usefixtures("chain")
def test_the_job_of_dagster_builds_every_node_after_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = replace_program(tmp_path, monkeypatch)
    assert orchestrated("dagster", RUN_JOB) == "True"
    assert calls.read_text().splitlines() == [
        "build maker --only --period 2026-01",
        "build reader --only --period 2026-01",
    ]


@pytest.mark.usefixtures("chain")
def test_a_node_that_fails_keeps_dagster_from_what_needs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = replace_program(tmp_path, monkeypatch, fails="maker")
    assert orchestrated("dagster", RUN_JOB) == "False"
    assert calls.read_text().splitlines() == ["build maker --only --period 2026-01"]


def test_the_dag_of_airflow_has_a_task_for_every_node_after_what_it_needs(
    chain: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_program(tmp_path, monkeypatch)
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "airflow"))
    build = f"daybook --workspace {chain.root} build"
    assert json.loads(orchestrated("airflow", READ_DAG)) == {
        "maker.2026-01": [f"{build} maker --only --period 2026-01 ", []],
        "reader.2026-01": [f"{build} reader --only --period 2026-01 ", ["maker.2026-01"]],
    }


@pytest.mark.parametrize("name", ["airflow_close", "dagster_close"])
def test_the_examples_are_right_python_and_call_commands_that_exist(name: str) -> None:
    text = (EXAMPLES / f"{name}.py").read_text()
    compile(text, name, "exec")
    for command in ("graph", "build"):
        assert f'"{command}"' in text
        done = subprocess.run(
            [sys.executable, "-m", "daybook", command, "--help"], capture_output=True, text=True, check=True
        )
        for option in ("--period", "--json"):
            assert option in done.stdout


@pytest.mark.parametrize("name", ["github-impact.yml", "gitlab-impact.yml"])
def test_the_jobs_for_pull_requests_call_impact_with_options_that_exist(name: str) -> None:
    text = (EXAMPLES / name).read_text()
    assert yaml.safe_load(text)
    assert "daybook impact" in text
    done = subprocess.run(
        [sys.executable, "-m", "daybook", "impact", "--help"], capture_output=True, text=True, check=True
    )
    for option in set(re.findall(r"--(?:against|markdown|fail-over)", text)):
        assert option in done.stdout
    assert set(re.findall(r"--(?:against|markdown|fail-over)", text)) == {"--against", "--markdown", "--fail-over"}
