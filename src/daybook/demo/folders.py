"""Workspaces that come with Daybook, written where somebody wants them and never over anything."""

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Literal

from daybook.errors import DaybookError

Template = Literal["close", "starter"]

_NAME = "WORKSPACE_NAME"
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9 ._-]*")
_NOT_TEXT = frozenset({"true", "false", "null", "yes", "no", "on", "off"})
# Packaging tools treat a .gitignore of their own specially, so it travels without its dot.
_HIDDEN = "gitignore"


def write_workspace(template: Template, folder: Path) -> tuple[Path, ...]:
    """The files of a workspace below `folder`, all of them or none; returns what was written, as paths below it."""
    contents = dict(_contents(files("daybook.demo") / template, Path()))
    taken = sorted(path.as_posix() for path in contents if (folder / path).exists())
    if taken:
        raise DaybookError("MODEL_067", folder=_called(folder), files=", ".join(taken))
    name = _yaml_text(folder.resolve().name or "workspace")
    try:
        for path, text in contents.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text.replace(_NAME, name), encoding="utf-8", newline="\n")
    except OSError as error:
        reason = error.strerror or str(error)
        raise DaybookError("MODEL_066", path=error.filename or folder.as_posix(), reason=reason) from error
    return tuple(contents)


def is_workspace_of(template: Template, folder: Path) -> bool:
    """Whether every file of a template is in the folder, edited or not."""
    return all((folder / path).is_file() for path, _ in _contents(files("daybook.demo") / template, Path()))


def _contents(source: Traversable, below: Path) -> Iterator[tuple[Path, str]]:
    for entry in sorted(source.iterdir(), key=lambda entry: entry.name):
        path = below / (f".{_HIDDEN}" if entry.name == _HIDDEN else entry.name)
        if entry.is_dir():
            yield from _contents(entry, path)
        else:
            yield path, entry.read_text(encoding="utf-8")


def _yaml_text(name: str) -> str:
    is_plain = _PLAIN.fullmatch(name) and name == name.strip() and name.lower() not in _NOT_TEXT
    return name if is_plain else json.dumps(name, ensure_ascii=False)


def _called(folder: Path) -> str:
    return "this folder" if folder == Path() else folder.as_posix()
