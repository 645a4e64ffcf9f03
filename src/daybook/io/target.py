"""Where one output of one run goes: a file or folder, or a table of a database.

Everything staged for it is named after its run and operation, so that what dead runs left can be found by its name.
"""

import datetime
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from daybook.model.datasource import DataSource
from daybook.model.operation import OutputMode, SchemaChangeRule
from daybook.model.types import ColumnType
from daybook.resolve.locations.location import Location, is_one_file

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
    """What a file that people open tells about the run that wrote it: names and values, in sections."""

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
    # For formats that tell where their rows come from; None outside of runs.
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
        """A fresh name, so that a late task of a dead attempt writes where nobody looks."""
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


def target_at(location: Location, **given: Any) -> Target:
    """The target at a location."""
    return TableTarget(location=location, **given) if location.is_database else FileTarget(location=location, **given)
