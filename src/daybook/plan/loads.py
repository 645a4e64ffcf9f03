"""The datasets that a project reads, each in the version that its reference means."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, assert_never

from daybook.definitions.value import Definitions
from daybook.errors import DaybookError
from daybook.errors.error import did_you_mean
from daybook.model.dataset import DatasetRef, TableLocation, View, is_single_period
from daybook.model.declaration import ENGINE_COLUMN_NAMES
from daybook.model.definition import DatasetVersion
from daybook.model.operation import AppendOperation, UpdateOperation
from daybook.model.project import Project
from daybook.model.source_map import KeyPath, SourceMap

if TYPE_CHECKING:
    from daybook.plan.steps import LoadStep


LoadRole: TypeAlias = Literal["input", "join", "append"]
INPUT_KEY = "input"


def join_key(seq: int, alias: str) -> str:
    """The key under which a plan loads what an update joins."""
    return f"{seq}.{alias}"


def append_key(seq: int) -> str:
    return f"{seq}.source"


# The codes of a missing dataset, a missing version and a disabled dataset.
_CODES: dict[LoadRole, tuple[str, str, str]] = {
    "input": ("PROJECT_020", "PROJECT_021", "PROJECT_022"),
    "join": ("PROJECT_020", "PROJECT_021", "PROJECT_022"),
    "append": ("APPEND_001", "APPEND_002", "PROJECT_022"),
}


@dataclass(frozen=True, slots=True)
class LoadReference:
    """A dataset that a project names to read it; `key` is that of the load it becomes, `path` where it is written."""

    key: str
    role: LoadRole
    operation_seq: int
    dataset: DatasetRef
    path: KeyPath
    alias: str | None = None

    @property
    def reader(self) -> str:
        """The part of the project that names the dataset."""
        match self.role:
            case "input":
                return "the input"
            case "join":
                return f"join {self.alias}"
            case "append":
                return f"the append with seq {self.operation_seq}"
            case _:
                assert_never(self.role)


def load_references(project: Project) -> Iterator[LoadReference]:
    """Everything a project reads, in the order of its operations."""
    yield LoadReference(INPUT_KEY, "input", 0, project.input, ("input",))
    for index, operation in enumerate(project.operations):
        path, seq = ("operations", index, "arguments"), operation.seq
        if isinstance(operation, AppendOperation):
            yield LoadReference(append_key(seq), "append", seq, operation.arguments.source, (*path, "source"))
        elif isinstance(operation, UpdateOperation):
            for number, join in enumerate(operation.arguments.joins):
                dataset = DatasetRef(dataset_id=join.dataset_id, dataset_version=join.dataset_version)
                here = (*path, "joins", number)
                yield LoadReference(join_key(seq, join.alias), "join", seq, dataset, here, join.alias)


def find_load(reference: LoadReference, definitions: Definitions, source: SourceMap, project_id: str) -> "LoadStep":
    """The version that a reference means, to be loaded."""
    from daybook.plan.steps import LoadStep

    dataset_id, pinned_version = reference.dataset.dataset_id, reference.dataset.dataset_version
    seq = reference.operation_seq or None
    missing, no_version, disabled = _CODES[reference.role]
    described: dict[str, Any] = {"dataset_id": dataset_id, "reader": reference.reader}
    span = source.span(*reference.path, "dataset_id")
    versions = definitions.dataset_versions(dataset_id)
    if not versions:
        hint = run_first(dataset_id, definitions) or did_you_mean(dataset_id, definitions.ids("dataset"))
        raise DaybookError(missing, span=span, hint=hint, operation_seq=seq, **described)
    version = definitions.dataset(dataset_id, pinned_version)
    if version is None and pinned_version is None and (viewed := _missing_view(dataset_id, definitions)) is not None:
        hint = _declare_or_run(viewed, definitions.registering_project(viewed), project_id)
        raise DaybookError("PROJECT_061", span=span, hint=hint, operation_seq=seq, view=dataset_id, viewed=viewed)
    if version is None:
        span = source.span(*reference.path, "dataset_version")
        listed_versions = f"versions are {', '.join(map(str, versions))}"
        # What a run will register has no versions yet that could be pinned.
        is_registered = definitions.declared(dataset_id, versions[-1]) is not None
        hint = listed_versions if is_registered else run_first(dataset_id, definitions) or listed_versions
        raise DaybookError(no_version, span=span, hint=hint, operation_seq=seq, version=pinned_version, **described)
    if version.status == "disabled":
        raise DaybookError(disabled, span=span, operation_seq=seq, **described)
    if (problem := _view_problem(version, definitions)) is not None:
        code, viewed = problem
        raise DaybookError(code, span=span, operation_seq=seq, dataset=viewed)
    for column in version.dataset.main_table.columns:
        if ENGINE_COLUMN_NAMES.fullmatch(column.name):
            hint = f"rename the column of dataset {dataset_id}"
            raise DaybookError("PROJECT_027", span=span, hint=hint, operation_seq=seq, column=column.name)
    return LoadStep(reference.key, reference.role, reference.operation_seq, version, reference.alias)


def _missing_view(dataset_id: str, definitions: Definitions) -> str | None:
    """The dataset at the end of a view that is not there; views that only read each other end at the first of them."""
    seen = {dataset_id}
    while (declared := definitions.declared(dataset_id)) is not None and isinstance(declared.dataset, View):
        dataset_id = declared.dataset.view.of
        if dataset_id in seen:
            return dataset_id
        seen.add(dataset_id)
    return dataset_id if declared is None else None


def _view_problem(version: DatasetVersion, definitions: Definitions) -> tuple[str, str] | None:
    """What a view of a registered dataset cannot do; one of a declared dataset is checked with the files."""
    if (view := version.view) is None:
        return None
    if view.dataset.view is not None:
        return _view_problem(view.dataset, definitions)
    viewed = view.dataset.dataset
    declared = definitions.declared(viewed.id)
    if declared is not None and declared.contract is not None:
        return None
    match viewed.main_table.temporal_mode:
        case None if version.viewed.reads_one_slice and isinstance(viewed.main_table.location, TableLocation):
            return None
        case None | "snapshot":
            return "MODEL_084", viewed.id
        case "bitemporal" if not is_single_period(view.of.window):
            return "MODEL_085", viewed.id
        case _:
            return None


def _declare_or_run(viewed: str, maker: str | None, project_id: str) -> str | None:
    """What registers a dataset for others can run first; a project cannot run before it is valid itself."""
    if maker is None or maker == project_id:
        return None
    return f"declare {viewed} as a dataset with its columns; or run the project {maker} first, which registers it"


def run_first(dataset_id: str, definitions: Definitions) -> str | None:
    """What to run so that a dataset is registered; None where no project does that."""
    maker = definitions.registering_project(dataset_id)
    if maker is None:
        return None
    return f"project {maker} registers {dataset_id}: run `daybook run {maker} --period PERIOD` first"
