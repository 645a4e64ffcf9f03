"""A scenario: inputs, a project, the expected rows, with the place of everything that is wrong."""

import datetime
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field, TypeAdapter

from daybook.errors import DaybookError, raise_all
from daybook.errors.suggestion import did_you_mean
from daybook.model.declaration import Declaration, NonEmptyText
from daybook.model.definition import DeclaredVersion, Definition
from daybook.model.loading import ComposedText, build_definition, compose_documents, load_text, read_text
from daybook.model.loading.definitions import validate_model
from daybook.model.operation import LocationDestination, OutputArguments, OutputOperation, TableDestination
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

Rows: TypeAlias = tuple[dict[str, Any], ...]

# What these keys hold is loaded with the place of everything in it; all others are those of Frame.
SCENARIO_KEYS = {
    "datasets": "The datasets that are read, with their rows; the first one is the input.",
    "project": "What is tested; `input` may be left out. Or `{file: PATH}`, relative to the scenario.",
}
DATASET_KEYS = {
    "dataset": "Its definition. The same id again is the next version.",
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
    order: bool = Field(default=False, description="Whether the order of the rows counts.")
    tolerance: Decimal | int = Field(default=0, ge=0, description="How far numbers may be off.")


class ScenarioHeader(Declaration):
    """What a scenario says besides its datasets and its project."""

    name: NonEmptyText = Field(description="What is tested, in a sentence.")
    description: str | None = Field(default=None, description="A note for people.")
    period: NonEmptyText = Field(description="The period of the run.")
    as_of: Annotated[datetime.date | None, BeforeValidator(_parse_date)] = Field(
        default=None, description="The date for bitemporal data; left out, the period's first day."
    )
    parameters: dict[str, Any] = Field(
        default_factory=dict, description="Values for parameters of the project, by name."
    )
    expect: Expectation = Field(description="What must come out.")


@dataclass(frozen=True, slots=True)
class GivenDataset:
    """A dataset with its rows, written out or in a file; a view reads those of another dataset."""

    version: DeclaredVersion
    rows: Rows
    file: Path | None
    source: SourceMap


@dataclass(frozen=True, slots=True)
class Scenario:
    """`project` is None when it is wrong already; `findings` then says why, which may be what is expected."""

    file: Path
    frame: ScenarioHeader
    datasets: tuple[GivenDataset, ...]
    project: Definition[Project] | None
    findings: tuple[DaybookError, ...]
    source: SourceMap

    @property
    def name(self) -> str:
        return self.frame.name


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


def unknown_output_errors(scenario: Scenario, project: Project) -> Iterator[DaybookError]:
    """An expectation of an output that does not exist could hold whatever the project does."""
    outputs = _output_operations(project)
    if not outputs:
        yield DaybookError("MODEL_070", span=scenario.source.span("project"), problem="its project has no output")
        return
    known = {name for output in outputs for name in (destination_name(output.arguments), output.id)}
    for name in scenario.frame.expect.outputs or ():
        if name not in known:
            span = scenario.source.key("expect", "outputs", name)
            problem = f"its project has no output {name}"
            yield DaybookError("MODEL_070", span=span, problem=problem, hint=did_you_mean(name, known))


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


def load_scenario(file: Path) -> Scenario:
    """Raises what is wrong with the scenario itself; what is wrong with its project may be the point of it."""
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
        for key in SCENARIO_KEYS
        if root.get(key) is None
    )
    datasets = tuple(_parse_datasets(root, composed, file, errors))
    raise_all(errors)
    project, findings = _parse_project(root, composed, file, datasets)
    own = MappingNode(
        root.start, root.end, {key: entry for key, entry in root.entries.items() if key not in SCENARIO_KEYS}
    )
    frame = validate_model(ScenarioHeader, _HEADER_ADAPTER, SourceMap(source.file, source.text, own), errors)
    raise_all(errors)
    raise_all(_expectation_errors(frame, source))
    return Scenario(file, frame, datasets, project, findings, source)


def _expectation_errors(frame: ScenarioHeader, source: SourceMap) -> Iterator[DaybookError]:
    expect = frame.expect
    said = [name for name in ("rows", "outputs", "error") if getattr(expect, name) is not None]
    if len(said) != 1:
        problem = "expect says exactly one of rows, outputs and error"
        yield DaybookError("MODEL_070", span=source.key("expect"), problem=problem)


def _parse_datasets(
    root: MappingNode, composed: ComposedText, file: Path, errors: list[DaybookError]
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
        definition = build_definition("dataset", body, composed.shown, file.as_posix(), errors)
        if definition is None:
            continue
        version = versions[definition.id] = versions.get(definition.id, 0) + 1
        path = item.get("file")
        yield GivenDataset(
            DeclaredVersion(definition.model, version),
            _parse_rows(item.get("rows"), source, ("datasets", index, "rows"), errors),
            file.parent / path.text if isinstance(path, ScalarNode) else None,
            SourceMap(source.file, source.text, item),
        )


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


def _parse_project(
    root: MappingNode, composed: ComposedText, file: Path, datasets: tuple[GivenDataset, ...]
) -> tuple[Definition[Project] | None, tuple[DaybookError, ...]]:
    body = root.get("project")
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
