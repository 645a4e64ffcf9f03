"""What every step needs to know of the run."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass

from daybook.engine.hidden import BITS, FAULT, picked_words
from daybook.engine.marking import SELECTOR, mark
from daybook.expression import Compiled, Constants, fit, quote_literal, spark_type
from daybook.model.period import Period
from daybook.model.system_columns import SYSTEM_COLUMNS
from daybook.model.types import INTEGER, STRING, TIMESTAMP, ColumnType
from daybook.plan.plan import Plan
from daybook.plan.steps import AggregateStep, DeleteStep, OutputStep, RowStep, UpdateStep, Value


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

    def sql(self, expression: Compiled) -> str:
        return expression.sql(self.constants)

    def fitted(self, value: Value) -> str:
        """A value in the type of its column."""
        return fit(self.sql(value.expression), value.expression.type, value.type)

    def selector(self, step: RowStep | AggregateStep | OutputStep) -> str | None:
        return mark(self.sql(step.selector), step.seq, SELECTOR) if step.selector else None

    @property
    def timestamp(self) -> str:
        """The run's timestamp as SQL."""
        return quote_literal(self.constants.timestamp, TIMESTAMP)

    @property
    def words(self) -> tuple[str, ...]:
        return picked_words(len(self.bits))

    @property
    def hidden(self) -> dict[str, ColumnType]:
        return {**dict.fromkeys(self.words, INTEGER), FAULT: STRING}

    def place_of_bit(self, seq: int) -> tuple[str, int]:
        """The column and the bit that say whether an operation picked the row."""
        number = self.bits[seq]
        return self.words[number // BITS], number % BITS

    def is_changed(self) -> str | None:
        """SQL that is true on rows that any operation changed; None when none does."""
        masks = dict.fromkeys(self.words, 0)
        for seq in self.changing:
            word, bit = self.place_of_bit(seq)
            masks[word] |= 1 << bit
        return " OR ".join(f"{word} & {mask}L <> 0" for word, mask in masks.items() if mask) or None


def null(column_type: ColumnType) -> str:
    return f"CAST(NULL AS {spark_type(column_type)})"


def new_row_columns(context: RunContext, dataset_id: str, table: str, seq: int) -> dict[str, str]:
    """System and hidden columns of a row that an operation makes, as SQL; `_row_id` is left to the caller."""
    made = {
        "_deleted": "FALSE",
        "_source_dataset_id": quote_literal(dataset_id, STRING),
        "_source_table": quote_literal(table, STRING),
        "_operation_seq": f"{seq}L",
        "_created_at": context.timestamp,
        "_updated_at": context.timestamp,
        "_labels": "''",
    }
    empty = {name: null(column_type) for name, column_type in SYSTEM_COLUMNS.items()}
    return {**empty, **made, **dict.fromkeys(context.words, "0L"), FAULT: null(STRING)}
