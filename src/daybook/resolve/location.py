"""Where the data of a table lies for a period."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from daybook.model.datasource import DataSource
from daybook.model.period import Period

Format = Literal["delta", "parquet", "csv", "json", "postgresql", "sqlite", "jdbc"]


@dataclass(frozen=True, slots=True)
class Location:
    """One place to read: a file or folder by `uri`, or a `table` of a database."""

    format: Format
    uri: str | None = None
    table: str | None = None
    schema: str | None = None
    datasource: DataSource | None = None
    # The folder paths are relative to in row identity; None for an inline path outside any data source.
    root: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    # Set when the location belongs to one period alone, so that rows may lack `_period`.
    period: Period | None = None
    delta_version: int | None = None


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a resolver made of (table, period), with the reason."""

    locations: tuple[Location, ...]
    # Identifiers the time filter of a period table accepts.
    periods: tuple[str, ...]
    resolver_id: str | None = None
    resolver_version: int | None = None
    rule: str | None = None
