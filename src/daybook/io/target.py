"""The target of one output of one run, and the owner of a slice.

Everything staged for a target is named after its run and operation, so that what killed runs left can be found by its
name. Every commit leaves who made it beside what it wrote: a store knows only its own runs, and only by the spelling
of a location. What lies with the table is the same for every workspace that writes to it, under whatever name.
"""

import datetime
import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from daybook.io.storage import PROVIDER_STORAGE, Storage
from daybook.model.datasource import DataSource
from daybook.model.operation import OutputMode, SchemaChangeRule
from daybook.model.types import ColumnType
from daybook.resolve.location import Location, is_one_file

STAGED_PREFIX = "daybook-"

_ATTEMPT_NAME = re.compile(rf"\.?{STAGED_PREFIX}(?P<run>.+)\.(?P<seq>\d+)\.[0-9a-f]{{8}}")


def staged_key(run_id: str, operation_seq: int) -> str:
    """What the names of all attempts at one output of one run begin with."""
    return f"{STAGED_PREFIX}{run_id}.{operation_seq}"


def parse_staged_name(name: str) -> tuple[str, int] | None:
    """The run and operation that something staged belongs to."""
    match = _ATTEMPT_NAME.fullmatch(name)
    return (match["run"], int(match["seq"])) if match else None


@dataclass(frozen=True, slots=True)
class OutputColumn:
    name: str
    type: ColumnType


@dataclass(frozen=True, slots=True)
class SliceOwner:
    """Who writes a slice; `workspace`, a name, and `workspace_id` are empty where they were not kept."""

    project_id: str
    operation_id: str
    workspace: str = ""
    workspace_id: str = ""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """The facts about a run that are written to a file for people: names and values, in sections."""

    timestamp: datetime.datetime
    sections: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _OutputTarget:
    location: Location
    mode: OutputMode
    columns: tuple[OutputColumn, ...]
    run_id: str
    operation_seq: int
    owner: SliceOwner
    # Written as `_run_period` by tables that collect periods; None for a plain location.
    run_period: str | None = None
    on_schema_change: SchemaChangeRule = "refuse"
    allow_empty: bool = False
    # Relative paths of data sources and credentials start here.
    workspace: Path = Path()
    storage: Storage = PROVIDER_STORAGE
    # For formats that describe where their rows come from; None outside of runs.
    facts: RunFacts | None = None

    @property
    def format(self) -> str:
        return self.location.format

    @property
    def label(self) -> str:
        """The target as messages name it."""
        return self.location.label

    @property
    def options(self) -> Mapping[str, Any]:
        return self.location.options

    @property
    def slice_note(self) -> str:
        """` for 2026-01`, or nothing, in messages about a slice."""
        return f" for {self.run_period}" if self.run_period and self.mode == "replace_period" else ""

    @property
    def staging_key(self) -> str:
        """What the names of everything staged for this output begin with."""
        return staged_key(self.run_id, self.operation_seq)

    def new_attempt_name(self) -> str:
        """A new unique name, so that a late task of an ended attempt cannot write into this attempt."""
        return f"{self.staging_key}.{uuid.uuid4().hex[:8]}"


class FileTarget(_OutputTarget):
    """A file, or a folder that is a table."""

    __slots__ = ()

    @property
    def uri(self) -> str:
        return self.location.file_uri

    @property
    def is_one_file(self) -> bool:
        return is_one_file(self.format, self.uri)


class TableTarget(_OutputTarget):
    """A table of a database."""

    __slots__ = ()

    @property
    def table(self) -> str:
        return self.location.table_name

    @property
    def schema(self) -> str | None:
        return self.location.schema

    @property
    def datasource(self) -> DataSource:
        return self.location.database


Target: TypeAlias = FileTarget | TableTarget


def target_at(location: Location, **arguments: Any) -> Target:
    """The target at a location."""
    return (
        TableTarget(location=location, **arguments)
        if location.is_database
        else FileTarget(location=location, **arguments)
    )


# What a commit that removed a slice is marked by, where commits keep their mode.
DROP_MODE = "drop"


@dataclass(frozen=True, slots=True)
class WrittenSlice:
    """A slice and the run that wrote it last; without `owner` it belongs to all who append to it."""

    period: str
    run_id: str
    owner: SliceOwner | None
    # Of a slice with an owner, as its last commit counted them.
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class SliceCommit:
    """One commit as the data keeps it; `mode` is empty where it was not kept."""

    run_id: str
    mode: str
    period: str | None
    owner: SliceOwner
    rows: int | None = None


def slices_after(commits: Iterable[SliceCommit]) -> dict[str, WrittenSlice]:
    """The slices that commits, oldest first, left behind."""
    slices: dict[str, WrittenSlice] = {}
    for commit in commits:
        if commit.mode in ("replace", "error"):
            slices.clear()
        if commit.period is None:
            continue
        if commit.mode == DROP_MODE:
            slices.pop(commit.period, None)
            continue
        earlier_slice = slices.get(commit.period)
        is_appended = commit.mode == "append" or (commit.mode == "" and earlier_slice is not None)
        if not is_appended:
            slices[commit.period] = WrittenSlice(commit.period, commit.run_id, commit.owner, commit.rows)
        else:
            # The owner of a slice may append to it; a slice that begins with an append has no owner.
            owner = (
                earlier_slice.owner
                if earlier_slice is not None and earlier_slice.owner and commit.mode == "append"
                else None
            )
            rows = (
                (earlier_slice.rows or 0) + (commit.rows or 0)
                if earlier_slice is not None and owner is not None
                else None
            )
            slices[commit.period] = WrittenSlice(commit.period, commit.run_id, owner, rows)
    return slices


def affected_slices(slices: Mapping[str, WrittenSlice], target: Target) -> tuple[WrittenSlice, ...]:
    """Those that an output writes to, or throws away because it replaces the table."""
    match target.mode:
        case "replace":
            return tuple(slices.values())
        case "replace_period" | "append":
            slice_ = slices.get(target.run_period) if target.run_period is not None else None
            return (slice_,) if slice_ is not None else ()
        case "error":
            return ()
