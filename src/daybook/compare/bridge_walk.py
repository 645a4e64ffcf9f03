"""The steps of a bridge: which causes are replaced next, alone or together, and the total of each state."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from daybook.compare.bridge_result import Cause, CauseName
from daybook.compare.causes import RunDifferences
from daybook.compare.contributions import (
    ContributionPlan,
    StagedContributions,
    measure_contributions,
    plan_contributions,
    plan_inner_contributions,
    stage_contributions,
    with_origins,
    with_row_effects,
)
from daybook.compare.exact_numbers import subtract
from daybook.compare.hybrid import HybridPlan, Side, StatePlans, Swapped
from daybook.compare.measured_state import (
    Measure,
    MeasuredState,
    StateEngine,
    WholeOutput,
    WrittenOutput,
    measure_output,
    measure_state,
    measured_rows,
    whole_output,
)
from daybook.compare.shared_rows import StatePass
from daybook.errors import DaybookError, Notice, flatten
from daybook.plan.steps import DeleteStep, UpdateStep
from daybook.runs.run_listener import RunListener

# What no other cause can help with: data that is gone, and too many groups.
_FINAL_CODES = frozenset({"RUN_012", "RUN_075"})


@dataclass(frozen=True, slots=True)
class BridgeStep:
    """Causes that were swapped at once, with the states before and after; `reason` says why they are several."""

    causes: tuple[CauseName, ...]
    before: HybridPlan
    after: HybridPlan
    total_before: MeasuredState
    total_after: MeasuredState
    swapped_before: Swapped
    reason: str | None = None

    @property
    def swapped_after(self) -> Swapped:
        return self.swapped_before | frozenset(self.causes)

    def reads_alike_but_for(self, dataset_id: str) -> bool:
        """Whether no other data differs: what the cause changed in projects before would count as an effect of rows."""
        before, after = (
            {key: read for key, read in state.reads.items() if read.dataset_id != dataset_id}
            for state in (self.before, self.after)
        )
        return before == after

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
class _PlannedState:
    """A state and the passes over it: one that gives the total, and where single rows are asked for, theirs.

    The `state` knows from which rows of the data its rows come. `whole` is the output as the run wrote it.
    """

    state: HybridPlan
    rows: ContributionPlan | None
    is_total_of_rows: bool
    whole: WrittenOutput | None

    def passes(self, measure: Measure) -> list[StatePass]:
        cuts = [self.rows.cut] if self.rows is not None else []
        if self.whole is not None:
            cuts.insert(0, whole_output(self.state, measure, self.whole.printed_columns))
        elif not self.is_total_of_rows:
            cuts.insert(0, measured_rows(self.state, measure))
        return [StatePass.of(self.state, cut) for cut in cuts]


@dataclass(frozen=True, slots=True)
class _Measured:
    """`identity` is the pass that gives the total and nothing else: equal ones give the same."""

    identity: StatePass
    found: MeasuredState
    planned: _PlannedState
    contributions: StagedContributions | None


class BridgeWalk:
    """Walks from A to B; every state is computed once, and both ends are compared with what is `written`."""

    def __init__(
        self,
        engine: StateEngine,
        hybrids: StatePlans,
        differences: RunDifferences,
        measure: Measure,
        written: Mapping[Side, WrittenOutput],
        listener: RunListener,
    ) -> None:
        self._engine = engine
        self._hybrids = hybrids
        self._differences = differences
        self._measure = measure
        self._written = written
        self._listener = listener
        self._known: list[_Measured] = []
        loaded = {load.dataset_id for side in ("a", "b") for load in hybrids.output(side).plan.loads}
        self._data_names = tuple(
            name.name for name in differences.causes if name.kind == "data" and name.name in loaded
        )
        self.notices: list[Notice] = []

    @property
    def computations(self) -> int:
        """How many passes began with the data that the runs read."""
        return self._engine.computations

    def walk(self, order: Sequence[CauseName]) -> BridgeWay:
        """Both ends first, each compared with what its run wrote, then what lies between."""
        self._engine.shared.plan(self._expected_passes(order))
        first = self._hybrids.plan(frozenset())
        last = self._hybrids.plan(frozenset(order)) if order else first
        before = self._end("a", first, next_to_data=self._is_read_data(order[:1]))
        after = self._end("b", last, next_to_data=self._is_read_data(order[-1:]))
        return BridgeWay(before, after, tuple(self._steps(order, (first, before), (last, after))))

    def _expected_passes(self, order: Sequence[CauseName]) -> list[list[StatePass]]:
        """The passes over the states on the way, as far as they can be planned now; what fails later changes them."""
        passes: list[list[StatePass]] = []
        remaining, group = list(order), [*order[:1]]
        swapped: Swapped = frozenset()
        while True:
            following = self._first_group(remaining)[0] if remaining else []
            end: Side | None = "a" if not swapped else "b" if not remaining else None
            with suppress(DaybookError):
                state = self._hybrids.plan(swapped)
                planned = self._planned(state, next_to_data=self._is_read_data((*group, *following[:1])), end=end)
                passes.append(planned.passes(self._measure))
            if not remaining:
                return passes
            group = following
            swapped |= frozenset(group)
            remaining = [cause for cause in remaining if cause not in group]

    def _planned(self, state: HybridPlan, *, next_to_data: bool, end: Side | None = None) -> _PlannedState:
        written = self._written.get(end) if end is not None else None
        whole = written if written is not None and written.needs_whole else None
        if not next_to_data:
            return _PlannedState(state, None, False, whole)
        rows = plan_contributions(state, self._measure, self._data_names)
        is_total = rows is not None and whole is None
        rows = rows or plan_inner_contributions(state, self._measure, self._data_names)
        return _PlannedState(with_origins(state, self._data_names)[0], rows, is_total, whole)

    def cause(self, step: BridgeStep) -> Cause:
        """The cause of a step with its share, and for data with the rows that changed."""
        share = subtract(step.total_after.total, step.total_before.total)
        cause = Cause(step.causes, share, reason=step.reason)
        name = next((name for name in step.causes if name.kind == "data"), None)
        if name is None:
            return cause
        self._listener.stage(f"rows of {cause.label}")
        contributions: tuple[StagedContributions | None, StagedContributions | None] = (None, None)
        if self._is_read_data(step.causes) and step.reads_alike_but_for(name.name):
            contributions = self._contributions(step.before), self._contributions(step.after)
        loaded = self._hybrids.sides_of(name, step.swapped_before, step.swapped_after)
        cause = with_row_effects(cause, self._engine.sources, loaded, contributions)
        return replace(cause, explained_by=self._explaining_operation(cause))

    def _is_read_data(self, causes: Iterable[CauseName]) -> bool:
        """Whether data that the two runs read themselves is among the causes, so that the effect of rows is known."""
        return any(name.kind == "data" and name.name in self._data_names for name in causes)

    def _explaining_operation(self, cause: Cause) -> int | None:
        """The first operation of B that loaded rows come to; it explains rows by any of their columns."""
        plan = self._hybrids.output("b").plan
        if not any(name.kind == "data" and name.name == plan.input.dataset_id for name in cause.members):
            return None
        return next((step.seq for step in plan.steps if isinstance(step, UpdateStep | DeleteStep)), None)

    def _end(self, side: Side, state: HybridPlan, *, next_to_data: bool) -> MeasuredState:
        self._listener.stage(f"run {side.upper()} again")
        return self._compute(state, next_to_data=next_to_data, end=side)

    def _compute(self, state: HybridPlan, *, next_to_data: bool, end: Side | None = None) -> MeasuredState:
        """Computed once for states that are the same; next to a data cause as the contributions of single rows."""
        identity = StatePass.of(state, measured_rows(state, self._measure))
        written = self._written.get(end) if end is not None else None
        earlier = next((earlier for earlier in self._known if earlier.identity == identity), None)
        if earlier is not None and (written is None or not written.needs_whole):
            self._check(written, earlier.found, None, state.rows)
            return earlier.found
        planned = self._planned(state, next_to_data=next_to_data, end=end)
        whole = staged = None
        if planned.whole is not None:
            columns = planned.whole.printed_columns
            measured, whole = measure_output(self._engine, planned.state, self._measure, columns)
        elif planned.rows is not None and planned.is_total_of_rows:
            measured, staged = measure_contributions(self._engine, planned.state, planned.rows, self._measure)
        else:
            measured = measure_state(self._engine, planned.state, self._measure)
        self._check(written, measured, whole, state.rows)
        if earlier is None:
            self._known.append(_Measured(identity, measured, planned, staged))
        return measured

    def _check(
        self, written: WrittenOutput | None, measured: MeasuredState, whole: WholeOutput | None, rows: int
    ) -> None:
        if written is not None:
            self.notices += written.check(rows, self._measure, measured, whole)

    def _contributions(self, state: HybridPlan) -> StagedContributions | None:
        """Those that gave the total, or those of a pass that goes on from what the total was computed of."""
        identity = StatePass.of(state, measured_rows(state, self._measure))
        number, measured = next(
            (number, candidate) for number, candidate in enumerate(self._known) if candidate.identity == identity
        )
        if measured.contributions is None:
            planned = measured.planned
            if planned.rows is None:
                planned = self._planned(state, next_to_data=True)
            if planned.rows is not None:
                staged = stage_contributions(self._engine, planned.state, planned.rows)
                measured = self._known[number] = replace(measured, contributions=staged)
        return measured.contributions

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
                    reached = end
                    break
                try:
                    reached = self._next_state(swapped | frozenset(group), group, remaining)
                    break
                except _HalfwayError as failed:
                    reason = reason or _reason(failed.error)
                    group = self._with_partner(group, remaining, swapped, is_planned=failed.is_planned)
            alone = len(group) == 1
            yield BridgeStep(tuple(group), state, reached[0], total, reached[1], swapped, None if alone else reason)
            swapped |= frozenset(group)
            remaining = [cause for cause in remaining if cause not in group]
            state, total = reached

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
        following = [cause for cause in remaining if cause not in group][:1]
        try:
            return state, self._compute(state, next_to_data=self._is_read_data((*group, *following)))
        except DaybookError as error:
            if error.code in _FINAL_CODES:
                raise
            raise _HalfwayError(error, is_planned=True) from error

    def _plan(self, swapped: Swapped) -> HybridPlan:
        """Raises what keeps a state from being planned, or its data from being read; nothing is computed."""
        state = self._hybrids.plan(swapped)
        state.written((self._measure.column, *self._measure.by))
        for read in state.reads.values():
            self._engine.sources.frame(read)
        return state

    def _first_group(self, remaining: Sequence[CauseName]) -> tuple[list[CauseName], str | None]:
        """The first cause and what is bound to it, with the reason."""
        bound = self._differences.bound_with(remaining[0])
        return [cause for cause in dict.fromkeys(remaining) if cause in bound.causes], bound.reason or None

    def _with_partner(
        self, group: list[CauseName], remaining: Sequence[CauseName], swapped: Swapped, *, is_planned: bool
    ) -> list[CauseName]:
        """The causes with the one that they cannot be computed without, where one is enough; else with the next.

        What is bound to it comes along.
        """
        others = [cause for cause in remaining if cause not in group]
        for other in others if not is_planned else ():
            partners = [*group, *self._first_group([other, *others])[0]]
            try:
                self._plan(swapped | frozenset(partners))
            except DaybookError:
                continue
            return partners
        names = {cause.name for cause in group}
        related = [cause for cause in others if cause.name in names]
        return [*group, *self._first_group([*related, *others])[0]]


class _HalfwayError(Exception):
    """A state that cannot be computed; `is_planned` when that showed only while Spark computed it."""

    def __init__(self, error: DaybookError, *, is_planned: bool) -> None:
        super().__init__(str(error))
        self.error = error
        self.is_planned = is_planned


def _reason(error: DaybookError) -> str:
    """Why an intermediate state could not be computed, in one sentence."""
    root = flatten(error)[0]
    while root.causes:
        root = root.causes[0]
    return root.message
