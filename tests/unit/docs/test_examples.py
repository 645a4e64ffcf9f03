"""The example files for orchestrators: a task per node of `graph --json`, in its order."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.workspaces import Folder, assign, no_session, to_table

EXAMPLES = Path(__file__).parents[3] / "examples"

# Builds are written down instead of run; everything else is the program itself.
PROGRAM = """#!{python}
import os, sys
if "build" in sys.argv:
    with open({calls!r}, "a") as stream:
        stream.write(" ".join(sys.argv[sys.argv.index("build"):]) + "\\n")
    sys.exit(3 if {fails!r} and {fails!r} in sys.argv else 0)
os.execv(sys.executable, [sys.executable, "-m", "daybook", *sys.argv[1:]])
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
    program.write_text(PROGRAM.format(python=sys.executable, calls=str(calls), fails=fails))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return calls


def load_example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.usefixtures("chain")
def test_the_job_of_dagster_builds_every_node_after_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("dagster")
    calls = replace_program(tmp_path, monkeypatch)
    assert load_example("dagster_close").job.execute_in_process().success
    assert calls.read_text().splitlines() == [
        "build maker --only --period 2026-01",
        "build reader --only --period 2026-01",
    ]


@pytest.mark.usefixtures("chain")
def test_a_node_that_fails_keeps_dagster_from_what_needs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("dagster")
    calls = replace_program(tmp_path, monkeypatch, fails="maker")
    assert not load_example("dagster_close").job.execute_in_process(raise_on_error=False).success
    assert calls.read_text().splitlines() == ["build maker --only --period 2026-01"]


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
