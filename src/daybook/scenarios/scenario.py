"""A scenario: inputs, a project, the expected rows, with the place of everything that is wrong."""

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field

from daybook.errors import DaybookError
from daybook.errors.suggestion import did_you_mean
from daybook.model.declaration import Declaration, NonEmptyText
from daybook.model.definition import DeclaredVersion, Definition
from daybook.model.loading import LoadedWorkspace
from daybook.model.operation import LocationDestination, Operation, OutputArguments, OutputOperation, TableDestination
from daybook.model.project import Project
from daybook.model.source_map import SourceMap
from daybook.scenarios.catalog import Workspaces

Rows: TypeAlias = tuple[dict[str, Any], ...]

# What these keys hold is loaded with the place of everything in it; all others are those of Frame.
SCENARIO_KEYS = {
    "datasets": "The datasets that are read, with their rows; the first one is the input.",
    "project": "What is tested; `input` may be left out. Or `{id: PROJECT}` of the workspace, or `{file: PATH}`, "
    "relative to the scenario.",
    "build": "Instead of project: ids of projects of the workspace, run in this order.",
}
REQUIRED_KEYS = ("datasets",)
DATASET_KEYS = {
    "dataset": "Its definition, or `{id: DATASET}` of the workspace; rows then name only the columns that matter. The "
    "same id again is the next version.",
    "rows": "Its rows, written out.",
    "file": "Instead of rows: a file that has them, relative to the scenario.",
}


def _parse_date(value: Any) -> Any:
    """YAML 1.2 has no dates of its own: 2026-01-31 arrives as text."""
    return datetime.date.fromisoformat(value) if isinstance(value, str) else value


class Expectation(Declaration):
    """`rows` are those of the last output; `outputs` those of several, by table, path or operation id."""

    rows: Rows | None = Field(default=None, description="The rows of the last output; only the columns named count.")
    outputs: dict[str, Rows] | None = Field(
        default=None, description="The rows of several outputs, by table, path or operation id."
    )
    error: NonEmptyText | None = Field(
        default=None, description="Instead of rows: the code the project must fail with."
    )
    match: Literal["exact", "subset"] = Field(
        default="exact", description="Whether there may be other rows than those expected."
    )
    counts: dict[str, Annotated[int, Field(ge=0)]] | None = Field(
        default=None,
        description="How many rows operations changed, added, deleted, checked or wrote, by id or seq, of all periods.",
    )
    order: bool = Field(default=False, description="Whether the order of the rows counts.")
    tolerance: Decimal | int = Field(default=0, ge=0, description="How far numbers may be off.")


class ScenarioHeader(Declaration):
    """What a scenario says besides its datasets and its project."""

    name: NonEmptyText = Field(description="What is tested, in a sentence.")
    description: str | None = Field(default=None, description="A note for people.")
    period: NonEmptyText | None = Field(default=None, description="The period of the run.")
    periods: tuple[NonEmptyText, ...] | None = Field(
        default=None, description="Instead of period: several periods, run in this order."
    )
    as_of: Annotated[datetime.date | None, BeforeValidator(_parse_date)] = Field(
        default=None, description="The date for bitemporal data; left out, the period's first day."
    )
    parameters: dict[str, Any] = Field(
        default_factory=dict, description="Values for parameters of the project, by name."
    )
    expect: Expectation = Field(description="What must come out.")

    @property
    def run_periods(self) -> tuple[str, ...]:
        return self.periods or ((self.period,) if self.period is not None else ())


@dataclass(frozen=True, slots=True)
class GivenDataset:
    """A dataset with its rows, written out or in a file; a view reads those of another dataset."""

    version: DeclaredVersion
    rows: Rows
    file: Path | None
    source: SourceMap
    # Whether it is a dataset of the workspace, named by its id.
    is_reference: bool = False


@dataclass(frozen=True, slots=True)
class Scenario:
    """`projects` are run in order for each period; none when one is wrong already, and `findings` says why.

    What is found may be what is expected.
    """

    file: Path
    frame: ScenarioHeader
    datasets: tuple[GivenDataset, ...]
    projects: tuple[Definition[Project], ...]
    findings: tuple[DaybookError, ...]
    source: SourceMap
    workspaces: Workspaces
    # Whether the projects are those of the workspace.
    has_workspace_projects: bool = False

    @property
    def name(self) -> str:
        return self.frame.name

    @property
    def workspace(self) -> LoadedWorkspace | None:
        """The workspace that it lies in; read when something of it is named."""
        return self.workspaces.around(self.file)

    @property
    def project(self) -> Definition[Project] | None:
        """The project whose outputs are expected where none is named: the last one."""
        return self.projects[-1] if self.projects else None


def destination_name(arguments: OutputArguments) -> str:
    match arguments.destination:
        case TableDestination(table=table):
            return table
        case LocationDestination(location=location):
            return location.path


def expected_outputs(scenario: Scenario) -> dict[str, Rows]:
    """The expected rows by the name of their output; `rows` are those of the last one."""
    expect = scenario.frame.expect
    if expect.rows is None or scenario.project is None:
        return dict(expect.outputs or {})
    return {destination_name(_output_operations(scenario.project.model)[-1].arguments): expect.rows}


def unknown_name_errors(scenario: Scenario) -> Iterator[DaybookError]:
    """An expectation of an output or operation that does not exist could hold whatever the project does."""
    if scenario.project is None:
        return
    if not _output_operations(scenario.project.model):
        span = scenario.source.span("project") or scenario.source.span("build")
        yield DaybookError("MODEL_070", span=span, problem="its project has no output")
        return
    projects = [definition.model for definition in scenario.projects]
    outputs = {
        name for project in projects for each in _output_operations(project) for name in output_names(project, each)
    }
    operations = {
        name for project in projects for each in project.operations for name in operation_names(project, each)
    }
    expect = scenario.frame.expect
    for key, named, known in (("outputs", expect.outputs, outputs), ("counts", expect.counts, operations)):
        for name in named or ():
            if name not in known:
                span = scenario.source.key("expect", key, name)
                what = "output" if key == "outputs" else "operation"
                problem = f"its project has no {what} {name}"
                yield DaybookError("MODEL_070", span=span, problem=problem, hint=did_you_mean(name, known))


def output_names(project: Project, output: OutputOperation) -> tuple[str, ...]:
    """How a scenario may call an output: by table, path or operation id, alone or after its project."""
    return _with_project(project, destination_name(output.arguments), output.id)


def operation_names(project: Project, operation: Operation) -> tuple[str, ...]:
    """How a scenario may call an operation, alone or after its project."""
    return _with_project(project, operation.id, str(operation.seq))


def _with_project(project: Project, *names: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*names, *(f"{project.id}.{name}" for name in names))))


def _output_operations(project: Project) -> list[OutputOperation]:
    return [operation for operation in project.operations if isinstance(operation, OutputOperation)]
