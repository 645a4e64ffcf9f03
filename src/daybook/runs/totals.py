"""The totals of a run: collected while it writes, compared before each commit, recorded, and read again.

A figure is a sum of a measure over the rows that one operation made. What the operations did to it and what the
outputs wrote are sums of their own, so a row that gets lost or changes on the way makes two sides differ.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any

from daybook.engine.counters import GroupCounts
from daybook.engine.measures import Amount, MeasureSum, SumKind, column_in_source, zero_of
from daybook.errors import DaybookError
from daybook.io.control_totals import ControlledSource
from daybook.io.pins import FilesPin, LandedPin
from daybook.io.read_source import ReadSource
from daybook.io.staged_sums import StagedRows, sums_of_staged
from daybook.io.writer import StagedOutput
from daybook.model.json_fields import Hidden, UnlessEmpty, named
from daybook.model.types import FloatType, parse_type
from daybook.plan.conditions import excludes
from daybook.plan.steps import AggregateStep, AppendStep, DeleteStep, LoadStep, OutputStep, Plan, UpdateStep
from daybook.runs.outputs import PlannedOutput
from daybook.runs.snapshot import RunSnapshot
from daybook.store.records import OperationResult
from daybook.store.store import Transaction

# The keys of the details of a recorded operation.
TOTALS = "totals"
SOURCES = "sources"
MEASURES = "measures"

# Sums of floats differ in their last bits, the more the more values they have.
_FLOAT_TOLERANCE = 1e-9
_FLOAT_DIGITS = 12


@dataclass(frozen=True, slots=True)
class MadeBy:
    """A total of the rows that an operation made, 0 being the load of the input; the number is exact text."""

    made_by: int
    total: str


@dataclass(frozen=True, slots=True)
class OperationTotals:
    """What an operation did to a measure; `rows` are those it picked or added."""

    seq: int
    name: str
    type: str
    rows: int | None
    before: tuple[MadeBy, ...]
    added: tuple[MadeBy, ...]
    deleted: tuple[MadeBy, ...]
    changed: tuple[MadeBy, ...]
    after: tuple[MadeBy, ...]


@dataclass(frozen=True, slots=True)
class OutputTotals:
    """What an output wrote of a measure, and what it left out; `deleted` are deleted rows that it includes."""

    seq: int
    label: str
    rows: int | None
    written: tuple[MadeBy, ...]
    left_out: tuple[MadeBy, ...]
    deleted: tuple[MadeBy, ...]


@dataclass(frozen=True, slots=True)
class MeasureTotals:
    """The way of a measure through a run; `approximate` where it is a float, whose sums have 12 digits."""

    column: str
    operations: tuple[OperationTotals, ...]
    outputs: tuple[OutputTotals, ...]
    is_approximate: Annotated[UnlessEmpty[bool], named("approximate")] = False


@dataclass(frozen=True, slots=True)
class SourceRowCounts:
    """Rows of a source: `read` before the time filter, `loaded` live ones; None where that was not free to count."""

    read: int | None
    other_periods: int | None
    loaded: int | None


@dataclass(frozen=True, slots=True)
class ControlOutcome:
    """What the sender said was sent; the run would have failed if it did not hold."""

    rows: int | None
    totals: Mapping[str, str]
    holds: bool


@dataclass(frozen=True, slots=True)
class SourceTotals:
    """A dataset that a run read; `seq` is the operation that did, 0 for the input."""

    dataset: str
    location: str
    rows: SourceRowCounts
    totals: Mapping[str, str]
    control: ControlOutcome | None
    seq: Hidden[int] = 0
    role: Hidden[str] = "input"


@dataclass(frozen=True, slots=True)
class RunTotals:
    """Where every amount of a run came from and where it went."""

    run: str
    sources: tuple[SourceTotals, ...]
    measures: tuple[MeasureTotals, ...]


def amount_text(amount: Amount) -> str:
    """A number as plain text; of a float the first 12 digits."""
    if isinstance(amount, Decimal):
        return format(amount, "f")
    if not math.isfinite(amount):
        return str(amount)
    return format(Decimal(f"{amount:.{_FLOAT_DIGITS}g}"), "f")


@dataclass
class TotalsLedger:
    """What the groups of a run have summed so far."""

    plan: Plan
    sums: dict[MeasureSum, Amount] = field(default_factory=dict)

    def add(self, sums: Mapping[MeasureSum, Amount]) -> None:
        self.sums.update(sums)

    def verify(self) -> None:
        """TOTALS_020 for the first measure that does not add up."""
        for column in self.plan.measures:
            for error in self._violations(column):
                raise error

    def _violations(self, column: str) -> Iterator[DaybookError]:
        live: dict[int, Amount] = {}
        if (loaded := self._find(0, "loaded", column, 0)) is not None:
            live[0] = loaded
        for step in self.plan.steps:
            match step:
                case AggregateStep() | AppendStep():
                    if (added := self._find(step.seq, "added", column, step.seq)) is not None:
                        live[step.seq] = added
                case UpdateStep() | DeleteStep():
                    yield from self._broken_steps(step, column, live)
                case OutputStep():
                    yield from self._broken_outputs(step, column, live)
                case _:
                    pass

    def _broken_steps(
        self, step: UpdateStep | DeleteStep, column: str, live: dict[int, Amount]
    ) -> Iterator[DaybookError]:
        for maker in self._makers(step.seq, "after", column):
            before = self._find(step.seq, "before", column, maker)
            if before is not None:
                yield from self._differing(column, step.seq, maker, "so far", live.get(maker, before), "before", before)
                live[maker] = before
            after = self.sums[MeasureSum(step.seq, "after", column, maker)]
            if maker in live:
                changed = self._find(step.seq, "changed", column, maker) or 0
                deleted = self._find(step.seq, "deleted", column, maker) or 0
                expected = live[maker] + changed - deleted  # type: ignore[operator]
                sides = f"before {amount_text(live[maker])}, changed {changed}, deleted {deleted}, together"
                yield from self._differing(column, step.seq, maker, sides, expected, "after", after)
            live[maker] = after

    def _broken_outputs(self, step: OutputStep, column: str, live: Mapping[int, Amount]) -> Iterator[DaybookError]:
        written_by = {maker for kind in ("written", "left_out") for maker in self._makers(step.seq, kind, column)}
        for maker in sorted(written_by & live.keys()):
            written = self._find(step.seq, "written", column, maker) or 0
            left_out = self._find(step.seq, "left_out", column, maker) or 0
            sides = f"written {written}, left out {left_out}, together"
            together: Amount = written + left_out  # type: ignore[operator]
            yield from self._differing(column, step.seq, maker, sides, together, "live", live[maker])

    def _differing(
        self, column: str, seq: int, maker: int, one: str, expected: Amount, other: str, actual: Amount
    ) -> Iterator[DaybookError]:
        if not self._is_same(column, expected, actual):
            equation = f"{one} {amount_text(expected)}, {other} {amount_text(actual)} (rows made by {maker})"
            yield DaybookError("TOTALS_020", operation_seq=seq or None, column=column, seq=seq, equation=equation)

    def _is_same(self, column: str, expected: Amount, actual: Amount) -> bool:
        if not isinstance(self.plan.types[column], FloatType):
            return expected == actual
        sizes = [float(size) for key, size in self.sums.items() if key.kind == "size" and key.column == column]
        size = max((abs(float(expected)), abs(float(actual)), *sizes))
        return not math.isfinite(size) or abs(float(expected) - float(actual)) <= _FLOAT_TOLERANCE * size

    def _makers(self, seq: int, kind: str, column: str) -> list[int]:
        return sorted(key.maker for key in self.sums if (key.seq, key.kind, key.column) == (seq, kind, column))

    def _find(self, seq: int, kind: Any, column: str, maker: int) -> Amount | None:
        return self.sums.get(MeasureSum(seq, kind, column, maker))


def is_read_back(plan: Plan, planned: PlannedOutput) -> bool:
    """Whether what an output writes of each measure is summed from its files: local ones that have all it needs."""
    step = planned.step
    if planned.target.format != "delta" or planned.target.location.local_path is None:
        return False
    needed = {column for column in plan.measures if column in step.schema}
    needed |= {"_operation_seq"} if len(_makers_before(plan, step)) > 1 else set()
    needed |= {"_deleted"} if step.arguments.include_deleted else set()
    return bool(needed) and needed <= step.columns.keys()


def _makers_before(plan: Plan, step: OutputStep) -> tuple[int, ...]:
    """The operations of whose rows an output may write some."""
    makers = (other.seq for other in plan.steps if isinstance(other, AggregateStep | AppendStep))
    return tuple(seq for seq in (0, *makers) if seq < step.seq and not excludes(step.selector, seq))


def sums_written(plan: Plan, planned: PlannedOutput, staged: StagedOutput) -> dict[MeasureSum, Amount]:
    """What an output has written of each measure, from its files."""
    step, makers = planned.step, _makers_before(plan, planned.step)
    columns = {step.written_names.get(name, name): name for name in plan.measures if name in step.columns}
    maker = step.written_names.get("_operation_seq", "_operation_seq") if len(makers) > 1 else None
    deleted = step.written_names.get("_deleted", "_deleted") if step.arguments.include_deleted else None
    sums: dict[MeasureSum, Amount] = {
        MeasureSum(step.seq, "written", name, seq): zero_of(plan.types[name])
        for name in columns.values()
        for seq in makers
    }
    storage = planned.target.storage
    written = sums_of_staged(staged, tuple(columns), maker=maker, deleted=deleted, storage=storage)
    for (column, rows), amount in written.items():
        seq = makers[0] if rows.maker is None else rows.maker
        sums[MeasureSum(step.seq, _kind_of(rows), columns[column], seq)] = amount
    return sums


def _kind_of(rows: StagedRows) -> SumKind:
    return "written_deleted" if rows.is_deleted else "written"


def recorded_sums(sums: Mapping[MeasureSum, Amount], seq: int) -> dict[str, Any]:
    """The details of an operation with what was summed at it; nothing where no measure is followed."""
    by_column: dict[str, dict[str, dict[str, str]]] = {}
    for key, amount in sorted(sums.items()):
        if key.seq == seq and key.kind != "size":
            by_kind = by_column.setdefault(key.column, {})
            by_kind.setdefault(key.kind, {})[str(key.maker)] = _stored_text(amount)
    return {TOTALS: by_column} if by_column else {}


def _stored_text(amount: Amount) -> str:
    return format(amount, "f") if isinstance(amount, Decimal) else repr(amount)


def describe_sources(
    plan: Plan,
    snapshot: RunSnapshot,
    sources: Mapping[str, ReadSource],
    controlled: Mapping[str, ControlledSource | None],
) -> dict[str, Any]:
    """The details of the load: what is followed, and what is known of each source before anything is computed.

    Nothing where neither measures nor controls are named.
    """
    if not plan.measures and not any(controlled.values()):
        return {}
    described = [_described_source(load, snapshot, sources[load.key], controlled.get(load.key)) for load in plan.loads]
    return {MEASURES: [[column, str(plan.types[column])] for column in plan.measures], SOURCES: described}


def _described_source(
    load: LoadStep, snapshot: RunSnapshot, source: ReadSource, controlled: ControlledSource | None
) -> dict[str, Any]:
    landed = [pin.rows for pin in source.pins if isinstance(pin, LandedPin)]
    data_pins = [pin for pin in source.pins if not isinstance(pin, FilesPin) or controlled is None]
    read = sum(landed) if landed and len(landed) == len(data_pins) else None
    resolution = snapshot.source(load.key).resolution
    described: dict[str, Any] = {
        "seq": load.operation_seq,
        "role": load.role,
        "dataset": load.dataset_id,
        "location": ", ".join(location.label for location in resolution.locations),
        "read": controlled.rows if controlled is not None else read,
        "other_periods": None if load.temporal_mode in ("period", "bitemporal") else 0,
    }
    if controlled is not None:
        totals = {column: amount_text(total) for column, total in controlled.control_totals.items()}
        described["control"] = {"rows": controlled.control_rows, "totals": totals, "holds": True}
    return described


def with_loaded(plan: Plan, details: Mapping[str, Any], counts: GroupCounts) -> dict[str, Any]:
    """The details of the load with what a group of outputs has counted of the sources."""
    if SOURCES not in details:
        return dict(details)
    sources = [_with_counts(plan, source, counts) for source in details[SOURCES]]
    return {**details, SOURCES: sources, **recorded_sums(counts.sums, 0)}


def _with_counts(plan: Plan, source: Mapping[str, Any], counts: GroupCounts) -> dict[str, Any]:
    seq, role = source["seq"], source["role"]
    if role == "join":
        return dict(source)
    known = dict(source)
    if seq in counts.live_rows:
        known["loaded"] = counts.live_rows[seq]
    if role == "input" and counts.input_rows is not None:
        # Without a measure, deleted rows that were loaded are not told apart.
        known.setdefault("loaded", counts.input_rows)
        if known["read"] is not None:
            known["other_periods"] = known["read"] - counts.input_rows
    kind = "loaded" if role == "input" else "source"
    totals = {
        _source_column(plan, key): amount_text(amount)
        for key, amount in counts.sums.items()
        if key.seq == seq and key.kind == kind and (role == "append" or key.column in plan.input.types)
    }
    known["totals"] = {**source.get("totals", {}), **totals}
    return known


def _source_column(plan: Plan, key: MeasureSum) -> str:
    """The name of a measure in the source."""
    if key.kind == "loaded":
        return key.column
    step = plan.step(key.seq)
    assert isinstance(step, AppendStep)
    return column_in_source(key.column, plan.load(step.load_key), step) or key.column


def read_totals(
    run_id: str, operations: Iterable[OperationResult], names: Mapping[int, str], labels: Mapping[int, str]
) -> RunTotals | None:
    """The totals that a run recorded with its operations; None where it recorded none.

    `names` are those of operations, `labels` the destinations of outputs, by seq.
    """
    recorded = sorted(operations, key=lambda operation: operation.seq)
    load = next((operation for operation in recorded if operation.type == "load"), None)
    if load is None or MEASURES not in load.details:
        return None
    types = {column: parse_type(text) for column, text in load.details[MEASURES]}
    sources = tuple(_source_totals(source) for source in load.details[SOURCES])
    return RunTotals(
        run_id,
        sources,
        tuple(
            _MeasureReader(column, isinstance(type_, FloatType), recorded, names, labels).totals()
            for column, type_ in types.items()
        ),
    )


def recorded_totals(transaction: Transaction, run_id: str) -> RunTotals | None:
    """The totals and controls of a run as the store has them; None where it followed none."""
    snapshot = json.loads(transaction.runs.snapshot(run_id))
    names = {operation["seq"]: operation["name"] for operation in snapshot["project"]["operations"]}
    labels = {
        commit.operation_seq: str(commit.details.get("label", commit.destination))
        for commit in transaction.outcomes.commits(run_id)
    }
    return read_totals(run_id, transaction.outcomes.operations(run_id), names, labels)


def _source_totals(source: Mapping[str, Any]) -> SourceTotals:
    control = source.get("control")
    rows = SourceRowCounts(source.get("read"), source.get("other_periods"), source.get("loaded"))
    outcome = ControlOutcome(control["rows"], control["totals"], control["holds"]) if control else None
    return SourceTotals(
        source["dataset"], source["location"], rows, source.get("totals", {}), outcome, source["seq"], source["role"]
    )


@dataclass
class _MeasureReader:
    """Goes through the operations of a run, with the totals of its live rows by who made them."""

    column: str
    is_float: bool
    operations: Iterable[OperationResult]
    names: Mapping[int, str]
    labels: Mapping[int, str]
    live: dict[int, Amount] = field(default_factory=dict)

    def totals(self) -> MeasureTotals:
        operations: list[OperationTotals] = []
        outputs: list[OutputTotals] = []
        for operation in self.operations:
            sums = self._sums(operation)
            match operation.type:
                case "load":
                    self.live |= sums.get("loaded", {})
                case "output":
                    outputs.append(self._output(operation, sums))
                case _:
                    operations.append(self._operation(operation, sums))
        return MeasureTotals(self.column, tuple(operations), tuple(outputs), self.is_float)

    def _operation(self, operation: OperationResult, sums: Mapping[str, Mapping[int, Amount]]) -> OperationTotals:
        # Rows whose measure was made later on count as nothing before.
        before = {**self.live, **sums.get("before", {})}
        self.live = {**before, **sums.get("added", {}), **sums.get("after", {})}
        is_adding = operation.type in ("aggregate", "append")
        return OperationTotals(
            operation.seq,
            self.names.get(operation.seq, operation.type),
            operation.type,
            operation.rows_added if is_adding else operation.rows_picked,
            self._listed(before),
            self._listed(sums.get("added", {})),
            self._listed(sums.get("deleted", {})),
            self._listed(sums.get("changed", {})),
            self._listed(self.live),
        )

    def _output(self, operation: OperationResult, sums: Mapping[str, Mapping[int, Amount]]) -> OutputTotals:
        written, left_out = dict(sums.get("written", {})), dict(sums.get("left_out", {}))
        # An output that selects none of the rows that an operation made leaves all of them out.
        left_out |= {maker: total for maker, total in self.live.items() if maker not in {*written, *left_out}}
        return OutputTotals(
            operation.seq,
            self.labels.get(operation.seq, operation.operation_id),
            operation.rows_written,
            self._listed(written),
            self._listed(left_out),
            self._listed(sums.get("written_deleted", {})),
        )

    def _sums(self, operation: OperationResult) -> dict[str, dict[int, Amount]]:
        recorded = operation.details.get(TOTALS, {}).get(self.column, {})
        return {
            kind: {int(maker): self._amount(text) for maker, text in by_maker.items()}
            for kind, by_maker in recorded.items()
        }

    def _amount(self, text: str) -> Amount:
        return float(text) if self.is_float else Decimal(text)

    def _listed(self, totals: Mapping[int, Amount]) -> tuple[MadeBy, ...]:
        return tuple(MadeBy(maker, amount_text(total)) for maker, total in sorted(totals.items()))
