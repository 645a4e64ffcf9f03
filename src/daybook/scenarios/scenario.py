"""A scenario: inputs, a project, the expected rows, with the place of everything that is wrong."""

import datetime
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field, TypeAdapter

from daybook.errors import DaybookError, Span, raise_all
from daybook.errors.suggestion import did_you_mean
from daybook.model.dataset import Dataset
from daybook.model.declaration import Declaration, NonEmptyText
from daybook.model.definition import DeclaredVersion, Definition, DefinitionKind
from daybook.model.loading import (
    ComposedText,
    LoadedWorkspace,
    build_definition,
    compose_documents,
    load_text,
    read_text,
)
from daybook.model.loading.definitions import validate_model
from daybook.model.operation import (
    LocationDestination,
    Operation,
    OutputArguments,
    OutputOperation,
    TableDestination,
)
from daybook.model.project import Project
from daybook.model.source_map import (
    DocumentNode,
    ListNode,
    MappingEntry,
    MappingNode,
    ScalarNode,
    SourceMap,
    plain_value,
)
from daybook.model.view import View
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


DEFAULT_SCENARIO_FOLDER = "tests/scenarios"

_HEADER_ADAPTER = TypeAdapter(ScenarioHeader)


def find_scenarios(paths: Iterable[Path], root: Path) -> Iterator[Path]:
    """The files that were named, and those below the folders that were; `tests/scenarios` when nothing was."""
    for path in tuple(paths) or (root / DEFAULT_SCENARIO_FOLDER,):
        if path.is_file():
            yield path
        elif path.is_dir():
            yield from sorted(each for each in path.rglob("*") if each.suffix in (".yaml", ".yml", ".json"))
        else:
            raise DaybookError("MODEL_064", path=str(path))


def load_scenario(file: Path, workspaces: Workspaces | None = None) -> Scenario:
    """Raises what is wrong with the scenario itself; what is wrong with its project may be the point of it."""
    workspaces = workspaces or Workspaces()
    composed = compose_documents(read_text(file), file.as_posix())
    errors = list(composed.errors)
    raise_all(errors)
    root = composed.documents[0] if composed.documents else MappingNode(0, 0, {})
    source = SourceMap(file.as_posix(), composed.shown, root)
    if not isinstance(root, MappingNode):
        raise DaybookError(
            "MODEL_070", span=source.span(), problem="it is a mapping with name, datasets, project, expect"
        )
    raise_all(
        DaybookError("MODEL_070", span=source.span(), problem=f"{key} is missing")
        for key in REQUIRED_KEYS
        if root.get(key) is None
    )
    if (root.get("project") is None) == (root.get("build") is None):
        problem = "project is missing, or build with several" if root.get("project") is None else "project and build"
        raise DaybookError("MODEL_070", span=source.span(), problem=problem)
    datasets = tuple(_parse_datasets(root, composed, file, workspaces, errors))
    raise_all(errors)
    projects, findings, is_of_workspace = _parse_projects(root, composed, file, datasets, workspaces)
    own = MappingNode(
        root.start, root.end, {key: entry for key, entry in root.entries.items() if key not in SCENARIO_KEYS}
    )
    frame = validate_model(ScenarioHeader, _HEADER_ADAPTER, SourceMap(source.file, source.text, own), errors)
    raise_all(errors)
    raise_all(_expectation_errors(frame, source))
    return Scenario(
        file, frame, datasets, projects, findings, source, workspaces, has_workspace_projects=is_of_workspace
    )


def _expectation_errors(frame: ScenarioHeader, source: SourceMap) -> Iterator[DaybookError]:
    expect = frame.expect
    said = [name for name in ("rows", "outputs", "error") if getattr(expect, name) is not None]
    if len(said) > 1 or not (said or expect.counts is not None) or (expect.error is not None and expect.counts):
        problem = "expect says exactly one of rows, outputs and error; counts may stand beside rows and outputs"
        yield DaybookError("MODEL_070", span=source.key("expect"), problem=problem)
    if (frame.period is None) == (not frame.periods):
        yield DaybookError("MODEL_070", span=source.span(), problem="it says either period or periods")


def _parse_datasets(
    root: MappingNode,
    composed: ComposedText,
    file: Path,
    workspaces: Workspaces,
    errors: list[DaybookError],
) -> Iterator[GivenDataset]:
    source = SourceMap(file.as_posix(), composed.shown, root)
    given = root.get("datasets")
    if not isinstance(given, ListNode) or not given.items:
        errors.append(
            DaybookError("MODEL_070", span=source.span("datasets"), problem="datasets is a list, the input first")
        )
        return
    versions: dict[str, int] = {}
    for index, item in enumerate(given.items):
        place = source.span("datasets", index)
        body = item.get("dataset") if isinstance(item, MappingNode) else None
        if body is None or not isinstance(item, MappingNode) or item.entries.keys() - DATASET_KEYS:
            problem = "each of datasets has dataset, and rows or file"
            errors.append(DaybookError("MODEL_070", span=place, problem=problem))
            continue
        is_reference = _is_reference(body)
        try:
            definition = (
                _find_definition("dataset", body, workspaces.around(file), source.span("datasets", index, "dataset"))
                if is_reference
                else build_definition("dataset", body, composed.shown, file.as_posix(), errors)
            )
        except DaybookError as error:
            errors.append(error)
            continue
        if definition is None:
            continue
        version = versions[definition.id] = versions.get(definition.id, 0) + 1
        path = item.get("file")
        rows = _parse_rows(item.get("rows"), source, ("datasets", index, "rows"), errors)
        model = _with_nullable_columns(definition.model, rows) if is_reference and path is None else definition.model
        yield GivenDataset(
            DeclaredVersion(model, version),
            rows,
            file.parent / path.text if isinstance(path, ScalarNode) else None,
            SourceMap(source.file, source.text, item),
            is_reference,
        )


