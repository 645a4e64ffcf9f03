import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from daybook.engine.java.launch import (
    JavaRuntime,
    archive_path,
    build_in_background,
    cache_folder,
    existing_archive,
    failure_marker,
)

JAVA = JavaRuntime(Path("/java/bin/java"), 17, "17.0.2+8", "machine")


@pytest.fixture
def spark(tmp_path: Path) -> Path:
    (tmp_path / "spark" / "jars").mkdir(parents=True)
    (tmp_path / "spark" / "jars" / "spark-core.jar").write_bytes(b"core")
    return tmp_path / "spark"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    commands: list[Sequence[str]] = []

    def start(command: Sequence[str], **_: Any) -> None:
        commands.append(command)

    monkeypatch.setattr(subprocess, "Popen", start)
    return commands


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"DAYBOOK_CACHE": "/chosen", "XDG_CACHE_HOME": "/xdg", "HOME": "/home/u"}, "/chosen"),
        ({"XDG_CACHE_HOME": "/xdg", "HOME": "/home/u"}, "/xdg/daybook"),
        ({}, None),
    ],
)
def test_cache_folder_follows_the_conventions(environment: dict[str, str], expected: str | None) -> None:
    assert cache_folder(environment) == (Path(expected) if expected else None)


@pytest.mark.skipif(sys.platform != "linux", reason="the convention of Linux")
def test_a_relative_cache_home_is_ignored_as_the_convention_says() -> None:
    assert cache_folder({"XDG_CACHE_HOME": "cache", "HOME": "/home/u"}) == Path("/home/u/.cache/daybook")


def test_the_path_changes_with_java_and_with_spark(spark: Path) -> None:
    environment = {"DAYBOOK_CACHE": "/cache"}
    paths = {archive_path(JAVA, spark, environment)}
    paths.add(archive_path(JavaRuntime(JAVA.executable, 17, "17.0.3+1", "machine"), spark, environment))
    (spark / "jars" / "spark-core.jar").write_bytes(b"another core")
    paths.add(archive_path(JAVA, spark, environment))
    (spark / "jars" / "spark-sql.jar").write_bytes(b"sql")
    paths.add(archive_path(JAVA, spark, environment))
    assert len(paths) == 4
    assert None not in paths


def test_it_can_be_switched_off(spark: Path) -> None:
    assert archive_path(JAVA, spark, {"DAYBOOK_CACHE": "/cache", "DAYBOOK_CLASS_ARCHIVE": "off"}) is None


def test_only_a_finished_archive_is_ready_and_use_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsa"
    assert existing_archive(None) is None
    assert existing_archive(path) is None
    path.touch()
    os.utime(path, (0, 0))
    assert existing_archive(path) == path
    assert path.stat().st_mtime > 0


def test_building_starts_one_process_and_not_again_soon_after_a_failure(
    tmp_path: Path, started: list[Sequence[str]]
) -> None:
    path = tmp_path / "class-data" / "a.jsa"
    build_in_background(path, JAVA, {})
    assert [command[1:] for command in started] == [
        ["-m", "daybook.engine.java.build_archive", str(path), str(JAVA.executable), "machine"]
    ]
    failure_marker(path).touch()
    build_in_background(path, JAVA, {})
    assert len(started) == 1


def test_an_existing_archive_may_be_used_without_ever_building_one(
    tmp_path: Path, started: list[Sequence[str]]
) -> None:
    build_in_background(tmp_path / "a.jsa", JAVA, {"DAYBOOK_CLASS_ARCHIVE": "use"})
    assert started == []


def test_a_cache_that_cannot_be_written_is_no_obstacle(tmp_path: Path, started: list[Sequence[str]]) -> None:
    (tmp_path / "file").touch()
    build_in_background(tmp_path / "file" / "class-data" / "a.jsa", JAVA, {})
    assert started == []
