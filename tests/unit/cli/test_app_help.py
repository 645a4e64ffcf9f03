"""What every command's help has: a summary that fits its line, examples that parse, options that agree."""

import re
import shlex
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from daybook.cli.app import app, main
from daybook.cli.root_options import move_root_options_first

WIDTH = 80
# One name and one meaning wherever they appear.
SHARED = {"--period": "-p", "--json": None, "--calendar": None, "--dry-run": None}


def commands(group: Any, prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, command in group.commands.items():
        found.append((f"{prefix}{name}", command))
        if isinstance(command, TyperGroup):
            found += commands(command, f"{name} ")
    return found


ROOT = typer.main.get_command(app)
COMMANDS = commands(ROOT)


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_help(name: str, command: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*name.split(), "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"Usage: daybook {name} ")
    assert "Examples:\n" in shown
    assert f"daybook {name}" in shown.partition("Examples:")[2]
    assert command.get_short_help_str(limit=1000) in (command.help or "")


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_examples_parse(name: str, command: Any) -> None:
    examples = re.findall(r"^ *daybook (.*)$", command.epilog or "", re.MULTILINE)
    assert examples
    for example in examples:
        words = shlex.split(example)
        if words[0] == "--workspace":
            words = words[2:]
        assert " ".join(words).startswith(name.split()[0])
        # Parses what follows the command's name, and runs nothing.
        group = ROOT.commands[words[0]]  # type: ignore[attr-defined]
        rest = words[1:]
        if isinstance(group, TyperGroup) and rest and rest[0] in group.commands:
            group, rest = group.commands[rest[0]], rest[1:]
        group.make_context(name, rest)


def test_summaries_fit_their_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert [line for line in shown.splitlines() if len(line) > WIDTH] == []
    assert "..." not in shown.partition("Begin:")[2]


def test_the_help_lists_every_command_once(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    sections = capsys.readouterr().out.partition("Begin:\n")[2].partition("Exit codes:")[0]
    listed = re.findall(r"^  ([a-z]+)  ", sections, re.MULTILINE)
    assert sorted(listed) == sorted(ROOT.commands)  # type: ignore[attr-defined]


def test_the_exit_codes_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    shown = capsys.readouterr().out
    assert [int(code) for code in re.findall(r"^    (\d+)  ", shown, re.MULTILINE)] == [0, 1, 2, 3, 130]


def test_options_are_called_the_same_everywhere() -> None:
    seen: dict[str, set[str | None]] = {}
    for _, command in COMMANDS:
        for parameter in command.params:
            for name in SHARED.keys() & set(parameter.opts):
                short = next((each for each in parameter.opts if not each.startswith("--")), None)
                seen.setdefault(name, set()).add(short)
    assert seen == {name: {short} for name, short in SHARED.items()}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["run", "close", "--debug"], ["--debug", "run", "close"]),
        (["run", "close", "-w", "here", "-q"], ["-w", "here", "-q", "run", "close"]),
        (["runs", "--workspace=here"], ["--workspace=here", "runs"]),
        (["parse", "--", "-q"], ["parse", "--", "-q"]),
        (["runs", "-w"], ["-w", "runs"]),
        (["show", "project", "close", "--version", "2"], ["show", "project", "close", "--version", "2"]),
    ],
)
def test_root_options_may_stand_anywhere(given: list[str], expected: list[str]) -> None:
    assert move_root_options_first(given) == expected
