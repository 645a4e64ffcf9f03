"""Warnings of a plan: doubled summaries, work that no output shows, selectors no row can have, columns nobody reads."""

from collections import defaultdict
from collections.abc import Iterator
from typing import assert_never

from daybook.errors import Notice, notice
from daybook.errors.suggestion import closest_match
from daybook.expression.typed_tree import TypedWindow
from daybook.model.source_map import SourceMap
from daybook.model.view import is_single_period
from daybook.plan.conditions import excludes_all
from daybook.plan.steps import (
    AggregateStep,
    AppendStep,
    CheckStep,
    DeleteStep,
    OutputStep,
    Step,
    UpdateStep,
    count_until_last_output,
    working_columns,
)
from daybook.plan.walk import Walk

# A selector that looks at one of these tells summary rows from others itself.
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
    told: set[int] = set()
    for measure in sorted(read):
        for first in sorted(holders[measure] - {_DETAIL_ROWS} - told) if len(holders[measure]) > 1 else ():
            told.add(first)
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


def find_unused_columns(walk: Walk) -> Iterator[Notice]:
    """What follows the last output is left out: all of it is in vain, and told so elsewhere."""
    seen = walk.steps[: count_until_last_output(walk.steps)]
    used = set(walk.input.types).union(*map(_columns_read_by, seen))
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
