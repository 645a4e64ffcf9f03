"""Which columns of which datasets the operations of a project use."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from daybook.model.json_fields import Hidden
from daybook.model.project import Project


@dataclass(frozen=True, slots=True)
class StoredColumnUsage:
    """One operation of a project version uses a column of a dataset."""

    operation_seq: int
    dataset_id: str
    column: str
    is_pinned: Hidden[bool] = False


@dataclass(frozen=True, slots=True)
class ProjectReference:
    """`operation_seq` is 0 for the input."""

    dataset_id: str
    version: int | None
    operation_seq: int


def dataset_references(project: Project) -> Iterator[ProjectReference]:
    for path, reference in project.reads():
        seq = project.operations[int(path[1])].seq if path[0] == "operations" else 0
        yield ProjectReference(reference.dataset_id, reference.dataset_version, seq)


def mark_pinned_usage(project: Project, uses: Iterable[tuple[int, str, str]]) -> tuple[StoredColumnUsage, ...]:
    """Uses as (operation seq, dataset, column), marked pinned when only pinned references can be meant.

    An operation uses the columns of the input and of its own joins and sources.
    """
    references = tuple(dataset_references(project))
    usage = []
    for seq, dataset_id, column in uses:
        meant = [item for item in references if item.dataset_id == dataset_id and item.operation_seq in (0, seq)]
        is_pinned = bool(meant) and all(item.version is not None for item in meant)
        usage.append(StoredColumnUsage(seq, dataset_id, column, is_pinned))
    return tuple(usage)
