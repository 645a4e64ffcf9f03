"""`_daybook.json` in a folder that Daybook writes: its columns and its commits."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from daybook.errors import DaybookError
from daybook.io.filesystem import local_path
from daybook.io.target import SliceOwner

MANIFEST_NAME = "_daybook.json"


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """One commit; `files` are relative to the folder and belong to slice `run_period`."""

    run_id: str
    operation_seq: int
    project_id: str
    operation_id: str
    run_period: str | None
    rows: int
    files: tuple[str, ...]
    # Empty in manifests made before these were kept.
    mode: str = ""
    workspace: str = ""
    workspace_id: str = ""

    @property
    def owner(self) -> SliceOwner:
        return SliceOwner(self.project_id, self.operation_id, self.workspace, self.workspace_id)


@dataclass(frozen=True, slots=True)
class Manifest:
    """Columns by name with their declared types as text, and the live commits; `past` keeps who committed before."""

    columns: Mapping[str, str]
    entries: tuple[ManifestEntry, ...]
    past: tuple[tuple[str, int, int], ...] = ()

    def has_appended_slice(self, slices: frozenset[str] | None) -> bool:
        """Whether more than one commit filled one of the slices; None asks for all."""
        periods = [entry.run_period for entry in self.entries if slices is None or entry.run_period in (None, *slices)]
        return len(periods) > len(set(periods))

    def to_json(self) -> str:
        return json.dumps({"format": 1, **asdict(self)}, indent=1)


def manifest_from_json(text: str) -> Manifest:
    data: dict[str, Any] = json.loads(text)
    entries = tuple(ManifestEntry(**{**entry, "files": tuple(entry["files"])}) for entry in data["entries"])
    return Manifest(data["columns"], entries, tuple((run, seq, rows) for run, seq, rows in data["past"]))


def read_manifest(uri: str) -> Manifest | None:
    """The manifest of a local folder; None when it has none, IO_040 when it is damaged."""
    path = local_path(uri)
    if path is None or not (path / MANIFEST_NAME).is_file():
        return None
    with translate_damage(path / MANIFEST_NAME):
        return manifest_from_json((path / MANIFEST_NAME).read_text(encoding="utf-8"))


@contextmanager
def translate_damage(path: Path) -> Iterator[None]:
    """IO_040 for a file of Daybook's own that does not hold what Daybook wrote."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as damage:
        raise DaybookError("IO_040", file=path) from damage
