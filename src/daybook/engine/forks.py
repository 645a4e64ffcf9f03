"""When to compute again and when to write down, where a plan forks; measured in docs/adr/forks.md."""

from collections.abc import Sequence

from daybook.plan.steps import AggregateStep, OutputStep, Step

# Writing all rows down and reading them back costs about as much as so many joins executed again.
_PRICE_IN_JOINS = 8

# Analysis on Connect grows with the square of the number of projections on each other; 200 still pass quickly.
_DEEPEST = 250


def uses_from(steps: Sequence[Step], index: int) -> int:
    """How often the working dataset is going to be computed from here on."""
    return sum(isinstance(step, AggregateStep | OutputStep) for step in steps[index:])


def pays_to_stage(joins: int, uses: int) -> bool:
    """Whether computing the joins so far once for every use costs more than writing the rows down."""
    return uses > 1 and joins * uses >= _PRICE_IN_JOINS


def is_too_deep(depth: int) -> bool:
    return depth >= _DEEPEST
