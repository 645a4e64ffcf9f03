"""Does something again whenever a file of a workspace changes."""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

FileStates: TypeAlias = dict[str, tuple[int, int]]

_SECONDS_BETWEEN_LOOKS = 0.3
_MOST_FILES = 20_000


def file_states(folders: Iterable[Path]) -> FileStates:
    """When each file was changed, and its size; hidden files and folders, such as the state, are left out."""
    states: FileStates = {}
    for path in _files(folders):
        try:
            stat = path.stat()
        except OSError:
            # It was removed or renamed between the listing and now.
            continue
        states[str(path)] = (stat.st_mtime_ns, stat.st_size)
        if len(states) >= _MOST_FILES:
            break
    return states


def _files(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        if folder.is_file():
            yield folder
            continue
        for current, names, files in os.walk(folder):
            names[:] = sorted(name for name in names if not name.startswith((".", "_")))
            yield from (Path(current, name) for name in files if not name.startswith("."))


def _sleep() -> None:
    time.sleep(_SECONDS_BETWEEN_LOOKS)


def repeat_on_change(action: Callable[[], None], folders: Iterable[Path], *, wait: Callable[[], None] = _sleep) -> None:
    """Do it now, and again after each change of a file, until `wait` raises KeyboardInterrupt."""
    watched = tuple(folders)
    while True:
        before = file_states(watched)
        action()
        try:
            while file_states(watched) == before:
                wait()
        except KeyboardInterrupt:
            return
