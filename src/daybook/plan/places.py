"""Checks that what a project reads can be found and that what it writes has somewhere to go."""

from collections.abc import Iterator, Sequence

from daybook.errors import DaybookError
from daybook.model.catalog import Catalog
from daybook.model.operation import OutputOperation, TableDestination, UpdateOperation
from daybook.model.project import Project
from daybook.model.source_map import SourceMap
from daybook.model.suggestion import did_you_mean
from daybook.plan.steps import INPUT, LoadStep, append_key, join_key
from daybook.resolve.places import check_table_name
from daybook.resolve.precedence import way_to


def check_places(
    project: Project, source: SourceMap, catalog: Catalog, loads: Sequence[LoadStep]
) -> Iterator[DaybookError]:
    """Findings about resolvers and data sources."""
    paths = {_load_key(project, path): path for path, _ in project.reads()}
    for load in loads:
        try:
            way_to(load.version, catalog, project.resolver_overrides)
        except DaybookError as cause:
            code = "APPEND_007" if load.role == "append" else "PROJECT_026"
            yield DaybookError(
                code,
                span=source.span(*paths[load.key]),
                operation_seq=load.operation_seq or None,
                causes=(cause,),
                dataset_id=load.dataset_id,
            )
    for index, operation in enumerate(project.operations):
        if isinstance(operation, OutputOperation):
            yield from _destination(operation, index, source, catalog)


def _load_key(project: Project, path: tuple[str | int, ...]) -> str:
    """The key of the load that a reference becomes."""
    if path[0] != "operations":
        return INPUT
    operation = project.operations[int(path[1])]
    if isinstance(operation, UpdateOperation):
        return join_key(operation.seq, operation.arguments.joins[int(path[-1])].alias)
    return append_key(operation.seq)


def _destination(operation: OutputOperation, index: int, source: SourceMap, catalog: Catalog) -> Iterator[DaybookError]:
    destination = operation.arguments.destination
    if not isinstance(destination, TableDestination):
        return
    datasource_id = destination.datasource_id
    path = ("operations", index, "arguments", "destination")
    span = source.span(*path, "datasource_id")
    datasource = catalog.datasource(datasource_id)
    if datasource is None:
        hint = did_you_mean(datasource_id, catalog.ids("datasource"))
        yield DaybookError("OUTPUT_020", span=span, hint=hint, operation_seq=operation.seq, datasource_id=datasource_id)
    elif catalog.is_datasource_disabled(datasource_id):
        yield DaybookError("OUTPUT_021", span=span, operation_seq=operation.seq, datasource_id=datasource_id)
    else:
        try:
            check_table_name(datasource, destination.table, source.span(*path, "table"))
        except DaybookError as error:
            yield error
