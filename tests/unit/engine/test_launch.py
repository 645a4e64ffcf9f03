from pathlib import Path

import pytest

from daybook.engine.java import launch as module
from daybook.engine.java.launch import JavaRuntime, find_java, inspect_java
from daybook.errors import DaybookError


def runtime(folder: Path, release: str | None, script: str = "exit 1") -> Path:
    """A fake runtime: what its `release` file says, and what it prints when it is asked."""
    executable = folder / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"#!/bin/sh\n{script}\n")
    executable.chmod(0o755)
    if release is not None:
        (folder / "release").write_text(release)
    return executable


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_packaged_runtime", lambda: None)


def test_java_home_comes_before_path(tmp_path: Path) -> None:
    runtime(tmp_path / "home", 'JAVA_VERSION="21.0.1"\n')
    runtime(tmp_path / "other", 'JAVA_VERSION="17.0.2"\n')
    found = find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(tmp_path / "other" / "bin")})
    assert (found.version, found.origin) == (21, "machine")


def test_a_java_home_that_is_too_old_is_passed_over(tmp_path: Path) -> None:
    runtime(tmp_path / "home", 'JAVA_VERSION="1.8.0_392"\n')
    runtime(tmp_path / "other", 'JAVA_VERSION="17.0.2"\n')
    found = find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(tmp_path / "other" / "bin")})
    assert found.version == 17


def test_without_a_java_of_the_machine_the_packaged_one_is_taken(tmp_path: Path) -> None:
    found = find_java({"PATH": str(tmp_path)})
    assert found.origin == "package"
    assert found.version >= 17


def test_no_java_at_all_is_a_coded_error_that_names_what_was_found(tmp_path: Path, no_package: None) -> None:
    executable = runtime(tmp_path, 'JAVA_VERSION="11.0.2"\n')
    with pytest.raises(DaybookError) as caught:
        find_java({"PATH": str(executable.parent)})
    assert caught.value.code == "RUN_901"
    assert caught.value.parameters["found"] == f"Java 11 at {executable}"


def test_a_runtime_without_a_release_file_is_asked(tmp_path: Path) -> None:
    answer = "printf '    java.version = 17.0.9\\n    java.vendor = Somebody\\n' >&2"
    executable = runtime(tmp_path, None, answer)
    assert inspect_java(executable, "machine") == JavaRuntime(executable, 17, "Somebody  17.0.9", "machine")


@pytest.mark.parametrize("release", [None, "nonsense", 'JAVA_VERSION="unknown"\n'])
def test_a_broken_runtime_is_none(tmp_path: Path, release: str | None) -> None:
    assert inspect_java(runtime(tmp_path, release), "machine") is None
