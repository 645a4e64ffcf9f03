"""A scenario: inputs, a project, the expected rows, and the definitions it uses, with the position of every error.

Rows of its datasets are exact values, never through floats; they are given in the scenario, or an output of it wrote
them.
"""

import datetime
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import pyarrow as pa
from pydantic import BeforeValidator, Field

from daybook.definitions.deferred import Deferred
from daybook.definitions.files import definitions_of_files
from daybook.definitions.loading import LoadedWorkspace, find_workspace
from daybook.definitions.loading.loaded_workspace import read_workspace
from daybook.definitions.value import DatasetVersions, Definitions
from daybook.errors import DaybookError
from daybook.errors.error import did_you_mean
from daybook.io.bindings import PHYSICAL_TIME_COLUMNS, carried_types, validity_types
from daybook.io.column_types import BadValueError, arrow_type, parse_texts
from daybook.io.landing.repeated_keys import find_repeated, report_repeated
from daybook.model.dataset import Dataset, TemporalMode
from daybook.model.declaration import Declaration, NonEmptyText
from daybook.model.definition import DeclaredVersion, Definition
from daybook.model.operation import LocationDestination, Operation, OutputArguments, OutputOperation, TableDestination
from daybook.model.project import Project
from daybook.model.source_map import SourceMap
from daybook.model.types import RUN_PERIOD_COLUMN, STRING, ColumnType, value_text
from daybook.plan.expected import as_expected, awaited_datasets
from daybook.plan.plan_cache import PlanCache

# Where a row of a scenario stands; the engine reads these columns.
ORIGIN_COLUMN, ORDINAL_COLUMN = "__place", "__ordinal"


class Workspaces:
    """The workspaces around scenario files, each read once; scenarios of several threads share it."""

    def __init__(self) -> None:
        self._read: dict[Path, LoadedWorkspace] = {}
        self._lock = threading.Lock()

    def around(self, file: Path) -> LoadedWorkspace | None:
        """The definitions around a file, as far as they are right; None outside of any workspace."""
        try:
            root = find_workspace(file)
        except DaybookError:
            return None
        with self._lock:
            if root not in self._read:
                self._read[root] = read_workspace(root)[0]
            return self._read[root]


def scenario_definitions(
    versions: Iterable[DeclaredVersion],
    workspace: LoadedWorkspace | None,
    *,
    references: Iterable[str] = (),
    projects: Iterable[Definition[Project]] = (),
    has_workspace_projects: bool = False,
) -> Definitions:
    """A scenario's datasets, and the calendars of the workspace it lies in; where data lies does not matter.

    `references` are the datasets that are named by id: they have one set of rows for all versions. With projects of the
    workspace, its other datasets are known, too, and what `projects` need of what the workspace's projects register.
    """
    own = _own_datasets(versions, frozenset(references))
    if workspace is None:
        return Definitions(own)
    files = definitions_of_files(workspace)
    if not has_workspace_projects:
        return Definitions(own, calendars=files.calendars)
    combined = replace(files, datasets={**files.datasets, **own})
    awaited = {id_ for project in projects for id_ in awaited_datasets(project.model, combined) if id_ not in own}
    makers = workspace.definitions["project"].values()
    expected = as_expected(files, makers, PlanCache(), dataset_ids=awaited)
    return Definitions({**expected.datasets, **own}, calendars=files.calendars, makers=expected.makers)


def _own_datasets(versions: Iterable[DeclaredVersion], references: frozenset[str]) -> Mapping[str, DatasetVersions]:
    numbered: dict[str, dict[int, Deferred[DeclaredVersion | None]]] = {}
    latest: dict[str, DeclaredVersion] = {}
    for version in versions:
        dataset_id = version.dataset.id
        numbered.setdefault(dataset_id, {})[version.version] = Deferred.of(version)
        if dataset_id not in latest or latest[dataset_id].version < version.version:
            latest[dataset_id] = version
    return {
        dataset_id: DatasetVersions(
            Deferred.of(version), numbered[dataset_id], serves_every_version=dataset_id in references
        )
        for dataset_id, version in latest.items()
    }


Rows: TypeAlias = tuple[dict[str, Any], ...]

