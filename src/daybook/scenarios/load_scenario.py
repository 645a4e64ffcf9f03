"""Loads scenario files, and reports errors with their positions."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from daybook.definitions.files import definitions_of_files
from daybook.definitions.loading import (
    ComposedText,
    LoadedWorkspace,
    build_definition,
    compose_documents,
    load_text,
    read_text,
)
from daybook.definitions.loading.definition_texts import validate_model
from daybook.errors import DaybookError, Span, raise_all
from daybook.errors.error import did_you_mean
from daybook.model.dataset import Dataset, View
from daybook.model.definition import DeclaredVersion, Definition, DefinitionKind
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
from daybook.plan.expected import as_expected
from daybook.plan.plan_cache import PlanCache
from daybook.scenarios.scenario import (
    DATASET_KEYS,
    REQUIRED_KEYS,
    SCENARIO_KEYS,
    GivenDataset,
    Rows,
    Scenario,
    ScenarioHeader,
    Workspaces,
)

DEFAULT_SCENARIO_FOLDER = "tests/scenarios"

_HEADER_ADAPTER = TypeAdapter(ScenarioHeader)


def find_scenarios(paths: Iterable[Path], root: Path) -> Iterator[Path]:
    """The files that were named, and those below the folders that were; `tests/scenarios` when nothing was."""
    for path in tuple(paths) or (root / DEFAULT_SCENARIO_FOLDER,):
        if path.is_file():
            yield path
        elif path.is_dir():
            yield from sorted(file for file in path.rglob("*") if file.suffix in (".yaml", ".yml", ".json"))
        else:
            raise DaybookError("MODEL_064", path=str(path))


def load_scenario(file: Path, workspaces: Workspaces | None = None) -> Scenario:
    """Raises errors of the scenario itself; errors of its project may be expected."""
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
    expectations = [name for name in ("rows", "outputs", "error") if getattr(expect, name) is not None]
    has_error_and_counts = expect.error is not None and expect.counts
    if len(expectations) > 1 or not (expectations or expect.counts is not None) or has_error_and_counts:
        problem = "expect needs exactly one of rows, outputs and error; counts may be given with rows and outputs"
        yield DaybookError("MODEL_070", span=source.key("expect"), problem=problem)
    if (frame.period is None) == (not frame.periods):
        yield DaybookError("MODEL_070", span=source.span(), problem="it needs either period or periods")


def _parse_datasets(
    root: MappingNode,
    composed: ComposedText,
    file: Path,
    workspaces: Workspaces,
    errors: list[DaybookError],
) -> Iterator[GivenDataset]:
    source = SourceMap(file.as_posix(), composed.shown, root)
    entries = root.get("datasets")
    if not isinstance(entries, ListNode) or not entries.items:
        errors.append(
            DaybookError("MODEL_070", span=source.span("datasets"), problem="datasets is a list, the input first")
        )
        return
    versions: dict[str, int] = {}
    for index, item in enumerate(entries.items):
        place = source.span("datasets", index)
        body = item.get("dataset") if isinstance(item, MappingNode) else None
        if body is None or not isinstance(item, MappingNode) or item.entries.keys() - DATASET_KEYS:
            problem = "each entry of datasets needs dataset, and rows or file"
            errors.append(DaybookError("MODEL_070", span=place, problem=problem))
            continue
        is_reference = _is_reference(body)
        try:
            if is_reference:
                span = source.span("datasets", index, "dataset")
                model = _find_dataset(body, workspaces.around(file), span)
            else:
                definition = build_definition("dataset", body, composed.shown, file.as_posix(), errors)
                if definition is None:
                    continue
                model = definition.model
        except DaybookError as error:
            errors.append(error)
            continue
        version = versions[model.id] = versions.get(model.id, 0) + 1
        path = item.get("file")
        rows = _parse_rows(item.get("rows"), source, ("datasets", index, "rows"), errors)
        if is_reference and path is None:
            model = _with_nullable_columns(model, rows)
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


def _find_dataset(body: DocumentNode | None, workspace: LoadedWorkspace | None, span: Span | None) -> Dataset | View:
    """A dataset that is named by its id: one that the workspace defines, or that a project of it registers."""
    node = body.get("id") if isinstance(body, MappingNode) else None
    if workspace is not None and isinstance(node, ScalarNode) and workspace.get("dataset", node.text) is None:
        projects = workspace.definitions["project"].values()
        files = definitions_of_files(workspace)
        registered = as_expected(files, projects, PlanCache(), dataset_ids=[node.text]).declared(node.text)
        if registered is not None:
            return registered.dataset
    model: Dataset | View = _find_definition("dataset", body, workspace, span).model
    return model


def _find_definition(
    kind: DefinitionKind, body: DocumentNode | None, workspace: LoadedWorkspace | None, span: Span | None
) -> Definition[Any]:
    """The definition of the workspace that a scenario names by its id."""
    node = body.get("id") if isinstance(body, MappingNode) else body
    name = node.text if isinstance(node, ScalarNode) else ""
    if workspace is None:
        problem = f"{kind} {name} is named by its id, and there is no workspace around the scenario"
        raise DaybookError("MODEL_070", span=span, problem=problem)
    definition = workspace.get(kind, name)
    if definition is None:
        hint = did_you_mean(name, tuple(workspace.definitions[kind]))
        raise DaybookError("MODEL_070", span=span, problem=f"the workspace defines no {kind} {name}", hint=hint)
    return definition


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
    projects = [
        definition for definition in load_text(read_text(path), path.as_posix()) if definition.kind == "project"
    ]
    if len(projects) != 1:
        raise DaybookError("MODEL_070", problem=f"{path} defines {len(projects)} projects, not one")
    return projects[0], ()


def _with_input(project: MappingNode, dataset_id: str) -> MappingNode:
    """The first dataset is the input of a project that names none."""
    at = project.start
    identifier = ScalarNode(at, at, dataset_id, dataset_id)
    reference = MappingNode(
        at, at, {"dataset_id": MappingEntry(ScalarNode(at, at, "dataset_id", "dataset_id"), identifier)}
    )
    added = MappingEntry(ScalarNode(at, at, "input", "input"), reference)
    return MappingNode(project.start, project.end, {**project.entries, "input": added})
