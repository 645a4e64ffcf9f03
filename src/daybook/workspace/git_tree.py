"""The definitions of a workspace as a commit has them, written to a folder.

Only git's own commands that read objects are used, with a git folder of ours in place of the repository's, so that
nothing of its configuration is executed.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from daybook.errors import DaybookError
from daybook.runs.snapshot import Repository, find_repository, write_git_folder

_SECONDS = 60
_DEFINITION_FILES = (".yaml", ".yml", ".json")
_REGULAR_FILES = ("100644", "100755")


@contextmanager
def definitions_at(workspace: Path, reference: str) -> Iterator[Path]:
    """A folder with the definition files of the workspace at a commit; RUN_095 where there is no such commit."""
    root = workspace.resolve()
    repository = find_repository(root)
    if repository is None:
        raise DaybookError("RUN_095", reference=reference, reason="the workspace is in no git repository")
    if shutil.which("git") is None:
        raise DaybookError("RUN_095", reference=reference, reason="git is not installed")
    with tempfile.TemporaryDirectory(prefix="daybook-git-") as folder:
        own, tree = Path(folder) / "git", Path(folder) / "tree"
        variables = _git_variables(repository, own, reference)
        tree.mkdir()
        _write_files(tree, root.relative_to(repository.tree.resolve()).as_posix(), reference, variables)
        yield tree


def _git_variables(repository: Repository, own: Path, reference: str) -> Mapping[str, str]:
    """The environment of git: a folder that has only the objects and the references of the repository."""
    own.mkdir()
    write_git_folder(own, repository, "0" * 40)
    shutil.copy(repository.own / "HEAD", own / "HEAD")
    shutil.rmtree(own / "refs")
    (own / "refs").symlink_to(repository.shared / "refs", target_is_directory=True)
    if (packed := repository.shared / "packed-refs").is_file():
        shutil.copy(packed, own / "packed-refs")
    if reference.startswith("-"):
        raise DaybookError("RUN_095", reference=reference, reason="it is no name of a commit")
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | {
        "GIT_DIR": str(own),
        "GIT_OBJECT_DIRECTORY": str(repository.shared / "objects"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_NO_LAZY_FETCH": "1",
    }


def _write_files(tree: Path, prefix: str, reference: str, variables: Mapping[str, str]) -> None:
    name = f"{reference}^{{commit}}"
    commit = _git(["rev-parse", "--verify", "--quiet", name], variables, reference).decode().strip()
    inside = "" if prefix == "." else f"{prefix}/"
    listed = _git(["ls-tree", "-r", "-z", "--full-tree", commit, *([inside] if inside else [])], variables, reference)
    files: list[tuple[str, str]] = []
    for line in filter(None, listed.decode(errors="surrogateescape").split("\0")):
        facts, _, path = line.partition("\t")
        mode, *_, blob = facts.split(" ")
        if mode in _REGULAR_FILES and path.endswith(_DEFINITION_FILES):
            files.append((blob, path.removeprefix(inside)))
    content = _git(["cat-file", "--batch"], variables, reference, "".join(f"{blob}\n" for blob, _ in files).encode())
    for _, path in files:
        header, _, content = content.partition(b"\n")
        size = int(header.split(b" ")[2])
        target = tree / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content[:size])
        content = content[size + 1 :]


def _git(command: list[str], variables: Mapping[str, str], reference: str, content: bytes = b"") -> bytes:
    try:
        answer = subprocess.run(
            ["git", *command], env=dict(variables), input=content, capture_output=True, check=False, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as failure:
        raise DaybookError("RUN_095", reference=reference, reason=str(failure)) from failure
    if answer.returncode != 0:
        reason = answer.stderr.decode(errors="replace").strip() or "there is no such commit"
        raise DaybookError("RUN_095", reference=reference, reason=reason)
    return answer.stdout
