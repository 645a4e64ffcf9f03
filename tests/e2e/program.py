"""The real program: in a pipe, and in a terminal as a person sees it."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pexpect

PROGRAM = str(Path(sys.executable).parent / "daybook")
COLUMNS = 100
SECONDS = 600
ESCAPE = "\x1b"
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\].*?\x07")


@dataclass(frozen=True, slots=True)
class Seen:
    """What a command left on a terminal; `raw` has the colours and everything that was overwritten."""

    exit_code: int
    raw: str

    @property
    def text(self) -> str:
        return _CONTROL.sub("", self.raw).replace("\r\n", "\n")


def piped(*arguments: str, folder: Path, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, *arguments],
        cwd=folder,
        env=environment(),
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )


def completed(words: str, *, folder: Path) -> list[str]:
    """What bash would offer at the end of a line."""
    variables = {**environment(), **completion_variables(words)}
    done = subprocess.run([PROGRAM], cwd=folder, env=variables, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.split()


def completion_variables(words: str) -> dict[str, str]:
    """How bash asks for what it could offer."""
    return {"_DAYBOOK_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}


def spawned(*arguments: str, folder: Path, columns: int = COLUMNS) -> "pexpect.spawn[str]":
    """A command that is running in a terminal."""
    return pexpect.spawn(
        PROGRAM,
        list(arguments),
        cwd=str(folder),
        env=environment(),
        dimensions=(40, columns),
        encoding="utf-8",
        timeout=SECONDS,
    )


def seen(*arguments: str, folder: Path, columns: int = COLUMNS) -> Seen:
    terminal = spawned(*arguments, folder=folder, columns=columns)
    terminal.expect(pexpect.EOF)
    return ended(terminal, terminal.before or "")


def ended(terminal: "pexpect.spawn[str]", raw: str) -> Seen:
    terminal.close()
    assert terminal.exitstatus is not None, f"ended by signal {terminal.signalstatus}: {raw}"
    return Seen(terminal.exitstatus, raw)


def environment() -> dict[str, str]:
    """As a person has it: a terminal with colours, nothing said about their use."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    return {**kept, "TERM": "xterm-256color"}
