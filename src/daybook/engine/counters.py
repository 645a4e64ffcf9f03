"""What is counted and checked on the way to the outputs, at no extra pass over the data.

Counting with Spark's `observe` makes it hand over every row between two pieces of compiled code, which costs the more
the wider the row is. An aggregate counts for next to nothing, so if there is one, it counts for the steps before it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame

from daybook.engine.context import RunContext
from daybook.engine.metrics import (
    FAULT_TEXT,
    FAULTY,
    FAULTY_ROWS,
    FIRST_FAULT,
    INPUT,
    INPUT_ROWS,
    added_by,
    picked_by,
    picking_seq,
)
from daybook.engine.observed import Observed
from daybook.plan.steps import RowStep


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
        self._waiting: list[tuple[RowStep, str]] = []
        self._is_input_counted = False

    @property
    def waiting(self) -> tuple[RowStep, ...]:
        """Steps whose picked rows are still to be counted."""
        return tuple(step for step, _ in self._waiting)

    @property
    def is_waiting(self) -> bool:
        return bool(self._waiting) or not self._is_input_counted

    def wait(self, step: RowStep, *, is_input: bool) -> None:
        """Count what a step picks later on; `is_input`: it picks the rows of the input."""
        word, bit = self._context.place_of_bit(step.seq)
        self._waiting.append((step, INPUT_ROWS if is_input else f"COUNT(IF({word} & {1 << bit}L = 0, NULL, 1))"))

    def due(self) -> Mapping[str, str]:
        """What waits, by name and SQL, for an aggregate that is going to count it."""
        return {**self._taken(), FAULTY: FAULTY_ROWS}

    def passing(self, df: DataFrame) -> DataFrame:
        """The working dataset, counted for the steps that wait."""
        return self.watch(lambda: df, {**self._taken(), FAULT_TEXT: FIRST_FAULT}).frame

    def checked(self, df: DataFrame) -> DataFrame:
        """Rows that are checked but not counted."""
        return self.watch(lambda: df, {FAULT_TEXT: FIRST_FAULT}).frame

    def watch(
        self,
        rows: Callable[[], DataFrame],
        metrics: Mapping[str, str],
        checked: Callable[[], DataFrame] | None = None,
    ) -> Observed:
        """Rows to be counted when they are used; `checked` makes those that know the texts of failed checks."""
        self._observed.append(Observed(rows, metrics, checked or rows))
        return self._observed[-1]

    def take(self, *, is_last: bool) -> "Counted":
        """What the outputs of a group tell; rows that nobody has used yet wait, but no longer than the last group."""
        due = [each for each in self._observed if is_last or each.is_used]
        self._observed = [each for each in self._observed if each not in due]
        return Counted(tuple(due))

    def forget(self) -> None:
        self._observed.clear()

    def _taken(self) -> dict[str, str]:
        metrics = {picked_by(step.seq): sql for step, sql in self._waiting}
        if not self._is_input_counted:
            metrics[INPUT] = INPUT_ROWS
        self._waiting.clear()
        self._is_input_counted = True
        return metrics


@dataclass(frozen=True, slots=True)
class Counted:
    """What was observed for a group of outputs, to be read when all of them are written."""

    observed: tuple[Observed, ...]

    def faults(self) -> Iterable[str]:
        """The texts of failed checks."""
        for each in self.observed:
            found = each.metrics()
            text = found.get(FAULT_TEXT) or (each.of_all(FIRST_FAULT) if found.get(FAULTY) else None)
            if text:
                yield text

    def counts(self) -> Counts:
        found = {name: value for each in self.observed for name, value in each.metrics().items()}
        seqs = sorted(seq for seq in map(picking_seq, found) if seq is not None)
        operations = (OperationCount(seq, found[picked_by(seq)] or 0, found.get(added_by(seq)) or 0) for seq in seqs)
        return Counts((found[INPUT] or 0) if INPUT in found else None, tuple(operations))
