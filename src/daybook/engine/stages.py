"""The stages of a pipeline: aggregates that share a pass, and intermediate results that are recomputed or written.

The limits are measured in docs/adr/forks.md.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import dropwhile, takewhile
from typing import TypeAlias, assert_never

from daybook.expression import CompiledExpression
from daybook.expression.typed_tree import TypedCall, TypedNode
from daybook.model.types import ColumnType, DecimalType
from daybook.plan.conditions import are_joins_by_key, excludes_all
from daybook.plan.steps import (
    AggregateStep,
    AppendStep,
    CheckStep,
    DeleteStep,
    OutputStep,
    RowStep,
    Step,
    UpdateStep,
    working_columns,
)

# Each value is computed in the groups of every aggregate of a pass, so this bounds what is computed in vain.
_MAX_PASS_VALUES = 64
_MAX_PASS_COLUMNS = 60

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
    def selector(self) -> CompiledExpression | None:
        return self.steps[0].selector

    @property
    def schema(self) -> dict[str, ColumnType]:
        return dict(self.steps[-1].schema)

    @property
    def expressions(self) -> tuple[CompiledExpression | None, ...]:
        return self.selector, *(value.expression for step in self.steps for value in step.aggregations)

    @property
    def columns(self) -> set[str]:
        """What the aggregates read."""
        return working_columns(*self.expressions).union(*(step.group_by for step in self.steps))


Stage: TypeAlias = RowStep | AppendStep | AggregatePass | OutputStep


def group_into_stages(steps: Sequence[Step], columns: Iterable[str]) -> list[Stage]:
    """The steps in order, an aggregate together with an earlier one that reads the same rows where there is one.

    `columns` are the business columns before the first step.
    """
    stages: list[Stage] = []
    columns_before = frozenset(columns)
    for step in steps:
        if not isinstance(step, AggregateStep):
            stages.append(step)
        elif (earlier := _find_earlier_pass(step, stages)) and _can_share_pass(larger := earlier.with_step(step)):
            stages[stages.index(earlier)] = larger
        else:
            stages.append(AggregatePass((step,), columns_before))
        columns_before = frozenset(step.schema)
    return stages


def _find_earlier_pass(step: AggregateStep, stages: Sequence[Stage]) -> AggregatePass | None:
    """The last pass, unless something has happened since that a step could see."""
    for stage in reversed(stages):
        if not isinstance(stage, AppendStep | AggregatePass) or not excludes_all(step.selector, stage_seqs(stage)):
            return None
        if not stage.schema.items() <= step.schema.items():
            return None
        if isinstance(stage, AggregatePass):
            return stage
    return None


def _can_share_pass(tried: AggregatePass) -> bool:
    """Whether the last step of a pass may be computed with the others."""
    first, *_, last = tried.steps
    keys = {frozenset(step.group_by) for step in tried.steps}
    values = len(tried.steps) * sum(len(step.aggregations) for step in tried.steps)
    return (
        first.selector is not None
        and last.selector is not None
        and first.selector.tree == last.selector.tree
        and len(keys) == len(tried.steps)
        and len(frozenset().union(*keys)) <= _MAX_PASS_COLUMNS
        and values <= _MAX_PASS_VALUES
        and tried.columns.isdisjoint(last.schema.keys() - tried.known)
        and _wide_sums(first) == _wide_sums(last)
    )


def columns_read_from(stages: Sequence[Stage], index: int, natural_key: Iterable[str]) -> frozenset[str]:
    """The columns of the working dataset that a stage and those after it may read, with what divides rows from others.

    `natural_key` decides between rows that are equal in an order.
    """
    columns = {"_operation_seq", "_deleted"}
    for stage in stages[index:]:
        match stage:
            case UpdateStep():
                columns |= working_columns(*stage.expressions, *(join.on for join in stage.joins))
                # Rows that are not picked keep their value.
                columns |= {value.column for value in stage.assignments}
                if stage.windows:
                    columns |= {*natural_key, "_row_id"}
                if not are_joins_by_key(stage):
                    columns.add("_row_id")
            case DeleteStep():
                columns |= working_columns(*stage.expressions)
            case CheckStep():
                columns |= working_columns(*stage.expressions) | {*stage.columns}
            case AggregatePass():
                columns |= stage.columns
            case OutputStep():
                columns |= working_columns(stage.selector) | {*stage.columns} | {*stage.order_by}
            case AppendStep():
                pass
            case _:
                assert_never(stage)
    return frozenset(columns)


def cost_in_joins(stages: Iterable[Stage]) -> int:
    """About how many joins take as long as these stages; projections cost almost nothing."""
    cost = 0
    for stage in stages:
        if isinstance(stage, UpdateStep):
            cost += len(stage.joins) + _WINDOW_COST_IN_JOINS * len(stage.windows)
        elif isinstance(stage, AggregatePass | AppendStep):
            cost += 1
    return cost


def stage_seqs(stage: AppendStep | AggregatePass) -> tuple[int, ...]:
    """The operations that a stage executes."""
    return stage.seqs if isinstance(stage, AggregatePass) else (stage.seq,)


def _wide_sums(step: AggregateStep) -> list[TypedNode]:
    """What a step sums up that could become too large in the groups of another."""
    return [
        part.arguments[0]
        for value in step.aggregations
        for part in value.expression.tree.walk()
        if isinstance(part, TypedCall) and part.function.name in ("SUM", "AVG") and _is_wide(part.arguments[0].type)
    ]


def _is_wide(kind: ColumnType) -> bool:
    return isinstance(kind, DecimalType) and kind.precision > _SAFE_DIGITS


# Writing all rows down and reading them back costs about as much as so many joins executed again.
_STAGING_COST_IN_JOINS = 8

# A window shuffles and sorts all rows.
_WINDOW_COST_IN_JOINS = 4

# Every group carries the counts, so many of them would be as much data as the groups themselves.
_MAX_COUNTS = 24

# Analysis on Connect grows with the square of the number of projections on each other; 200 still pass quickly.
_MAX_DEPTH = 250

# Spark pushes every projection on a union down into each of its parts, so a plan grows with the product of both.
_MAX_WIDTH = 8


def count_uses_from(steps: Sequence[Stage], index: int) -> int:
    """How often the working dataset is going to be computed from here on."""
    return sum(isinstance(step, AggregatePass | OutputStep) for step in steps[index:])


def count_uses_of_added(seqs: tuple[int, ...], following: Sequence[Stage]) -> int:
    """How often the rows that operations add are going to be read."""
    uses = 0
    is_merged = False
    for step in following:
        match step:
            case UpdateStep() | DeleteStep() | CheckStep():
                is_merged = is_merged or not excludes_all(step.selector, seqs)
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
    return uses > 1 and joins * uses >= _STAGING_COST_IN_JOINS


def pays_to_count(steps: int) -> bool:
    """Whether counting so many steps in every group of an aggregate is cheaper than a look at all rows."""
    return steps <= _MAX_COUNTS


def is_too_deep(depth: int) -> bool:
    return depth >= _MAX_DEPTH


def is_too_wide(width: int, uses: int) -> bool:
    """Whether one union has so many added rows that every use would repeat all projections on each of them."""
    return uses > 1 and width >= _MAX_WIDTH


def is_read_by_next_outputs(seqs: tuple[int, ...], following: Sequence[Stage]) -> bool:
    """Whether the rows that operations add are computed before anything else is committed."""
    beginning = dropwhile(lambda step: not isinstance(step, OutputStep), following)
    outputs = takewhile(lambda step: isinstance(step, OutputStep), beginning)
    return any(isinstance(output, OutputStep) and not excludes_all(output.selector, seqs) for output in outputs)


def reads_every_join(step: AggregatePass, earlier: Sequence[RowStep]) -> bool:
    """Whether an aggregate needs all that earlier steps joined, so that looking at it costs no further join."""
    columns = step.columns
    for earlier_step in reversed(earlier):
        read = list(earlier_step.expressions)
        if isinstance(earlier_step, UpdateStep):
            values = [value.expression for value in earlier_step.assignments if value.column in columns]
            read = [earlier_step.selector, *values] if values else []
            joined = {use.qualifier for expression in read if expression for use in expression.uses}
            if any(join.alias not in joined for join in earlier_step.joins):
                return False
        columns |= working_columns(*read)
    return True
