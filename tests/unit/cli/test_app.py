"""The frame of the command line: options, exit codes, what becomes of errors."""

import subprocess
import sys
from pathlib import Path

import pytest

from daybook.cli.app import main
from daybook.demo.workspace_files import write_workspace
from daybook.errors import DaybookError
from daybook.workspace import validate


def test_help_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert "validate" in shown
    assert "schema" in shown


def test_no_command_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    main([])
    captured = capsys.readouterr()
    assert "Usage: daybook" in captured.out + captured.err


def test_help_needs_no_heavy_module() -> None:
    program = (
        "import sys; from daybook.cli.app import main; main(['--help'])\n"
        "heavy = {'pyspark', 'pyarrow', 'deltalake', 'sqlalchemy', 'pydantic', 'pandas', 'yaml', 'lark'}\n"
        "sys.exit(','.join(sorted(heavy & sys.modules.keys())) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_commands_that_need_no_spark_load_none(tmp_path: Path) -> None:
    """All in one process: the first command that loads something is named."""
    write_workspace("starter", tmp_path)
    commands = (
        "apply --json",
        "validate",
        "compile monthly-sales",
        "plan",
        "apply",
        "runs",
        "show dataset orders",
        "periods",
        "activate monthly-sales",
    )
    program = (
        "import sys; from daybook.cli.app import main\n"
        f"for command in {commands!r}:\n"
        f"    main(['-w', {str(tmp_path)!r}, *command.split()])\n"
        "    if found := {'pyspark', 'py4j', 'pandas', 'deltalake'} & sys.modules.keys():\n"
        "        sys.exit(f'{command}: {sorted(found)}')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_mistyped_command_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["valdate"]) == 2
    assert "Did you mean 'validate'?" in capsys.readouterr().err


def test_quiet_and_verbose_cannot_be_used_together(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quiet", "--verbose", "schema"]) == 2
    assert "cannot be used together" in capsys.readouterr().err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("daybook ")


def failing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(validate, "validate_definitions", fail)


def test_an_error_of_the_user_is_one_block(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    failing(monkeypatch, DaybookError("MODEL_063"))
    assert main(["validate"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("[MODEL_063] ")
    assert "hint: " in captured.err
    assert "Traceback" not in captured.err


@pytest.mark.parametrize("arguments", [["--debug", "validate"], ["validate", "--debug"]])
def test_debug_shows_the_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    failing(monkeypatch, DaybookError("MODEL_063"))
    assert main(arguments) == 2
    shown = capsys.readouterr().err
    assert "Traceback" in shown
    assert "[MODEL_063] " in shown


def test_an_error_of_ours_asks_for_debug(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    failing(monkeypatch, ZeroDivisionError("division by zero\nsecond line"))
    assert main(["validate"]) == 3
    shown = capsys.readouterr().err
    assert "ZeroDivisionError: division by zero" in shown
    assert "second line" not in shown
    assert "--debug" in shown
    assert "Traceback" not in shown


def test_an_interrupt_is_quiet(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    failing(monkeypatch, KeyboardInterrupt())
    assert main(["validate"]) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_pipes_get_neither_colours_nor_wrapped_lines(tmp_path: Path) -> None:
    deep = tmp_path / ("long-name-" * 12)
    deep.mkdir()
    (deep / "daybook.yaml").write_text("name: x\nunknown: 1\n")
    command = [sys.executable, "-m", "daybook", "--workspace", str(deep), "validate"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "\x1b" not in done.stderr
    assert f"  at {(deep / 'daybook.yaml').as_posix()}:2:1" in done.stderr.splitlines()
