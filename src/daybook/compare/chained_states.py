"""Intermediate states of a chain of runs: each pair of runs is computed on the results of the pairs before it.

A pair that no swapped cause concerns is read as A's run wrote it; one whose causes are all swapped, as B's run wrote
it. Every other state is computed once into a scratch folder, and states with the same rows are kept once.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from daybook.compare.bridge_result import CauseName
from daybook.compare.causes import load_of
from daybook.compare.compared_output import SEQ_COLUMN, ComparedOutput, written_slice
from daybook.compare.compared_run import ComparedRows
from daybook.compare.hybrid import (
    HybridPlan,
    HybridRead,
    Hybrids,
    LoadedTwice,
    MadeSlice,
    Side,
    Swapped,
    load_twice,
)
from daybook.compare.measured_state import HybridSources, StateEngine
from daybook.compare.run_pairs import PairedSlice, RunPair
from daybook.compare.shared_rows import StatePass
from daybook.engine.context import RunContext, SourceFrame
from daybook.engine.working_dataset import DividedStaging
from daybook.errors import DaybookError
from daybook.expression import quote_identifier
from daybook.graph.chain import ChainedRead, ReadRows, ScratchSlice, SlicePart, chained_frame
from daybook.io.target import OutputColumn
from daybook.io.writer import FingerprintObserver, fingerprint
from daybook.model.types import TIME_COLUMNS, ColumnType
from daybook.plan.partial_plan import PartialPlan, selectable_columns
from daybook.plan.steps import OutputStep
from daybook.runs.environment import RunEnvironment

_ROW_ID = "_row_id"
_ALL_ROWS = ComparedRows(0, 0, "")


@dataclass(frozen=True, slots=True)
class ComputedRows:
    """The rows of a computation, with the operation that made each, and the causes that were swapped for it."""

    df: DataFrame
    swapped: Swapped


@dataclass(frozen=True, slots=True)
class _Computed:
    """The name and the fingerprint of the rows of a pair in one state."""

    name: str
    fingerprint: str


@dataclass(slots=True)
class _PairStates:
    """The plans of a pair, the engine that reads its data, and the states computed so far."""

    plans: "ChainedPlans"
    engine: StateEngine
    computed: list[_Computed] = field(default_factory=list)
    by_swapped: dict[Swapped, str | DaybookError] = field(default_factory=dict)
    written: dict[tuple[Side, tuple[OutputColumn, ...]], str | None] = field(default_factory=dict)


class Chain:
    """Computes pairs of runs below a folder that the caller removes; `causes` are all that differ.

    With `is_b_written` B's runs wrote what they compute; else they are only planned, and computed like other states.
    `read_pairs` are the pairs that others read; only their rows are compared with what their runs wrote.
    """

    def __init__(
        self,
        environment: RunEnvironment,
        spark: SparkSession,
        folder: DividedStaging,
        causes: Iterable[CauseName],
        *,
        is_b_written: bool = True,
        read_pairs: Collection[RunPair] | None = None,
    ) -> None:
        self.environment = environment
        self.spark = spark
        self.causes = frozenset(causes)
        self.is_b_written = is_b_written
        self._read_pairs = read_pairs
        self._folder = folder
        self._pairs: dict[int, _PairStates] = {}
        # Outputs of the same two runs share one engine.
        self._engines: dict[tuple[str, str], StateEngine] = {}
        self._same_rows: dict[tuple[str, str], list[tuple[StatePass, dict[str, str], str]]] = {}
        self.scratch: dict[str, ScratchSlice] = {}
        self.rows: dict[str, ComputedRows] = {}
        self.computations = 0

    def plans_of(self, pair: RunPair, rows: ComparedRows = _ALL_ROWS, columns: Sequence[str] = ()) -> "ChainedPlans":
        """Plans the states of a pair; `rows` and `columns` are those measured, for the last pair."""
        hybrids = Hybrids(pair.a, pair.b, rows, pair.differences)
        return ChainedPlans(self, pair, hybrids, tuple(columns))

    def sources_of(self, plans: "ChainedPlans") -> "ChainedSources":
        return ChainedSources(self.environment, self.spark, plans, self.scratch)

    def states_of(self, pair: RunPair) -> _PairStates:
        if id(pair) not in self._pairs:
            plans = self.plans_of(pair)
            self._pairs[id(pair)] = _PairStates(plans, self._engine(plans))
        return self._pairs[id(pair)]

    def _engine(self, plans: "ChainedPlans") -> StateEngine:
        runs = plans.pair.a.run.id, plans.pair.b.run.id
        if runs not in self._engines:
            folder = self._folder.below(f"pair-{len(self._engines) + 1}")
            self._engines[runs] = StateEngine(self.spark, self.sources_of(plans), folder)
        return self._engines[runs]

    def share(self, states: Sequence[tuple[RunPair, Swapped]]) -> None:
        """Plan which rows outputs of the same two runs share; an error is raised when its state is asked for.

        The pairs behind them are computed in these states now.
        """
        passes: dict[Swapped, list[StatePass]] = {}
        for pair, swapped in states:
            with suppress(DaybookError):
                state, cut = self.states_of(pair).plans.whole(swapped)
                state_pass = StatePass.of(state, cut)
                if state_pass not in (same_state := passes.setdefault(swapped, [])):
                    same_state.append(state_pass)
        for pair, _ in states[:1]:
            self.states_of(pair).engine.shared.plan([*passes.values()])

    def state(self, pair: RunPair, swapped: Swapped) -> str:
        """The state of a pair: "a" or "b" for what a run wrote, else the name of a computation, made now if needed."""
        if self.causes <= swapped and self.is_b_written:
            return "b"
        relevant = swapped & pair.relevant
        if not relevant:
            return "a"
        if relevant == pair.relevant and self.is_b_written:
            return "b"
        states = self.states_of(pair)
        if relevant not in states.by_swapped:
            try:
                states.by_swapped[relevant] = self._compute(pair, states, relevant)
            except DaybookError as error:
                states.by_swapped[relevant] = error
        name = states.by_swapped[relevant]
        if isinstance(name, DaybookError):
            raise name
        return name

    def compute_ahead(self, root: RunPair, order: Sequence[CauseName], stage: Callable[[str], None]) -> None:
        """Compute the pairs behind a root for all states in order, pair by pair, so that states share their rows.

        An error is raised when its state is asked for.
        """
        prefixes = [frozenset(order[:length]) for length in range(1, len(order))]
        for pair in root.upstream():
            if pair is root:
                continue
            cause_sets = [
                relevant
                for relevant in dict.fromkeys(prefix & pair.relevant for prefix in prefixes)
                if relevant and not (relevant == pair.relevant and self.is_b_written)
            ]
            states = self.states_of(pair)
            planned: list[list[StatePass]] = []
            for relevant in cause_sets:
                with suppress(DaybookError):
                    planned.append([StatePass.of(state, cut) for state, cut in [states.plans.whole(relevant)]])
            states.engine.shared.plan(planned)
            for number, relevant in enumerate(cause_sets, start=1):
                stage(f"{pair.label} ({number} of {len(cause_sets)})")
                with suppress(DaybookError):
                    self.state(pair, relevant)

    def tied_causes(self, root: RunPair, order: Sequence[CauseName]) -> Iterator[CauseName]:
        """Causes at which slices behind the root begin or end to be computed, where that alone changes their rows.

        Rows of a computed slice have other ids than those of a written one, and ids decide between equal rows.
        """
        for pair in root.upstream():
            states = self._pairs.get(id(pair))
            if states is None or not states.computed:
                continue
            for side, output, cause in self.ends_of(pair, order):
                state = states.plans.by_content(side)
                df = written_slice(self.environment, self.spark, output) if state is not None else None
                if state is None or df is None:
                    continue
                columns = [OutputColumn(name, type_) for name, type_ in output.step.columns.items() if name != _ROW_ID]
                with states.engine.rows(state, state.written([c.name for c in columns], all_rows=True)) as computed:
                    computed_fingerprint = fingerprint(computed, columns)
                if computed_fingerprint != fingerprint(df, columns):
                    yield cause

    def ends_of(self, pair: RunPair, order: Sequence[CauseName]) -> Iterator[tuple[Side, ComparedOutput, CauseName]]:
        """The sides that were written, with the first or the last cause that concerns the pair."""
        concerning = [cause for cause in order if cause in pair.relevant]
        if concerning:
            yield "a", pair.a, concerning[0]
            if self.is_b_written:
                yield "b", pair.b, concerning[-1]

    def computed_again(self, pair: RunPair) -> str:
        """The rows of A's run, computed again because its output is gone or holds other rows, too."""
        states = self.states_of(pair)
        if frozenset() not in states.by_swapped:
            states.by_swapped[frozenset()] = self._compute(pair, states, frozenset(), is_kept=True)
        name = states.by_swapped[frozenset()]
        if isinstance(name, DaybookError):
            raise name
        return name

    def is_read(self, pair: RunPair) -> bool:
        """Whether another pair reads the rows of a pair."""
        return self._read_pairs is None or pair in self._read_pairs

    def shares(self, pair: RunPair, swapped: Swapped) -> bool:
        """Whether a state writes rows down that another one goes on from."""
        states = self.states_of(pair)
        return bool(states.engine.shared.forks(StatePass.of(*states.plans.whole(swapped))))

    @contextmanager
    def opened(self, pair: RunPair, swapped: Swapped) -> Iterator[DataFrame]:
        """The rows of a pair, computed while they are used and kept for nobody; what is wrong is raised at the end."""
        states = self.states_of(pair)
        state, cut = states.plans.whole(swapped & pair.relevant)
        self.computations += 1
        with states.engine.rows(state, cut) as df:
            yield df

    def _compute(self, pair: RunPair, states: _PairStates, relevant: Swapped, *, is_kept: bool = False) -> str:
        state, cut = states.plans.whole(relevant)
        identity = StatePass.of(state, cut)
        names = _written_names(pair, relevant)
        runs = pair.a.run.id, pair.b.run.id
        # An output may write the same rows as another one of its run.
        for other, other_names, computed_name in self._same_rows.setdefault(runs, []):
            if other == identity and other_names == names:
                return computed_name
        types = {name: cut.output.columns[name] for name in _stored_columns(pair, state)}
        # In the order in which A wrote them, so that the fingerprints are comparable.
        names_in_order = pair.a.step.columns if types.keys() == pair.a.step.columns.keys() else sorted(types)
        columns = tuple(OutputColumn(name, types[name]) for name in names_in_order)
        observer = FingerprintObserver(columns)
        with states.engine.rows(state, cut) as df:
            rows = states.engine.new_folder().keep(observer.on(df), "rows")
        self.computations += 1
        name = None if is_kept else self._name_of(pair, states, columns, observer)
        if name is None:
            name = f"computed-{len(self.scratch) + 1}"
            self.rows[name] = ComputedRows(rows, relevant)
            self.scratch[name] = _as_written(rows, types, names)
        states.computed.append(_Computed(name, observer.fingerprint))
        # What a run wrote is that of one output: before the change the others may have had other rows.
        if name in self.scratch:
            self._same_rows[runs].append((identity, names, name))
        return name

    def _name_of(
        self, pair: RunPair, states: _PairStates, columns: tuple[OutputColumn, ...], observer: FingerprintObserver
    ) -> str | None:
        """A state that has the same rows already, so that readers of them are not computed again."""
        same_name = next(
            (computed.name for computed in states.computed if computed.fingerprint == observer.fingerprint), None
        )
        if same_name is not None:
            return same_name
        if not self.is_read(pair):
            return None
        sides: tuple[tuple[Side, ComparedOutput], ...] = (("a", pair.a), ("b", pair.b))
        for side, output in sides[: 2 if self.is_b_written else 1]:
            if (digest := _taken_digest(output, columns)) is not None:
                if digest == observer.digest.rows:
                    return side
                continue
            if (side, columns) not in states.written:
                states.written[side, columns] = self._written_fingerprint(output, columns)
            if states.written[side, columns] == observer.fingerprint:
                return side
        return None

    def _written_fingerprint(self, output: ComparedOutput, columns: tuple[OutputColumn, ...]) -> str | None:
        """The fingerprint of a written output, if it still exists and has these columns."""
        if {column.name: column.type for column in columns} != dict(output.step.columns):
            return None
        df = written_slice(self.environment, self.spark, output)
        return None if df is None else fingerprint(df, columns)


