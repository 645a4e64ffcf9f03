"""Warns where summary rows would be counted beside the rows they summarise."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import assert_never

from daybook.errors import Notice, notice
from daybook.model.source_map import SourceMap
from daybook.plan.steps import AggregateStep, AppendStep, CheckStep, DeleteStep, LoadStep, OutputStep, Step, UpdateStep
from daybook.plan.usage import working_columns

# A selector that looks at one of these tells summary rows from others itself.
_TELLING = frozenset({"_operation_seq", "_origin_seq", "_row_id"})

_DETAIL = 0


def find_double_counting(steps: Sequence[Step], load: LoadStep, source: SourceMap) -> Iterator[Notice]:
    """Later aggregates and outputs of a measure that other rows hold beside an earlier aggregate's rows."""
    # Which rows hold a value in a column: loaded and appended ones, or those an aggregate added.
    holders: dict[str, set[int]] = defaultdict(set, {name: {_DETAIL} for name in load.types})
    for index, step in enumerate(steps):
        match step:
            case UpdateStep():
                for value in step.assignments:
                    holders[value.column].add(_DETAIL)
            case AppendStep():
                for name in (*step.columns, *(value.column for value in step.aggregations)):
                    holders[name].add(_DETAIL)
            case AggregateStep():
                read = working_columns(*(value.expression for value in step.aggregations))
                yield from _notices(holders, read, step, index, source)
                for value in step.aggregations:
                    holders[value.column].add(step.seq)
            case OutputStep():
                yield from _notices(holders, set(step.columns), step, index, source)
            case DeleteStep() | CheckStep():
                pass
            case _:
                assert_never(step)


def _notices(
    holders: dict[str, set[int]], read: set[str], step: AggregateStep | OutputStep, index: int, source: SourceMap
) -> Iterator[Notice]:
    if working_columns(step.selector) & _TELLING:
        return
    told: set[int] = set()
    for measure in sorted(read):
        for first in sorted(holders[measure] - {_DETAIL} - told) if len(holders[measure]) > 1 else ():
            told.add(first)
            span = source.span("operations", index)
            yield notice("PROJECT_024", span=span, operation_seq=step.seq, first=first, measure=measure)
