"""What is counted and checked while an output is written, at no extra pass over the data."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, Observation
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
        self._observation = Observation()

    @property
    def needs(self) -> frozenset[str]:
        """The columns that counting and checking look at."""
        return frozenset({"_operation_seq", *self._context.hidden})

    def observe(self, df: DataFrame) -> DataFrame:
        return df.observe(self._observation, *(F.expr(sql).alias(name) for name, sql in self._metrics().items()))

    def counts(self) -> Counts:
        found = observed(self._observation)
        operations = tuple(
            OperationCount(step.seq, found.get(f"picked_{step.seq}") or 0, found.get(f"added_{step.seq}") or 0)
            for step in self._steps
            if not isinstance(step, OutputStep)
        )
        return Counts(found.get(_INPUT) or 0 if self._with_input else None, operations)

    def fault(self) -> str | None:
        """The text of a failed check, if any row failed one."""
        return observed(self._observation).get(_FAULT)

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


def observed(observation: Observation) -> Mapping[str, Any]:
    """The metrics of a finished action; none when Spark found that the observed part has no rows and left it out."""
    try:
        return observation.get
    except Exception:
        return {}
