"""The totals of a run while it writes: summed, compared before each commit, and described for the record.

A total is a sum of a measure over the rows that one operation made. What operations changed and what outputs wrote
are summed independently, so that a lost or changed row makes the two sides of an equation differ.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from daybook.engine.counters import GroupCounts
from daybook.engine.measures import MeasureSum, SumKind, column_in_source
from daybook.errors import DaybookError
from daybook.io.control_totals import ControlledSource
from daybook.io.pins import FilesPin, LandedPin
from daybook.io.read_source import ReadSource
from daybook.io.staged_sums import StagedRows, sums_of_staged
from daybook.io.writer import StagedOutput
from daybook.model.measures import Amount, minus, plus, zero_of
from daybook.model.types import FloatType
from daybook.plan.conditions import excludes
from daybook.plan.steps import AggregateStep, AppendStep, DeleteStep, LoadStep, OutputStep, Plan, UpdateStep
from daybook.runs.outputs import PlannedOutput
from daybook.runs.snapshot import RunSnapshot
from daybook.runs.totals import MEASURES, SOURCES, TOTALS, amount_text

# Sums of floats differ in their last bits: one of few values by less than the 12 digits of totals, one of n values by
# up to n times half a bit, of what the absolute values add up to. Each side of an equation has up to three such sums.
_FLOAT_TOLERANCE = 1e-12
_ROUNDING = 6 * 2.0**-53


@dataclass
class TotalsLedger:
    """The sums that the groups of a run have taken so far."""

    plan: Plan
    sums: dict[MeasureSum, Amount] = field(default_factory=dict)
    # Rows that were summed: loaded ones, and those that operations added.
    rows: int = 0

    def add(self, counts: GroupCounts) -> None:
        self.sums.update(counts.sums)
        self.rows += (counts.input_rows or 0) + sum(operation.added for operation in counts.operations)

    def verify(self) -> None:
        """Raises TOTALS_020 for the first measure that does not add up."""
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
                changed = self._find(step.seq, "changed", column, maker) or Decimal(0)
                deleted = self._find(step.seq, "deleted", column, maker) or Decimal(0)
                expected = minus(plus(live[maker], changed), deleted)
                sides = (
                    f"before {amount_text(live[maker])}, changed {amount_text(changed)}, deleted "
                    f"{amount_text(deleted)}, together"
                )
                yield from self._differing(column, step.seq, maker, sides, expected, "after", after)
            live[maker] = after

    def _broken_outputs(self, step: OutputStep, column: str, live: Mapping[int, Amount]) -> Iterator[DaybookError]:
        if not any(self._makers(step.seq, kind, column) for kind in ("written", "left_out")):
            # Not written yet, or by an earlier attempt.
            return
        for maker in sorted(maker for maker in live if not excludes(step.selector, maker)):
            written = self._find(step.seq, "written", column, maker) or Decimal(0)
            left_out = self._find(step.seq, "left_out", column, maker) or Decimal(0)
            sides = f"written {amount_text(written)}, left out {amount_text(left_out)}, together"
            together = plus(written, left_out)
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
        allowed = max(_FLOAT_TOLERANCE, _ROUNDING * self.rows) * size
        return not math.isfinite(size) or abs(float(expected) - float(actual)) <= allowed

    def _makers(self, seq: int, kind: str, column: str) -> list[int]:
        return sorted(key.maker for key in self.sums if (key.seq, key.kind, key.column) == (seq, kind, column))

    def _find(self, seq: int, kind: Any, column: str, maker: int) -> Amount | None:
        return self.sums.get(MeasureSum(seq, kind, column, maker))


def is_read_back(plan: Plan, planned: PlannedOutput) -> bool:
    """Whether the written totals of an output are read back from its files: local ones with all columns needed."""
    step = planned.step
    if planned.target.format != "delta" or planned.target.location.local_path is None:
        return False
    needed = {column for column in plan.measures if column in step.schema}
    needed |= {"_operation_seq"} if len(_makers_before(plan, step)) > 1 else set()
    needed |= {"_deleted"} if step.arguments.include_deleted else set()
    return bool(needed) and needed <= step.columns.keys()


def _makers_before(plan: Plan, step: OutputStep) -> tuple[int, ...]:
    """The operations whose rows an output may write."""
    makers = (other.seq for other in plan.steps if isinstance(other, AggregateStep | AppendStep))
    return tuple(seq for seq in (0, *makers) if seq < step.seq and not excludes(step.selector, seq))


def sums_written(plan: Plan, planned: PlannedOutput, staged: StagedOutput) -> dict[MeasureSum, Amount]:
    """The written totals of an output, read from its files."""
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
    """The sums of an operation as details of its record; empty where no measure is followed."""
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
    """The details of the load: the measures, and the facts of each source before anything is computed.

    Empty where neither measures nor controls are declared.
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
    """The details of the load, completed by what a group of outputs counted."""
    if SOURCES not in details:
        return dict(details)
    sources = [_with_counts(plan, source, counts) for source in details[SOURCES]]
    return {**details, SOURCES: sources, **recorded_sums(counts.sums, 0)}


def _with_counts(plan: Plan, source: Mapping[str, Any], counts: GroupCounts) -> dict[str, Any]:
    seq, role = source["seq"], source["role"]
    if role == "join":
        return dict(source)
    counted = dict(source)
    if seq in counts.live_rows:
        counted["loaded"] = counts.live_rows[seq]
    if role == "input" and counts.input_rows is not None:
        # Without a measure, deleted rows that were loaded are not told apart.
        counted.setdefault("loaded", counts.input_rows)
        if counted["read"] is not None:
            counted["other_periods"] = counted["read"] - counts.input_rows
    kind = "loaded" if role == "input" else "source"
    totals = {
        _source_column(plan, key): amount_text(amount)
        for key, amount in counts.sums.items()
        if key.seq == seq and key.kind == kind and (role == "append" or key.column in plan.input.types)
    }
    counted["totals"] = {**source.get("totals", {}), **totals}
    return counted


def _source_column(plan: Plan, key: MeasureSum) -> str:
    """The name of a measure in the source."""
    if key.kind == "loaded":
        return key.column
    step = plan.step(key.seq)
    assert isinstance(step, AppendStep)
    return column_in_source(key.column, plan.load(step.load_key), step) or key.column
