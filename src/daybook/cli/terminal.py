"""Writing to the terminal: colours for people, plain unwrapped lines for pipes."""

import json
import os
import sys
from typing import TYPE_CHECKING, Any, TextIO

import typer

from daybook.cli.places import near_in

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from daybook.errors import DaybookError, Notice

# Wide enough that nothing is ever wrapped when the output is read by a program.
_UNWRAPPED = 100_000


def console(stream: TextIO | None = None) -> "Console":
    """A Rich console that neither colours nor wraps what goes into a pipe."""
    from rich.console import Console

    target = stream or sys.stdout
    is_terminal = target.isatty()
    return Console(
        file=target,
        width=None if is_terminal else _UNWRAPPED,
        no_color=not is_terminal or coloured() is False,
        highlight=False,
        soft_wrap=True,
    )


def coloured() -> bool | None:
    """False when colours are not wanted (https://no-color.org), None when the stream decides."""
    return False if os.environ.get("NO_COLOR") else None


def say(text: str) -> None:
    """A line of the command's result."""
    typer.echo(text, color=coloured())


def remark(text: str) -> None:
    """A line beside the result: progress, summaries, warnings."""
    typer.echo(text, err=True, color=coloured())


def show_table(table: "Table") -> None:
    """A table of the command's result; for a pipe without the blanks that fill up its last column."""
    screen = console()
    if sys.stdout.isatty():
        screen.print(table)
        return
    with screen.capture() as captured:
        screen.print(table)
    for line in captured.get().splitlines():
        say(line.rstrip())


def say_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, default=str))


def show_error(error: "DaybookError") -> None:
    """One short block per finding, on the error stream."""
    from daybook.errors import flatten, render

    for single in flatten(error):
        first, _, rest = near_in(render(single)).partition("\n")
        typer.secho(first, err=True, fg=typer.colors.RED, bold=True, color=coloured())
        typer.echo(f"{rest}\n" if rest else "", err=True)


def show_notice(notice: "Notice") -> None:
    from daybook.errors import render_notice

    first, _, rest = near_in(render_notice(notice)).partition("\n")
    typer.secho(f"warning: {first}", err=True, fg=typer.colors.YELLOW, color=coloured())
    if rest:
        typer.echo(rest, err=True)


def notice_as_data(notice: "Notice") -> dict[str, Any]:
    """One warning for machines."""
    span = notice.span
    return {
        "code": notice.code,
        "message": notice.message,
        "file": span.file if span else None,
        "line": span.line if span else None,
        "column": span.column if span else None,
        "hint": notice.hint,
    }
