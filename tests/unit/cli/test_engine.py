"""`daybook engine` without an engine."""

import json
import os
import sys
from pathlib import Path

import pytest

from daybook.cli import terminal
from daybook.cli.app import main
from tests.workspaces import Folder


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DAYBOOK_CACHE", str(tmp_path / "cache"))
    return Folder.for_commands(tmp_path / "w").root


def test_no_engine_runs(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["engine", "status", "-w", str(workspace)]) == 0
    assert main(["engine", "stop", "-w", str(workspace)]) == 0
    assert capsys.readouterr().out == "no engine is running\nno engine is running\n"
    assert main(["engine", "status", "--json", "-w", str(workspace)]) == 0
    assert json.loads(capsys.readouterr().out) == {"engines": []}


@pytest.mark.parametrize("idle", ["30", "0m", "1d", "soon"])
def test_an_idle_time_is_a_number_and_a_unit(workspace: Path, idle: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["engine", "start", "--idle", idle, "-w", str(workspace)]) == 2
    assert "RUN_917" in capsys.readouterr().err


def test_a_cluster_cannot_be_kept_warm(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (workspace / "daybook.yaml").write_text("name: w\nengine: {master: 'spark://host:7077'}\n", encoding="utf-8")
    assert main(["engine", "start", "-w", str(workspace)]) == 2
    assert "engine.master is spark://host:7077, not on this machine" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("is_terminal", "variables", "expected"), [(True, {}, True), (False, {}, False), (True, {"CI": "true"}, False)]
)
def test_somebody_sits_at_a_terminal(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool, variables: dict[str, str], expected: bool
) -> None:
    class Stream:
        def isatty(self) -> bool:
            return is_terminal

    monkeypatch.setattr(sys, "stdin", Stream())
    monkeypatch.setattr(sys, "stderr", Stream())
    monkeypatch.setattr(os, "environ", variables)
    assert terminal.is_attended() is expected
