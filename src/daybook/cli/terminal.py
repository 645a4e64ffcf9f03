"""Places as people read them: short where they are near.

Writing to the terminal: colours for people, plain unwrapped lines for pipes.

Progress of a run on a terminal; nothing at all when nobody watches.
"""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID
    from rich.table import Table

    from daybook.errors import DaybookError, Notice
    from daybook.runs.result import OutputResult, RunListener


def current_folder() -> Path | None:
    """Where the user is; None when that folder has been removed."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None


def shorten_path(place: str) -> str:
    """A path relative to the current folder when it is below it; anything else as it is."""
    path = Path(place.removeprefix("file://"))
    if not path.is_absolute():
        return place
    here = current_folder()
    return path.relative_to(here).as_posix() if here and path.is_relative_to(here) else path.as_posix()


def shorten_paths_in(text: str) -> str:
    """A message whose paths below the current folder are written relative to it."""
    here = current_folder()
    if here is None or here == Path(here.anchor):
        return text
    return re.sub(rf"(?<![\w./-])(?:file://)?{re.escape(here.as_posix())}/(?=\S)", "", text)


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
        no_color=not is_terminal or color_setting() is False,
        highlight=False,
        soft_wrap=True,
    )


def color_setting() -> bool | None:
    """False when colours are not wanted (https://no-color.org), None when the stream decides."""
    return False if os.environ.get("NO_COLOR") else None


def echo(text: str) -> None:
    """A line of the command's result."""
    typer.echo(text, color=color_setting())


def echo_note(text: str) -> None:
    """A line beside the result: progress, summaries, warnings."""
    typer.echo(text, err=True, color=color_setting())


def show_table(table: "Table") -> None:
    """A table of the command's result; for a pipe without the blanks that fill up its last column."""
    screen = console()
    if sys.stdout.isatty():
        screen.print(table)
        return
    with screen.capture() as captured:
        screen.print(table)
    for line in captured.get().splitlines():
        echo(line.rstrip())


def echo_json(value: Any) -> None:
    from daybook.workspace.result_json import json_text

    typer.echo(json_text(value))


def show_error(error: "DaybookError") -> None:
    """One short block per finding, on the error stream."""
    from daybook.errors import flatten, render

    for single in flatten(error):
        first, _, rest = shorten_paths_in(render(single)).partition("\n")
        typer.secho(first, err=True, fg=typer.colors.RED, bold=True, color=color_setting())
        typer.echo(f"{rest}\n" if rest else "", err=True)


def show_notice(notice: "Notice") -> None:
    from daybook.errors import render_notice

    first, _, rest = shorten_paths_in(render_notice(notice)).partition("\n")
    typer.secho(f"warning: {first}", err=True, fg=typer.colors.YELLOW, color=color_setting())
    if rest:
        typer.echo(rest, err=True)


class ProgressListener:
    """Shows one line: what is being done, Spark's tasks, the time."""

    def __init__(self, progress: "Progress") -> None:
        self._progress = progress
        self._task: TaskID | None = None
        self._run = ""
        self.notices: list[Notice] = []

    def prepared(self, run_id: str, project_id: str, period: str) -> None:
        self._run = f"{project_id} {period}"
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(self._run, total=None, tasks="")

    def stage(self, text: str) -> None:
        if self._task is not None:
            self._progress.update(self._task, description=f"{self._run}: {text}")

    def progress(self, done: int, total: int) -> None:
        if self._task is not None:
            self._progress.update(self._task, completed=done, total=total, tasks=f"{done}/{total} tasks")

    def written(self, output: "OutputResult") -> None:
        pass

    def notice(self, notice: "Notice") -> None:
        """Kept until the progress is gone, where nothing overwrites them."""
        self.notices.append(notice)


class NoticeListener:
    """Warnings only, as they come."""

    def prepared(self, run_id: str, project_id: str, period: str) -> None:
        pass

    def stage(self, text: str) -> None:
        pass

    def progress(self, done: int, total: int) -> None:
        pass

    def written(self, output: "OutputResult") -> None:
        pass

    def notice(self, notice: "Notice") -> None:
        show_notice(notice)


@contextmanager
def run_listener(*, is_quiet: bool) -> "Iterator[RunListener]":
    """A line of progress on a terminal; quiet otherwise."""
    if is_quiet or not sys.stderr.isatty():
        yield NoticeListener()
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[tasks]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console(sys.stderr), transient=True) as progress:
        watcher = ProgressListener(progress)
        try:
            yield watcher
        finally:
            progress.stop()
            for notice in watcher.notices:
                show_notice(notice)


@contextmanager
def spinner(text: str, *, is_quiet: bool) -> Iterator[None]:
    """A spinner on a terminal while something takes its time."""
    if is_quiet or not sys.stderr.isatty():
        yield
        return
    with console(sys.stderr).status(text):
        yield