def _with_nullable_columns(model: Dataset | View, rows: Rows) -> Dataset | View:
    """A dataset in which the columns that no row names may be NULL."""
    if isinstance(model, View):
        return model
    named = {name for row in rows for name in row}
    columns = tuple(
        column if column.name in named else column.model_copy(update={"nullable": True})
        for column in model.main_table.columns
    )
    return model.model_copy(update={"main_table": model.main_table.model_copy(update={"columns": columns})})


def _is_reference(body: DocumentNode | None) -> bool:
    """`{id: NAME}` and nothing else: a definition of the workspace."""
    return isinstance(body, MappingNode) and body.entries.keys() == {"id"}


def _find_definition(
    kind: DefinitionKind, body: DocumentNode | None, workspace: LoadedWorkspace | None, span: Span | None
) -> Definition[Any]:
    """The definition of the workspace that a scenario names by its id."""
    node = body.get("id") if isinstance(body, MappingNode) else body
    name = node.text if isinstance(node, ScalarNode) else ""
    if workspace is None:
        problem = f"{kind} {name} is named by its id, and there is no workspace around the scenario"
        raise DaybookError("MODEL_070", span=span, problem=problem)
    found = workspace.get(kind, name)
    if found is None:
        hint = did_you_mean(name, tuple(workspace.definitions[kind]))
        raise DaybookError("MODEL_070", span=span, problem=f"the workspace defines no {kind} {name}", hint=hint)
    return found


def _parse_rows(
    node: DocumentNode | None, source: SourceMap, path: tuple[str | int, ...], errors: list[DaybookError]
) -> Rows:
    if node is None:
        return ()
    if isinstance(node, ListNode) and all(isinstance(item, MappingNode) for item in node.items):
        rows: Rows = plain_value(node)
        return rows
    errors.append(DaybookError("MODEL_070", span=source.span(*path), problem="rows is a list of mappings"))
    return ()


def _parse_projects(
    root: MappingNode,
    composed: ComposedText,
    file: Path,
    datasets: tuple[GivenDataset, ...],
    workspaces: Workspaces,
) -> tuple[tuple[Definition[Project], ...], tuple[DaybookError, ...], bool]:
    """The projects in the order they run, what is wrong with them, and whether they are those of the workspace."""
    source = SourceMap(file.as_posix(), composed.shown, root)
    named, body = root.get("build"), root.get("project")
    if named is not None:
        if not isinstance(named, ListNode) or not named.items:
            problem = "build is a list of projects of the workspace"
            raise DaybookError("MODEL_070", span=source.span("build"), problem=problem)
        spans = [source.span("build", index) for index in range(len(named.items))]
        items = zip(named.items, spans, strict=True)
        return tuple(_find_definition("project", item, workspaces.around(file), span) for item, span in items), (), True
    if _is_reference(body):
        return (_find_definition("project", body, workspaces.around(file), source.span("project")),), (), True
    definition, findings = _parse_project(body, composed, file, datasets)
    return ((definition,) if definition is not None else ()), findings, False


def _parse_project(
    body: DocumentNode | None, composed: ComposedText, file: Path, datasets: tuple[GivenDataset, ...]
) -> tuple[Definition[Project] | None, tuple[DaybookError, ...]]:
    if isinstance(body, MappingNode) and isinstance(named := body.get("file"), ScalarNode) and len(body.entries) == 1:
        return _load_project_file(file.parent / named.text)
    if isinstance(body, MappingNode) and "input" not in body.entries:
        body = _with_input(body, datasets[0].version.dataset.id)
    errors: list[DaybookError] = []
    definition = build_definition("project", body or MappingNode(0, 0, {}), composed.shown, file.as_posix(), errors)
    return definition, tuple(errors)


def _load_project_file(path: Path) -> tuple[Definition[Project] | None, tuple[DaybookError, ...]]:
    """The one project a file defines."""
    found = [each for each in load_text(read_text(path), path.as_posix()) if each.kind == "project"]
    if len(found) != 1:
        raise DaybookError("MODEL_070", problem=f"{path} defines {len(found)} projects, not one")
    return found[0], ()


def _with_input(project: MappingNode, dataset_id: str) -> MappingNode:
    """The first dataset is the input of a project that names none."""
    at = project.start
    identifier = ScalarNode(at, at, dataset_id, dataset_id)
    reference = MappingNode(
        at, at, {"dataset_id": MappingEntry(ScalarNode(at, at, "dataset_id", "dataset_id"), identifier)}
    )
    added = MappingEntry(ScalarNode(at, at, "input", "input"), reference)
    return MappingNode(project.start, project.end, {**project.entries, "input": added})
