"""Rows that several states between two runs share: computed and written once, and read by the other states.

Two states have their first stages in common when those are the same and read the same. It pays to write the rows
down where the stages are expensive, or many states begin with them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from daybook.compare.causes import depends_on_constants
from daybook.compare.hybrid import HybridPlan, HybridRead
from daybook.engine.pipeline import KeptRows
from daybook.engine.stages import AggregatePass, Stage, columns_read_from, cost_in_joins, group_into_stages
from daybook.expression import Constants
from daybook.model.operation import OutputArguments
from daybook.plan.loads import INPUT_KEY
from daybook.plan.partial_plan import PartialPlan
from daybook.plan.steps import AppendStep, OutputStep, UpdateStep

# Writing down the few columns that a measure needs, and reading them again, takes about as long as so many joins.
_COST_OF_KEEPING = 3


@dataclass(frozen=True, slots=True)
class Beginning:
    """The first stages of a plan with what they read: equal ones give the same rows."""

    stages: tuple[Stage, ...]
    reads: Mapping[str, HybridRead]
    constants: Constants | None

    def __len__(self) -> int:
        return len(self.stages)


@dataclass(frozen=True, slots=True)
class StatePass:
    """One pass over a state: the stages of a partial plan, without the names that operations have for people."""

    stages: tuple[Stage, ...]
    # Stages know their own, but for the output: several may write the same rows.
    seqs: tuple[int, ...] = field(compare=False)
    reads: Mapping[str, HybridRead]
    constants: Constants | None
    natural_key: tuple[str, ...]

    @classmethod
    def of(cls, state: HybridPlan, cut: PartialPlan) -> "StatePass":
        plan = cut.plan
        stages = group_into_stages(plan.steps, plan.input.types)
        return cls(
            tuple(map(_without_name, stages)),
            tuple(stage.seq for stage in stages),
            {key: state.reads[whole] for key, whole in cut.feeds.items()},
            state.constants if depends_on_constants(plan) else None,
            tuple(plan.input.version.dataset.natural_key_columns),
        )

    def beginning(self, length: int) -> Beginning:
        stages = self.stages[:length]
        keys = {INPUT_KEY, *(key for stage in stages for key in _load_keys(stage))}
        return Beginning(stages, {key: self.reads[key] for key in sorted(keys)}, self.constants)

    def begins_with(self, other: Beginning) -> bool:
        return len(other) < len(self.stages) and self.beginning(len(other)) == other

    def common_length(self, other: "StatePass") -> int:
        """How many stages both begin with; the last one of each is left to itself."""
        length = 0
        for mine, theirs in zip(self.stages[:-1], other.stages[:-1], strict=False):
            if mine != theirs:
                break
            length += 1
        while length and self.beginning(length) != other.beginning(length):
            length -= 1
        return length

    def columns_after(self, length: int) -> frozenset[str]:
        return columns_read_from(self.stages, length, self.natural_key)


class SharedRows:
    """What is written down, and for whom."""

    def __init__(self) -> None:
        self._wanted: list[tuple[Beginning, frozenset[str]]] = []
        self._kept: list[tuple[Beginning, KeptRows]] = []

    def plan(self, states: Sequence[Sequence[StatePass]]) -> None:
        """Decide what to write down for states in this order, each with its passes: neighbours have most in common.

        Passes of one state share what they can, so that no state is computed twice.
        """
        passes = [state_pass for state in states for state_pass in state]
        own = [pair for state in states for pair in pairwise(state)]
        near = [(left, right) for before, after in pairwise(states) for left in before for right in after]
        overlaps = sorted(
            (
                (left.common_length(right), is_own, left)
                for is_own, pairs in ((True, own), (False, near))
                for left, right in pairs
            ),
            key=lambda overlap: overlap[0],
        )
        for length, is_own, left in overlaps:
            if length:
                self._want(left.beginning(length), passes, is_own=is_own)

    def _want(self, beginning: Beginning, passes: Iterable[StatePass], *, is_own: bool) -> None:
        if any(existing == beginning for existing, _ in self._wanted):
            return
        users = [state_pass for state_pass in passes if state_pass.begins_with(beginning)]
        shared_length = max(
            (len(existing) for existing, _ in self._wanted if beginning.stages[: len(existing)] == existing.stages),
            default=0,
        )
        saved = cost_in_joins(beginning.stages[shared_length:]) * (len(users) - 1)
        if is_own or saved >= _COST_OF_KEEPING:
            columns = frozenset[str]().union(*(user.columns_after(len(beginning)) for user in users))
            self._wanted.append((beginning, columns))

    def start(self, this: StatePass) -> tuple[int, KeptRows] | None:
        """The rows that a pass can go on from, with the seq of the stage that comes next.

        A pass that nobody planned may need columns that were not written down.
        """
        starts = [
            (len(beginning), kept)
            for beginning, kept in self._kept
            if this.begins_with(beginning) and this.columns_after(len(beginning)) <= self._columns_of(beginning)
        ]
        if not starts:
            return None
        length, kept = max(starts, key=lambda candidate: candidate[0])
        return this.seqs[length], kept

    def _columns_of(self, beginning: Beginning) -> frozenset[str]:
        return next(columns for start, columns in self._wanted if start == beginning)

    def forks(self, this: StatePass) -> dict[int, frozenset[str]]:
        """The columns that a pass has to write down, by the seq of the stage that comes next."""
        kept_length = max((len(beginning) for beginning, _ in self._kept if this.begins_with(beginning)), default=0)
        return {
            this.seqs[len(beginning)]: columns
            for beginning, columns in self._wanted
            if len(beginning) > kept_length and this.begins_with(beginning)
        }

    def keep(self, this: StatePass, kept: Mapping[int, KeptRows]) -> None:
        """Rows of a pass that was found right."""
        self._kept += [(this.beginning(this.seqs.index(seq)), rows) for seq, rows in kept.items()]


def _without_name(stage: Stage) -> Stage:
    if isinstance(stage, AggregatePass):
        return replace(stage, steps=tuple(replace(step, operation_id="", name="") for step in stage.steps))
    if isinstance(stage, OutputStep):
        # Where an output writes, and how, does not change its rows.
        arguments = OutputArguments.model_validate(
            {"destination": {"location": "nowhere"}, "include_deleted": stage.arguments.include_deleted}
        )
        stage = replace(stage, arguments=arguments, seq=0)
    return replace(stage, operation_id="", name="")


def _load_keys(stage: Stage) -> tuple[str, ...]:
    match stage:
        case UpdateStep(joins=joins):
            return tuple(join.load_key for join in joins)
        case AppendStep(load_key=key):
            return (key,)
        case _:
            return ()
