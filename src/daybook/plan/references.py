"""References to datasets: the version they mean, or what is wrong with them.

Checks that what a project reads can be found and that what it writes has somewhere to go.

A project may not read the places it writes.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from daybook.errors import DaybookError, Span
from daybook.errors.suggestion import did_you_mean
from daybook.model.dataset import DatasetRef, PathLocation, TableLocation
from daybook.model.declaration import ENGINE_COLUMN_NAMES
from daybook.model.definition import Catalog, DatasetVersion
from daybook.model.operation import OutputDestination, OutputOperation, TableDestination, UpdateOperation
from daybook.model.project import Project, target_name
from daybook.model.source_map import SourceMap
from daybook.model.view import ends_before_run
from daybook.plan.steps import INPUT_KEY, LoadStep, append_key, join_key
from daybook.resolve.calendars.periods import calendar_for
from daybook.resolve.calendars.windows import check_window
from daybook.resolve.locations.location import check_table_name
from daybook.resolve.resolution import choose_location_source


def find_dataset(
    reference: DatasetRef,
    catalog: Catalog,
    source: SourceMap,
    *path: str | int,
    codes: tuple[str, str, str],
    seq: int | None,
    parameters: Mapping[str, Any] | None = None,
) -> DatasetVersion:
    """The version a reference means; `codes` are for a missing dataset, a missing version, a disabled dataset."""
    missing, no_version, disabled = codes
    described: dict[str, Any] = {**(parameters or {}), "dataset_id": reference.dataset_id}
    span = source.span(*path, "dataset_id")
    versions = catalog.dataset_versions(reference.dataset_id)
    if not versions:
        hint = did_you_mean(reference.dataset_id, catalog.ids("dataset"))
        raise DaybookError(missing, span=span, hint=hint, operation_seq=seq, **described)
    found = catalog.dataset(reference.dataset_id, reference.dataset_version)
    if found is None:
        span = source.span(*path, "dataset_version")
        hint = f"versions are {', '.join(map(str, versions))}"
        raise DaybookError(
            no_version, span=span, hint=hint, operation_seq=seq, version=reference.dataset_version, **described
        )
    if found.status == "disabled":
        raise DaybookError(disabled, span=span, operation_seq=seq, **described)
    for column in found.dataset.main_table.columns:
        if ENGINE_COLUMN_NAMES.fullmatch(column.name):
            hint = f"rename the column of dataset {reference.dataset_id}"
            raise DaybookError("PROJECT_027", span=span, hint=hint, operation_seq=seq, column=column.name)
    return found


def check_locations(
    project: Project, source: SourceMap, catalog: Catalog, loads: Sequence[LoadStep]
) -> Iterator[DaybookError]:
    """Findings about resolvers and data sources."""
    paths = {_load_key(project, path): path for path, _ in project.reads()}
    for load in loads:
        try:
            choose_location_source(load.version.viewed, catalog, project.resolver_overrides)
        except DaybookError as cause:
            code = "APPEND_007" if load.role == "append" else "PROJECT_026"
            yield DaybookError(
                code,
                span=source.span(*paths[load.key]),
                operation_seq=load.operation_seq or None,
                causes=(cause,),
                dataset_id=load.dataset_id,
            )
        yield from _window_errors(load, project, catalog, source.span(*paths[load.key]))
    for index, operation in enumerate(project.operations):
        if isinstance(operation, OutputOperation):
            yield from _destination_errors(operation, index, source, catalog)


def _window_errors(load: LoadStep, project: Project, catalog: Catalog, span: Span | None) -> Iterator[DaybookError]:
    """Levels and first periods of a view's window that the project's calendar does not have."""
    version = load.version
    while version.view is not None:
        try:
            check_window(version.view.of.window, calendar_for(project.calendar_id, catalog))
        except DaybookError as cause:
            seq = load.operation_seq or None
            yield DaybookError("PROJECT_043", span=span, operation_seq=seq, causes=(cause,), view=version.dataset.id)
        version = version.view.dataset


def _load_key(project: Project, path: tuple[str | int, ...]) -> str:
    """The key of the load that a reference becomes."""
    if path[0] != "operations":
        return INPUT_KEY
    operation = project.operations[int(path[1])]
    if isinstance(operation, UpdateOperation):
        return join_key(operation.seq, operation.arguments.joins[int(path[-1])].alias)
    return append_key(operation.seq)


def _destination_errors(
    operation: OutputOperation, index: int, source: SourceMap, catalog: Catalog
) -> Iterator[DaybookError]:
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


def find_self_reading(project: Project, source: SourceMap, loads: Sequence[LoadStep]) -> Iterator[DaybookError]:
    """Outputs into the declared location of a dataset that is read; resolved places are compared when a run starts."""
    for index, operation in enumerate(project.operations):
        if isinstance(operation, OutputOperation):
            destination = operation.arguments.destination
            if any(_is_same_location(destination, load) for load in loads if not looks_back(load)):
                span = source.span("operations", index, "arguments", "destination")
                yield DaybookError(
                    "PROJECT_009",
                    span=span,
                    operation_seq=operation.seq,
                    target=target_name(destination),
                    seq=operation.seq,
                )


def looks_back(load: LoadStep) -> bool:
    """Whether only periods before the run's are read, so that a project may read what it wrote for them."""
    view = load.version.view
    return view is not None and ends_before_run(view.of.window)


def _is_same_location(destination: OutputDestination, load: LoadStep) -> bool:
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
