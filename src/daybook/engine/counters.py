"""Counts rows and collects failed checks during the write, without an extra pass over the data.

A failed check travels with its row: it is a JSON text in a hidden column, read after the write.

Counting with Spark's `observe` makes it hand over every row between two pieces of compiled code, which costs the more
the wider the row is. Counting in an aggregate costs almost nothing, so if there is one, it counts for the steps before
it.
"""

import contextlib
import json
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

from daybook.engine.context import FAULT_COLUMN, RunContext, aliased_sql
from daybook.engine.measures import Measures, MeasureSum, PassingRows, UnitColumns, read_live_rows
from daybook.errors import DaybookError
from daybook.expression import quote_literal
from daybook.model.measures import Amount
from daybook.model.types import STRING
from daybook.plan.steps import LoadStep, Plan, RowStep, Schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Observation


@dataclass(frozen=True, slots=True)
class NullValue:
    """A loaded row has no value in a column that may not be NULL; where the row stands is looked up afterwards."""

    load_key: str
    column: str
    place: str = ""
    ordinal: str = ""


@dataclass(frozen=True, slots=True)
class MalformedRowId:
    """A loaded row carries a `_row_id` that is not one; where the row stands is looked up afterwards."""

    load_key: str
    value: str
    place: str = ""
    ordinal: str = ""


@dataclass(frozen=True, slots=True)
class DoubleMatch:
    """A row that an update picks matches more than one row of a join."""

    seq: str
    alias: str
    key: str


@dataclass(frozen=True, slots=True)
class BrokenCondition:
    """A row does not meet the condition of a check operation."""

    seq: str
    row: str


@dataclass(frozen=True, slots=True)
class BadAllocation:
    """An amount cannot be divided among the rows of a group."""

    seq: str
    column: str
    problem: str
    group: str


FailedCheck: TypeAlias = NullValue | MalformedRowId | DoubleMatch | BrokenCondition | BadAllocation

_KINDS: Mapping[str, type[FailedCheck]] = {
    kind.__name__: kind for kind in (NullValue, MalformedRowId, DoubleMatch, BrokenCondition, BadAllocation)
}
_KIND_FIELD = "kind"
# Stands first in the text and has as many digits in all texts, so that the smallest text is of the first operation.
_ORDER_FIELD = "at"
_ORDER_DIGITS = 19
_ORDER_LENGTH = len(f'{{"{_ORDER_FIELD}":"') + _ORDER_DIGITS


def failed_check_sql(
    seq: int, kind: type[FailedCheck], constants: Mapping[str, object], values: Mapping[str, str]
) -> str:
    """SQL of the text of a check that fails at an operation, 0 being the load of the input.

    The fields `constants` are the same for all rows, `values` are SQL.
    """
    fields = {
        _ORDER_FIELD: quote_literal(f"{seq:0{_ORDER_DIGITS}}", STRING),
        _KIND_FIELD: quote_literal(kind.__name__, STRING),
        **{name: quote_literal(str(value), STRING) for name, value in constants.items()},
        **{name: text_sql(sql) for name, sql in values.items()},
    }
    pairs = ", ".join(f"'{name}', {sql}" for name, sql in fields.items())
    return f"TO_JSON(NAMED_STRUCT({pairs}))"


@dataclass(frozen=True, slots=True)
class FailedOperation:
    """A check that rows fail, and the operation at which they do, 0 being the load of the input."""

    seq: int
    check: FailedCheck


def parse_failed_check(text: str) -> FailedOperation:
    fields = json.loads(text)
    seq = int(fields.pop(_ORDER_FIELD))
    return FailedOperation(seq, _KINDS[fields.pop(_KIND_FIELD)](**fields))


def row_label_sql(parts: Mapping[str, str]) -> str:
    """SQL of a label that identifies a row for people: customer_id = C-1, day = 2026-01-15."""
    texts = []
    for number, (label, sql) in enumerate(parts.items()):
        texts += [quote_literal(f"{', ' if number else ''}{label} = ", STRING), text_sql(sql)]
    return f"CONCAT({', '.join(texts)})" if texts else "'any'"


def text_sql(sql: str) -> str:
    """SQL of a value as messages show it."""
    return f"COALESCE(CAST({sql} AS STRING), 'NULL')"


def failed_check_error(plan: Plan, check: FailedCheck) -> DaybookError:
    match check:
        case NullValue(key, column, place, ordinal):
            return _loading_error(plan, key, "PROJECT_030", column=column, place=place, ordinal=ordinal)
        case MalformedRowId(key, value, place, ordinal):
            return _loading_error(plan, key, "PROJECT_031", value=value, place=place, ordinal=ordinal)
        case DoubleMatch(seq, alias, key):
            step = plan.step(int(seq))
            return DaybookError(
                "UPDATE_024", operation_seq=step.seq, seq=step.seq, name=step.name, alias=alias, key=key
            )
        case BadAllocation(seq, column, problem, group):
            step = plan.step(int(seq))
            return DaybookError(
                "UPDATE_026",
                operation_seq=step.seq,
                seq=step.seq,
                name=step.name,
                column=column,
                group=group,
                problem=problem,
            )
        case BrokenCondition(seq, row):
            step = plan.step(int(seq))
            return DaybookError("CHECK_020", operation_seq=step.seq, seq=step.seq, name=step.name, row=row)
        case _:
            assert_never(check)


