"""The runs upstream of two runs, in pairs, and the causes by which the pairs differ, each cause once.

A pair is a run that A depends on and the run that B depends on in its place: of one project, as far from the period of
A as the other from that of B.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from daybook.compare.bridge_result import CauseKind, CauseName
from daybook.compare.causes import BoundCauses, RunDifferences, common_datasets, dataset_of, find_differences, load_of
from daybook.compare.compared_output import ComparedOutput, RecordedRun
from daybook.errors import DaybookError
from daybook.graph.chain import ReadSlice
from daybook.model.calendar import Period
from daybook.resolve.calendars.calendar import DAY, PeriodCalendar
from daybook.resolve.calendars.periods import calendar_for
from daybook.runs.snapshot import recorded_definitions

# Causes of sources; the other kinds belong to one project, or to all.
_OF_SOURCES: tuple[CauseKind, ...] = ("data", "as_of", "dataset")
_OF_ALL: tuple[CauseKind, ...] = ("timestamp", "period")
# Periods further apart are not aligned.
_MOST_STEPS = 5_000


@dataclass(frozen=True, slots=True)
class PairedSlice:
    """A slice that A read and the one that B read in its place; `pair` made them, None where they are one slice."""

    a: ReadSlice
    b: ReadSlice
    pair: "RunPair | None"


@dataclass(frozen=True, slots=True, eq=False)
class RunPair:
    """An output of a run and its counterpart, with what differs between the two runs themselves.

    `made` are the datasets that other pairs made, by id. `own` says what a cause is called between the two runs, and
    `relevant` are all causes that can have changed the rows, those of other pairs included.
    """

    a: ComparedOutput
    b: ComparedOutput
    differences: RunDifferences
    made: Mapping[str, tuple[PairedSlice, ...]]
    own: Mapping[CauseName, frozenset[CauseName]]
    relevant: frozenset[CauseName]

    @property
    def label(self) -> str:
        run = self.b.run
        return f"{run.record.project_id} {run.record.period}"

    def upstream(self) -> "Iterator[RunPair]":
        """The pairs behind it, each after those that it depends on; the pair itself comes last."""
        visited: set[int] = set()

        def visit(pair: RunPair) -> Iterator[RunPair]:
            if id(pair) in visited:
                return
            visited.add(id(pair))
            for slices in pair.made.values():
                for made in slices:
                    if made.pair is not None:
                        yield from visit(made.pair)
            yield pair

        return visit(self)


class PairFinder:
    """Finds the pairs behind two outputs; runs are read once.

    `load` gives a run by its id, `made_sources` the slices behind its sources by the key of the load. Own earlier
    slices are followed only where A and B are for one period.
    """

    def __init__(
        self,
        load: Callable[[str], RecordedRun],
        made_sources: Callable[[RecordedRun], Mapping[str, tuple[ReadSlice, ...]]],
        root_a: RecordedRun,
        root_b: RecordedRun,
    ) -> None:
        self._load = load
        self._made_sources = made_sources
        self._periods = root_a.snapshot.period, root_b.snapshot.period
        self._pairs: dict[tuple[str, int, str, int], RunPair] = {}
        self._names: dict[tuple[str, str, str | None], CauseName] = {}

    def pair(self, a: ComparedOutput, b: ComparedOutput) -> RunPair:
        key = (a.run.id, a.step.seq, b.run.id, b.step.seq)
        if key not in self._pairs:
            self._pairs[key] = self._find(a, b)
        return self._pairs[key]

    def _find(self, a: ComparedOutput, b: ComparedOutput) -> RunPair:
        differences = find_differences(a, b)
        made: dict[str, tuple[PairedSlice, ...]] = {}
        used = a.dataset_ids | b.dataset_ids
        for dataset_id in common_datasets(a.run, b.run):
            if dataset_id in used and (slices := self._paired_slices(a.run, b.run, dataset_id)):
                made[dataset_id] = slices
        own: dict[CauseName, set[CauseName]] = {}
        for cause in differences.causes:
            # The causes of a made dataset are those of the pair that made it.
            if cause.kind not in ("data", "dataset") or cause.name not in made:
                own.setdefault(self._name_in_chain(b.run, cause), set()).add(cause)
        behind = [slice_.pair.relevant for slices in made.values() for slice_ in slices if slice_.pair is not None]
        relevant = frozenset(own).union(*behind)
        return RunPair(a, b, differences, made, {name: frozenset(causes) for name, causes in own.items()}, relevant)

    def _name_in_chain(self, run: RecordedRun, cause: CauseName) -> CauseName:
        """The name of a cause in the whole chain, the same for all pairs that it concerns."""
        project_id = run.record.project_id
        match cause.kind:
            case "data" | "dataset" | "as_of":
                if cause.kind == "data" and cause.label != f"data of {cause.name}":
                    # The project reads another input.
                    name = replace(cause, project=project_id, label=f"{project_id}: {cause.label}")
                else:
                    viewed_id = _viewed_id(run, cause.name)
                    name = CauseName(cause.kind, viewed_id, cause.label.replace(cause.name, viewed_id, 1))
            case "timestamp":
                name = CauseName("timestamp", "timestamp", "time of the runs")
            case "period":
                before, after = (period.identifier for period in self._periods)
                name = CauseName("period", after, f"period {after} instead of {before}")
            case "parameter" | "definition":
                name = replace(cause, project=project_id, label=f"{project_id} {cause.label}")
            case kind:
                assert_never(kind)
        # Labels may differ: an operation was added in one month and changed in another.
        return self._names.setdefault((name.kind, name.name, name.project), name)

    def _paired_slices(self, a: RecordedRun, b: RecordedRun, dataset_id: str) -> tuple[PairedSlice, ...]:
        """The slices of a dataset in pairs; none where some have no counterpart, or where nothing differs."""
        slices = [self._slices(run, dataset_id) for run in (a, b)]
        if not slices[0] or not slices[1] or slices[0][0].is_of_table != slices[1][0].is_of_table:
            return ()
        aligned = self._aligned(slices[0], slices[1])
        if all(left.run_id == right.run_id for left, right in aligned):
            return ()
        own = {left.project_id for left, _ in aligned} & {a.record.project_id, b.record.project_id}
        if own and self._periods[0] != self._periods[1]:
            return ()
        try:
            return tuple(
                PairedSlice(left, right, None if left.run_id == right.run_id else self._behind(left, right))
                for left, right in aligned
            )
        except DaybookError:
            # The run that made it is gone, so the whole dataset is one cause.
            return ()

    def _slices(self, run: RecordedRun, dataset_id: str) -> tuple[ReadSlice, ...]:
        sources = [source for source in run.snapshot.sources if source.dataset_id == dataset_id]
        if len({source.dataset_version for source in sources}) != 1:
            return ()
        return self._made_sources(run).get(sources[0].key, ())

    def _aligned(self, a: Sequence[ReadSlice], b: Sequence[ReadSlice]) -> list[tuple[ReadSlice, ReadSlice]]:
        """Slices of one run, else of one project at the same distance; empty unless every slice has its counterpart."""
        others = {slice_.run_id: slice_ for slice_ in b}
        same = [(slice_, others[slice_.run_id]) for slice_ in a if slice_.run_id in others]
        left = {self._place(slice_, 0): slice_ for slice_ in a if slice_.run_id not in others}
        own = {slice_.run_id for slice_ in a}
        right = {self._place(slice_, 1): slice_ for slice_ in b if slice_.run_id not in own}
        if left.keys() != right.keys() or len(same) + len(left) != len(a) or len(a) != len(b):
            return []
        return [*same, *((slice_, right[place]) for place, slice_ in left.items())]

    def _place(self, slice_: ReadSlice, side: int) -> tuple[object, ...]:
        """The project, and how far its period is from that of A or B."""
        if self._periods[0] == self._periods[1]:
            return (slice_.project_id, slice_.period)
        try:
            run = self._load(slice_.run_id)
        except DaybookError:
            return (slice_.run_id,)
        period = run.snapshot.period
        calendar = calendar_for(period.calendar_id, recorded_definitions(run.snapshot))
        return (slice_.project_id, period.level, periods_between(self._periods[side], period, calendar))

    def _behind(self, a: ReadSlice, b: ReadSlice) -> RunPair:
        return self.pair(self._output(a), self._output(b))

    def _output(self, slice_: ReadSlice) -> ComparedOutput:
        run = self._load(slice_.run_id)
        return ComparedOutput(run, run.prepared.output(slice_.seq).step)


def periods_between(start: Period, period: Period, calendar: PeriodCalendar) -> int | None:
    """How many periods of its own level a period lies after the one in which `start` begins; None if too many."""
    current = calendar.at(period.level, start.start_date)
    forward = current is not None and current.start_date <= period.start_date
    for steps in range(_MOST_STEPS):
        if current is None:
            return None
        if current.identifier == period.identifier:
            return steps if forward else -steps
        day = current.end_date + DAY if forward else current.start_date - DAY
        current = calendar.at(period.level, day)
    return None


def _viewed_id(run: RecordedRun, dataset_id: str) -> str:
    """The dataset whose data is read: itself, or what a view ends at."""
    source = load_of(run, dataset_id)
    return dataset_id if source is None else dataset_of(run, source).viewed.dataset.id


def chain_differences(*roots: RunPair) -> RunDifferences:
    """All causes behind pairs: sources by id, what concerns all projects, then projects, upstream first."""
    pairs = tuple(dict.fromkeys(pair for root in roots for pair in root.upstream()))
    causes = dict.fromkeys(name for pair in pairs for name in pair.own)
    sources = sorted(
        (name for name in causes if name.kind in _OF_SOURCES and name.project is None),
        key=lambda name: (name.name, _OF_SOURCES.index(name.kind)),
    )
    shared = [name for kind in _OF_ALL for name in causes if name.kind == kind]
    projects = dict.fromkeys(pair.b.run.record.project_id for pair in pairs)
    kinds: tuple[CauseKind, ...] = ("data", "parameter", "definition")
    of_projects = [
        name
        for project_id in projects
        for kind in kinds
        for name in causes
        if name.project == project_id and name.kind == kind
    ]
    return RunDifferences((*sources, *shared, *of_projects), {}, (), bound=_bound_causes(pairs))


def _bound_causes(pairs: Iterable[RunPair]) -> tuple[BoundCauses, ...]:
    """Causes that are swapped together in one pair are so in all; overlapping groups are merged."""
    groups: list[BoundCauses] = []
    for pair in pairs:
        for bound in pair.differences.bound:
            names = frozenset(name for name, local in pair.own.items() if local & bound.causes)
            if len(names) < 2:
                continue
            overlapping = [group for group in groups if group.causes & names]
            groups = [group for group in groups if group not in overlapping]
            merged = names.union(*(group.causes for group in overlapping))
            groups.append(BoundCauses(merged, bound.reason))
    return tuple(groups)
