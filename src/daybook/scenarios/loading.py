"""Scenario files to scenarios, with the place of everything that is wrong."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import TypeAdapter

from daybook.errors import DaybookError, raise_all
from daybook.model.catalog import DatasetVersion
from daybook.model.definition import Definition
from daybook.model.loading import Composed, build, compose, load_text, read_text
from daybook.model.loading.build import validate
from daybook.model.node import Entry, ListNode, MappingNode, Node, ScalarNode, plain
from daybook.model.project import Project
from daybook.model.source_map import SourceMap
from daybook.scenarios.scenario import DATASET_KEYS, OWN_KEYS, Frame, GivenDataset, Rows, Scenario

DEFAULT_FOLDER = "tests/scenarios"

_FRAME = TypeAdapter(Frame)


def find_scenarios(paths: Iterable[Path], root: Path) -> Iterator[Path]:
    """The files that were named, and those below the folders that were; `tests/scenarios` when nothing was."""
    for path in tuple(paths) or (root / DEFAULT_FOLDER,):
        if path.is_file():
            yield path
        elif path.is_dir():
            yield from sorted(each for each in path.rglob("*") if each.suffix in (".yaml", ".yml", ".json"))
        else:
            raise DaybookError("MODEL_064", path=str(path))


def load_scenario(file: Path) -> Scenario:
    """Raises what is wrong with the scenario itself; what is wrong with its project may be the point of it."""
    composed = compose(read_text(file), file.as_posix())
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
        for key in OWN_KEYS
        if root.get(key) is None
    )
    datasets = tuple(_datasets(root, composed, file, errors))
    raise_all(errors)
    project, findings = _project(root, composed, file, datasets)
    own = MappingNode(root.start, root.end, {key: entry for key, entry in root.entries.items() if key not in OWN_KEYS})
    frame = validate(Frame, _FRAME, SourceMap(source.file, source.text, own), errors)
    raise_all(errors)
    raise_all(_expectation_errors(frame, source))
    return Scenario(file, frame, datasets, project, findings, source)


def _expectation_errors(frame: Frame, source: SourceMap) -> Iterator[DaybookError]:
    expect = frame.expect
    said = [name for name in ("rows", "outputs", "error") if getattr(expect, name) is not None]
    if len(said) != 1:
        problem = "expect says exactly one of rows, outputs and error"
        yield DaybookError("MODEL_070", span=source.key("expect"), problem=problem)


def _datasets(root: MappingNode, composed: Composed, file: Path, errors: list[DaybookError]) -> Iterator[GivenDataset]:
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
        definition = build("dataset", body, composed.shown, file.as_posix(), errors)
        if definition is None:
            continue
        version = versions[definition.id] = versions.get(definition.id, 0) + 1
        path = item.get("file")
        yield GivenDataset(
            DatasetVersion(definition.model, version),
            _rows(item.get("rows"), source, ("datasets", index, "rows"), errors),
            file.parent / path.text if isinstance(path, ScalarNode) else None,
            SourceMap(source.file, source.text, item),
        )


def _rows(node: Node | None, source: SourceMap, path: tuple[str | int, ...], errors: list[DaybookError]) -> Rows:
    if node is None:
        return ()
    if isinstance(node, ListNode) and all(isinstance(item, MappingNode) for item in node.items):
        rows: Rows = plain(node)
        return rows
    errors.append(DaybookError("MODEL_070", span=source.span(*path), problem="rows is a list of mappings"))
    return ()


def _project(
    root: MappingNode, composed: Composed, file: Path, datasets: tuple[GivenDataset, ...]
) -> tuple[Definition[Project] | None, tuple[DaybookError, ...]]:
    body = root.get("project")
    if isinstance(body, MappingNode) and isinstance(named := body.get("file"), ScalarNode) and len(body.entries) == 1:
        return _project_of_file(file.parent / named.text)
    if isinstance(body, MappingNode) and "input" not in body.entries:
        body = _with_input(body, datasets[0].version.dataset.id)
    errors: list[DaybookError] = []
    definition = build("project", body or MappingNode(0, 0, {}), composed.shown, file.as_posix(), errors)
    return definition, tuple(errors)


def _project_of_file(path: Path) -> tuple[Definition[Project] | None, tuple[DaybookError, ...]]:
    """The one project a file defines."""
    found = [each for each in load_text(read_text(path), path.as_posix()) if each.kind == "project"]
    if len(found) != 1:
        raise DaybookError("MODEL_070", problem=f"{path} defines {len(found)} projects, not one")
    return found[0], ()


def _with_input(project: MappingNode, dataset_id: str) -> MappingNode:
    """The first dataset is the input of a project that names none."""
    at = project.start
    identifier = ScalarNode(at, at, dataset_id, dataset_id)
    reference = MappingNode(at, at, {"dataset_id": Entry(ScalarNode(at, at, "dataset_id", "dataset_id"), identifier)})
    added = Entry(ScalarNode(at, at, "input", "input"), reference)
    return MappingNode(project.start, project.end, {**project.entries, "input": added})
