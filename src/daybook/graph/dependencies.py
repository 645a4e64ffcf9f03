"""Which projects read what other projects write, derived from the definitions."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from graphlib import CycleError, TopologicalSorter

from daybook.definitions.value import Definitions
from daybook.errors import DaybookError, Span
from daybook.model.dataset import (
    Dataset,
    DatasetRef,
    MissingPeriod,
    OffsetWindow,
    PathLocation,
    TableLocation,
    View,
    ViewOf,
    Window,
    ends_before_run,
)
from daybook.model.datasource import CatalogStrategy, FolderSource, IcebergSource, PathStrategy, TableStrategy
from daybook.model.definition import DeclaredVersion
from daybook.model.operation import OutputOperation, TableDestination
from daybook.model.project import Project

_TOKEN = re.compile(r"\{\{.*?\}\}")
# A project and the seq of an output of it.
_Output = tuple[str, int]

_TABLE_FILE = re.compile(r"\.(csv|json)$")


@dataclass(frozen=True, slots=True)
class Dependency:
    """`reader` reads what `maker` writes, as `dataset`; `views` are the views on the way, the reader's first.

    `outputs` are the outputs of the maker that write it, by seq.
    """

    reader: str
    maker: str
    dataset: str
    views: tuple[ViewOf, ...] = ()
    outputs: tuple[int, ...] = field(default=(), compare=False)
    # Whether another period's slice is read where the maker has none for the reader's.
    reads_nearest: bool = field(default=False, compare=False)
    # Whether the slices of all periods are read, for want of a time filter.
    reads_every_slice: bool = field(default=False, compare=False)

    @property
    def looks_back(self) -> bool:
        """Whether only periods before the reader's are read."""
        return any(ends_before_run(view.window) for view in self.views)

    @property
    def missing(self) -> MissingPeriod:
        """What a period without data means: one view that reads it as no rows is enough."""
        return "empty" if any(view.missing == "empty" for view in self.views) else "error"


@dataclass(frozen=True, slots=True)
class ProjectGraph:
    """Projects by id, and who reads whom."""

    projects: Mapping[str, Project]
    dependencies: tuple[Dependency, ...]
    makers: Mapping[str, tuple[Dependency, ...]] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        makers: dict[str, list[Dependency]] = {project_id: [] for project_id in self.projects}
        for dependency in self.dependencies:
            makers[dependency.reader].append(dependency)
        object.__setattr__(
            self, "makers", {project_id: tuple(project_makers) for project_id, project_makers in makers.items()}
        )

    def upstream(self, project_ids: Iterable[str]) -> frozenset[str]:
        """The projects and everything they need."""
        return self._reached(
            project_ids,
            {key: {dependency.maker for dependency in dependencies} for key, dependencies in self.makers.items()},
        )

    def downstream(self, project_ids: Iterable[str]) -> frozenset[str]:
        """The projects and everything that needs them."""
        readers: dict[str, set[str]] = {}
        for dependency in self.dependencies:
            readers.setdefault(dependency.maker, set()).add(dependency.reader)
        return self._reached(project_ids, readers)

    def _reached(self, project_ids: Iterable[str], steps: Mapping[str, set[str]]) -> frozenset[str]:
        reached: set[str] = set()
        waiting = list(project_ids)
        while waiting:
            project_id = waiting.pop()
            if project_id not in reached:
                reached.add(project_id)
                waiting += steps.get(project_id, ())
        return frozenset(reached)


def derive_graph(projects: Mapping[str, Project], definitions: Definitions) -> ProjectGraph:
    """A project depends on another where it reads a dataset that the other registers, or a place that it writes."""
    registered: dict[str, list[_Output]] = {}
    written = _WrittenPlaces()
    # The outputs of each project that write a slice for each period.
    sliced: dict[str, set[int]] = {}
    for project_id, project in projects.items():
        sliced[project_id] = {
            operation.seq
            for operation in project.operations
            if isinstance(operation, OutputOperation) and _writes_slices(operation)
        }
        for operation in project.operations:
            if isinstance(operation, OutputOperation):
                if name := operation.arguments.registered_id:
                    registered.setdefault(name, []).append((project_id, operation.seq))
                written.add(_target_pattern(operation, definitions), (project_id, operation.seq))
    dependencies: dict[Dependency, None] = {}
    for project_id, project in projects.items():
        for _, reference in project.reads():
            version = definitions.dataset(reference.dataset_id, reference.dataset_version)
            reads_nearest = version is not None and version.reads_one_slice
            is_unfiltered = version is not None and version.viewed.reads_every_slice
            for dataset_id, views, makers in _makers_of(reference, project, definitions, registered, written):
                for maker, outputs in makers.items():
                    reads_every_slice = is_unfiltered and any(seq in sliced[maker] for seq in outputs)
                    dependency = Dependency(
                        project_id, maker, dataset_id, views, tuple(outputs), reads_nearest, reads_every_slice
                    )
                    dependencies[dependency] = None
    return ProjectGraph(projects, tuple(dependencies))


