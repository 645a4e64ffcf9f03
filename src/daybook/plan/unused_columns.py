"""Warns of columns that a project makes and nobody looks at, as a mistyped name does."""

from collections.abc import Iterator, Sequence
from typing import assert_never

from daybook.errors import Notice, notice
from daybook.model.source_map import SourceMap
from daybook.model.suggestion import nearest
from daybook.plan.steps import (
    AggregateStep,
    AppendStep,
    CheckStep,
    DeleteStep,
    LoadStep,
    OutputStep,
    Step,
    UpdateStep,
    until_last_output,
)
from daybook.plan.usage import working_columns


def find_unused_columns(steps: Sequence[Step], load: LoadStep, source: SourceMap) -> Iterator[Notice]:
    """What follows the last output is left out: all of it is in vain, and told so elsewhere."""
    seen = steps[: until_last_output(steps)]
    used = set(load.types).union(*map(_read, seen))
    for index, step in enumerate(seen):
        match step:
            case UpdateStep(assignments=values):
                place = "assignments"
            case AggregateStep(aggregations=values):
                place = "aggregations"
            case AppendStep() | DeleteStep() | CheckStep() | OutputStep():
                continue
            case _:
                assert_never(step)
        for number, value in enumerate(values):
            if value.column not in used:
                span = source.span("operations", index, "arguments", place, number, "column")
                meant = nearest(value.column, used)
                hint = f"did you mean {meant}?" if meant else None
                yield notice("PROJECT_036", span=span, operation_seq=step.seq, hint=hint, column=value.column)


def _read(step: Step) -> set[str]:
    """The working columns that a step reads or writes to its destination."""
    match step:
        case UpdateStep():
            return working_columns(*step.expressions, *(join.on for join in step.joins))
        case AggregateStep():
            return working_columns(step.selector, *(value.expression for value in step.aggregations)) | {*step.group_by}
        case AppendStep():
            return set()
        case DeleteStep() | CheckStep():
            return working_columns(*step.expressions)
        case OutputStep():
            return working_columns(step.selector) | {*step.columns, *step.order_by}
        case _:
            assert_never(step)
