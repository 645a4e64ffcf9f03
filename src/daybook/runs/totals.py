"""Reads the totals that a run recorded with its operations."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any

from daybook.model.json_fields import Hidden, UnlessEmpty, named
from daybook.model.measures import Amount, zero_of
from daybook.model.types import ColumnType, FloatType, parse_type
from daybook.store.records import OperationResult
from daybook.store.store import Transaction

# The keys of the details of a recorded operation.
TOTALS = "totals"
SOURCES = "sources"
MEASURES = "measures"

_FLOAT_DIGITS = 12


@dataclass(frozen=True, slots=True)
class MadeBy:
    """A total of the rows that one operation made, 0 being the load of the input, as exact text."""

    made_by: int
    total: str


@dataclass(frozen=True, slots=True)
class OperationTotals:
    """The totals of a measure around one operation; `rows` are those it picked or added."""

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
    """The totals of a measure at every operation; `approximate` for floats, whose sums have 12 digits."""

    column: str
    operations: tuple[OperationTotals, ...]
    outputs: tuple[OutputTotals, ...]
    is_approximate: Annotated[UnlessEmpty[bool], named("approximate")] = False


@dataclass(frozen=True, slots=True)
class SourceRowCounts:
    """Rows of a source: `read` before the time filter, `loaded` live ones; None where counting needs a query."""

    read: int | None
    other_periods: int | None
    loaded: int | None


@dataclass(frozen=True, slots=True)
class ControlOutcome:
    """The control totals of a delivery; a run whose data differs from them fails."""

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
    """The totals of a run: of its sources, and of each measure."""

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
        tuple(_MeasureReader(column, type_, recorded, names, labels).totals() for column, type_ in types.items()),
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
    """Follows a measure through the operations of a run; `live` are the totals of live rows, by their operation."""

    column: str
    type: ColumnType
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

    @property
    def is_float(self) -> bool:
        return isinstance(self.type, FloatType)

    def _operation(self, operation: OperationResult, sums: Mapping[str, Mapping[int, Amount]]) -> OperationTotals:
        # Rows that got the measure later have no total before.
        before = {**self.live, **sums.get("before", {})}
        is_adding = operation.type in ("aggregate", "append")
        # Rows that are added without the measure have nothing of it.
        without = {operation.seq: zero_of(self.type)} if is_adding else {}
        self.live = {**before, **without, **sums.get("added", {}), **sums.get("after", {})}
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
