"""The way from one run to another: which causes are swapped next, alone or together, and what each state gives."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from daybook.compare.causes import RunDifferences
from daybook.compare.chosen_rows import ComparedOutput
from daybook.compare.contributions import (
    StagedContributions,
    measure_contributions,
    plan_contributions,
    plan_inner_contributions,
    stage_contributions,
)
from daybook.compare.hybrid import HybridPlan, Hybrids, Side, Swapped
from daybook.compare.measured_state import HybridSources, Measure, MeasuredState, measure_state
from daybook.compare.result import Cause, CauseName, subtract
from daybook.compare.row_effects import with_row_effects
from daybook.errors import DaybookError, Notice, flatten
from daybook.plan.steps import DeleteStep, UpdateStep
from daybook.runs.result import RunListener

_SEQS_REASON = "operations have other seqs, and an expression names _operation_seq"
# What no other cause can help with: data that is gone, and too many groups.
_FINAL_CODES = frozenset({"RUN_012", "RUN_075"})

CheckWritten = Callable[[ComparedOutput, HybridPlan, MeasuredState], Iterable[Notice]]


@dataclass(frozen=True, slots=True)
class BridgeStep:
    """Causes that were swapped at once, with the states before and after; `reason` says why they are several."""

    causes: tuple[CauseName, ...]
    before: HybridPlan
    after: HybridPlan
    total_before: MeasuredState
    total_after: MeasuredState
    reason: str | None = None

    @property
    def changes_nothing(self) -> bool:
        return self.total_before.is_same(self.total_after)


@dataclass(frozen=True, slots=True)
class BridgeWay:
    before: MeasuredState
    after: MeasuredState
    steps: tuple[BridgeStep, ...]

    @property
    def shown(self) -> tuple[BridgeStep, ...]:
        """A cause whose swap changes nothing is left out."""
        return tuple(step for step in self.steps if not step.changes_nothing)


@dataclass(frozen=True, slots=True)
class _Measured:
    state: HybridPlan
    found: MeasuredState
    contributions: StagedContributions | None


class BridgeWalk:
    """Walks from A to B; every state is computed once."""

    def __init__(
        self,
        spark: SparkSession,
        hybrids: Hybrids,
        sources: HybridSources,
        differences: RunDifferences,
        measure: Measure,
        staging: str,
        check: CheckWritten,
        listener: RunListener,
    ) -> None:
        self._spark = spark
        self._hybrids = hybrids
        self._sources = sources
        self._differences = differences
        self._measure = measure
        self._staging = staging
        self._check = check
        self._listener = listener
        self._known: list[_Measured] = []
        self._data_names = tuple(name.name for name in differences.causes if name.kind == "data")
        self.notices: list[Notice] = []
        self.computations = 0

    def walk(self, order: Sequence[CauseName]) -> BridgeWay:
        """Both ends first, each compared with what its run wrote, then what lies between."""
        first = self._hybrids.plan(frozenset())
        last = self._hybrids.plan(frozenset(order)) if order else first
        before = self._end("a", first, next_to_data=_is_data(order[:1]))
        after = self._end("b", last, next_to_data=_is_data(order[-1:]))
        return BridgeWay(before, after, tuple(self._steps(order, (first, before), (last, after))))

    def cause(self, step: BridgeStep) -> Cause:
        """The cause of a step with its share, and for data with the rows that changed."""
        share = subtract(step.total_after.total, step.total_before.total)
        cause = Cause(step.causes, share, reason=step.reason)
        if not _is_data(step.causes):
            return cause
        self._listener.stage(f"rows of {cause.label}")
        found = self._contributions(step.before), self._contributions(step.after)
        cause = with_row_effects(cause, self._sources, step.before, step.after, found)
        return replace(cause, explained_by=self._explaining_operation(cause))

    def _explaining_operation(self, cause: Cause) -> int | None:
        """The first operation of B that loaded rows come to; it explains rows by any of their columns."""
        plan = self._hybrids.output("b").plan
        if not any(name.kind == "data" and name.name == plan.input.dataset_id for name in cause.members):
            return None
        return next((step.seq for step in plan.steps if isinstance(step, UpdateStep | DeleteStep)), None)

    def _end(self, side: Side, state: HybridPlan, *, next_to_data: bool) -> MeasuredState:
        self._listener.stage(f"run {side.upper()} again")
        found = self._compute(state, next_to_data=next_to_data)
        self.notices += self._check(self._hybrids.output(side), state, found)
        return found

    def _compute(self, state: HybridPlan, *, next_to_data: bool) -> MeasuredState:
        """Computed once for states that are the same; next to a data cause as the contributions of single rows."""
        for known in self._known:
            if known.state.is_same(state):
                return known.found
        self.computations += 1
        staging = f"{self._staging}/{self.computations}"
        planned = plan_contributions(state, self._measure, self._data_names) if next_to_data else None
        if planned is None:
            found, staged = measure_state(self._spark, self._sources, state, self._measure, staging), None
        else:
            found, staged = measure_contributions(self._spark, self._sources, state, planned, self._measure, staging)
        self._known.append(_Measured(state, found, staged))
        return found

    def _contributions(self, state: HybridPlan) -> StagedContributions | None:
        """Those that gave the total, or in a pass of their own the rows of a total of totals."""
        number, known = next((number, known) for number, known in enumerate(self._known) if known.state.is_same(state))
        if known.contributions is None:
            planned = plan_inner_contributions(known.state, self._measure, self._data_names)
            if planned is not None:
                staging = f"{self._staging}/rows-{number}"
                staged = stage_contributions(self._spark, self._sources, known.state, planned, staging)
                known = self._known[number] = replace(known, contributions=staged)
        return known.contributions

    def _steps(
        self,
        order: Sequence[CauseName],
        start: tuple[HybridPlan, MeasuredState],
        end: tuple[HybridPlan, MeasuredState],
    ) -> Iterator[BridgeStep]:
        remaining = list(order)
        state, total = start
        swapped: Swapped = frozenset()
        while remaining:
            group, reason = self._first_group(remaining)
            while True:
                if len(group) == len(remaining):
                    found = end
                    break
                try:
                    found = self._next_state(swapped | frozenset(group), group, remaining)
                    break
                except _HalfwayError as failed:
                    reason = reason or _reason(failed.error)
                    group = self._with_partner(group, remaining, swapped, is_planned=failed.is_planned)
            alone = len(group) == 1
            yield BridgeStep(tuple(group), state, found[0], total, found[1], None if alone else reason)
            swapped |= frozenset(group)
            remaining = [each for each in remaining if each not in group]
            state, total = found

    def _next_state(
        self, swapped: Swapped, group: Sequence[CauseName], remaining: Sequence[CauseName]
    ) -> tuple[HybridPlan, MeasuredState]:
        """The state with these causes swapped, planned, read and computed."""
        try:
            state = self._plan(swapped)
        except DaybookError as error:
            raise _HalfwayError(error, is_planned=False) from error
        label = " + ".join(name.label for name in group)
        self._listener.stage(f"{label} ({len(remaining)} left)")
        following = [each for each in remaining if each not in group][:1]
        try:
            return state, self._compute(state, next_to_data=_is_data((*group, *following)))
        except DaybookError as error:
            if error.code in _FINAL_CODES:
                raise
            raise _HalfwayError(error, is_planned=True) from error

    def _plan(self, swapped: Swapped) -> HybridPlan:
        """Raises what keeps a state from being planned, or its data from being read; nothing is computed."""
        state = self._hybrids.plan(swapped)
        state.written((self._measure.column, *self._measure.by))
        for read in state.reads.values():
            self._sources.frame(read)
        return state

    def _first_group(self, remaining: Sequence[CauseName]) -> tuple[list[CauseName], str | None]:
        first, bound = remaining[0], self._differences.bound
        if first in bound and len(bound) > 1:
            return [each for each in remaining if each in bound], _SEQS_REASON
        return [first], None

    def _with_partner(
        self, group: list[CauseName], remaining: Sequence[CauseName], swapped: Swapped, *, is_planned: bool
    ) -> list[CauseName]:
        """The causes with the one that they cannot be computed without, where one is enough; else with the next."""
        others = [each for each in remaining if each not in group]
        for other in others if not is_planned else ():
            try:
                self._plan(swapped | frozenset((*group, other)))
            except DaybookError:
                continue
            return [*group, other]
        names = {each.name for each in group}
        related = [each for each in others if each.name in names]
        return [*group, (related or others)[0]]


class _HalfwayError(Exception):
    """A state that cannot be computed; `is_planned` when that showed only while Spark computed it."""

    def __init__(self, error: DaybookError, *, is_planned: bool) -> None:
        super().__init__(str(error))
        self.error = error
        self.is_planned = is_planned


def _is_data(causes: Iterable[CauseName]) -> bool:
    return any(name.kind == "data" for name in causes)


def _reason(error: DaybookError) -> str:
    """Why a state half-way could not be computed, in one sentence."""
    found = flatten(error)[0]
    while found.causes:
        found = found.causes[0]
    return found.message