def _loading_error(plan: Plan, load_key: str, code: str, **parameters: Any) -> DaybookError:
    load = plan.load(load_key)
    seq, dataset_id = load.operation_seq or None, load.dataset_id
    error = DaybookError(code, operation_seq=seq, dataset_id=dataset_id, **parameters)
    return error_of_load(error, load)


def error_of_load(error: DaybookError, load: LoadStep) -> DaybookError:
    """A finding about a source; inside of an append its own code wins."""
    if load.role != "append":
        return error
    return DaybookError("APPEND_008", operation_seq=load.operation_seq, causes=(error,), dataset_id=load.dataset_id)


INPUT_METRIC = "input"
# The text of a failed check, or how many rows failed one where a text would be too slow to carry.
FAULT_TEXT_METRIC = "fault"
FAULTY_METRIC = "faulty"

INPUT_ROWS_SQL = "COUNT(IF(`_operation_seq` = 0, 1, NULL))"
FIRST_FAULT_SQL = f"MIN({FAULT_COLUMN})"
FAULTY_ROWS_SQL = f"COUNT({FAULT_COLUMN})"

_PICKED_METRIC_PREFIX = "picked_"
_ADDED_METRIC_PREFIX = "added_"


def picked_metric(seq: int) -> str:
    return f"{_PICKED_METRIC_PREFIX}{seq}"


def added_metric(seq: int) -> str:
    return f"{_ADDED_METRIC_PREFIX}{seq}"


def picked_rows_sql(step: RowStep, context: RunContext) -> str:
    """SQL of how many rows a step picked, by the mark it leaves on them."""
    word, bit = context.bit_position(step.seq)
    return f"COUNT(IF({word} & {1 << bit}L = 0, NULL, 1))"


def seq_of_picked_metric(name: str) -> int | None:
    """The operation whose picked rows a metric counts."""
    return int(name.removeprefix(_PICKED_METRIC_PREFIX)) if name.startswith(_PICKED_METRIC_PREFIX) else None


_OBSERVATION_TIMEOUT_SECONDS = 120.0


class ObservedFrame:
    """A frame and what to aggregate of it, by name and SQL, in the action that uses the frame.

    The frame is made when it is used, because what it is made of counts as used from then on. `checked` makes the
    rows it comes from, with the texts of their failed checks.
    """

    def __init__(
        self,
        rows: "Callable[[], DataFrame]",
        metrics: Mapping[str, str],
        checked: "Callable[[], DataFrame] | None" = None,
        *,
        is_awaited: bool = False,
    ) -> None:
        from pyspark.sql import functions as F

        self._rows = rows
        self._checked = checked or rows
        self._aggregates = [F.expr(text) for text in aliased_sql(metrics)]
        self._observation: Observation | None = None
        self._found: Mapping[str, Any] = {}
        # Has rows that an operation checks, so that nothing after it may be committed before they were looked at.
        self.is_awaited = is_awaited

    @property
    def is_used(self) -> bool:
        return self._observation is not None

    @cached_property
    def frame(self) -> "DataFrame":
        """The rows, for a frame that is going to be written."""
        from pyspark.sql import Observation

        if not self._aggregates:
            return self._rows()
        self._observation = Observation()
        return observe_rows(self._rows(), self._observation, *self._aggregates)

    def uncounted(self) -> "ObservedFrame":
        """The same rows without a look at them."""
        return ObservedFrame(self._rows, {}, self._checked)

    def metrics(self) -> Mapping[str, Any]:
        """Of the finished action; where no action needed these rows, of a look at them alone."""
        if not self._found and self._observation:
            self._found = read_observation(self._observation)
        if not self._found and (row := self._rows().agg(*self._aggregates).first()):
            self._found = row.asDict()
        return self._found

    def failed_checks(self) -> tuple[FailedOperation, ...]:
        """What rows failed, one check for each operation, by another query where it was not the load of the input."""
        from pyspark.sql import functions as F

        metrics = self.metrics()
        text = metrics.get(FAULT_TEXT_METRIC)
        first = parse_failed_check(text) if text else None
        if first is None and not metrics.get(FAULTY_METRIC):
            return ()
        if first is not None and isinstance(first.check, NullValue | MalformedRowId):
            return (first,)
        faulty = self._checked().where(f"{FAULT_COLUMN} IS NOT NULL")
        by_operation = faulty.groupBy(F.expr(f"SUBSTR({FAULT_COLUMN}, 1, {_ORDER_LENGTH})")).agg(
            F.expr(FIRST_FAULT_SQL)
        )
        return tuple(parse_failed_check(row[1]) for row in by_operation.collect())


def observe_rows(rows: "DataFrame", observation: "Observation", *aggregates: "Column") -> "DataFrame":
    """The rows, with aggregates that the observation returns."""
    # Spark Connect would analyse the whole plan to find out that the rows are no stream, which they never are.
    vars(rows).setdefault("isStreaming", False)
    return rows.observe(observation, *aggregates)