class ChainedPlans:
    """Plans the states of a pair, which reads the pairs before it in the same state."""

    def __init__(self, chain: Chain, pair: RunPair, hybrids: Hybrids, columns: tuple[str, ...]) -> None:
        self.chain = chain
        self.pair = pair
        self.hybrids = hybrids
        self._columns = columns
        self._planned: dict[Swapped, HybridPlan] = {}

    def output(self, side: Side) -> ComparedOutput:
        return self.hybrids.output(side)

    def whole(self, swapped: Swapped) -> tuple[HybridPlan, PartialPlan]:
        """All rows of the output in a state, with the columns that A's or B's run wrote."""
        state = self.plan(swapped)
        names = dict.fromkeys((*_stored_columns(self.pair, state), SEQ_COLUMN))
        return state, state.written(names, all_rows=True)

    def plan(self, swapped: Swapped) -> HybridPlan:
        if swapped not in self._planned:
            self._planned[swapped] = self._plan(swapped)
        return self._planned[swapped]

    def _plan(self, swapped: Swapped) -> HybridPlan:
        state = self.hybrids.plan(self._between_two(swapped))
        is_end = not swapped or self.chain.causes <= swapped
        if not self.pair.made or (is_end and self.chain.is_b_written):
            return state
        reads = {key: self._read(read, swapped) for key, read in state.reads.items()}
        state = replace(state, reads=reads)
        if not self._decides_by_ids(state):
            return state
        return replace(state, reads={key: self._identified(read) for key, read in reads.items()})

    def by_content(self, side: Side) -> HybridPlan | None:
        """A run with row ids as those of computed slices; None where ids do not influence other values."""
        state = self.hybrids.plan(frozenset(self.pair.differences.causes) if side == "b" else frozenset())
        if not self.pair.made or not self._decides_by_ids(state):
            return None
        return replace(state, reads={key: self._identified(read) for key, read in state.reads.items()})

    def _between_two(self, swapped: Swapped) -> Swapped:
        """The causes between the two runs that correspond to the swapped causes of the whole chain."""
        if not swapped:
            return frozenset()
        if self.chain.causes <= swapped or (self.pair.relevant and self.pair.relevant <= swapped):
            return frozenset(self.pair.differences.causes)
        local = {cause for name in swapped & self.pair.own.keys() for cause in self.pair.own[name]}
        for cause in self.pair.differences.causes:
            behind = _relevant_behind(self.pair.made.get(cause.name, ()))
            # What a project registers changes with its definitions, and its rows with everything behind them.
            defining = frozenset(name for name in behind if name.kind in ("definition", "dataset"))
            deciding = (defining or behind) if cause.kind == "dataset" else behind
            if cause.kind in ("data", "dataset") and deciding and deciding <= swapped:
                local.add(cause)
        return frozenset(local)

    def _read(self, read: HybridRead, swapped: Swapped) -> HybridRead:
        slices = self.pair.made.get(read.dataset_id)
        if slices is None:
            return read
        period_side: Side = "b" if any(name.kind == "period" for name in swapped) else "a"
        states = [None if slice_.pair is None else self.chain.state(slice_.pair, swapped) for slice_ in slices]
        sides = {state for state in states if state is not None}
        if sides <= {"a"} or sides <= {"b"}:
            side: Side = "b" if sides == {"b"} else "a"
            return self.of_side(read, side)
        made_slices = tuple(
            MadeSlice(slice_.a, slice_.b, state or period_side) for slice_, state in zip(slices, states, strict=True)
        )
        return replace(self.of_side(read, period_side), made=made_slices, period_side=period_side)

    def of_side(self, read: HybridRead, side: Side) -> HybridRead:
        """The same load of another side's data."""
        run = self.hybrids.run(side)
        source = load_of(run, read.dataset_id, read.version.version)
        if source is None:
            raise AssertionError(f"run {run.id} does not read {read.dataset_id}")
        return replace(read, data=side, source_key=source.key)

    def _identified(self, read: HybridRead) -> HybridRead:
        return replace(read, has_content_ids=True) if read.dataset_id in self.pair.made else read

    def _decides_by_ids(self, state: HybridPlan) -> bool:
        """Whether values other than the row id depend on ids of loaded rows, as when ids break ties."""
        names = self._columns or _stored_columns(self.pair, state)
        cut = state.written([name for name in names if name != _ROW_ID], all_rows=not self._columns)
        return _ROW_ID in RunContext.of(replace(cut.plan, constants=state.constants), None).system

    def sides_of(self, name: CauseName, before: Swapped, after: Swapped) -> LoadedTwice | None:
        """The first pair that reads the data of a cause, from the end of the chain."""
        for pair in reversed(tuple(self.pair.upstream())):
            for cause in pair.own.get(name, ()):
                plans = self if pair is self.pair else self.chain.states_of(pair).plans
                loaded = load_twice(plans.plan(before), plans.plan(after), cause.name, self.chain.sources_of(plans))
                if loaded is not None:
                    return loaded
        return None


