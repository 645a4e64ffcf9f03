"""Loads a whole workspace: its settings, every definition in it, and the folders that contain only data."""

import os
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from daybook.definitions.loading.definition_texts import read_definitions, read_model
from daybook.definitions.loading.kinds import looks_like_definition
from daybook.definitions.loading.text import read_text
from daybook.errors import DaybookError, raise_all
from daybook.model.calendar import Calendar
from daybook.model.dataset import Dataset, PathLocation
from daybook.model.datasource import DataSource, FolderSource, IcebergSource, Resolver
from daybook.model.declaration import slug
from daybook.model.definition import (
    DEFINITION_KINDS,
    Definition,
    DefinitionKind,
)
from daybook.model.operation import LocationDestination, OutputOperation
from daybook.model.project import Project
from daybook.model.settings import WorkspaceSettings


def data_paths(model: Dataset | DataSource | Resolver | Calendar | Project) -> Iterator[str]:
    """Paths relative to the workspace, or absolute."""
    match model:
        case FolderSource():
            yield from _local_path(model.options.path)
        case IcebergSource(options=options) if options.warehouse is not None and options.catalog != "rest":
            yield from _local_path(options.warehouse)
        case Dataset():
            if isinstance(model.main_table.location, PathLocation):
                yield from _local_path(model.main_table.location.path)
        case Project():
            for operation in model.operations:
                if isinstance(operation, OutputOperation):
                    destination = operation.arguments.destination
                    if isinstance(destination, LocationDestination):
                        yield from _local_path(destination.location.path)
        case _:
            return


def _local_path(path: str) -> Iterator[str]:
    """The part of a path before its first template; nothing for a URI or a path that begins with a template."""
    path = path.removeprefix("file://")
    if "://" in path:
        return
    head, template, _ = path.partition("{{")
    fixed_part = head.rpartition("/")[0] if template else head
    if fixed_part:
        yield fixed_part


WORKSPACE_FILE = "daybook.yaml"

_SUFFIXES = (".yaml", ".yml", ".json")
_SKIPPED_AT_ROOT = frozenset({"tests", "schemas"})
_HEAD_BYTES = 65_536
_TOP_KEY = re.compile(rf"^[{{\s\"']*({'|'.join(DEFINITION_KINDS)})[\"']?\s*:", re.MULTILINE)
_FIRST_VALUE = {
    key: re.compile(rf"(?<![\w.-]){key}[\"']?\s*:\s*[\"']?((?:\$\{{\w*\}}|[^\"'\n,}}])+)") for key in ("id", "name")
}
_NAMED_ID = re.compile(r"\b(?:id|name|register_as_dataset)[\"']?\s*:\s*[\"']?((?:\$\{\w*\}|[^\"'\n,}])+)")
_TEMPLATE = re.compile(r"\$\{\w*\}")
# Reading a text of this size takes long enough to look first whether it may define something.
_LARGE_TEXT = 200_000


@dataclass(frozen=True, slots=True)
class WorkspaceLocation:
    """A folder and its `daybook.yaml`: all that past runs and the store need."""

    root: Path
    settings: WorkspaceSettings


@dataclass(frozen=True, slots=True)
class LoadedWorkspace(WorkspaceLocation):
    """A workspace and what is defined below it.

    `broken` are the files with errors, `duplicates` the errors of ids that are defined twice, and `skipped` the files
    that define nothing, as those of other programs.
    """

    definitions: dict[DefinitionKind, dict[str, Definition[Any]]]
    broken: tuple["LoadedFile", ...] = ()
    duplicates: tuple[DaybookError, ...] = ()
    skipped: tuple[Path, ...] = ()

    @property
    def doubtful(self) -> "DoubtfulIds":
        """The ids that files with errors may define or register; a missing reference to one of them is not reported."""
        return DoubtfulIds(frozenset[str]().union(*(file.names for file in self.broken)))

    def get(self, kind: DefinitionKind, id_: str) -> Definition[Any] | None:
        return self.definitions[kind].get(id_)

    def all(self) -> Iterator[Definition[Any]]:
        """Every definition, kind by kind, in the order of their files."""
        for kind in DEFINITION_KINDS:
            yield from self.definitions[kind].values()


@dataclass(frozen=True, slots=True)
class DoubtfulIds:
    """Names that a text gives, of which some may be templates of `for_each`."""

    names: frozenset[str]

    def __bool__(self) -> bool:
        return bool(self.names)

    def __contains__(self, id_: object) -> bool:
        return id_ in self.names or any(_fits(str(id_), name) for name in self.names if "${" in name)


