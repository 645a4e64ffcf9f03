"""Warns of selectors that no row can have, because they ask for rows of an operation that adds none before."""

from collections.abc import Iterator, Sequence

from daybook.errors import Notice, notice
from daybook.model.source_map import SourceMap
from daybook.plan.exclusion import excludes_all
from daybook.plan.steps import AggregateStep, AppendStep, Step

_LOADED = "0 (loaded)"


def find_no_rows(steps: Sequence[Step], source: SourceMap) -> Iterator[Notice]:
    """A seq that was counted off changes when an operation is put in before it."""
    present = {0: _LOADED}
    for index, step in enumerate(steps):
        if not isinstance(step, AppendStep) and excludes_all(step.selector, present):
            span = source.span("operations", index, "selector")
            yield notice("PROJECT_035", span=span, operation_seq=step.seq, present=", ".join(present.values()))
        if isinstance(step, AggregateStep | AppendStep):
            present[step.seq] = f"{step.seq} ({step.name})"