class ChainedSources(HybridSources):
    """The data of a pair's states: the sources of its runs, with computed slices in the place of changed ones."""

    def __init__(
        self,
        environment: RunEnvironment,
        spark: SparkSession,
        plans: ChainedPlans,
        scratch: "dict[str, ScratchSlice]",
    ) -> None:
        super().__init__(environment, spark, plans.hybrids)
        self._plans = plans
        self._scratch = scratch

    def frame(self, read: HybridRead) -> SourceFrame:
        return self._chained(read) if read.made else super().frame(read)

    def _chained(self, read: HybridRead) -> SourceFrame:
        hybrids, dataset_id = self._plans.hybrids, read.dataset_id
        parts: list[SlicePart] = []
        sides: tuple[Side, Side] = ("a", "b")
        for side in sides:
            own = {
                (made_slice.a if side == "a" else made_slice.b).period: made_slice
                for made_slice in read.made
                if made_slice.state == side
            }
            if own:
                version = hybrids.definition_of(side, dataset_id)
                as_read = replace(self._plans.of_side(read, side), definition=side, version=version)
                renamed = {period: self._period(made_slice, read) for period, made_slice in own.items()}
                parts.append(SlicePart(ReadRows(self.frame_as_read(as_read), version), tuple(own), renamed))
        for made_slice in read.made:
            if made_slice.state not in sides:
                period = self._period(made_slice, read)
                parts.append(SlicePart(self._scratch[made_slice.state], (period,), {period: period}))
        run = hybrids.run(read.data)
        resolution = run.snapshot.source(read.source_key).resolution
        periods = resolution.periods or (run.snapshot.period.identifier,)
        chained = ChainedRead(read.version, resolution, periods, read.as_of, read.made[0].a.is_of_table)
        return chained_frame(chained, parts)

    def _period(self, made_slice: MadeSlice, read: HybridRead) -> str:
        return (made_slice.a if read.period_side == "a" else made_slice.b).period