def read_observation(
    observation: "Observation", *, patience: float = _OBSERVATION_TIMEOUT_SECONDS
) -> Mapping[str, Any]:
    """The metrics of a finished action; none when Spark left out the part that was observed, or lost what it counted.

    Spark sends them with the events of a job, and drops events when a huge job makes more of them than it can handle.
    """
    metrics: dict[str, Any] = {}

    def get() -> None:
        with contextlib.suppress(Exception):
            metrics.update(observation.get)

    waiting = threading.Thread(target=get, name="daybook-observation", daemon=True)
    waiting.start()
    waiting.join(patience)
    return dict(metrics)


@dataclass(frozen=True, slots=True)
class OperationCount:
    """Rows that an operation picked, and rows that it added to the working dataset."""

    seq: int
    picked: int
    added: int = 0


@dataclass(frozen=True, slots=True)
class GroupCounts:
    """What was counted for a group of outputs; `input_rows` is None where an earlier group has reported it.

    `live_rows` are those of each source, by the operation that loads it, where measures are followed.
    """

    input_rows: int | None
    operations: tuple[OperationCount, ...]
    sums: Mapping[MeasureSum, Amount] = field(default_factory=dict)
    live_rows: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, observed: Iterable[ObservedFrame], measures: Measures) -> "GroupCounts":
        metrics = {name: value for frame in observed for name, value in frame.metrics().items()}
        seqs = sorted(seq for seq in map(seq_of_picked_metric, metrics) if seq is not None)
        operations = (
            OperationCount(seq, metrics[picked_metric(seq)] or 0, metrics.get(added_metric(seq)) or 0) for seq in seqs
        )
        input_rows = (metrics[INPUT_METRIC] or 0) if INPUT_METRIC in metrics else None
        return cls(input_rows, tuple(operations), measures.read(metrics), read_live_rows(metrics))


@dataclass(frozen=True, slots=True)
class DueCounts:
    """What an aggregate counts for earlier steps, by name and SQL, and the columns that this reads."""

    counts: Mapping[str, str] = field(default_factory=dict)
    columns: UnitColumns = field(default_factory=UnitColumns)


class Counters:
    """Collects what is observed on the way; rows that pass by are counted once for all steps that wait for it."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._observed: list[ObservedFrame] = []
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
        self._waiting.append((step, INPUT_ROWS_SQL if is_input else picked_rows_sql(step, self._context)))

    def due(self, makers: frozenset[int], schema: Schema) -> "DueCounts":
        """What waits for an aggregate that is going to count it among other rows."""
        units = UnitColumns()
        counts = self._taken(makers, schema, is_alone=False, units=units)
        return DueCounts({**counts, FAULTY_METRIC: FAULTY_ROWS_SQL}, units)

    def passing(self, df: "DataFrame", makers: frozenset[int], schema: Schema) -> "DataFrame":
        """The working dataset, counted for the steps that wait."""
        metrics = {**self._taken(makers, schema, is_alone=True), FAULT_TEXT_METRIC: FIRST_FAULT_SQL}
        return self.watch(ObservedFrame(lambda: df, metrics)).frame

    def checked(self, df: "DataFrame") -> "DataFrame":
        """Rows that are checked but not counted."""
        return self.watch(ObservedFrame(lambda: df, {FAULT_TEXT_METRIC: FIRST_FAULT_SQL})).frame

    def summed(self, df: "DataFrame", sums: Mapping[str, str]) -> "DataFrame":
        """The same rows, whose sums are taken when they are written."""
        return self.watch(ObservedFrame(lambda: df, sums)).frame if sums else df

    def watch(self, observed: ObservedFrame) -> ObservedFrame:
        """The same rows, to be counted when they are used."""
        self._observed.append(observed)
        return observed

    def take(self, *, is_last: bool) -> tuple[ObservedFrame, ...]:
        """What the outputs of a group observe; rows that are not used yet wait, but no longer than the last group.

        Rows that a check looks at do not wait.
        """
        due = tuple(frame for frame in self._observed if is_last or frame.is_used or frame.is_awaited)
        self._observed = [frame for frame in self._observed if frame not in due]
        return due

    def forget(self) -> None:
        self._observed.clear()

    def _taken(
        self, makers: frozenset[int], schema: Schema, *, is_alone: bool, units: UnitColumns | None = None
    ) -> dict[str, str]:
        """What waits; `makers` are the operations that made the rows of the working dataset that pass."""
        metrics = {picked_metric(step.seq): sql for step, sql in self._waiting}
        marks = {step.seq: self._context.mark(step.seq) for step in self.waiting}
        rows = PassingRows(self._context.measures, makers, schema, self.waiting, marks, is_alone, units)
        metrics |= rows.sums(with_loaded=not self._is_input_counted)
        if not self._is_input_counted:
            metrics[INPUT_METRIC] = INPUT_ROWS_SQL
        self._waiting.clear()
        self._is_input_counted = True
        return metrics