# What these keys hold is loaded with the place of everything in it; all others are those of Frame.
SCENARIO_KEYS = {
    "datasets": "The datasets that are read, with their rows; the first one is the input.",
    "project": "What is tested; `input` is optional. Or `{id: PROJECT}` of the workspace, or `{file: PATH}`, "
    "relative to the scenario.",
    "build": "Instead of project: ids of projects of the workspace, run in this order.",
}
REQUIRED_KEYS = ("datasets",)
DATASET_KEYS = {
    "dataset": "Its definition, or `{id: DATASET}` of the workspace; rows then need only the columns that matter. The "
    "same id again is the next version.",
    "rows": "Its rows.",
    "file": "Instead of rows: a file that has them, relative to the scenario.",
}


def _parse_date(value: Any) -> Any:
    """YAML 1.2 has no dates of its own: 2026-01-31 arrives as text."""
    return datetime.date.fromisoformat(value) if isinstance(value, str) else value


class Expectation(Declaration):
    """`rows` are those of the last output; `outputs` those of several, by table, path or operation id."""

    rows: Rows | None = Field(
        default=None, description="The rows of the last output; only the named columns are compared."
    )
    outputs: dict[str, Rows] | None = Field(
        default=None, description="The rows of several outputs, by table, path or operation id."
    )
    error: NonEmptyText | None = Field(
        default=None, description="Instead of rows: the code the project must fail with."
    )
    match: Literal["exact", "subset"] = Field(
        default="exact", description="Whether rows other than the expected ones are allowed."
    )
    counts: dict[str, Annotated[int, Field(ge=0)]] | None = Field(
        default=None,
        description="How many rows operations changed, added, deleted, checked or wrote, by id or seq, of all periods.",
    )
    order: bool = Field(default=False, description="Whether the order of the rows is compared.")
    tolerance: Decimal | int = Field(default=0, ge=0, description="The largest allowed difference of a number.")


class ScenarioHeader(Declaration):
    """What a scenario declares in addition to its datasets and its project."""

    name: NonEmptyText = Field(description="What the scenario tests, in one sentence.")
    description: str | None = Field(default=None, description="A description.")
    period: NonEmptyText | None = Field(default=None, description="The period of the run.")
    periods: tuple[NonEmptyText, ...] | None = Field(
        default=None, description="Instead of period: several periods, run in this order."
    )
    as_of: Annotated[datetime.date | None, BeforeValidator(_parse_date)] = Field(
        default=None, description="The date for bitemporal data; by default the first day of the period."
    )
    parameters: dict[str, Any] = Field(
        default_factory=dict, description="Values for parameters of the project, by name."
    )
    expect: Expectation = Field(description="The expected result.")

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
        name
        for project in projects
        for operation in _output_operations(project)
        for name in output_names(project, operation)
    }
    operations = {
        name for project in projects for operation in project.operations for name in operation_names(project, operation)
    }
    expect = scenario.frame.expect
    for key, named, names in (("outputs", expect.outputs, outputs), ("counts", expect.counts, operations)):
        for name in named or ():
            if name not in names:
                span = scenario.source.key("expect", key, name)
                what = "output" if key == "outputs" else "operation"
                problem = f"its project has no {what} {name}"
                yield DaybookError("MODEL_070", span=span, problem=problem, hint=did_you_mean(name, names))


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


_TIME_COLUMNS: Mapping[TemporalMode | None, frozenset[str]] = {
    "period": frozenset({"_period"}),
    "bitemporal": frozenset(PHYSICAL_TIME_COLUMNS),
    "snapshot": frozenset(),
    None: frozenset(),
}


def carried_columns(table: pa.Table, dataset: Dataset) -> tuple[str, ...]:
    """The system columns among the columns of rows."""
    declared = {column.name for column in dataset.main_table.columns}
    types = {**carried_types(), **validity_types(dataset.main_table)}
    return tuple(name for name in table.column_names if name in types and name not in declared)


