"""Where the data of a table lies for a period."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from daybook.model.datasource import DataSource
from daybook.model.period import Period
from daybook.resolve.paths import is_remote

Format = Literal["delta", "parquet", "csv", "json", "postgresql", "sqlite", "jdbc"]
DATABASES: frozenset[Format] = frozenset({"postgresql", "sqlite", "jdbc"})

_EXTENSION = re.compile(r"[^/.][^/]*\.([A-Za-z][A-Za-z0-9]*)$")


def extension(path: str) -> str | None:
    """The extension of a path's last part, in lower case: `csv` of `out/2026-01.csv`."""
    found = _EXTENSION.search(path)
    return found[1].lower() if found else None


def is_one_file(format_: Format, uri: str | None) -> bool:
    """Whether what is written there is one file; a Delta table and a path without an extension are folders."""
    return uri is not None and format_ != "delta" and extension(uri) is not None


@dataclass(frozen=True, slots=True)
class Location:
    """One place to read or write: a file or folder by `uri`, or a `table` of a database.

    A `uri` is a plain absolute path on this machine, or a URI with a scheme elsewhere.
    Databases have none: their data source says where they are.
    """

    format: Format
    uri: str | None = None
    table: str | None = None
    schema: str | None = None
    datasource: DataSource | None = None
    # The folder paths are relative to in row identity: of the data source, or the workspace for an inline path in it;
    # None for an inline path outside both.
    root: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    # Set when the location belongs to one period alone, so that rows may lack `_period`.
    period: Period | None = None
    delta_version: int | None = None

    @property
    def is_database(self) -> bool:
        return self.format in DATABASES

    @property
    def local_path(self) -> Path | None:
        """The path on this machine, None for what lies elsewhere."""
        return Path(self.uri) if self.uri is not None and not is_remote(self.uri) else None


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a resolver made of (table, period), with the reason."""

    locations: tuple[Location, ...]
    # Identifiers the time filter of a period table accepts.
    periods: tuple[str, ...]
    resolver_id: str | None = None
    resolver_version: int | None = None
    rule: str | None = None
