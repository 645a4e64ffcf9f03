"""Warns of operations whose work no output shows."""

from collections.abc import Iterator, Sequence

from daybook.errors import Notice, notice
from daybook.model.source_map import SourceMap
from daybook.plan.steps import OutputStep, Step


def find_no_effect(steps: Sequence[Step], source: SourceMap) -> Iterator[Notice]:
    last = max((index for index, step in enumerate(steps) if isinstance(step, OutputStep)), default=-1)
    for index in range(last + 1, len(steps)):
        yield notice("PROJECT_025", span=source.span("operations", index), operation_seq=steps[index].seq)
