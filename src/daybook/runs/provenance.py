"""Who runs, where, and from which state of the sources."""

import getpass
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class GitState:
    commit: str
    is_clean: bool


@dataclass(frozen=True, slots=True)
class Provenance:
    """`git` is None where the workspace is in no repository."""

    user: str
    host: str
    daybook_version: str
    git: GitState | None


def provenance(workspace: Path, daybook_version: str) -> Provenance:
    return Provenance(_user(), platform.node(), daybook_version, _git_state(workspace))


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def _git_state(workspace: Path) -> GitState | None:
    commit = _git(workspace, "rev-parse", "HEAD")
    status = _git(workspace, "status", "--porcelain", "--untracked-files=normal", "--", ".")
    if commit is None or status is None:
        return None
    return GitState(commit, is_clean=not status)


def _git(workspace: Path, *arguments: str) -> str | None:
    try:
        answer = subprocess.run(
            ["git", "-C", str(workspace), *arguments], capture_output=True, text=True, check=False, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None
