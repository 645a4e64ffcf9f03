"""When to compute again and when to write down, where a plan forks; measured in docs/adr/forks.md."""

from collections.abc import Sequence
from itertools import dropwhile, takewhile

from daybook.plan.exclusion import excludes
from daybook.plan.steps import AggregateStep, AppendStep, DeleteStep, OutputStep, Step, UpdateStep
from daybook.plan.usage import working_columns

# Writing all rows down and reading them back costs about as much as so many joins executed again.
_PRICE_IN_JOINS = 8

# Analysis on Connect grows with the square of the number of projections on each other; 200 still pass quickly.
_DEEPEST = 250


def uses_from(steps: Sequence[Step], index: int) -> int:
    """How often the working dataset is going to be computed from here on."""
    return sum(isinstance(step, AggregateStep | OutputStep) for step in steps[index:])


def uses_of(seq: int, following: Sequence[Step]) -> int:
    """How often the rows that an operation adds are going to be read."""
    uses = 0
    is_merged = False
    for step in following:
        match step:
            case UpdateStep() | DeleteStep():
                is_merged = True
            case AggregateStep() | OutputStep():
                uses += is_merged or not excludes(step.selector, seq)
            case AppendStep():
                pass
    return uses


def is_grouped_later(seq: int, following: Sequence[Step]) -> bool:
    """Whether an aggregate reads the rows that an operation adds, so that they pass a shuffle."""
    return any(isinstance(step, AggregateStep) and not excludes(step.selector, seq) for step in following)


def pays_to_stage(joins: int, uses: int) -> bool:
    """Whether computing the joins so far once for every use costs more than writing the rows down."""
    return uses > 1 and joins * uses >= _PRICE_IN_JOINS


def is_too_deep(depth: int) -> bool:
    return depth >= _DEEPEST


def is_read_by_next_outputs(seq: int, following: Sequence[Step]) -> bool:
    """Whether the rows that an operation adds are computed before anything else is committed."""
    beginning = dropwhile(lambda step: not isinstance(step, OutputStep), following)
    outputs = takewhile(lambda step: isinstance(step, OutputStep), beginning)
    return any(isinstance(output, OutputStep) and not excludes(output.selector, seq) for output in outputs)


def reads_every_join(step: AggregateStep, earlier: Sequence[UpdateStep | DeleteStep]) -> bool:
    """Whether an aggregate needs all that earlier steps joined, so that looking at it costs no further join."""
    wanted = working_columns(step.selector, *(value.expression for value in step.aggregations)) | set(step.group_by)
    for each in reversed(earlier):
        read = [each.selector]
        if isinstance(each, UpdateStep):
            values = [value.expression for value in each.assignments if value.column in wanted]
            read = [each.selector, *values] if values else []
            joined = {use.qualifier for expression in read if expression for use in expression.uses}
            if any(join.alias not in joined for join in each.joins):
                return False
        wanted |= working_columns(*read)
    return True
