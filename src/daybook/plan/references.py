"""References to datasets: what a project reads, and the version of each reference."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from daybook.errors import DaybookError
from daybook.errors.error import did_you_mean
from daybook.model.dataset import DatasetRef
from daybook.model.declaration import ENGINE_COLUMN_NAMES
from daybook.model.definition import Catalog, DatasetVersion
from daybook.model.operation import AppendOperation, UpdateOperation
from daybook.model.project import Project
from daybook.model.source_map import KeyPath, SourceMap
from daybook.model.view import View, is_single_period

if TYPE_CHECKING:
    # The freshness of a close asks what projects read, and needs no expressions.
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
    "join": ("UPDATE_020", "UPDATE_021", "UPDATE_022"),
    "append": ("APPEND_001", "APPEND_002", "APPEND_020"),
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


def find_load(reference: LoadReference, catalog: Catalog, source: SourceMap) -> "LoadStep":
    """The version that a reference means, to be loaded."""
    from daybook.plan.steps import LoadStep

    dataset_id, wanted = reference.dataset.dataset_id, reference.dataset.dataset_version
    seq = reference.operation_seq or None
    missing, no_version, disabled = _CODES[reference.role]
    described: dict[str, Any] = {"dataset_id": dataset_id}
    if reference.alias is not None:
        described["alias"] = reference.alias
    span = source.span(*reference.path, "dataset_id")
    versions = catalog.dataset_versions(dataset_id)
    if not versions:
        hint = run_first(dataset_id, catalog) or did_you_mean(dataset_id, catalog.ids("dataset"))
        raise DaybookError(missing, span=span, hint=hint, operation_seq=seq, **described)
    found = catalog.dataset(dataset_id, wanted)
    if found is None and wanted is None and (viewed := _missing_view(dataset_id, catalog)) is not None:
        raise DaybookError("PROJECT_061", span=span, operation_seq=seq, view=dataset_id, viewed=viewed)
    if found is None:
        span = source.span(*reference.path, "dataset_version")
        known = f"versions are {', '.join(map(str, versions))}"
        # What a run will register has no versions yet that could be pinned.
        is_registered = catalog.declared(dataset_id, versions[-1]) is not None
        hint = known if is_registered else run_first(dataset_id, catalog) or known
        raise DaybookError(no_version, span=span, hint=hint, operation_seq=seq, version=wanted, **described)
    if found.status == "disabled":
        raise DaybookError(disabled, span=span, operation_seq=seq, **described)
    if (problem := _view_problem(found, catalog)) is not None:
        code, viewed = problem
        raise DaybookError(code, span=span, operation_seq=seq, dataset=viewed)
    for column in found.dataset.main_table.columns:
        if ENGINE_COLUMN_NAMES.fullmatch(column.name):
            hint = f"rename the column of dataset {dataset_id}"
            raise DaybookError("PROJECT_027", span=span, hint=hint, operation_seq=seq, column=column.name)
    return LoadStep(reference.key, reference.role, reference.operation_seq, found, reference.alias)


def _missing_view(dataset_id: str, catalog: Catalog) -> str | None:
    """The dataset at the end of a view that is not there; views that only read each other end at the first of them."""
    seen = {dataset_id}
    while (declared := catalog.declared(dataset_id)) is not None and isinstance(declared.dataset, View):
        dataset_id = declared.dataset.view.of
        if dataset_id in seen:
            return dataset_id
        seen.add(dataset_id)
    return dataset_id if declared is None else None


def _view_problem(found: DatasetVersion, catalog: Catalog) -> tuple[str, str] | None:
    """What a view of a registered dataset cannot do; one of a declared dataset is checked with the files."""
    if (view := found.view) is None:
        return None
    if view.dataset.view is not None:
        return _view_problem(view.dataset, catalog)
    viewed = view.dataset.dataset
    declared = catalog.declared(viewed.id)
    if declared is not None and declared.contract is not None:
        return None
    match viewed.main_table.temporal_mode:
        case None | "snapshot":
            return "MODEL_084", viewed.id
        case "bitemporal" if not is_single_period(view.of.window):
            return "MODEL_085", viewed.id
        case _:
            return None


def run_first(dataset_id: str, catalog: Catalog) -> str | None:
    """What to run so that a dataset is registered; None where no project does that."""
    maker = catalog.registering_project(dataset_id)
    if maker is None:
        return None
    return f"project {maker} registers {dataset_id}: run `daybook run {maker} --period PERIOD` first"
