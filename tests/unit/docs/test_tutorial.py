"""What the second part of the tutorial shows before anything runs: its commands in this process, without Spark."""

import shlex
import shutil
from pathlib import Path

import pytest

from daybook.cli.app import main
from tests.e2e.test_tutorial import ROOT, TUTORIAL_OF_A_GROUP, part_of
from tests.e2e.tutorial import Command, Ids, steps


def test_the_commands_before_the_first_run_show_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "books").mkdir()
    (tmp_path / "daybook").symlink_to(ROOT)
    monkeypatch.chdir(tmp_path / "books")
    executed = []
    for step in steps(part_of("tutorial.md", TUTORIAL_OF_A_GROUP)):
        assert isinstance(step, Command)
        match shlex.split(step.words):
            case ["daybook", "build", *_]:
                break
            case ["daybook", name, *arguments]:
                executed.append(name)
                status = main([name, *arguments])
                streams = capsys.readouterr()
                assert status == step.exit_code, streams
                assert Ids().differences(step.expected, streams.out + streams.err) is None, streams
            case ["cp", "-r", source, target]:
                shutil.copytree(source, target, ignore=shutil.ignore_patterns(".daybook", "warehouse", "out"))
            case ["cd", folder]:
                monkeypatch.chdir(folder)
            case words:
                raise AssertionError(words)
    assert executed == ["validate", "graph", "test", "preview", "activate"]
