"""Warns of operations whose work no output shows."""

from collections.abc import Iterator, Sequence

from daybook.errors import Notice, notice
from daybook.model.source_map import SourceMap
from daybook.plan.steps import Step, until_last_output


def find_no_effect(steps: Sequence[Step], source: SourceMap) -> Iterator[Notice]:
    for index in range(until_last_output(steps), len(steps)):
        yield notice("PROJECT_025", span=source.span("operations", index), operation_seq=steps[index].seq)