def written_rows(slices: Mapping[str, pa.Table], dataset: Dataset, other_rows: pa.Table | None) -> pa.Table:
    """What outputs wrote for a dataset, period by period, beside the rows of other periods."""
    types = {column.name: column.type for column in dataset.main_table.columns}
    tables = []
    for period, table in slices.items():
        if missing := sorted(types.keys() - set(table.column_names)):
            problem = f"{dataset.id} has a column {missing[0]}, which no output of the scenario writes"
            raise DaybookError("MODEL_070", problem=problem)
        system = {name: type_ for name, type_ in carried_types().items() if name in table.column_names}
        column_types = {**system, **types}
        columns = [table[name].combine_chunks().cast(arrow_type(type_)) for name, type_ in column_types.items()]
        size = table.num_rows
        extra = {
            RUN_PERIOD_COLUMN: pa.array([period] * size, pa.string()),
            ORIGIN_COLUMN: pa.array([period] * size, pa.string()),
            ORDINAL_COLUMN: pa.array(range(size), pa.int64()),
        }
        tables.append(pa.Table.from_arrays([*columns, *extra.values()], names=[*column_types, *extra]))
    if other_rows is not None and other_rows.num_rows:
        if "_period" in other_rows.column_names and RUN_PERIOD_COLUMN not in other_rows.column_names:
            other_rows = other_rows.append_column(RUN_PERIOD_COLUMN, other_rows["_period"])
        tables.append(other_rows)
    return pa.concat_tables(tables, promote_options="default")


def given_rows(given: GivenDataset, dataset: Dataset, period: str | None = None) -> pa.Table:
    """The rows that a scenario writes out; a column a row leaves out is NULL.

    Rows of which none says its period are of `period`. A validity needs a beginning, and without an end it has none.
    """
    declared = {column.name: column.type for column in dataset.main_table.columns}
    is_bitemporal = dataset.main_table.temporal_mode == "bitemporal"
    rows = [_with_validity(row, declared) if is_bitemporal else row for row in given.rows]
    is_of_period = period is not None and dataset.main_table.temporal_mode == "period"
    if is_of_period and (given.is_reference or not any(map(_names_a_period, rows))):
        rows = [{"_period": period, **row} for row in rows]
    # Without rows it is not known whether there is a time column, and no row has another time.
    named = {name for row in rows for name in row} if rows else _TIME_COLUMNS[dataset.main_table.temporal_mode]
    if is_bitemporal and "_valid_from" in named:
        named = {*named, "_valid_to"}
    types = {**carried_types(), **validity_types(dataset.main_table)}
    carried = {name: type_ for name, type_ in types.items() if name in named}
    if unknown := sorted(named - declared.keys() - carried.keys()):
        hint = did_you_mean(unknown[0], tuple(declared))
        problem = f"{dataset.id} has no column {unknown[0]}"
        raise DaybookError("MODEL_070", span=given.source.span("rows"), problem=problem, hint=hint)
    types = {**declared, **carried}
    columns = [_arrow_column(given, rows, name, type_) for name, type_ in types.items()]
    places = pa.array(["rows"] * len(rows), pa.string())
    ordinals = pa.array(range(len(rows)), pa.int64())
    table = pa.Table.from_arrays([*columns, places, ordinals], names=[*types, ORIGIN_COLUMN, ORDINAL_COLUMN])
    report_repeated(dataset, find_repeated(table, dataset), dataset.id)
    return table


def _names_a_period(row: Mapping[str, Any]) -> bool:
    return "_period" in row or RUN_PERIOD_COLUMN in row


def _with_validity(row: Mapping[str, Any], declared: Collection[str]) -> dict[str, Any]:
    """A row's validity under its system names too; the physical names stay where they are declared."""
    times = {name: row[physical] for name, physical in PHYSICAL_TIME_COLUMNS.items() if physical in row}
    kept = {
        name: value for name, value in row.items() if name in declared or name not in PHYSICAL_TIME_COLUMNS.values()
    }
    return {**times, **kept}


def _arrow_column(entry: GivenDataset, rows: list[dict[str, Any]], name: str, type_: ColumnType) -> pa.Array:
    texts = pa.array([None if row.get(name) is None else value_text(row[name]) for row in rows], pa.string())
    try:
        values = parse_texts(texts, type_)
    except BadValueError as bad:
        problem = f"{bad.value!r} is not a valid {type_} for {name}"
        raise DaybookError("MODEL_070", span=entry.source.span("rows", bad.index, name), problem=problem) from None
    return values if type_ == STRING else values.cast(arrow_type(type_))