def _relevant_behind(slices: Iterable[PairedSlice]) -> Swapped:
    return frozenset[CauseName]().union(*(slice_.pair.relevant for slice_ in slices if slice_.pair is not None))


def _stored_columns(pair: RunPair, state: HybridPlan) -> tuple[str, ...]:
    """The columns that A's or B's run wrote, as far as the state has them."""
    seen = {**selectable_columns(state.plan, state.output), **state.output.columns}
    return tuple(name for name in dict.fromkeys((*pair.a.step.columns, *pair.b.step.columns)) if name in seen)


def _written_names(pair: RunPair, swapped: Swapped) -> dict[str, str]:
    """The working column behind each written name; a name that has two is that of the side whose definitions count."""
    defining = {name for name in pair.own if name.kind == "definition"}
    steps: tuple[OutputStep, OutputStep] = (pair.b.step, pair.a.step)
    if defining and defining <= swapped:
        steps = (pair.a.step, pair.b.step)
    names: dict[str, str] = {}
    for step in steps:
        names |= {step.written_names.get(name, name): name for name in step.columns}
    return names


def _taken_digest(output: ComparedOutput, columns: tuple[OutputColumn, ...]) -> str | None:
    """What a run took of its rows while it wrote them; None where these columns are others, or times are among them.

    Formats take the times into account in several ways.
    """
    has_times = any(column.name in TIME_COLUMNS for column in columns)
    if has_times or columns != tuple(output.run.prepared.output(output.step.seq).target.columns):
        return None
    digest = output.run.commits[output.step.seq].details.get("rows_digest")
    return None if digest is None else str(digest["rows"])


def _as_written(df: DataFrame, types: dict[str, ColumnType], names: dict[str, str]) -> ScratchSlice:
    columns = {written: name for written, name in names.items() if name in types}
    if any(written != name for written, name in columns.items()):
        df = df.select(*(F.col(quote_identifier(name)).alias(written) for written, name in columns.items()))
    return ScratchSlice(df, {written: types[name] for written, name in columns.items()})
