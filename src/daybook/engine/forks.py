"""When to compute again and when to write down, where a plan forks; measured in docs/adr/forks.md."""

from collections.abc import Sequence
from itertools import dropwhile, takewhile
from typing import assert_never

from daybook.engine.passes import AggregatePass, Stage
from daybook.plan.exclusion import excludes_all
from daybook.plan.steps import AppendStep, CheckStep, DeleteStep, OutputStep, RowStep, UpdateStep
from daybook.plan.usage import working_columns

# Writing all rows down and reading them back costs about as much as so many joins executed again.
_PRICE_IN_JOINS = 8

# Every group carries the counts, so many of them would be as much data as the groups themselves.
_MOST_COUNTS = 24

# Analysis on Connect grows with the square of the number of projections on each other; 200 still pass quickly.
_DEEPEST = 250

# Spark pushes every projection on a union down into each of its parts, so a plan grows with the product of both.
_WIDEST = 8


def uses_from(steps: Sequence[Stage], index: int) -> int:
    """How often the working dataset is going to be computed from here on."""
    return sum(isinstance(step, AggregatePass | OutputStep) for step in steps[index:])


def uses_of(seqs: tuple[int, ...], following: Sequence[Stage]) -> int:
    """How often the rows that operations add are going to be read."""
    uses = 0
    is_merged = False
    for step in following:
        match step:
            case UpdateStep() | DeleteStep() | CheckStep():
                is_merged = True
            case AggregatePass() | OutputStep():
                uses += is_merged or not excludes_all(step.selector, seqs)
            case AppendStep():
                pass
            case _:
                assert_never(step)
    return uses


def is_grouped_later(seqs: tuple[int, ...], following: Sequence[Stage]) -> bool:
    """Whether an aggregate reads the rows that operations add, so that they pass a shuffle."""
    return any(isinstance(step, AggregatePass) and not excludes_all(step.selector, seqs) for step in following)


def pays_to_stage(joins: int, uses: int) -> bool:
    """Whether computing the joins so far once for every use costs more than writing the rows down."""
    return uses > 1 and joins * uses >= _PRICE_IN_JOINS


def pays_to_count(steps: int) -> bool:
    """Whether counting so many steps in every group of an aggregate is cheaper than a look at all rows."""
    return steps <= _MOST_COUNTS


def is_too_deep(depth: int) -> bool:
    return depth >= _DEEPEST


def is_too_wide(width: int, uses: int) -> bool:
    """Whether so many added rows stand in one union that every use would repeat all projections on each of them."""
    return uses > 1 and width >= _WIDEST


def is_read_by_next_outputs(seqs: tuple[int, ...], following: Sequence[Stage]) -> bool:
    """Whether the rows that operations add are computed before anything else is committed."""
    beginning = dropwhile(lambda step: not isinstance(step, OutputStep), following)
    outputs = takewhile(lambda step: isinstance(step, OutputStep), beginning)
    return any(isinstance(output, OutputStep) and not excludes_all(output.selector, seqs) for output in outputs)


def reads_every_join(step: AggregatePass, earlier: Sequence[RowStep]) -> bool:
    """Whether an aggregate needs all that earlier steps joined, so that looking at it costs no further join."""
    wanted = step.columns
    for each in reversed(earlier):
        read = list(each.expressions)
        if isinstance(each, UpdateStep):
            values = [value.expression for value in each.assignments if value.column in wanted]
            read = [each.selector, *values] if values else []
            joined = {use.qualifier for expression in read if expression for use in expression.uses}
            if any(join.alias not in joined for join in each.joins):
                return False
        wanted |= working_columns(*read)
    return True
