"""Writes to the terminal: colours and progress for people, plain unwrapped lines for pipes, no control characters."""

import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer

from daybook.runs.run_listener import RunListener

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.progress import Progress, TaskID

    from daybook.errors import DaybookError, Notice


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
COLUMN_GAP = 2
_REFRESHES_PER_SECOND = 4
Cell = str | tuple[str, str]


def console(stream: TextIO | None = None) -> "Console":
    """A Rich console that writes no colours and no wrapped lines to a pipe, and never reads text as markup."""
    from rich.console import Console

    target = stream or sys.stdout
    is_terminal = target.isatty()
    return Console(
        file=target,
        width=None if is_terminal else _UNWRAPPED,
        no_color=not is_terminal or color_setting() is False,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=True,
    )


def color_setting() -> bool | None:
    """False when colours are not wanted (https://no-color.org), None when the stream decides."""
    return False if os.environ.get("NO_COLOR") else None


def is_attended() -> bool:
    """Whether a person uses the terminal; a pipeline of continuous integration may have one without a person."""
    streams = (sys.stdin, sys.stderr)
    return not os.environ.get("CI") and all(stream is not None and stream.isatty() for stream in streams)


def echo(text: str, *, end: str = "\n") -> None:
    """A line of the command's result."""
    _write(text + end)


def echo_marked(mark: str, colour: str, text: str) -> None:
    """A line of the command's result that begins with a word in colour."""
    _write(f"  {text}\n", mark=typer.style(mark, fg=colour))


_DIFFERENCE_COLOURS = {"+": typer.colors.GREEN, "-": typer.colors.RED, "@": typer.colors.CYAN}


def echo_difference(difference: str) -> None:
    """The lines of a unified difference, indented: added ones in green, removed ones in red."""
    from daybook.errors.render import one_line

    for line in difference.splitlines():
        text, colour = one_line(f"    {line}"), _DIFFERENCE_COLOURS.get(line[:1])
        _write("\n", mark=typer.style(text, fg=colour) if colour else text)


def echo_note(text: str) -> None:
    """A line beside the result: progress, summaries, warnings."""
    _write(f"{text}\n", is_error=True)


def _write(text: str, *, mark: str = "", is_error: bool = False) -> None:
    """The one way of text to a terminal; only `mark` may contain control sequences."""
    from daybook.errors.render import printable

    typer.echo(mark + printable(text), nl=False, err=is_error, color=color_setting())


def confirm(question: str) -> bool:
    from daybook.errors.render import one_line

    return typer.confirm(one_line(question))


def ask_secret(name: str) -> str:
    """What a person types is not shown."""
    return str(typer.prompt(name, hide_input=True, err=True))


def show_table(
    titles: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    right: Collection[int] = (),
    fixed: Collection[int] | None = None,
    is_uncut: bool = False,
    heading: str | None = None,
) -> None:
    """A table of the command's result; a cell is a text, or a text with a style.

    `right` are columns whose cells end below each other; `fixed` those that are never wrapped, by default all. Where
    the terminal is too narrow, cells are cut unless the table `is_uncut`.
    """
    from rich.table import Table
    from rich.text import Text

    from daybook.errors.render import one_line

    table = Table(
        title=heading,
        title_justify="left",
        box=None,
        pad_edge=False,
        padding=(0, COLUMN_GAP, 0, 0),
        header_style="dim",
        show_header=any(titles),
    )
    cells = [
        [Text(one_line(cell)) if isinstance(cell, str) else Text(one_line(cell[0]), cell[1]) for cell in row]
        for row in rows
    ]
    screen = console()
    columns = list(zip(*([Text(one_line(title)) for title in titles], *cells), strict=True))
    longest = [max(text.cell_len for text in column) for column in columns]
    cut = _cut_widths(longest, screen.width) if fixed is None and not is_uncut else [None] * len(columns)
    for number, column in enumerate(columns):
        table.add_column(
            column[0],
            justify="right" if number in right else "left",
            no_wrap=fixed is None or number in fixed,
            width=cut[number],
            min_width=max((text.cell_len for text in column[1:]), default=0) if is_uncut else None,
        )
    for texts in cells:
        table.add_row(*texts)
    if sys.stdout.isatty():
        screen.print(table)
        return
    with screen.capture() as captured:
        screen.print(table)
    for line in captured.get().splitlines():
        # A pipe does not get the blanks that fill up the last column.
        echo(line.rstrip())


