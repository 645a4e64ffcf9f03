"""The workspaces of `daybook init` and `daybook demo`; no existing file is overwritten."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Literal

from daybook.demo.generated_data import write_data
from daybook.errors import DaybookError

Template = Literal["close", "starter"]
_NAME_PLACEHOLDER = "WORKSPACE_NAME"
_PLAIN_YAML = re.compile(r"[A-Za-z][A-Za-z0-9 ._-]*")
_YAML_KEYWORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off"})
# Packaging tools treat a .gitignore of their own specially, so it travels without its dot.
_GITIGNORE = "gitignore"


def write_workspace(template: Template, folder: Path) -> tuple[Path, ...]:
    """The files of a workspace below `folder`, all of them or none; returns what was written, as paths below it."""
    contents = dict(_template_files(files("daybook.demo") / template, Path()))
    taken = sorted(path.as_posix() for path in contents if (folder / path).exists())
    if taken:
        raise DaybookError("MODEL_067", folder=_folder_label(folder), files=", ".join(taken))
    name = _quote_yaml(folder.resolve().name or "workspace")
    try:
        for path, text in contents.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text.replace(_NAME_PLACEHOLDER, name), encoding="utf-8", newline="\n")
    except OSError as error:
        reason = error.strerror or str(error)
        raise DaybookError("MODEL_066", path=error.filename or folder.as_posix(), reason=reason) from error
    return tuple(contents)


def has_template_files(template: Template, folder: Path) -> bool:
    """Whether every file of a template is in the folder, edited or not."""
    return all((folder / path).is_file() for path, _ in _template_files(files("daybook.demo") / template, Path()))


def _template_files(source: Traversable, below: Path) -> Iterator[tuple[Path, str]]:
    for entry in sorted(source.iterdir(), key=lambda entry: entry.name):
        path = below / (f".{_GITIGNORE}" if entry.name == _GITIGNORE else entry.name)
        if entry.is_dir():
            yield from _template_files(entry, path)
        else:
            yield path, entry.read_text(encoding="utf-8")


def _quote_yaml(name: str) -> str:
    is_plain = _PLAIN_YAML.fullmatch(name) and name == name.strip() and name.lower() not in _YAML_KEYWORDS
    return name if is_plain else json.dumps(name, ensure_ascii=False)


def _folder_label(folder: Path) -> str:
    return "this folder" if folder == Path() else folder.as_posix()


_UNFINISHED_DATA = ".data-being-written"


@dataclass(frozen=True, slots=True)
class DemoWorkspace:
    """`is_new` is false where the workspace was there; `write_data` is what is left to do, None if nothing is."""

    is_new: bool
    write_data: Callable[[], int] | None


def make_demo_workspace(folder: Path) -> DemoWorkspace:
    """The definitions at once, the data when asked for, so that something else can start meanwhile."""
    if has_template_files("close", folder):
        return DemoWorkspace(False, None if (folder / "data").is_dir() else _data_writer(folder))
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise DaybookError("MODEL_068", folder=folder.as_posix())
    write_workspace("close", folder)
    return DemoWorkspace(True, _data_writer(folder))


def _data_writer(folder: Path) -> Callable[[], int]:
    def write() -> int:

        unfinished = folder / _UNFINISHED_DATA
        if unfinished.exists():
            shutil.rmtree(unfinished)
        lines = write_data(unfinished)
        unfinished.rename(folder / "data")
        return lines

    return write
