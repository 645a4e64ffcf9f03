"""Checks a whole plan: inputs can be found, outputs have a target, and probable mistakes give warnings."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Literal, assert_never

from daybook.definitions.value import Definitions
from daybook.errors import DaybookError, Notice, Span, notice
from daybook.errors.error import closest_match, did_you_mean
from daybook.expression.typed_tree import TypedWindow
from daybook.model.dataset import PathLocation, TableLocation, is_single_period
from daybook.model.formats import FORMATS
from daybook.model.operation import OutputDestination, OutputOperation, TableDestination
from daybook.model.project import target_name
from daybook.model.source_map import SourceMap
from daybook.plan.conditions import excludes_all
from daybook.plan.loads import run_first
from daybook.plan.steps import (
    AggregateStep,
    AppendStep,
    CheckStep,
    DeleteStep,
    LoadStep,
    OutputStep,
    Step,
    UpdateStep,
    count_until_last_output,
    working_columns,
)
from daybook.plan.walk import Walk
from daybook.resolve.calendars.calendar import GREGORIAN_ID
from daybook.resolve.calendars.periods import calendar_for, check_window
from daybook.resolve.location import check_table_name
from daybook.resolve.resolution import choose_location_source

# A selector that looks at one of these distinguishes summary rows from others itself.
_ORIGIN_COLUMNS = frozenset({"_operation_seq", "_origin_seq", "_row_id"})

_DETAIL_ROWS = 0


def find_double_counting(walk: Walk) -> Iterator[Notice]:
    """Later aggregates and outputs of a measure that other rows hold beside an earlier aggregate's rows."""
    # Which rows hold a value in a column: loaded and appended ones, or those an aggregate added.
    holders: dict[str, set[int]] = defaultdict(set, {name: {_DETAIL_ROWS} for name in walk.input.types})
    for index, step in enumerate(walk.steps):
        match step:
            case UpdateStep():
                for value in step.assignments:
                    holders[value.column].add(_DETAIL_ROWS)
            case AppendStep():
                for name in step.made_columns:
                    holders[name].add(_DETAIL_ROWS)
            case AggregateStep():
                read = working_columns(*(value.expression for value in step.aggregations))
                yield from _double_counting_notices(holders, read, step, index, walk.source)
                for value in step.aggregations:
                    holders[value.column].add(step.seq)
            case OutputStep():
                yield from _double_counting_notices(holders, set(step.columns), step, index, walk.source)
            case DeleteStep() | CheckStep():
                pass
            case _:
                assert_never(step)


def _double_counting_notices(
    holders: dict[str, set[int]], read: set[str], step: AggregateStep | OutputStep, index: int, source: SourceMap
) -> Iterator[Notice]:
    if working_columns(step.selector) & _ORIGIN_COLUMNS:
        return
    reported: set[int] = set()
    for measure in sorted(read):
        for first in sorted(holders[measure] - {_DETAIL_ROWS} - reported) if len(holders[measure]) > 1 else ():
            reported.add(first)
            span = source.span("operations", index)
            yield notice("PROJECT_024", span=span, operation_seq=step.seq, first=first, measure=measure)


def find_ineffective_operations(walk: Walk) -> Iterator[Notice]:
    for index in range(count_until_last_output(walk.steps), len(walk.steps)):
        yield notice("PROJECT_025", span=walk.source.span("operations", index), operation_seq=walk.steps[index].seq)


_LOADED_ROWS = "0 (loaded)"


def find_empty_selections(walk: Walk) -> Iterator[Notice]:
    """A seq that was counted off changes when an operation is put in before it."""
    present = {0: _LOADED_ROWS}
    for index, step in enumerate(walk.steps):
        if not isinstance(step, AppendStep) and excludes_all(step.selector, present):
            span = walk.source.span("operations", index, "selector")
            yield notice("PROJECT_035", span=span, operation_seq=step.seq, present=", ".join(present.values()))
        if isinstance(step, AggregateStep | AppendStep):
            present[step.seq] = f"{step.seq} ({step.name})"


def find_single_sorts(walk: Walk) -> Iterator[Notice]:
    """Windows that have all rows in one order."""
    for index, step in enumerate(walk.steps):
        if isinstance(step, UpdateStep):
            for number, value in enumerate(step.assignments):
                windows = (node for node in value.expression.tree.walk() if isinstance(node, TypedWindow))
                if any(window.order and not window.partition for window in windows):
                    span = walk.source.span("operations", index, "arguments", "assignments", number, "expression")
                    yield notice("PROJECT_046", span=span, operation_seq=step.seq, column=value.column)


def find_split_periods(walk: Walk) -> Iterator[Notice]:
    """Groups by `_period` of rows that a view of one other period gave, beside those of the run's period."""
    views = {load.key: load.version.view for load in walk.loads}
    appended: int | None = None
    for index, step in enumerate(walk.steps):
        match step:
            case AppendStep(load_key=key) if (view := views[key]) is not None:
                if is_single_period(view.of.window) and view.of.period == "source" and not step.aggregations:
                    appended = step.seq
            case AggregateStep() if appended is not None and "_period" in step.group_by:
                if not working_columns(step.selector) & {*_ORIGIN_COLUMNS, "_period"}:
                    span = walk.source.span("operations", index, "arguments", "group_by")
                    yield notice("PROJECT_060", span=span, operation_seq=step.seq, first=appended)
            case _:
                pass