@dataclass(frozen=True, slots=True)
class LiveTable:
    """A table that is drawn again and again, with a line below it; cells that are too long are cut."""

    titles: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str
    right: Collection[int] = ()

    def __rich__(self) -> "Group":
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        from daybook.errors.render import one_line

        table = Table(box=None, pad_edge=False)
        for number, title in enumerate(self.titles):
            table.add_column(title, justify="right" if number in self.right else "left", no_wrap=True)
        for row in self.rows:
            styled = ((cell, "") if isinstance(cell, str) else cell for cell in row)
            table.add_row(*(Text(one_line(text), style) for text, style in styled))
        return Group(table, Text(one_line(self.note), no_wrap=True))


@contextmanager
def show_live(draw: Callable[[int], LiveTable]) -> Iterator[None]:
    """Show what `draw` gives for the height of the terminal, several times a second, and remove it at the end."""
    from rich.live import Live

    screen = console(sys.stderr)
    with Live(
        console=screen,
        get_renderable=lambda: draw(screen.size.height),
        refresh_per_second=_REFRESHES_PER_SECOND,
        transient=True,
    ):
        yield


def _cut_widths(widths: Sequence[int], screen: int) -> list[int]:
    """Widths with which a table fits the screen; the longest columns are cut, so that short ones stay whole."""
    limit = max(widths, default=0)
    while limit > 1 and sum(min(width, limit) + COLUMN_GAP for width in widths) > screen:
        limit -= 1
    return [min(width, limit) for width in widths]


def table_width(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """How wide a table of these cells is where nothing is wrapped."""
    from daybook.errors.render import one_line

    columns = zip(titles, *rows, strict=True)
    return sum(max(text_width(one_line(cell)) for cell in column) + COLUMN_GAP for column in columns) - COLUMN_GAP


def text_width(text: str) -> int:
    """How many columns of the terminal a text takes; some characters take two."""
    from rich.cells import cell_len

    return cell_len(text)


def fit_text(text: str, width: int, *, is_ascii: bool) -> str:
    """The text in exactly so many columns of the terminal, cut or filled with spaces."""
    from rich.cells import set_cell_size

    if text_width(text) <= width:
        return set_cell_size(text, width)
    end = "..." if is_ascii else "…"
    return set_cell_size(text, width - len(end)) + end


def echo_json(value: Any) -> None:
    from daybook.workspace.result_json import json_text

    echo(json_text(value))


def echo_json_line(value: Any) -> None:
    from daybook.workspace.result_json import json_line

    echo(json_line(value))


def show_error(error: "DaybookError") -> None:
    """One short block per finding, on the error stream."""
    from daybook.errors import flatten, render

    for single in flatten(error):
        first, _, rest = shorten_paths_in(render(single)).partition("\n")
        show_failure(first, rest)


def show_failure(first: str, rest: str = "") -> None:
    """A line in red and what explains it, on the error stream."""
    from daybook.errors.render import one_line

    _write("\n", mark=typer.style(one_line(first), fg=typer.colors.RED, bold=True), is_error=True)
    _write(f"{rest}\n\n" if rest else "\n", is_error=True)


def show_notice(notice: "Notice", *, about: str | None = None) -> None:
    """A warning on the error stream; `about` is what it speaks of, where a command works on several things."""
    from daybook.errors import render_notice
    from daybook.errors.render import one_line

    first, _, rest = shorten_paths_in(render_notice(notice)).partition("\n")
    subject = f"{about}: " if about else ""
    mark = typer.style(one_line(f"warning: {subject}{first}"), fg=typer.colors.YELLOW)
    _write(f"\n{rest}\n" if rest else "\n", mark=mark, is_error=True)


class ProgressListener(RunListener):
    """Shows one line: what is being done, Spark's tasks, the time."""

    def __init__(self, progress: "Progress") -> None:
        self._progress = progress
        self._task: TaskID | None = None
        self._run = ""
        self.notices: list[Notice] = []

    def prepared(self, run_id: str, project_id: str, period: str) -> None:
        from daybook.errors.render import one_line

        self._run = one_line(f"{project_id} {period}")
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(self._run, total=None, tasks="")

    def stage(self, text: str) -> None:
        from daybook.errors.render import one_line

        if self._task is not None:
            self._progress.update(self._task, description=f"{self._run}: {one_line(text)}")

    def progress(self, done: int, total: int) -> None:
        if self._task is not None:
            self._progress.update(self._task, completed=done, total=total, tasks=f"{done}/{total} tasks")

    def notice(self, notice: "Notice") -> None:
        """Kept until the progress is gone, where nothing overwrites them."""
        self.notices.append(notice)


class NoticeListener(RunListener):
    """Warnings only, as they come."""

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
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[tasks]}", markup=False),
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
