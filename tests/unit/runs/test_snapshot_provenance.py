"""The commit and the state of a workspace's repository, read without executing what the repository configures."""

import subprocess
from pathlib import Path

import pytest

from daybook.runs import snapshot
from daybook.runs.snapshot import read_git_state


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=A", "-c", "user.email=a@b.invalid", "-C", str(folder), *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "close"
    root.mkdir()
    git(tmp_path, "init", "-q", str(root))
    (root / "daybook.yaml").write_text("name: close\n")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    return root


def head(repository: Path) -> str:
    return git(repository, "rev-parse", "HEAD")


def test_a_clean_tree(repository: Path) -> None:
    assert read_git_state(repository) == snapshot.GitState(head(repository), is_clean=True)


def test_no_repository(tmp_path: Path) -> None:
    assert read_git_state(tmp_path) is None


def test_no_commit_yet(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert read_git_state(tmp_path) is None


@pytest.mark.parametrize("change", ["modified", "untracked", "staged", "removed"])
def test_anything_that_is_not_committed(repository: Path, change: str) -> None:
    match change:
        case "modified":
            (repository / "daybook.yaml").write_text("name: other\n")
        case "untracked":
            (repository / "new.yaml").write_text("")
        case "staged":
            (repository / "new.yaml").write_text("")
            git(repository, "add", "new.yaml")
        case "removed":
            (repository / "daybook.yaml").unlink()
    state = read_git_state(repository)
    assert state is not None
    assert (state.commit, state.is_clean) == (head(repository), False)


@pytest.mark.parametrize("file", [".gitignore", ".git/info/exclude"])
def test_ignored_files_do_not_count(repository: Path, file: str) -> None:
    (repository / file).write_text(".daybook\n.gitignore\n")
    (repository / ".daybook").mkdir()
    (repository / ".daybook" / "store.db").write_text("")
    state = read_git_state(repository)
    assert state is not None
    assert state.is_clean


def test_a_workspace_below_its_repository(repository: Path) -> None:
    below = repository / "finance" / "close"
    below.mkdir(parents=True)
    (below / "daybook.yaml").write_text("name: close\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "second")
    (repository / "daybook.yaml").write_text("name: other\n")
    state = read_git_state(below)
    assert state is not None
    # What changed lies outside of the workspace.
    assert (state.commit, state.is_clean) == (head(repository), True)


def test_packed_references_and_detached_heads(repository: Path) -> None:
    git(repository, "pack-refs", "--all")
    assert read_git_state(repository) == snapshot.GitState(head(repository), is_clean=True)
    git(repository, "checkout", "-q", "--detach")
    assert read_git_state(repository) == snapshot.GitState(head(repository), is_clean=True)


def test_a_linked_working_tree(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", "-b", "other", str(tmp_path / "linked"))
    git(tmp_path / "linked", "commit", "-q", "--allow-empty", "-m", "second")
    state = read_git_state(tmp_path / "linked")
    assert state == snapshot.GitState(head(tmp_path / "linked"), is_clean=True)
    assert state.commit != head(repository)


def test_a_repository_with_long_hashes(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256")
    (tmp_path / "a").write_text("")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    assert read_git_state(tmp_path) == snapshot.GitState(head(tmp_path), is_clean=True)


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A program that leaves a mark when it is executed."""
    program = tmp_path / "trap.sh"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path / 'executed'}\ncat\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize("setting", ["core.fsmonitor", "filter.x.clean", "filter.x.process", "core.hooksPath"])
def test_what_a_repository_configures_is_not_executed(repository: Path, trap: Path, setting: str) -> None:
    (repository / ".gitattributes").write_text("* filter=x\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "attributes")
    if setting == "core.hooksPath":
        hooks = repository / ".git" / "hooks"
        for name in ("post-index-change", "pre-commit", "post-checkout"):
            (hooks / name).write_bytes(trap.read_bytes())
            (hooks / name).chmod(0o755)
    else:
        git(repository, "config", setting, str(trap))
    mark = trap.parent / "executed"
    # Same size and a new time: git has to look at the content.
    (repository / "daybook.yaml").write_text("name: clone\n")
    state = read_git_state(repository)
    assert state is not None
    assert not state.is_clean
    assert not mark.exists()
    if setting in ("core.fsmonitor", "filter.x.clean"):
        # The trap is a real one.
        subprocess.run(["git", "-C", str(repository), "status"], capture_output=True, check=False)
        assert mark.exists()


def test_variables_of_a_surrounding_git_do_not_count(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = head(repository)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    state = read_git_state(repository)
    assert state == snapshot.GitState(commit, is_clean=True)


@pytest.mark.parametrize(
    "written", ["ref: ../../outside", "ref: refs/../../outside", "nonsense", "ref: refs/heads/nobody"]
)
def test_a_head_that_names_no_commit(repository: Path, written: str) -> None:
    (repository.parent / "outside").write_text("0" * 40)
    (repository / ".git" / "HEAD").write_text(f"{written}\n")
    assert read_git_state(repository) is None


def test_without_git_only_the_commit_is_known(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = head(repository)
    monkeypatch.setenv("PATH", str(repository))
    assert read_git_state(repository) == snapshot.GitState(commit, is_clean=False)


def test_a_git_that_does_not_answer_is_not_waited_for(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = repository.parent / "bin"
    slow.mkdir()
    (slow / "git").write_text("#!/bin/sh\nexec sleep 60\n")
    (slow / "git").chmod(0o755)
    commit = head(repository)
    monkeypatch.setenv("PATH", f"{slow}:/usr/bin:/bin")
    monkeypatch.setattr(snapshot, "_SECONDS", 0.2)
    assert read_git_state(repository) == snapshot.GitState(commit, is_clean=False)