def find_revived_rows(walk: Walk) -> Iterator[Notice]:
    """Registered outputs with deleted rows and without the column that says which rows they are."""
    for index, step in enumerate(walk.steps):
        if not isinstance(step, OutputStep) or not step.arguments.include_deleted:
            continue
        if step.arguments.registered_id is not None and "_deleted" not in step.columns:
            span = walk.source.span("operations", index, "arguments", "include_deleted")
            yield notice("OUTPUT_024", span=span, operation_seq=step.seq, dataset=step.arguments.registered_id)


def find_unused_columns(walk: Walk) -> Iterator[Notice]:
    """Operations after the last output are skipped; PROJECT_025 reports them."""
    seen = walk.steps[: count_until_last_output(walk.steps)]
    used = {*walk.input.types, *walk.project.measures}.union(*map(_columns_read_by, seen))
    for index, step in enumerate(seen):
        match step:
            case UpdateStep(assignments=values):
                key = "assignments"
            case AggregateStep(aggregations=values):
                key = "aggregations"
            case AppendStep() | DeleteStep() | CheckStep() | OutputStep():
                continue
            case _:
                assert_never(step)
        for number, value in enumerate(values):
            if value.column not in used:
                span = walk.source.span("operations", index, "arguments", key, number, "column")
                meant = closest_match(value.column, used)
                hint = f"did you mean {meant}?" if meant else None
                yield notice("PROJECT_036", span=span, operation_seq=step.seq, hint=hint, column=value.column)


def _columns_read_by(step: Step) -> set[str]:
    """The working columns that a step reads, needs to be there or writes to its destination."""
    match step:
        case UpdateStep():
            return working_columns(*step.expressions, *(join.on for join in step.joins))
        case AggregateStep():
            return working_columns(step.selector, *(value.expression for value in step.aggregations)) | {*step.group_by}
        case AppendStep():
            # An append needs the columns that its rows have, so a column may be made for it.
            return {*step.made_columns}
        case DeleteStep() | CheckStep():
            return working_columns(*step.expressions)
        case OutputStep():
            return working_columns(step.selector) | {*step.columns, *step.order_by}
        case _:
            assert_never(step)


def check_calendar(walk: Walk) -> Iterator[DaybookError]:
    calendar_id = walk.project.calendar_id
    if calendar_id not in (None, GREGORIAN_ID) and walk.definitions.calendar(calendar_id) is None:
        hint = did_you_mean(calendar_id, (GREGORIAN_ID, *walk.definitions.ids("calendar")))
        yield DaybookError("RESOLVE_003", span=walk.source.span("calendar_id"), hint=hint, calendar=calendar_id)


def check_overrides(walk: Walk) -> Iterator[DaybookError]:
    """Resolver overrides of datasets that do not exist, or by resolvers that do not."""
    definitions, source = walk.definitions, walk.source
    for dataset_id, resolver_id in walk.project.resolver_overrides.items():
        path = ("resolver_overrides", dataset_id)
        if not definitions.dataset_versions(dataset_id):
            yield _unknown_error("dataset", dataset_id, definitions, source.key(*path))
        if definitions.resolver(resolver_id) is None:
            yield _unknown_error("resolver", resolver_id, definitions, source.span(*path))


def _unknown_error(
    kind: Literal["dataset", "resolver"], id_: str, definitions: Definitions, span: Span | None
) -> DaybookError:
    return DaybookError("MODEL_061", span=span, hint=did_you_mean(id_, definitions.ids(kind)), kind=kind, id=id_)


def check_sources(walk: Walk) -> Iterator[DaybookError]:
    """Datasets that are read and have no location and no resolver."""
    overrides = walk.project.resolver_overrides
    for load in walk.loads:
        viewed = load.version.viewed
        if viewed.dataset.id in overrides and walk.definitions.resolver(overrides[viewed.dataset.id]) is None:
            continue
        try:
            choose_location_source(viewed, walk.definitions, overrides)
        except DaybookError as cause:
            yield DaybookError(
                "APPEND_007" if load.role == "append" else "PROJECT_026",
                span=walk.span_of(load),
                hint=run_first(viewed.dataset.id, walk.definitions),
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
                check_window(version.view.of.window, calendar_for(walk.project.calendar_id, walk.definitions))
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
            yield from _destination_errors(operation, index, walk.source, walk.definitions)


def _destination_errors(
    operation: OutputOperation, index: int, source: SourceMap, definitions: Definitions
) -> Iterator[DaybookError]:
    destination = operation.arguments.destination
    if not isinstance(destination, TableDestination):
        return
    datasource_id = destination.datasource_id
    path = ("operations", index, "arguments", "destination")
    span = source.span(*path, "datasource_id")
    datasource = definitions.datasource(datasource_id)
    if datasource is None:
        hint = did_you_mean(datasource_id, definitions.ids("datasource"))
        yield DaybookError("OUTPUT_020", span=span, hint=hint, operation_seq=operation.seq, datasource_id=datasource_id)
    elif definitions.is_datasource_disabled(datasource_id):
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
        datasource = walk.definitions.datasource(step.arguments.destination.datasource_id)
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
