"""A scenario: inputs, a project, the expected rows."""

import datetime
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field

from daybook.errors import DaybookError
from daybook.model.base import Declaration, Text
from daybook.model.catalog import DatasetVersion
from daybook.model.definition import Definition
from daybook.model.project import Project
from daybook.model.source_map import SourceMap

Rows: TypeAlias = tuple[dict[str, Any], ...]


def _as_date(value: Any) -> Any:
    """YAML 1.2 has no dates of its own: 2026-01-31 arrives as text."""
    return datetime.date.fromisoformat(value) if isinstance(value, str) else value


class Expectation(Declaration):
    """`rows` are those of the last output; `outputs` those of several, by table, path or operation id."""

    rows: Rows | None = None
    outputs: dict[str, Rows] | None = None
    error: Text | None = None
    match: Literal["exact", "subset"] = "exact"
    order: bool = False
    tolerance: Decimal | int = Field(default=0, ge=0)


class Frame(Declaration):
    """What a scenario says besides its datasets and its project."""

    name: Text
    description: str | None = None
    period: Text
    as_of: Annotated[datetime.date | None, BeforeValidator(_as_date)] = None
    expect: Expectation


@dataclass(frozen=True, slots=True)
class GivenDataset:
    """A dataset version with its rows, written out or in a file."""

    version: DatasetVersion
    rows: Rows
    file: Path | None
    source: SourceMap


@dataclass(frozen=True, slots=True)
class Scenario:
    """`project` is None when it is wrong already; `findings` then says why, which may be what is expected."""

    file: Path
    frame: Frame
    datasets: tuple[GivenDataset, ...]
    project: Definition[Project] | None
    findings: tuple[DaybookError, ...]
    source: SourceMap

    @property
    def name(self) -> str:
        return self.frame.name
