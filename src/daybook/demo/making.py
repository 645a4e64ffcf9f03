"""Making the demonstration's workspace, or finding it as somebody left it."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from daybook.demo.folders import is_workspace_of, write_workspace
from daybook.errors import DaybookError

_UNFINISHED = ".data-being-written"


@dataclass(frozen=True, slots=True)
class Made:
    """`is_new` is false where the workspace was there; `write_data` is what is left to do, None if nothing is."""

    is_new: bool
    write_data: Callable[[], int] | None


def make_workspace(folder: Path) -> Made:
    """The definitions at once, the data when asked for, so that something else can start meanwhile."""
    if is_workspace_of("close", folder):
        return Made(False, None if (folder / "data").is_dir() else _writer(folder))
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DaybookError("MODEL_068", folder=folder.as_posix())
    write_workspace("close", folder)
    return Made(True, _writer(folder))


def _writer(folder: Path) -> Callable[[], int]:
    def write() -> int:
        from daybook.demo.files import write_data

        unfinished = folder / _UNFINISHED
        if unfinished.exists():
            shutil.rmtree(unfinished)
        lines = write_data(unfinished)
        unfinished.rename(folder / "data")
        return lines

    return write
