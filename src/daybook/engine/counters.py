"""What is counted and checked while an output is written, at no extra pass over the data."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from daybook.engine.context import RunContext
from daybook.engine.hidden import FAULT, WEIGHT
from daybook.plan.steps import AggregateStep, AppendStep, DeleteStep, OutputStep, Step, UpdateStep

_INPUT = "input"
_FAULT = "fault"


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
    """The counters and checks of some steps, to be observed once and read after the action."""

    def __init__(self, context: RunContext, steps: Iterable[Step], *, with_input: bool) -> None:
        self._context = context
        self._steps = tuple(steps)
        self._with_input = with_input
        self._observed: Observed | None = None

    @property
    def needs(self) -> frozenset[str]:
        """The columns that counting and checking look at."""
        return frozenset({"_operation_seq", *self._context.hidden})

    def observe(self, df: DataFrame) -> DataFrame:
        self._observed = Observed(df, [F.expr(sql).alias(name) for name, sql in self._metrics().items()])
        return self._observed.frame

    def counts(self) -> Counts:
        found = self._found()
        operations = tuple(
            OperationCount(step.seq, found.get(f"picked_{step.seq}") or 0, found.get(f"added_{step.seq}") or 0)
            for step in self._steps
            if not isinstance(step, OutputStep)
        )
        return Counts(found.get(_INPUT) or 0 if self._with_input else None, operations)

    def fault(self) -> str | None:
        """The text of a failed check, if any row failed one."""
        return self._found().get(_FAULT)

    def _found(self) -> Mapping[str, Any]:
        return self._observed.metrics() if self._observed else {}

    def _metrics(self) -> dict[str, str]:
        metrics = {_FAULT: f"MIN({FAULT})"}
        if self._with_input:
            metrics[_INPUT] = "SUM(IF(`_operation_seq` = 0, 1L, 0L))"
        for step in self._steps:
            match step:
                case UpdateStep() | DeleteStep():
                    word, bit = self._context.place_of_bit(step.seq)
                    metrics[f"picked_{step.seq}"] = f"SUM(SHIFTRIGHT({word}, {bit}) & 1L)"
                case AggregateStep() | AppendStep():
                    made = f"`_operation_seq` = {step.seq}"
                    metrics[f"picked_{step.seq}"] = f"SUM(IF({made}, COALESCE({WEIGHT}, 1L), 0L))"
                    metrics[f"added_{step.seq}"] = f"SUM(IF({made}, 1L, 0L))"
                case OutputStep():
                    pass
        return metrics


class Observed:
    """A frame whose rows are aggregated while something else is done with them."""

    def __init__(self, df: DataFrame, aggregates: Sequence[Column]) -> None:
        self._df = df
        self._aggregates = aggregates
        self._observation = Observation()
        self.frame = df.observe(self._observation, *aggregates)

    def metrics(self) -> Mapping[str, Any]:
        """Of the finished action; where Spark found that it could do without these rows, of a look at them alone."""
        found = observed(self._observation)
        if not found:
            row = self._df.agg(*self._aggregates).first()
            found = row.asDict() if row is not None else {}
        return found


def observed(observation: Observation) -> Mapping[str, Any]:
    """The metrics of a finished action; none when Spark left out the part that was observed."""
    try:
        return observation.get
    except Exception:
        return {}