def registered_datasets(projects: Iterable[Project]) -> frozenset[str]:
    """The datasets that outputs of projects register."""
    return frozenset(
        operation.arguments.registered_id
        for project in projects
        for operation in project.operations
        if isinstance(operation, OutputOperation) and operation.arguments.registered_id
    )


def cycle_errors(
    graph: ProjectGraph,
    projects: Collection[str] | None = None,
    span_of: Callable[[str], Span | None] = lambda _: None,
) -> Iterator[DaybookError]:
    """PROJECT_044 for projects that wait for each other: a cycle must look back somewhere, and nowhere ahead.

    Only cycles among `projects` count where these are given; `span_of` says where a project is written.
    """
    included = graph.projects if projects is None else projects
    forward = [
        dependency
        for dependency in graph.dependencies
        if not dependency.looks_back and dependency.reader in included and dependency.maker in included
    ]
    sorter = TopologicalSorter[str]()
    for dependency in forward:
        sorter.add(dependency.reader, dependency.maker)
    try:
        sorter.prepare()
    except CycleError as error:
        # From maker to reader, the first one again at the end.
        cycle: list[str] = error.args[1]
        in_order = list(reversed(cycle))
        yield DaybookError("PROJECT_044", span=span_of(in_order[0]), path=" → ".join(in_order))
        return
    for dependency in forward:
        looks_ahead = any(_looks_ahead(view.window) for view in dependency.views)
        if looks_ahead and dependency.reader in graph.upstream([dependency.maker]):
            path = f"{dependency.reader} reads {dependency.dataset} of later periods, made by {dependency.maker}"
            yield DaybookError("PROJECT_044", span=span_of(dependency.reader), path=path)


def _looks_ahead(window: Window) -> bool:
    return isinstance(window, OffsetWindow) and window.offset > 0


def _makers_of(
    reference: DatasetRef,
    project: Project,
    definitions: Definitions,
    registered: Mapping[str, list[_Output]],
    written: "_WrittenPlaces",
) -> Iterator[tuple[str, tuple[ViewOf, ...], dict[str, list[int]]]]:
    dataset_id, version = reference.dataset_id, reference.dataset_version
    views: list[ViewOf] = []
    declared = definitions.declared(dataset_id, version)
    followed: set[tuple[str, int | None]] = set()
    while declared is not None and isinstance(declared.dataset, View):
        views.append(declared.dataset.view)
        followed.add((dataset_id, version))
        dataset_id, version = declared.dataset.view.of, declared.dataset.view.dataset_version
        # Views that only read each other lead nowhere.
        declared = definitions.declared(dataset_id, version) if (dataset_id, version) not in followed else None
    if version is not None and declared is not None and declared.pin is not None:
        # A pinned version of what a run registered is frozen data.
        return
    outputs = dict.fromkeys(registered.get(dataset_id, ()))
    if declared is not None:
        for pattern in _location_patterns(declared, project, definitions):
            outputs |= dict.fromkeys(written.matching(pattern))
    makers: dict[str, list[int]] = {}
    for project_id, seq in outputs:
        makers.setdefault(project_id, []).append(seq)
    yield reference.dataset_id, tuple(views), makers


class _Folder:
    """What is written below a folder, by name; in names * is any text."""

    def __init__(self) -> None:
        self.outputs: list[tuple[int, _Output]] = []
        self._children: dict[str, _Folder] = {}
        self._open_names: list[str] = []

    def child(self, name: str) -> "_Folder":
        if name not in self._children:
            self._children[name] = _Folder()
            if "*" in name:
                self._open_names.append(name)
        return self._children[name]

    def matching(self, name: str) -> "Iterator[_Folder]":
        if "*" not in name and name in self._children:
            yield self._children[name]
        for other in self._children if "*" in name else self._open_names:
            if _may_be_same(name, other):
                yield self._children[other]


