"""Aggregates that read the same rows are computed in one pass over them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from daybook.expression import Compiled
from daybook.expression.typed import Applied, Typed
from daybook.model.types import ColumnType, DecimalType
from daybook.plan.conditions import parts_of
from daybook.plan.exclusion import excludes_all
from daybook.plan.steps import AggregateStep, AppendStep, OutputStep, RowStep, Step
from daybook.plan.usage import working_columns

# Each value is computed in the groups of every aggregate of a pass, so this bounds what is computed in vain.
_MOST_VALUES = 64
_MOST_COLUMNS = 60

# Ten billion values of fewer digits have a sum of 38 digits at most.
_SAFE_DIGITS = 28


@dataclass(frozen=True, slots=True)
class AggregatePass:
    """One or more aggregates with the same selector, by different columns; `known` are the columns before them."""

    steps: tuple[AggregateStep, ...]
    known: frozenset[str]

    def with_step(self, step: AggregateStep) -> "AggregatePass":
        return AggregatePass((*self.steps, step), self.known)

    @property
    def seq(self) -> int:
        return self.steps[0].seq

    @property
    def seqs(self) -> tuple[int, ...]:
        return tuple(step.seq for step in self.steps)

    @property
    def selector(self) -> Compiled | None:
        return self.steps[0].selector

    @property
    def schema(self) -> dict[str, ColumnType]:
        return dict(self.steps[-1].schema)

    @property
    def expressions(self) -> tuple[Compiled | None, ...]:
        return self.selector, *(value.expression for step in self.steps for value in step.aggregations)

    @property
    def columns(self) -> set[str]:
        """What the aggregates read."""
        return working_columns(*self.expressions).union(*(step.group_by for step in self.steps))


Stage: TypeAlias = RowStep | AppendStep | AggregatePass | OutputStep


def in_passes(steps: Sequence[Step], columns: Iterable[str]) -> list[Stage]:
    """The steps in order, an aggregate together with an earlier one that reads the same rows where there is one.

    `columns` are the business columns before the first step.
    """
    stages: list[Stage] = []
    known = frozenset(columns)
    for step in steps:
        if not isinstance(step, AggregateStep):
            stages.append(step)
        elif (earlier := _pass_before(step, stages)) and _go_together(larger := earlier.with_step(step)):
            stages[stages.index(earlier)] = larger
        else:
            stages.append(AggregatePass((step,), known))
        known = frozenset(step.schema)
    return stages


def _pass_before(step: AggregateStep, stages: Sequence[Stage]) -> AggregatePass | None:
    """The last pass, unless something has happened since that a step could see."""
    for stage in reversed(stages):
        if not isinstance(stage, AppendStep | AggregatePass) or not excludes_all(step.selector, seqs_of(stage)):
            return None
        if not stage.schema.items() <= step.schema.items():
            return None
        if isinstance(stage, AggregatePass):
            return stage
    return None


def _go_together(tried: AggregatePass) -> bool:
    """Whether the last step of a pass may be computed with the others."""
    first, *_, last = tried.steps
    keys = {frozenset(step.group_by) for step in tried.steps}
    values = len(tried.steps) * sum(len(step.aggregations) for step in tried.steps)
    return (
        first.selector is not None
        and last.selector is not None
        and first.selector.tree == last.selector.tree
        and len(keys) == len(tried.steps)
        and len(frozenset().union(*keys)) <= _MOST_COLUMNS
        and values <= _MOST_VALUES
        and tried.columns.isdisjoint(last.schema.keys() - tried.known)
        and _wide_sums(first) == _wide_sums(last)
    )


def seqs_of(stage: AppendStep | AggregatePass) -> tuple[int, ...]:
    """The operations that a stage executes."""
    return stage.seqs if isinstance(stage, AggregatePass) else (stage.seq,)


def _wide_sums(step: AggregateStep) -> list[Typed]:
    """What a step sums up that could become too large in the groups of another."""
    return [
        part.arguments[0]
        for value in step.aggregations
        for part in parts_of(value.expression.tree)
        if isinstance(part, Applied) and part.function.name in ("SUM", "AVG") and _is_wide(part.arguments[0].type)
    ]


def _is_wide(kind: ColumnType) -> bool:
    return isinstance(kind, DecimalType) and kind.precision > _SAFE_DIGITS
