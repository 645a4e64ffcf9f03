"""The values of a run that every step needs, and the hidden columns that no output writes."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass

from daybook.engine.failures import SELECTOR, mark_sql
from daybook.expression import CompiledExpression, Constants, cast_sql, quote_identifier, quote_literal, spark_type
from daybook.model.calendar import Period
from daybook.model.types import INTEGER, STRING, TIMESTAMP, ColumnType
from daybook.plan.steps import AggregateStep, ComputedColumn, DeleteStep, OutputStep, Plan, RowStep, UpdateStep

# One bit for every update and delete that picked the row.
PICKED_PREFIX = "__daybook_picked"
BITS_PER_WORD = 62

# The first check that the row failed.
FAULT_COLUMN = "__daybook_fault"


def picked_words(operations: int) -> tuple[str, ...]:
    """The columns that hold a bit for each of so many operations."""
    return tuple(f"{PICKED_PREFIX}_{word}" for word in range(-(-operations // BITS_PER_WORD)))


def quote_identifiers(*names: str) -> list[str]:
    return [quote_identifier(name) for name in names]


@dataclass(frozen=True, slots=True)
class RunContext:
    """`bits` numbers the operations that pick rows, in order; `changing` are those that also change them."""

    project_id: str
    dataset_id: str
    table: str
    constants: Constants
    period: Period
    as_of: datetime.date
    bits: Mapping[int, int]
    changing: frozenset[int]

    @classmethod
    def of(cls, plan: Plan, as_of: datetime.date | None) -> "RunContext":
        if plan.constants is None or plan.constants.period is None:
            raise ValueError("a plan without timestamp and period cannot be executed")
        picking = [step.seq for step in plan.steps if isinstance(step, RowStep)]
        return cls(
            plan.project.id,
            plan.input.dataset_id,
            plan.input.table,
            plan.constants,
            plan.constants.period,
            as_of or plan.constants.period.start_date,
            {seq: number for number, seq in enumerate(picking)},
            frozenset(step.seq for step in plan.steps if isinstance(step, UpdateStep | DeleteStep)),
        )

    def sql(self, expression: CompiledExpression) -> str:
        return expression.sql(self.constants)

    def fitted(self, value: ComputedColumn) -> str:
        """A value in the type of its column."""
        return cast_sql(self.sql(value.expression), value.expression.type, value.type)

    def selector(self, step: RowStep | AggregateStep | OutputStep) -> str | None:
        return mark_sql(self.sql(step.selector), step.seq, SELECTOR) if step.selector else None

    @property
    def timestamp(self) -> str:
        """The run's timestamp as SQL."""
        return quote_literal(self.constants.timestamp, TIMESTAMP)

    def timestamp_in(self, rows_condition: str) -> str:
        """The run's timestamp as SQL, in rows of which a condition, true or false, is looked at anyway.

        Spark writes a timestamp into the code that it compiles, so every run would compile it anew and begin with
        slow code. The item of an array is looked up instead; both are the same, but Spark must not know beforehand
        which one it is.
        """
        return f"ARRAY({self.timestamp}, {self.timestamp})[CAST({rows_condition} AS INT)]"

    @property
    def words(self) -> tuple[str, ...]:
        return picked_words(len(self.bits))

    @property
    def hidden(self) -> dict[str, ColumnType]:
        return {**dict.fromkeys(self.words, INTEGER), FAULT_COLUMN: STRING}

    def bit_position(self, seq: int) -> tuple[str, int]:
        """The column and the bit that say whether an operation picked the row."""
        number = self.bits[seq]
        return self.words[number // BITS_PER_WORD], number % BITS_PER_WORD

    def is_changed(self) -> str | None:
        """SQL that is true on rows that any operation changed; None when none does."""
        masks = dict.fromkeys(self.words, 0)
        for seq in self.changing:
            word, bit = self.bit_position(seq)
            masks[word] |= 1 << bit
        return " OR ".join(f"{word} & {mask}L <> 0" for word, mask in masks.items() if mask) or None


def null_sql(column_type: ColumnType) -> str:
    return f"CAST(NULL AS {spark_type(column_type)})"