class _WrittenPlaces:
    """The places that outputs write to, part by part of their paths, so that each reader is compared with few."""

    def __init__(self) -> None:
        self._root = _Folder()
        self._count = 0

    def add(self, pattern: str, output: _Output) -> None:
        folder = self._root
        for name in pattern.split("/"):
            folder = folder.child(name)
        folder.outputs.append((self._count, output))
        self._count += 1

    def matching(self, pattern: str) -> Iterator[_Output]:
        """What may write to some path of the pattern, in the order it was added; * is any text without a slash."""
        folders = [self._root]
        for name in pattern.split("/"):
            folders = [child for folder in folders for child in folder.matching(name)]
        return (output for _, output in sorted(numbered for folder in folders for numbered in folder.outputs))


def _location_patterns(declared: DeclaredVersion, project: Project, definitions: Definitions) -> Iterator[str]:
    """The places that data of a dataset may lie in, with * for what depends on the period."""
    dataset = declared.dataset
    if not isinstance(dataset, Dataset):
        return
    table = dataset.main_table
    override = project.resolver_overrides.get(dataset.id)
    if override is None and dataset.resolver_id is None and table.location is not None:
        match table.location:
            case PathLocation(path=path):
                yield _pattern(path)
            case TableLocation(datasource_id=datasource_id, table=name, schema_name=schema):
                yield _table_pattern(datasource_id, name, schema, definitions)
        return
    resolver_id = override or dataset.resolver_id
    resolver = definitions.resolver(resolver_id) if resolver_id is not None else definitions.default_resolver()
    for rule in resolver.resolver.rules if resolver is not None else ():
        match rule.strategy:
            case PathStrategy(datasource_id=datasource_id, path=path):
                yield _pattern(f"{_folder(datasource_id, definitions)}/{_named(path, table.name)}")
            case TableStrategy(datasource_id=datasource_id, table=name, schema_name=schema):
                yield _table_pattern(datasource_id, _named(name, table.name), schema, definitions)
            case CatalogStrategy():
                continue


def _writes_slices(operation: OutputOperation) -> bool:
    mode, destination = operation.arguments.mode, operation.arguments.destination
    return mode == "replace_period" or (isinstance(destination, TableDestination) and mode in (None, "append"))


def _target_pattern(operation: OutputOperation, definitions: Definitions) -> str:
    destination = operation.arguments.destination
    if isinstance(destination, TableDestination):
        return _table_pattern(destination.datasource_id, destination.table, None, definitions)
    return _pattern(destination.location.path)


def _named(template: str, table_name: str) -> str:
    return re.sub(r"\{\{\s*table_name\s*\}\}", table_name, template)


def _table_pattern(datasource_id: str, table: str, schema: str | None, definitions: Definitions) -> str:
    folder = _folder(datasource_id, definitions)
    if isinstance(source := definitions.datasource(datasource_id), IcebergSource):
        namespace, _, table = table.rpartition(".")
        schema = schema or namespace or source.options.namespace
    return _pattern(f"{folder}/{schema}/{table}" if schema else f"{folder}/{table}")


def _folder(datasource_id: str, definitions: Definitions) -> str:
    source = definitions.datasource(datasource_id)
    return source.options.path.rstrip("/") if isinstance(source, FolderSource) else f"{datasource_id}:"


def _pattern(path: str) -> str:
    plain = _TABLE_FILE.sub("", path.removeprefix("./"))
    return _TOKEN.sub("*", re.sub(r"/+", "/", plain))


@lru_cache(maxsize=65_536)
def _may_be_same(left: str, right: str) -> bool:
    """Whether some name matches both patterns; * is any text."""
    if "*" not in left and "*" not in right:
        return left == right
    if not left or not right:
        return set(left + right) <= {"*"}
    if right[0] == "*" and left[0] != "*":
        left, right = right, left
    if left[0] == "*":
        return _may_be_same(left[1:], right) or _may_be_same(left, right[1:])
    return left[0] == right[0] and _may_be_same(left[1:], right[1:])