def _fits(id_: str, name: str) -> bool:
    """Whether an id is a name, or what a template of `for_each` may make."""
    return re.fullmatch(".*".join(map(re.escape, _TEMPLATE.split(name))), id_) is not None


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """A file or folder and what is defined in it; `text` is kept where there are errors."""

    path: Path
    definitions: list[Definition[Any]]
    errors: list[DaybookError]
    text: str = ""

    @property
    def names(self) -> frozenset[str]:
        """Everything that the text may define or register, by its words."""
        named = [name.strip() for name in _NAMED_ID.findall(self.text)]
        return frozenset([*named, *map(slug, named)]) - {""}

    def may_define(self, kind: DefinitionKind, id_: str) -> bool:
        """Whether a definition in the text may have this id: its first id or name says so."""
        for part in self._parts(kind):
            first = [value[1].strip() for key in ("id", "name") if (value := _FIRST_VALUE[key].search(part))]
            if any(_fits(id_, name) for name in first) or id_ in map(slug, first):
                return True
        return False

    @property
    def may_define_default_resolver(self) -> bool:
        return any("is_default" in part for part in self._parts("resolver"))

    def _parts(self, kind: DefinitionKind) -> list[str]:
        """The texts of the definitions of a kind, as far as they can be distinguished."""
        parts = _TOP_KEY.split(self.text)
        return [part for part_kind, part in zip(parts[1::2], parts[2::2], strict=True) if part_kind == kind]


class ReadFiles:
    """The definitions that files had at the last look, by their texts: what says the same is not parsed again."""

    def __init__(self) -> None:
        # One reader replaces the answer of another for the same text, so threads need no lock.
        self._files: dict[Path, tuple[str, LoadedFile]] = {}

    def find(self, path: Path, text: str) -> LoadedFile | None:
        read_text, file = self._files.get(path, ("", None))
        return file if read_text == text else None

    def keep(self, path: Path, text: str, file: LoadedFile) -> LoadedFile:
        # An error that is raised remembers where; each look has its own.
        if not file.errors:
            self._files[path] = (text, file)
        return file


def find_workspace(start: Path) -> Path:
    """The nearest folder with a `daybook.yaml`, from `start` upwards, written relative to where the caller is."""
    begin = start if start.is_dir() else start.parent
    for depth, folder in enumerate((begin.resolve(), *begin.resolve().parents)):
        if (folder / WORKSPACE_FILE).is_file():
            return begin if depth == 0 else Path(os.path.normpath(begin / Path(*[".."] * depth)))
    raise DaybookError("MODEL_063")


def load_workspace(root: Path) -> LoadedWorkspace:
    """The workspace in a folder; raises everything that is wrong in any of its files."""
    workspace, errors = read_workspace(root)
    raise_all(errors)
    return workspace


def locate_workspace(root: Path) -> WorkspaceLocation:
    """The workspace in a folder without its definitions; raises what is wrong with its `daybook.yaml`."""
    settings, errors = load_settings(root)
    raise_all(errors)
    return WorkspaceLocation(root, settings)


def read_workspace(
    root: Path, settings: WorkspaceSettings | None = None, read_files: ReadFiles | None = None
) -> tuple[LoadedWorkspace, list[DaybookError]]:
    """What can be read of a workspace, and everything that is wrong with the rest.

    `settings` are those of its `daybook.yaml`, where that has been read; `read_files` are those of earlier looks.
    """
    errors: list[DaybookError] = []
    if settings is None:
        settings, errors = load_settings(root)
    loaded = _load_files(root, settings, read_files or ReadFiles())
    definitions: dict[DefinitionKind, dict[str, Definition[Any]]] = {kind: {} for kind in DEFINITION_KINDS}
    duplicates: list[DaybookError] = []
    for file in loaded:
        errors += file.errors
        for definition in file.definitions:
            first = definitions[definition.kind].setdefault(definition.id, definition)
            if first is not definition:
                span = definition.source.span("id")
                hint = f"the other one is at {first.source.span('id')}"
                twice = DaybookError("MODEL_060", span=span, hint=hint, kind=definition.kind, id=definition.id)
                duplicates.append(twice)
    broken = tuple(file for file in loaded if file.errors)
    skipped = tuple(file.path for file in loaded if not file.errors and not file.definitions)
    return LoadedWorkspace(root, settings, definitions, broken, tuple(duplicates), skipped), [*errors, *duplicates]


