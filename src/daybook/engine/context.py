"""Columns that the engine carries beside the user's and that no output shows.

Row ids: version 7 UUIDs whose time is the start of the run's period and whose other bits hash what the row is.

What every step needs to know of the run.
"""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from daybook.engine.failures import SELECTOR, mark_sql
from daybook.expression import CompiledExpression, Constants, cast_sql, quote_identifier, quote_literal, spark_type
from daybook.model.period import Period
from daybook.model.types import INTEGER, STRING, SYSTEM_COLUMNS, TIMESTAMP, ColumnType
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


# What a carried `_row_id` must look like; upper case is accepted as RFC 9562 asks.
ROW_ID_PATTERN = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-7[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}$"


def row_id_sql(period: Period, kind: str, known: Sequence[str], parts: Sequence[str]) -> str:
    """SQL of an id: `known` are texts fixed for all rows, `parts` SQL of what tells one row from another.

    MD5 is a published standard, so ids stay the same across Spark versions, and 74 of its bits make a collision
    among a billion rows a matter of 1 to 38,000.
    """
    head = "".join(f"{len(text.encode())}:{text}" for text in (kind, *known))
    digest = f"MD5(CONCAT({quote_literal(head, STRING)}, {', '.join(_length_prefixed(part) for part in parts)}))"
    return (
        f"CONCAT({quote_literal(_time_part(period.start_date), STRING)}, SUBSTR({digest}, 1, 3), '-', "
        f"TRANSLATE(SUBSTR({digest}, 4, 1), '0123456789abcdef', '89ab89ab89ab89ab'), SUBSTR({digest}, 5, 3), '-', "
        f"SUBSTR({digest}, 8, 12))"
    )


def _length_prefixed(part: str) -> str:
    """Length before text, so that no two lists of parts read the same; NULL is a tag no length looks like."""
    text = f"CAST({part} AS STRING)"
    return f"COALESCE(CONCAT(OCTET_LENGTH({text}), ':', {text}), '-')"


def _time_part(start: datetime.date) -> str:
    """The first 13 hex digits of the id with their hyphens: 48 bits of milliseconds and the version."""
    midnight = datetime.datetime.combine(start, datetime.time(), datetime.UTC)
    milliseconds = max(0, int(midnight.timestamp() * 1000)) & 0xFFFF_FFFF_FFFF
    digits = f"{milliseconds:012x}"
    return f"{digits[:8]}-{digits[8:]}-7"


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

    @property
    def words(self) -> tuple[str, ...]:
        return picked_words(len(self.bits))

    @property
    def hidden(self) -> dict[str, ColumnType]:
        return {**dict.fromkeys(self.words, INTEGER), FAULT_COLUMN: STRING}

    def place_of_bit(self, seq: int) -> tuple[str, int]:
        """The column and the bit that say whether an operation picked the row."""
        number = self.bits[seq]
        return self.words[number // BITS_PER_WORD], number % BITS_PER_WORD

    def is_changed(self) -> str | None:
        """SQL that is true on rows that any operation changed; None when none does."""
        masks = dict.fromkeys(self.words, 0)
        for seq in self.changing:
            word, bit = self.place_of_bit(seq)
            masks[word] |= 1 << bit
        return " OR ".join(f"{word} & {mask}L <> 0" for word, mask in masks.items() if mask) or None


def null_sql(column_type: ColumnType) -> str:
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
    empty = {name: null_sql(column_type) for name, column_type in SYSTEM_COLUMNS.items()}
    return {**empty, **made, **dict.fromkeys(context.words, "0L"), FAULT_COLUMN: null_sql(STRING)}
