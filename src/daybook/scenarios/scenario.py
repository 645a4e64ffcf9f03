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

# What these keys hold is loaded with the place of everything in it; all others are those of Frame.
OWN_KEYS = {
    "datasets": "The datasets that are read, with their rows; the first one is the input.",
    "project": "What is tested; `input` may be left out. Or `{file: PATH}`, relative to the scenario.",
}
DATASET_KEYS = {
    "dataset": "Its definition. The same id again is the next version.",
    "rows": "Its rows, written out.",
    "file": "Instead of rows: a file that has them, relative to the scenario.",
}


def _as_date(value: Any) -> Any:
    """YAML 1.2 has no dates of its own: 2026-01-31 arrives as text."""
    return datetime.date.fromisoformat(value) if isinstance(value, str) else value


class Expectation(Declaration):
    """`rows` are those of the last output; `outputs` those of several, by table, path or operation id."""

    rows: Rows | None = Field(default=None, description="The rows of the last output; only the columns named count.")
    outputs: dict[str, Rows] | None = Field(
        default=None, description="The rows of several outputs, by table, path or operation id."
    )
    error: Text | None = Field(default=None, description="Instead of rows: the code the project must fail with.")
    match: Literal["exact", "subset"] = Field(
        default="exact", description="Whether there may be other rows than those expected."
    )
    order: bool = Field(default=False, description="Whether the order of the rows counts.")
    tolerance: Decimal | int = Field(default=0, ge=0, description="How far numbers may be off.")


class Frame(Declaration):
    """What a scenario says besides its datasets and its project."""

    name: Text = Field(description="What is tested, in a sentence.")
    description: str | None = Field(default=None, description="A note for people.")
    period: Text = Field(description="The period of the run.")
    as_of: Annotated[datetime.date | None, BeforeValidator(_as_date)] = Field(
        default=None, description="The date for bitemporal data; left out, the period's first day."
    )
    expect: Expectation = Field(description="What must come out.")


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
