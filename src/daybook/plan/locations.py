"""Checks that what a project reads can be found, that what it writes has a target, and that these are not the same."""

from collections.abc import Iterator
from typing import Literal

from daybook.errors import DaybookError, Span
from daybook.errors.suggestion import did_you_mean
from daybook.model.dataset import PathLocation, TableLocation
from daybook.model.definition import Catalog
from daybook.model.formats import FORMATS
from daybook.model.operation import OutputDestination, OutputOperation, TableDestination
from daybook.model.project import target_name
from daybook.model.source_map import SourceMap
from daybook.plan.references import run_first
from daybook.plan.steps import LoadStep, OutputStep
from daybook.plan.walk import Walk
from daybook.resolve.calendars.calendar import GREGORIAN_ID
from daybook.resolve.calendars.periods import calendar_for
from daybook.resolve.calendars.windows import check_window
from daybook.resolve.locations.location import check_table_name
from daybook.resolve.resolution import choose_location_source


def check_calendar(walk: Walk) -> Iterator[DaybookError]:
    calendar_id = walk.project.calendar_id
    if calendar_id not in (None, GREGORIAN_ID) and walk.catalog.calendar(calendar_id) is None:
        hint = did_you_mean(calendar_id, (GREGORIAN_ID, *walk.catalog.ids("calendar")))
        yield DaybookError("RESOLVE_003", span=walk.source.span("calendar_id"), hint=hint, calendar=calendar_id)


def check_overrides(walk: Walk) -> Iterator[DaybookError]:
    """Resolver overrides of datasets that do not exist, or by resolvers that do not."""
    catalog, source = walk.catalog, walk.source
    for dataset_id, resolver_id in walk.project.resolver_overrides.items():
        path = ("resolver_overrides", dataset_id)
        if not catalog.dataset_versions(dataset_id):
            yield _unknown_error("dataset", dataset_id, catalog, source.key(*path))
        if catalog.resolver(resolver_id) is None:
            yield _unknown_error("resolver", resolver_id, catalog, source.span(*path))


def _unknown_error(kind: Literal["dataset", "resolver"], id_: str, catalog: Catalog, span: Span | None) -> DaybookError:
    return DaybookError("MODEL_061", span=span, hint=did_you_mean(id_, catalog.ids(kind)), kind=kind, id=id_)


def check_sources(walk: Walk) -> Iterator[DaybookError]:
    """Datasets that are read and that neither a resolver nor a location of their own finds."""
    overrides = walk.project.resolver_overrides
    for load in walk.loads:
        viewed = load.version.viewed
        if viewed.dataset.id in overrides and walk.catalog.resolver(overrides[viewed.dataset.id]) is None:
            continue
        try:
            choose_location_source(viewed, walk.catalog, overrides)
        except DaybookError as cause:
            yield DaybookError(
                "APPEND_007" if load.role == "append" else "PROJECT_026",
                span=walk.span_of(load),
                hint=run_first(viewed.dataset.id, walk.catalog),
                operation_seq=load.operation_seq or None,
                causes=(cause,),
                dataset_id=load.dataset_id,
            )


def check_windows(walk: Walk) -> Iterator[DaybookError]:
    """Levels and first periods of a view's window that the project's calendar does not have."""
    if any(check_calendar(walk)):
        return
    for load in walk.loads:
        version = load.version
        while version.view is not None:
            try:
                check_window(version.view.of.window, calendar_for(walk.project.calendar_id, walk.catalog))
            except DaybookError as cause:
                yield DaybookError(
                    "PROJECT_043",
                    span=walk.span_of(load),
                    operation_seq=load.operation_seq or None,
                    causes=(cause,),
                    view=version.dataset.id,
                )
            version = version.view.dataset


def check_destinations(walk: Walk) -> Iterator[DaybookError]:
    """Data sources of outputs that do not exist or cannot be written."""
    for index, operation in enumerate(walk.project.operations):
        if isinstance(operation, OutputOperation):
            yield from _destination_errors(operation, index, walk.source, walk.catalog)


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


def check_output_columns(walk: Walk) -> Iterator[DaybookError]:
    """Columns whose names the database of an output would cut."""
    for step in walk.steps:
        if not isinstance(step, OutputStep) or not isinstance(step.arguments.destination, TableDestination):
            continue
        datasource = walk.catalog.datasource(step.arguments.destination.datasource_id)
        if datasource is None:
            continue
        facts = FORMATS[datasource.type]
        index = [operation.seq for operation in walk.project.operations].index(step.seq)
        for column in filter(facts.is_cut, step.columns):
            yield DaybookError(
                "IO_060",
                span=walk.source.span("operations", index, "arguments"),
                operation_seq=step.seq,
                column=column,
                bytes=len(column.encode()),
                format=datasource.type,
                limit=facts.max_name_bytes,
            )


def check_self_reading(walk: Walk) -> Iterator[DaybookError]:
    """Outputs into the declared location of a dataset that is read; resolved locations are compared by the run."""
    for index, operation in enumerate(walk.project.operations):
        if isinstance(operation, OutputOperation):
            destination = operation.arguments.destination
            if any(_is_same_location(destination, load) for load in walk.loads if not load.looks_back):
                span = walk.source.span("operations", index, "arguments", "destination")
                yield DaybookError(
                    "PROJECT_009",
                    span=span,
                    operation_seq=operation.seq,
                    target=target_name(destination),
                    seq=operation.seq,
                )


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
