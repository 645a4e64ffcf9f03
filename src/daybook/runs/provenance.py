"""Who runs, where, and from which commit; a repository cannot make this execute anything.

Git executes what the configuration of a repository names: file system monitors, filters, hooks, transports. So the
commit is read from the files of the repository, and `git status` runs with an empty git folder of ours in place of the
repository's: it sees the objects, the index and the ignored patterns, and no configuration.
"""

import os
import platform
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from daybook.store.process import current_user

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_REFERENCE = re.compile(r"refs/(?!.*\.\.)[^\s\x00-\x1f]+")
# References may refer to each other; git itself follows five.
_MOST_REFERENCES = 5
_SECONDS = 10


@dataclass(frozen=True, slots=True)
class GitState:
    """`is_clean` is False where anything is not committed, or where that could not be found out."""

    commit: str
    is_clean: bool


@dataclass(frozen=True, slots=True)
class Provenance:
    """`git` is None where the workspace is in no repository."""

    user: str
    host: str
    daybook_version: str
    git: GitState | None
    # The name of the workspace; empty in snapshots made before it was kept.
    workspace: str = ""
    # The id that the store gave it; empty in snapshots made before there were any.
    workspace_id: str = ""


@dataclass(frozen=True, slots=True)
class _Repository:
    """`own` has what belongs to one working tree, `shared` what all working trees of a repository share."""

    tree: Path
    own: Path
    shared: Path


def provenance(
    root: Path, daybook_version: str, workspace: str, workspace_id: str, user: str | None = None
) -> Provenance:
    git = read_git_state(root)
    return Provenance(user or current_user(), platform.node(), daybook_version, git, workspace, workspace_id)


def read_git_state(workspace: Path) -> GitState | None:
    """The commit of the repository around a workspace, and whether everything below the workspace is committed."""
    try:
        repository = _find_repository(workspace.resolve())
        commit = _head_commit(repository) if repository is not None else None
        if repository is None or commit is None:
            return None
        return GitState(commit, is_clean=_is_clean(repository, commit, workspace.resolve()))
    except OSError:
        return None


def _find_repository(workspace: Path) -> _Repository | None:
    for folder in (workspace, *workspace.parents):
        found = folder / ".git"
        if found.is_file():
            # A linked working tree or a submodule: a file that names the folder.
            key, _, name = _read_text(found).partition(":")
            found = (folder / name.strip()).resolve()
            if key != "gitdir":
                return None
        if (found / "HEAD").is_file():
            common = found / "commondir"
            shared = (found / _read_text(common).strip()).resolve() if common.is_file() else found
            return _Repository(folder, found, shared)
    return None


def _head_commit(repository: _Repository) -> str | None:
    value = _read_text(repository.own / "HEAD").strip()
    for _ in range(_MOST_REFERENCES):
        if _COMMIT.fullmatch(value):
            return value
        name = value.removeprefix("ref:").strip()
        if not value.startswith("ref:") or not _REFERENCE.fullmatch(name):
            return None
        value = _read_reference(repository, name)
    return None


def _read_reference(repository: _Repository, name: str) -> str:
    for folder in (repository.own, repository.shared):
        if (folder / name).is_file():
            return _read_text(folder / name).strip()
    packed = repository.shared / "packed-refs"
    lines = _read_text(packed).splitlines() if packed.is_file() else []
    return next((line.partition(" ")[0] for line in lines if line.endswith(f" {name}")), "")


def _is_clean(repository: _Repository, commit: str, workspace: Path) -> bool:
    git = shutil.which("git")
    if git is None:
        return False
    with tempfile.TemporaryDirectory(prefix="daybook-git-") as folder:
        _write_git_folder(Path(folder), repository, commit)
        variables = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | {
            "GIT_DIR": folder,
            "GIT_WORK_TREE": str(repository.tree),
            "GIT_INDEX_FILE": str(repository.own / "index"),
            "GIT_OBJECT_DIRECTORY": str(repository.shared / "objects"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_OPTIONAL_LOCKS": "0",
        }
        command = [git, "status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=all", "--", "."]
        try:
            answer = subprocess.run(
                command, cwd=workspace, env=variables, capture_output=True, check=False, timeout=_SECONDS
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
    return answer.returncode == 0 and not answer.stdout


def _write_git_folder(folder: Path, repository: _Repository, commit: str) -> None:
    """A git folder that has nothing of the repository but its commit and its ignored patterns."""
    for name in ("objects", "refs", "info"):
        (folder / name).mkdir()
    hashes = "[extensions]\n\tobjectformat = sha256\n" if len(commit) == 64 else ""
    (folder / "config").write_text(f"[core]\n\trepositoryformatversion = {int(bool(hashes))}\n{hashes}")
    (folder / "HEAD").write_text(f"{commit}\n")
    ignored = repository.shared / "info" / "exclude"
    if ignored.is_file():
        (folder / "info" / "exclude").write_bytes(ignored.read_bytes())


def _read_text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")
