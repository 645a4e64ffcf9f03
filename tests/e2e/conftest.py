"""Commands called in this process, where what is tested is not the process."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest
from pyspark.sql import SparkSession

from daybook.cli.app import main
from tests.e2e.program import completion_variables


class Command(Protocol):
    def __call__(self, *arguments: str, folder: Path) -> "subprocess.CompletedProcess[str]": ...


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """A command of `daybook` without a process of its own: what it exits with and writes."""

    def call(*arguments: str, folder: Path) -> "subprocess.CompletedProcess[str]":
        monkeypatch.chdir(folder)
        capsys.readouterr()
        code = main(arguments)
        output, errors = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, code, output, errors)

    return call


@pytest.fixture
def offered(called: Command, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """What bash would offer at the end of a line, without a process of its own."""

    def complete(words: str, *, folder: Path) -> list[str]:
        for name, value in completion_variables(words).items():
            monkeypatch.setenv(name, value)
        done = called(folder=folder)
        assert done.stderr == ""
        return done.stdout.split()

    return complete


@pytest.fixture
def on_shared_spark(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands called in this process use the session of the tests instead of starting Java."""
    monkeypatch.setattr("daybook.engine.java.session.start_session", lambda *_, **__: spark)
    monkeypatch.setattr("daybook.workspace.spark_session.BackgroundSession.begin_java", lambda *_: None)
    monkeypatch.setattr("daybook.engine.java.session.stop_session", lambda *_, **__: None)
