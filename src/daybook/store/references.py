"""Which datasets a project refers to, and whether by version."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from daybook.model.catalog import Catalog
from daybook.model.operation import AppendOperation, UpdateOperation
from daybook.model.project import Project
from daybook.store.records import ColumnUsage, ProjectInput


@dataclass(frozen=True, slots=True)
class Reference:
    """`operation_seq` is 0 for the input."""

    dataset_id: str
    version: int | None
    operation_seq: int


def references(project: Project) -> Iterator[Reference]:
    yield Reference(project.input.dataset_id, project.input.dataset_version, 0)
    for operation in project.operations:
        match operation:
            case UpdateOperation(arguments=arguments):
                for join in arguments.joins:
                    yield Reference(join.dataset_id, join.dataset_version, operation.seq)
            case AppendOperation(arguments=arguments):
                yield Reference(arguments.source.dataset_id, arguments.source.dataset_version, operation.seq)
            case _:
                pass


def validated_inputs(project: Project, catalog: Catalog) -> tuple[ProjectInput, ...]:
    """The version every reference of a project stands for right now; unknown datasets are left out."""
    found = [(reference, catalog.dataset(reference.dataset_id, reference.version)) for reference in references(project)]
    inputs = [
        ProjectInput(reference.dataset_id, version.version, reference.version is not None)
        for reference, version in found
        if version is not None
    ]
    return tuple(dict.fromkeys(inputs))


def with_pins(project: Project, uses: Iterable[tuple[int, str, str]]) -> tuple[ColumnUsage, ...]:
    """Uses as (operation seq, dataset, column), marked pinned when no open reference can be meant."""
    open_everywhere = {reference.dataset_id for reference in references(project) if reference.version is None}
    return tuple(
        ColumnUsage(seq, dataset_id, column, is_pinned=dataset_id not in open_everywhere)
        for seq, dataset_id, column in uses
    )
