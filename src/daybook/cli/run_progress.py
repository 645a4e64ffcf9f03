"""Progress of a run on a terminal; nothing at all when nobody watches."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from daybook.cli.terminal import console, show_notice

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from daybook.errors import Notice
    from daybook.runs.listener import RunListener
    from daybook.runs.result import OutputResult


class Watcher:
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


class Quiet:
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
def watching(*, is_quiet: bool) -> "Iterator[RunListener]":
    """A line of progress on a terminal; quiet otherwise."""
    if is_quiet or not sys.stderr.isatty():
        yield Quiet()
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
        watcher = Watcher(progress)
        try:
            yield watcher
        finally:
            progress.stop()
            for notice in watcher.notices:
                show_notice(notice)


@contextmanager
def waiting(text: str, *, is_quiet: bool) -> Iterator[None]:
    """A spinner on a terminal while something takes its time."""
    if is_quiet or not sys.stderr.isatty():
        yield
        return
    with console(sys.stderr).status(text):
        yield
