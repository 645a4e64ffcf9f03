"""What becomes of the output is no failure of the command, unless it is lost."""

import os
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

PROGRAM = (sys.executable, "-m", "daybook")


def run(*arguments: str, redirected: str = "", folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The real process, with redirections as a shell makes them."""
    script = f'exec "$0" -m daybook "$@" {redirected}'
    shell = ["sh", "-c", script, sys.executable, *arguments]
    return subprocess.run(shell, cwd=folder, capture_output=True, text=True, check=False)


def test_a_reader_may_go_away(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as output:
        done = subprocess.run(
            [*PROGRAM, "functions"], stdout=output, stderr=subprocess.PIPE, text=True, check=False, cwd=tmp_path
        )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("redirected", [">&-", "2>&-", ">&- 2>&-"])
def test_streams_may_be_closed(redirected: str) -> None:
    done = run("functions", redirected=redirected)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("redirected", ["", ">&-", "2>&-", ">/dev/full", "2>/dev/full"])
def test_a_failure_keeps_its_exit_code(tmp_path: Path, redirected: str) -> None:
    assert run("functions", "nothing", redirected=redirected, folder=tmp_path).returncode == 2


@pytest.mark.parametrize("redirected", [">&-", ">/dev/full"])
def test_a_failure_for_programs_keeps_its_exit_code(tmp_path: Path, redirected: str) -> None:
    (tmp_path / "daybook.yaml").write_text("name: w\n")
    assert run("cancel", "nothing", "--json", redirected=redirected, folder=tmp_path).returncode == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_an_output_that_is_lost_is_told(more: tuple[str, ...]) -> None:
    done = run("functions", *more, redirected=">/dev/full")
    assert done.returncode == 2
    assert done.stderr.startswith("[IO_012] the standard output cannot be used: No space left on device")
    assert "Traceback" not in done.stderr
    assert "ignored" not in done.stderr


def in_terminal(folder: Path, **variables: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    terminal = pexpect.spawn(
        PROGRAM[0],
        [*PROGRAM[1:], "functions", "nothing"],
        cwd=str(folder),
        env={**environment, "TERM": "xterm-256color", **variables},
        encoding="utf-8",
    )
    terminal.expect(pexpect.EOF)
    return terminal.before or ""


def test_colours_are_for_those_who_want_them(tmp_path: Path) -> None:
    assert "\x1b[31m" in in_terminal(tmp_path)
    assert "\x1b" not in in_terminal(tmp_path, NO_COLOR="1")
