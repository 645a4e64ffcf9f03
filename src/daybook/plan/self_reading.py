"""A project may not read the places it writes."""

from collections.abc import Iterator, Sequence

from daybook.errors import DaybookError
from daybook.model.dataset import PathLocation, TableLocation
from daybook.model.operation import OutputDestination, OutputOperation, TableDestination
from daybook.model.project import Project, target_name
from daybook.model.source_map import SourceMap
from daybook.plan.steps import LoadStep


def find_self_reading(project: Project, source: SourceMap, loads: Sequence[LoadStep]) -> Iterator[DaybookError]:
    """Outputs into the declared location of a dataset that is read; resolved places are compared when a run starts."""
    for index, operation in enumerate(project.operations):
        if isinstance(operation, OutputOperation):
            destination = operation.arguments.destination
            if any(_same_place(destination, load) for load in loads):
                span = source.span("operations", index, "arguments", "destination")
                yield DaybookError(
                    "PROJECT_009",
                    span=span,
                    operation_seq=operation.seq,
                    target=target_name(destination),
                    seq=operation.seq,
                )


def _same_place(destination: OutputDestination, load: LoadStep) -> bool:
    match load.version.dataset.main_table.location:
        case TableLocation(datasource_id=datasource_id, table=table):
            return (
                isinstance(destination, TableDestination)
                and destination.datasource_id == datasource_id
                and destination.table == table
            )
        case PathLocation(path=path):
            return not isinstance(destination, TableDestination) and destination.location.path == path
        case None:
            return False
