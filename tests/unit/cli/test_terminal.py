"""What reaches the terminal: paths relative to the current folder, and nothing of data that steers it."""

import ast
import sys
from pathlib import Path

import pytest

from daybook.cli import terminal
from daybook.cli.app import main
from daybook.cli.terminal import shorten_path, shorten_paths_in
from daybook.errors import DaybookError, notice

HOSTILE = "\x1b]0;owned\x07[bold red]x[/bold red]:smile:\x9b2J\u202e"
SHOWN = "\\x1b]0;owned\\x07[bold red]x[/bold red]:smile:\\x9b2J\\u202e"
COMMANDS = sorted(Path(terminal.__file__).parent.glob("*.py"))


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_path(here: Path) -> None:
    assert shorten_path(f"{here}/out/x.csv") == "out/x.csv"
    assert shorten_path("/elsewhere/x.csv") == "/elsewhere/x.csv"
    assert shorten_path("warehouse.sales") == "warehouse.sales"


def test_paths_within_a_message(here: Path) -> None:
    assert (
        shorten_paths_in(f"{here}/data/a.csv, line 3: read from {here}/b.csv") == "data/a.csv, line 3: read from b.csv"
    )
    assert shorten_paths_in(f"file://{here}/data") == "data"
    assert shorten_paths_in(f"{here} is empty") == f"{here} is empty"
    assert shorten_paths_in(f"{here}-old/x, /mnt{here}/x") == f"{here}-old/x, /mnt{here}/x"


def test_nothing_is_near_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    assert shorten_paths_in("/data/a.csv") == "/data/a.csv"


def show_everything() -> None:
    terminal.echo(HOSTILE)
    terminal.echo_marked("ok", "green", HOSTILE)
    terminal.echo_note(HOSTILE)
    terminal.echo_json({"value": HOSTILE})
    terminal.show_table((HOSTILE, "other"), [(HOSTILE, (HOSTILE, "bold"))])
    terminal.show_error(DaybookError("MODEL_064", path=HOSTILE, hint=HOSTILE))
    terminal.show_notice(notice("RUN_005", dataset=HOSTILE, period=HOSTILE))
    terminal.show_failure(HOSTILE, HOSTILE)


def test_data_steers_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    show_everything()
    captured = capsys.readouterr()
    shown = captured.out + captured.err
    assert not any(sign in shown for sign in ("\x1b", "\x07", "\x9b", "\u202e"))
    assert captured.out.count(SHOWN) == 5
    assert captured.err.count(SHOWN) == 7


def test_data_steers_no_terminal_with_colours(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    show_everything()
    captured = capsys.readouterr()
    shown = captured.out + captured.err
    assert "\x1b[3" in captured.err
    assert "\x1b]" not in shown
    assert not any(sign in shown for sign in ("\x07", "\x9b", "\u202e"))
    assert shown.count("[bold red]x[/bold red]:smile:") == 13


def test_a_file_name_steers_no_terminal(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "daybook.yaml").write_text("name: w\n")
    (here / "a\x1b[31m.yaml").write_text("dataset: {id: x, main_tabel: 1}\n")
    assert main(["validate"]) == 2
    assert main(["validate", "--json"]) == 2
    captured = capsys.readouterr()
    assert "\x1b" not in captured.out + captured.err
    assert "a\\x1b[31m.yaml:1:" in captured.err


@pytest.mark.parametrize("path", [path for path in COMMANDS if path.stem != "terminal"], ids=lambda path: path.stem)
def test_only_one_module_writes_to_the_terminal(path: Path) -> None:
    """Everything that is printed goes through the functions that escape it."""
    offenders = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Attribute(value=ast.Name(id="typer"), attr="echo" | "secho" | "style" | "confirm" | "prompt"):
                offenders.append(f"line {node.lineno}: typer.{node.attr}")
            case ast.Call(func=ast.Name(id="print")):
                offenders.append(f"line {node.lineno}: print")
            case ast.ImportFrom(module=str(module)) if module.startswith("rich") and module != "rich.text":
                offenders.append(f"line {node.lineno}: {module}")
            case _:
                pass
    assert offenders == []


def test_a_narrow_terminal_cuts_long_columns_and_leaves_short_ones_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(terminal, "_UNWRAPPED", 30)
    terminal.show_table(("output", "data", "digest"), [("management-summary@2026-01", "same", "b9ead8fa49a6")])
    assert capsys.readouterr().out.splitlines() == [
        "output      data  digest",
        "managemen…  same  b9ead8fa4…",
    ]
