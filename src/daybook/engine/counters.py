"""What is counted and checked on the way to the outputs, at no extra pass over the data.

Counting makes Spark hand over every row between two pieces of compiled code, which costs the more the wider the row
is. So the rows are counted where they are narrowest: in the branch that an aggregate reads, if there is one, and
what an operation adds by itself, before it is put beside the other rows.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pyspark.sql import DataFrame

from daybook.engine.context import RunContext
from daybook.engine.hidden import FAULT
from daybook.engine.observed import Observed
from daybook.engine.operations.summaries import WEIGHT
from daybook.plan.steps import DeleteStep, UpdateStep

_INPUT = "input"
_FAULT = "fault"
_PICKED = "picked_"
_ADDED = "added_"


@dataclass(frozen=True, slots=True)
class OperationCount:
    """Rows that an operation picked, and rows that it added to the working dataset."""

    seq: int
    picked: int
    added: int = 0


@dataclass(frozen=True, slots=True)
class Counts:
    """`input_rows` is None where an earlier group has reported it."""

    input_rows: int | None
    operations: tuple[OperationCount, ...]


class Counters:
    """Gathers what is observed on the way; rows that pass by are counted once for all steps that wait for it."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._observed: list[Observed] = []
        self._waiting: list[UpdateStep | DeleteStep] = []
        self._is_input_counted = False

    @property
    def waiting(self) -> tuple[UpdateStep | DeleteStep, ...]:
        """Steps whose picked rows are still to be counted."""
        return tuple(self._waiting)

    @property
    def is_waiting(self) -> bool:
        return bool(self._waiting) or not self._is_input_counted

    def wait(self, step: UpdateStep | DeleteStep) -> None:
        self._waiting.append(step)

    def passing(self, df: DataFrame) -> DataFrame:
        """The working dataset, counted for the steps that wait."""
        metrics = {_FAULT: f"MIN({FAULT})"}
        if not self._is_input_counted:
            metrics[_INPUT] = "SUM(IF(`_operation_seq` = 0, 1L, 0L))"
        for step in self._waiting:
            word, bit = self._context.place_of_bit(step.seq)
            metrics[f"{_PICKED}{step.seq}"] = f"SUM(SHIFTRIGHT({word}, {bit}) & 1L)"
        self._waiting.clear()
        self._is_input_counted = True
        return self._observe(lambda: df, metrics).frame

    def added(self, rows: Callable[[], DataFrame], seq: int, *, is_summary: bool, may_fail: bool) -> Observed:
        """Rows that an operation adds."""
        picked = f"SUM({WEIGHT})" if is_summary else "COUNT(1)"
        metrics = {f"{_PICKED}{seq}": picked, f"{_ADDED}{seq}": "COUNT(1)"}
        return self._observe(rows, metrics | ({_FAULT: f"MIN({FAULT})"} if may_fail else {}))

    def checked(self, df: DataFrame) -> DataFrame:
        """Rows that are checked but not counted."""
        return self._observe(lambda: df, {_FAULT: f"MIN({FAULT})"}).frame

    def take(self, *, is_last: bool) -> "Counted":
        """What the outputs of a group tell; rows that nobody has used yet wait, but no longer than the last group."""
        due = [each for each in self._observed if is_last or each.is_used]
        self._observed = [each for each in self._observed if each not in due]
        return Counted(tuple(due))

    def forget(self) -> None:
        self._observed.clear()

    def _observe(self, rows: Callable[[], DataFrame], metrics: dict[str, str]) -> Observed:
        self._observed.append(Observed(rows, metrics))
        return self._observed[-1]


@dataclass(frozen=True, slots=True)
class Counted:
    """What was observed for a group of outputs, to be read when all of them are written."""

    observed: tuple[Observed, ...]

    def faults(self) -> Iterable[str]:
        """The texts of failed checks."""
        found = (each.metrics()[_FAULT] for each in self.observed if _FAULT in each.names)
        return (text for text in found if text)

    def counts(self) -> Counts:
        found = {name: value or 0 for each in self.observed for name, value in each.metrics().items() if name != _FAULT}
        seqs = sorted(int(name.removeprefix(_PICKED)) for name in found if name.startswith(_PICKED))
        operations = (OperationCount(seq, found[f"{_PICKED}{seq}"], found.get(f"{_ADDED}{seq}", 0)) for seq in seqs)
        return Counts(found.get(_INPUT), tuple(operations))