def load_settings(root: Path) -> tuple[WorkspaceSettings, list[DaybookError]]:
    """The `daybook.yaml` of a folder; defaults where it is wrong, so that the definitions are still looked at."""
    errors: list[DaybookError] = []
    path = root / WORKSPACE_FILE
    settings = None
    try:
        settings = read_model(WorkspaceSettings, read_text(path), path.as_posix(), errors)
    except DaybookError as error:
        errors.append(error)
    return settings or WorkspaceSettings(name=root.resolve().name or "workspace"), errors


def _load_files(root: Path, settings: WorkspaceSettings, read_files: ReadFiles) -> list[LoadedFile]:
    """Shallow files first, so that folders of data are known before they are entered."""
    skipped = {_absolute_path(root, path) for path in (settings.sandbox, settings.state) if isinstance(path, str)}
    loaded: list[LoadedFile] = []
    folders = deque([root])
    while folders:
        folder = folders.popleft()
        if folder is not root and _absolute_path(root, folder) in skipped:
            continue
        try:
            with os.scandir(folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            loaded.append(_unreadable_folder(folder, error))
            continue
        if folder is not root and any(entry.name == WORKSPACE_FILE for entry in listed):
            continue
        for entry in listed:
            path = folder / entry.name
            if entry.is_dir(follow_symlinks=False):
                if not _is_skipped_name(entry.name, folder is root):
                    folders.append(path)
            elif _may_define(entry) and path != root / WORKSPACE_FILE:
                file = _load_file(path, read_files)
                loaded.append(file)
                skipped |= _data_folders(root, file)
    return [file for file in loaded if not _is_below(_absolute_path(root, file.path), skipped)]


def _may_define(entry: os.DirEntry[str]) -> bool:
    """Files by their suffix, links that lead nowhere too, so that they are reported; no pipes or devices."""
    has_suffix = entry.name.endswith(_SUFFIXES) and not entry.name.startswith(".")
    return has_suffix and (entry.is_file() or (entry.is_symlink() and not Path(entry.path).exists()))


def _unreadable_folder(path: Path, error: OSError) -> LoadedFile:
    reason = error.strerror or str(error)
    hint = "make it readable; a folder whose name begins with _ is ignored"
    return LoadedFile(path, [], [DaybookError("MODEL_001", file=path.as_posix(), reason=reason, hint=hint)])


def _load_file(path: Path, read_files: ReadFiles) -> LoadedFile:
    file = path.as_posix()
    try:
        text = read_text(path)
    except DaybookError as error:
        is_ours = error.code == "MODEL_001" or looks_like_definition(_read_head(path), file)
        return LoadedFile(path, [], [error] if is_ours else [])
    return read_files.find(path, text) or read_files.keep(path, text, _read_file(path, text))


def _read_file(path: Path, text: str) -> LoadedFile:
    file = path.as_posix()
    if len(text) > _LARGE_TEXT and not looks_like_definition(text, file):
        return LoadedFile(path, [], [])
    definitions, errors = read_definitions(text, file)
    is_foreign = not definitions and all(error.code in _FOREIGN_FILE_CODES for error in errors)
    if errors and is_foreign and not looks_like_definition(text.lstrip("\0"), file):
        return LoadedFile(path, [], [])
    return LoadedFile(path, definitions, errors, text if errors else "")


# Keys that are common in files of other programs.
_FOREIGN_FILE_CODES = frozenset(
    {"MODEL_004", "MODEL_005", "MODEL_006", "MODEL_007", "MODEL_008", "MODEL_009", "MODEL_010", "MODEL_013"}
    | {"MODEL_090", "MODEL_091"}
)


def _read_head(path: Path) -> str:
    """The beginning of a file in whatever encoding: byte order marks and the NUL bytes of wide characters left out."""
    try:
        with path.open("rb") as stream:
            raw = stream.read(_HEAD_BYTES).lstrip(b"\0\xff\xfe").replace(b"\0", b"")
            return raw.decode("utf-8-sig", errors="replace")
    except OSError:
        return ""


def _is_skipped_name(name: str, is_at_root: bool) -> bool:
    return name.startswith((".", "_")) or (is_at_root and name in _SKIPPED_AT_ROOT)


def _data_folders(root: Path, file: LoadedFile) -> set[Path]:
    """Where the file says that data is; a folder that holds the file itself is no folder of data alone."""
    paths = {_absolute_path(root, path) for definition in file.definitions for path in data_paths(definition.model)}
    return {path for path in paths if not _is_below(_absolute_path(root, file.path), {path})}


def _absolute_path(root: Path, path: str | Path) -> Path:
    return Path(os.path.normpath(root.absolute() / path if isinstance(path, str) else path.absolute()))


def _is_below(path: Path, folders: set[Path]) -> bool:
    return path in folders or any(parent in folders for parent in path.parents)
