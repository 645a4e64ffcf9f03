"""Which datasets a project refers to, and whether by version."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from daybook.model.catalog import Catalog
from daybook.model.project import Project
from daybook.store.records import ColumnUsage, ProjectInput


@dataclass(frozen=True, slots=True)
class Reference:
    """`operation_seq` is 0 for the input."""

    dataset_id: str
    version: int | None
    operation_seq: int


def references(project: Project) -> Iterator[Reference]:
    for path, reference in project.reads():
        seq = project.operations[int(path[1])].seq if path[0] == "operations" else 0
        yield Reference(reference.dataset_id, reference.dataset_version, seq)


def validated_inputs(project: Project, catalog: Catalog) -> tuple[ProjectInput, ...]:
    """The version every reference of a project stands for right now; unknown datasets are left out."""
    inputs: dict[ProjectInput, None] = {}
    for reference in references(project):
        found = catalog.dataset(reference.dataset_id, reference.version)
        if found is not None:
            inputs[ProjectInput(reference.dataset_id, found.version, reference.version is not None)] = None
    return tuple(sorted(inputs, key=lambda item: (item.dataset_id, item.version, item.is_pinned)))


def with_pins(project: Project, uses: Iterable[tuple[int, str, str]]) -> tuple[ColumnUsage, ...]:
    """Uses as (operation seq, dataset, column), marked pinned when only pinned references can be meant.

    An operation uses the columns of the input and of its own joins and sources.
    """
    known = tuple(references(project))
    usage = []
    for seq, dataset_id, column in uses:
        meant = [item for item in known if item.dataset_id == dataset_id and item.operation_seq in (0, seq)]
        is_pinned = bool(meant) and all(item.version is not None for item in meant)
        usage.append(ColumnUsage(seq, dataset_id, column, is_pinned))
    return tuple(usage)
