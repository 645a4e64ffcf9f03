"""Intermediate states between two runs: a project with some causes replaced, planned and checked like any plan."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Literal, Protocol, TypeAlias

from pydantic import ValidationError

from daybook.compare.alignment import AlignedOperation, moved_pairs, named_texts, with_named_texts
from daybook.compare.bridge_result import CauseKind, CauseName
from daybook.compare.causes import (
    RunDifferences,
    common_datasets,
    dataset_of,
    effective_as_of,
    has_other_input,
    load_of,
)
from daybook.compare.compared_output import LOADED, ComparedOutput, RecordedRun
from daybook.compare.compared_run import ComparedRows
from daybook.definitions.value import Definitions, LatestVersion, RecordedVersions
from daybook.engine.context import SourceFrame
from daybook.errors import DaybookError
from daybook.expression import Constants
from daybook.graph.chain import ReadSlice
from daybook.model.calendar import Calendar
from daybook.model.definition import DatasetVersion
from daybook.model.operation import Operation, OutputOperation
from daybook.model.project import Project
from daybook.model.serialization import frozen
from daybook.model.source_map import SourceMap
from daybook.plan.loads import INPUT_KEY
from daybook.plan.partial_plan import PartialPlan, selectable_columns, written_rows
from daybook.plan.plan_project import plan_project
from daybook.plan.steps import LoadStep, OutputStep, Plan
from daybook.runs.snapshot import SourceSnapshot

Side: TypeAlias = Literal["a", "b"]
Swapped: TypeAlias = frozenset[CauseName]

# The step between seqs, as people number operations.
_SEQ_STEP = 10


@dataclass(frozen=True, slots=True)
class MadeSlice:
    """A slice that runs upstream of A and B made; `state` is "a" or "b" for what they wrote, else a computation."""

    a: ReadSlice
    b: ReadSlice
    state: str


@dataclass(frozen=True, slots=True)
class HybridRead:
    """How a load of an intermediate state is read: the data, the definition and the day of A or of B.

    With `made` the data is that of slices which are not all of one side, for the period of `period_side`. With
    `has_content_ids` rows are identified by their content, as those of computed slices are.
    """

    dataset_id: str
    source_key: str
    data: Side
    definition: Side
    version: DatasetVersion
    as_of: date
    made: tuple[MadeSlice, ...] = ()
    period_side: Side = "a"
    has_content_ids: bool = False


@dataclass(frozen=True, slots=True)
class HybridPlan:
    """An intermediate state: its plan, the output whose rows are measured, and how each load is read, by its key."""

    plan: Plan
    output: OutputStep
    rows: int
    reads: Mapping[str, HybridRead]
    constants: Constants

    def written(self, columns: Iterable[str], *, all_rows: bool = False) -> PartialPlan:
        """The measured rows of the output, or all of its rows; RUN_077 for a column that does not exist here."""
        names = tuple(columns)
        selectable = {**selectable_columns(self.plan, self.output), **self.output.columns}
        for name in names:
            if name not in selectable:
                raise DaybookError("RUN_077", column=name)
        return written_rows(self.plan, self.output, names, None if all_rows else self.rows)


class StatePlans(Protocol):
    """Plans the intermediate states between two runs by the causes that are swapped."""

    def plan(self, swapped: Swapped) -> HybridPlan:
        """The state with these causes swapped; raises all its errors."""
        ...

    def output(self, side: Side) -> ComparedOutput: ...

    def sides_of(self, name: CauseName, before: Swapped, after: Swapped) -> "LoadedTwice | None":
        """Where the data of a cause is read, in the states before and after it is swapped."""
        ...


@dataclass(frozen=True, slots=True)
class LoadedTwice:
    """A dataset as two states load it, with what reads its data."""

    before: tuple[HybridPlan, LoadStep]
    after: tuple[HybridPlan, LoadStep]
    sources: "FrameSource | None" = None


class FrameSource(Protocol):
    """Reads the data of intermediate states."""

    def frame(self, read: HybridRead) -> SourceFrame: ...


def load_twice(
    before: HybridPlan, after: HybridPlan, dataset_id: str, sources: FrameSource | None = None
) -> LoadedTwice | None:
    """A dataset as both states load it; None where one does not, so that its rows have no counterparts."""
    loads = [
        next((load for load in state.plan.loads if load.dataset_id == dataset_id), None) for state in (before, after)
    ]
    if loads[0] is None or loads[1] is None:
        return None
    return LoadedTwice((before, loads[0]), (after, loads[1]), sources)


class Hybrids:
    """Plans intermediate states, without reading or computing rows."""

    def __init__(self, a: ComparedOutput, b: ComparedOutput, rows: ComparedRows, differences: RunDifferences) -> None:
        self._sides: Mapping[Side, ComparedOutput] = {"a": a, "b": b}
        self._rows = rows
        self._differences = differences
        self._common = frozenset(common_datasets(a.run, b.run))
        self._has_other_input = has_other_input(a.run, b.run)
        self._seqs = _merged_seqs(differences.pairs) if differences.is_renumbered else {}
        self._cause_of = {cause.pair: name for name, cause in differences.operations.items()}
        self._planned: dict[Swapped, HybridPlan] = {}

    def output(self, side: Side) -> ComparedOutput:
        return self._sides[side]

    def run(self, side: Side) -> RecordedRun:
        return self._sides[side].run

    def plan(self, swapped: Swapped) -> HybridPlan:
        """The state with these causes swapped; raises all its errors."""
        if swapped not in self._planned:
            self._planned[swapped] = self._plan(swapped)
        return self._planned[swapped]

    def sides_of(self, name: CauseName, before: Swapped, after: Swapped) -> LoadedTwice | None:
        return load_twice(self.plan(before), self.plan(after), name.name)

    def _plan(self, swapped: Swapped) -> HybridPlan:
        if not swapped:
            return self._endpoint("a")
        if swapped == frozenset(self._differences.causes):
            return self._endpoint("b")
        project, rows = self._project(swapped)
        constants = self._constants(swapped)
        definitions = self._definitions(project, swapped)
        plan = plan_project(project, SourceMap.empty(), definitions, constants, with_locations=False)
        (output,) = plan.outputs
        return HybridPlan(plan, output, rows, self._reads(plan, swapped), constants)

    def _definitions(self, project: Project, swapped: Swapped) -> Definitions:
        """The datasets by which a state reads, whatever version its references name."""
        dataset_ids = {reference.dataset_id for _, reference in project.reads()}
        return Definitions(
            datasets={dataset_id: self._versions(dataset_id, swapped) for dataset_id in dataset_ids},
            calendars={calendar_id: LatestVersion.of(calendar) for calendar_id, calendar in self.calendars().items()},
        )

    def _versions(self, dataset_id: str, swapped: Swapped) -> RecordedVersions:
        run = self.run(self._definition_side(dataset_id, swapped))
        sources = [source for source in run.snapshot.sources if source.dataset_id == dataset_id]
        numbered = {source.dataset_version: dataset_of(run, source) for source in sources}
        first = load_of(run, dataset_id)
        latest = dataset_of(run, first) if first is not None else None
        return RecordedVersions(latest, numbered, serves_every_version=True)

    def definition_of(self, side: Side, dataset_id: str) -> DatasetVersion:
        """The version of a dataset that a run read."""
        return dataset_of(self.run(side), self._source(side, dataset_id))

    def calendars(self) -> Mapping[str, Calendar]:
        return {calendar.id: calendar for side in self._sides.values() for calendar in side.run.snapshot.calendars}

    def _endpoint(self, side: Side) -> HybridPlan:
        """A run as it was, with its own numbers."""
        output = self._sides[side]
        swapped = frozenset(self._differences.causes) if side == "b" else frozenset[CauseName]()
        snapshot = output.run.snapshot
        rows = self._rows.seq_a if side == "a" else self._rows.seq_b
        return HybridPlan(output.plan, output.step, rows, self._reads(output.plan, swapped), snapshot.constants)

    def _project(self, swapped: Swapped) -> tuple[Project, int]:
        """The operations of both sides, each by whether it is swapped, and the seq of the measured rows."""
        rows, operations = LOADED, []
        for pair in self._differences.pairs:
            side: Side = "b" if self._cause_of.get(pair) in swapped else "a"
            operation = pair.b if side == "b" else pair.a
            if operation is None:
                continue
            seq = self._seqs.get((pair, side), operation.seq)
            if operation.seq == (self._rows.seq_b if side == "b" else self._rows.seq_a):
                rows = seq
            operations.append(_numbered(operation, seq, self._sides[side].plan.project))
        base = self._sides[self._input_side(swapped)].plan.project
        body = {
            "id": base.id,
            "name": base.name,
            "calendar_id": base.calendar_id,
            "input": {"dataset_id": base.input.dataset_id},
            "parameters": {
                name: self._sides[side].plan.project.parameters[name].model_dump(mode="json", exclude_none=True)
                for name, side in self._parameter_sides(swapped).items()
            },
            "operations": [
                operation.model_dump(mode="json", by_alias=True, exclude_none=True)
                for operation in sorted(operations, key=lambda operation: operation.seq)
            ],
        }
        try:
            return Project.model_validate(frozen(body)), rows
        except ValidationError as error:
            raise DaybookError("RUN_073", reason=str(error.errors()[0]["msg"])) from error

    def _constants(self, swapped: Swapped) -> Constants:
        timestamp = self.run(self._side_of_kind("timestamp", swapped)).snapshot.timestamp
        period = self.run(self._side_of_kind("period", swapped)).snapshot.period
        sides = self._parameter_sides(swapped)
        values = {name: self.run(side).snapshot.constants.parameters[name] for name, side in sides.items()}
        return Constants(timestamp, period, values)

    def _parameter_sides(self, swapped: Swapped) -> dict[str, Side]:
        """The side of each parameter: by its cause where both have it, else the side that has it."""
        ours, theirs = (self._sides[side].plan.project.parameters for side in ("a", "b"))
        return {
            name: self._swapped_side("parameter", name, swapped)
            if name in ours and name in theirs
            else "a"
            if name in ours
            else "b"
            for name in (*ours, *(parameter for parameter in theirs if parameter not in ours))
        }

    def _reads(self, plan: Plan, swapped: Swapped) -> dict[str, HybridRead]:
        return {load.key: self._read(load, swapped) for load in plan.loads}

    def _read(self, load: LoadStep, swapped: Swapped) -> HybridRead:
        dataset_id = load.dataset_id
        data = self._data_side(load.key, dataset_id, swapped)
        source = self._source(data, dataset_id, load.version.version)
        as_of_side = self._side("as_of", dataset_id, swapped)
        as_of_source = self._source(as_of_side, dataset_id, load.version.version)
        return HybridRead(
            dataset_id,
            source.key,
            data,
            self._definition_side(dataset_id, swapped),
            load.version,
            effective_as_of(self.run(as_of_side).snapshot, as_of_source),
        )

    def _source(self, side: Side, dataset_id: str, version: int | None = None) -> SourceSnapshot:
        source = load_of(self.run(side), dataset_id, version)
        if source is None:
            raise AssertionError(f"run {self.run(side).id} does not read {dataset_id}")
        return source

    def _input_side(self, swapped: Swapped) -> Side:
        if not self._has_other_input:
            return "a"
        return self._swapped_side("data", self._sides["b"].plan.project.input.dataset_id, swapped)

    def _data_side(self, key: str, dataset_id: str, swapped: Swapped) -> Side:
        if key == INPUT_KEY and self._has_other_input:
            return self._input_side(swapped)
        return self._side("data", dataset_id, swapped)

    def _definition_side(self, dataset_id: str, swapped: Swapped) -> Side:
        return self._side("dataset", dataset_id, swapped)

    def _side(self, kind: CauseKind, dataset_id: str, swapped: Swapped) -> Side:
        """The side of a dataset: by its cause where both runs read it, else the run that reads it."""
        if dataset_id in self._common:
            return self._swapped_side(kind, dataset_id, swapped)
        return "a" if load_of(self.run("a"), dataset_id) is not None else "b"

    def _swapped_side(self, kind: CauseKind, name: str, swapped: Swapped) -> Side:
        return "b" if any(cause.kind == kind and cause.name == name for cause in swapped) else "a"

    def _side_of_kind(self, kind: CauseKind, swapped: Swapped) -> Side:
        return "b" if any(cause.kind == kind for cause in swapped) else "a"


def _numbered(operation: Operation, seq: int, project: Project) -> Operation:
    """The operation with its named texts written out and a new seq; an output with all columns."""
    numbered = with_named_texts(operation, named_texts(project)).model_copy(update={"seq": seq, "id": f"op-{seq}"})
    if isinstance(numbered, OutputOperation):
        arguments = numbered.arguments.model_copy(
            update={
                "columns": None,
                "order_by": (),
                "system_columns": True,
                "register_as_dataset": None,
                "natural_key_columns": (),
            }
        )
        return numbered.model_copy(update={"arguments": arguments})
    return numbered


def _merged_seqs(pairs: Iterable[AlignedOperation]) -> dict[tuple[AlignedOperation, Side], int]:
    """One order for the operations of both sides: common ones in their order, those of one side between them."""
    aligned = tuple(pairs)
    moved = moved_pairs(aligned)
    backbone = sorted(
        (pair for pair in aligned if pair.a and pair.b and pair not in moved),
        key=lambda pair: pair.a.seq if pair.a else 0,
    )
    places: list[tuple[tuple[int, int, int], AlignedOperation, Side]] = []
    for rank, side in enumerate(("a", "b")):
        chosen: Side = "a" if side == "a" else "b"
        anchor = 0
        present = [(operation.seq, pair) for pair in aligned if (operation := pair.a if chosen == "a" else pair.b)]
        for seq, pair in sorted(present, key=lambda entry: entry[0]):
            if pair in backbone:
                anchor = backbone.index(pair) + 1
                places.append(((anchor, 0, 0), pair, chosen))
            else:
                places.append(((anchor, rank + 1, seq), pair, chosen))
    numbers = {place: number for number, place in enumerate(sorted({place for place, _, _ in places}), 1)}
    return {(pair, side): numbers[place] * _SEQ_STEP for place, pair, side in places}
