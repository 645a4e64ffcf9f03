"""The contract of writers: stage beside the target, then make it the target in one atomic step."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from pyspark.sql import DataFrame

from daybook.errors import Notice
from daybook.io.staged_names import staged_key
from daybook.model.datasource import DataSource
from daybook.model.operation import OutputMode
from daybook.model.types import ColumnType
from daybook.resolve.location import Format, is_one_file

# Raises when the run may no longer commit; called right before the atomic step.
Fence = Callable[[], None]


def no_fence() -> None:
    """For writers outside of runs."""


@dataclass(frozen=True, slots=True)
class OutputColumn:
    name: str
    type: ColumnType


@dataclass(frozen=True, slots=True)
class Owner:
    """Who writes a slice."""

    project_id: str
    operation_id: str


@dataclass(frozen=True, slots=True)
class Target:
    """Where one output of one run goes, and how."""

    format: Format
    mode: OutputMode
    columns: tuple[OutputColumn, ...]
    run_id: str
    operation_seq: int
    owner: Owner
    # A folder or file for the file formats.
    uri: str | None = None
    # A table and its schema for databases.
    table: str | None = None
    schema: str | None = None
    datasource: DataSource | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    # Written as `_run_period` by tables that collect periods; None for a plain location.
    run_period: str | None = None
    on_schema_change: Literal["refuse", "add"] = "refuse"
    allow_empty: bool = False
    # Relative paths of data sources and credentials start here.
    workspace: Path = Path()

    @property
    def is_one_file(self) -> bool:
        return is_one_file(self.format, self.uri)

    @property
    def place(self) -> str:
        """The target as messages name it."""
        if self.uri is not None:
            return self.uri
        prefix = f"{self.datasource.id}." if self.datasource else ""
        return f"{prefix}{self.schema}.{self.table}" if self.schema else f"{prefix}{self.table}"

    @property
    def slice_note(self) -> str:
        """` for 2026-01`, or nothing, in messages about a slice."""
        return f" for {self.run_period}" if self.run_period and self.mode == "replace_period" else ""

    @property
    def key(self) -> str:
        """What names everything staged for this output, so that litter can be told by its run."""
        return staged_key(self.run_id, self.operation_seq)


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A staged data file; `path` is relative to the staging place."""

    path: str
    size: int
    rows: int
    modified_ns: int = 0
    # What the format wants to say about the file when it is committed, taken from the footer that gave the rows.
    described: str | None = None


@dataclass(frozen=True, slots=True)
class Staged:
    """Data that was written but is not yet the target."""

    place: str
    rows: int
    # None for Delta, whose fingerprint is taken from its files when it is asked for.
    fingerprint: str | None = None
    files: tuple[StagedFile, ...] = ()
    # What the slice or table was when it was checked, to notice another writer.
    seen: str | None = None


@dataclass(frozen=True, slots=True)
class Commit:
    """What was made the target; `is_repeat` when an earlier attempt of the same run and operation had done it."""

    rows: int
    delta_version: int | None = None
    is_repeat: bool = False
    notices: tuple[Notice, ...] = ()


class Writer(Protocol):
    """One format's way to write so that nothing is lost; stateless, safe to call again after any failure."""

    def check(self, target: Target) -> None:
        """Refuse, before any work, what would be refused at the commit: other columns, an existing target, a mode."""
        ...

    def stage(self, df: DataFrame, target: Target) -> Staged:
        """Write the rows to a place of their own; this is the Spark action. What is there from a dead attempt goes."""
        ...

    def commit(self, staged: Staged, target: Target, fence: Fence = no_fence) -> Commit:
        """Make the staged data the target, exactly once per (run, operation)."""
        ...

    def committed(self, target: Target) -> Commit | None:
        """The commit of this (run, operation) if there was one."""
        ...

    def discard(self, target: Target) -> None:
        """Remove what is staged for this (run, operation); harmless after a commit."""
        ...
