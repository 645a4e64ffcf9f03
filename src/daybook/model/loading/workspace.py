"""A whole workspace: its settings and every definition below it."""

import os
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from daybook.errors import DaybookError, raise_all
from daybook.model.base import slug
from daybook.model.definition import KINDS, Definition, Kind
from daybook.model.loading.build import read_definitions, read_model
from daybook.model.loading.documents import looks_like_definition
from daybook.model.loading.places import data_places
from daybook.model.loading.read import read_text
from daybook.model.workspace_file import WorkspaceFile

WORKSPACE_FILE = "daybook.yaml"

_SUFFIXES = (".yaml", ".yml", ".json")
_SKIPPED_AT_ROOT = frozenset({"tests", "schemas"})
_HEAD = 65_536
_NAMING = re.compile(r"\b(?:id|name|register_as_dataset)[\"']?\s*:\s*[\"']?([^\"'\n,}]+)")
# Reading a text of this size takes long enough to look first whether it may define something.
_LARGE = 200_000


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder with a `daybook.yaml` and what is defined below it.

    `doubtful` are the ids that files with errors may define: nobody who misses one of them is to blame.
    """

    root: Path
    settings: WorkspaceFile
    definitions: dict[Kind, dict[str, Definition[Any]]]
    doubtful: frozenset[str] = frozenset()

    def get(self, kind: Kind, id_: str) -> Definition[Any] | None:
        return self.definitions[kind].get(id_)

    def all(self) -> Iterator[Definition[Any]]:
        """Every definition, kind by kind, in the order of their files."""
        for kind in KINDS:
            yield from self.definitions[kind].values()


@dataclass(frozen=True, slots=True)
class _Loaded:
    path: Path
    definitions: list[Definition[Any]]
    errors: list[DaybookError]
    doubtful: frozenset[str] = frozenset()


def find_workspace(start: Path) -> Path:
    """The nearest folder with a `daybook.yaml`, from `start` upwards, written relative to where the caller is."""
    begin = start if start.is_dir() else start.parent
    for depth, folder in enumerate((begin.resolve(), *begin.resolve().parents)):
        if (folder / WORKSPACE_FILE).is_file():
            return begin if depth == 0 else Path(os.path.normpath(begin / Path(*[".."] * depth)))
    raise DaybookError("MODEL_063")


def load_workspace(root: Path) -> Workspace:
    """The workspace in a folder; raises everything that is wrong in any of its files."""
    workspace, errors = read_workspace(root)
    raise_all(errors)
    return workspace


def read_workspace(root: Path) -> tuple[Workspace, list[DaybookError]]:
    """What can be read of a workspace, and everything that is wrong with the rest."""
    settings, errors = load_settings(root)
    loaded = _load_files(root, settings)
    definitions: dict[Kind, dict[str, Definition[Any]]] = {kind: {} for kind in KINDS}
    for file in loaded:
        errors += file.errors
        for definition in file.definitions:
            first = definitions[definition.kind].setdefault(definition.id, definition)
            if first is not definition:
                span = definition.source.span("id")
                hint = f"the other one is at {first.source.span('id')}"
                errors.append(DaybookError("MODEL_060", span=span, hint=hint, kind=definition.kind, id=definition.id))
    doubtful = frozenset[str]().union(*(file.doubtful for file in loaded))
    return Workspace(root, settings, definitions, doubtful), errors


def load_settings(root: Path) -> tuple[WorkspaceFile, list[DaybookError]]:
    """The `daybook.yaml` of a folder; defaults where it is wrong, so that the definitions are still looked at."""
    errors: list[DaybookError] = []
    path = root / WORKSPACE_FILE
    settings = None
    try:
        settings = read_model(WorkspaceFile, read_text(path), path.as_posix(), errors)
    except DaybookError as error:
        errors.append(error)
    return settings or WorkspaceFile(name=root.resolve().name or "workspace"), errors


def _load_files(root: Path, settings: WorkspaceFile) -> list[_Loaded]:
    """Shallow files first, so that folders of data are known before they are entered."""
    skipped = {_absolute(root, place) for place in (settings.sandbox, settings.state) if place}
    loaded: list[_Loaded] = []
    folders = deque([root])
    while folders:
        folder = folders.popleft()
        if folder is not root and _absolute(root, folder) in skipped:
            continue
        try:
            with os.scandir(folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            loaded.append(_unreadable(folder, error))
            continue
        if folder is not root and any(entry.name == WORKSPACE_FILE for entry in listed):
            continue
        for entry in listed:
            path = folder / entry.name
            if entry.is_dir(follow_symlinks=False):
                if not _is_skipped_name(entry.name, folder is root):
                    folders.append(path)
            elif _may_define(entry) and path != root / WORKSPACE_FILE:
                file = _load_file(path)
                loaded.append(file)
                skipped |= _places(root, file)
    return [file for file in loaded if not _is_below(_absolute(root, file.path), skipped)]


def _may_define(entry: os.DirEntry[str]) -> bool:
    """Files by their suffix, links that lead nowhere too, so that they are reported; no pipes or devices."""
    has_suffix = entry.name.endswith(_SUFFIXES) and not entry.name.startswith(".")
    return has_suffix and (entry.is_file() or (entry.is_symlink() and not Path(entry.path).exists()))


def _unreadable(path: Path, error: OSError) -> _Loaded:
    reason = error.strerror or str(error)
    hint = "make it readable; a folder whose name begins with _ is left out"
    return _Loaded(path, [], [DaybookError("MODEL_001", file=path.as_posix(), reason=reason, hint=hint)])


def _load_file(path: Path) -> _Loaded:
    file = path.as_posix()
    try:
        text = read_text(path)
    except DaybookError as error:
        is_ours = error.code == "MODEL_001" or looks_like_definition(_head(path), file)
        return _Loaded(path, [], [error] if is_ours else [])
    if len(text) > _LARGE and not looks_like_definition(text, file):
        return _Loaded(path, [], [])
    definitions, errors = read_definitions(text, file)
    is_foreign = not definitions and all(error.code in _FOREIGN for error in errors)
    if errors and is_foreign and not looks_like_definition(text, file):
        return _Loaded(path, [], [])
    return _Loaded(path, definitions, errors, _ids_in(text) if errors else frozenset())


def _ids_in(text: str) -> frozenset[str]:
    """What a text that cannot be read as a whole may define, told by its words."""
    named = [found.strip() for found in _NAMING.findall(text)]
    return frozenset([*named, *map(slug, named)]) - {""}


# What any file that is none of ours may be full of.
_FOREIGN = frozenset(
    {"MODEL_004", "MODEL_005", "MODEL_006", "MODEL_007", "MODEL_008", "MODEL_009", "MODEL_010", "MODEL_013"}
)


def _head(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return stream.read(_HEAD).decode("utf-8", errors="replace")
    except OSError:
        return ""


def _is_skipped_name(name: str, is_at_root: bool) -> bool:
    return name.startswith((".", "_")) or (is_at_root and name in _SKIPPED_AT_ROOT)


def _places(root: Path, file: _Loaded) -> set[Path]:
    """Where the file says that data is; a place that holds the file itself is no folder of data alone."""
    places = {_absolute(root, place) for definition in file.definitions for place in data_places(definition.model)}
    return {place for place in places if not _is_below(_absolute(root, file.path), {place})}


def _absolute(root: Path, place: str | Path) -> Path:
    return Path(os.path.normpath(root.absolute() / place if isinstance(place, str) else place.absolute()))


def _is_below(path: Path, folders: set[Path]) -> bool:
    return path in folders or any(parent in folders for parent in path.parents)
