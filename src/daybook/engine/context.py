"""What the engine is given: the values of the run, the source data, and the hidden columns that no output writes."""

import contextlib
import datetime
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING

from daybook.engine.failures import SELECTOR, mark_sql
from daybook.engine.java.session_conf import read_setting, temporary_settings, threads_of_session
from daybook.engine.measures import Measures
from daybook.engine.stages import columns_read_from, group_into_stages
from daybook.expression import CompiledExpression, Constants, quote_identifier, quote_literal, spark_type
from daybook.model.calendar import Period
from daybook.model.types import INTEGER, RUN_PERIOD_COLUMN, STRING, SYSTEM_COLUMNS, TIMESTAMP, ColumnType
from daybook.plan.steps import AggregateStep, ComputedColumn, DeleteStep, OutputStep, Plan, RowStep, UpdateStep

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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


def aliased_sql(columns: Mapping[str, str]) -> list[str]:
    """Columns as texts, each with its name: one text is one call to Spark, a column with an alias two."""
    return [f"{sql} AS {quote_identifier(name)}" for name, sql in columns.items()]


@dataclass(frozen=True, slots=True)
class RunContext:
    """`bits` numbers the operations that pick rows, in order; `changing` are those that also change them.

    `system` are the system columns that something reads; rows are without the others, which Spark would have to
    analyse in every projection before it drops them. Unless it is checking, rows carry no failed checks, and marks of
    the operations that picked them only where their time of change is read.
    """

    project_id: str
    dataset_id: str
    table: str
    constants: Constants
    period: Period
    as_of: datetime.date
    bits: Mapping[int, int]
    changing: frozenset[int]
    system: tuple[str, ...]
    is_checking: bool
    measures: Measures

    @classmethod
    def of(
        cls, plan: Plan, as_of: datetime.date | None, also: Collection[str] = (), *, is_checking: bool = True
    ) -> "RunContext":
        """`also` are columns that are read after the plan."""
        if plan.constants is None or plan.constants.period is None:
            raise ValueError("a plan without timestamp and period cannot be executed")
        natural_key = plan.input.version.dataset.natural_key_columns
        read = columns_read_from(group_into_stages(plan.steps, plan.input.types), 0, natural_key)
        system = tuple(name for name in SYSTEM_COLUMNS if name in read or name in also)
        is_marking = is_checking or "_updated_at" in system
        marking = [step for step in plan.steps if isinstance(step, RowStep)] if is_marking else []
        return cls(
            plan.project.id,
            plan.input.dataset_id,
            plan.input.table,
            plan.constants,
            plan.constants.period,
            as_of or plan.constants.period.start_date,
            {step.seq: number for number, step in enumerate(marking)},
            frozenset(step.seq for step in marking if isinstance(step, UpdateStep | DeleteStep)),
            system,
            is_checking,
            Measures.of(plan) if is_checking else Measures(),
        )

    def kept(self, columns: Mapping[str, str]) -> dict[str, str]:
        """Columns of a row by name and SQL, without the system columns that nothing reads."""
        return {name: sql for name, sql in columns.items() if name not in SYSTEM_COLUMNS or name in self.system}

    def sql(self, expression: CompiledExpression) -> str:
        return expression.sql(self.constants)

    def fitted(self, value: ComputedColumn) -> str:
        """A value in the type of its column."""
        return value.expression.fitted_sql(value.type, self.constants)

    def selector(self, step: RowStep | AggregateStep | OutputStep) -> str | None:
        return mark_sql(self.sql(step.selector), step.seq, SELECTOR) if step.selector else None

    @property
    def timestamp(self) -> str:
        """The run's timestamp as SQL."""
        return quote_literal(self.constants.timestamp, TIMESTAMP)

    def timestamp_in(self, rows_condition: str) -> str:
        """The run's timestamp as SQL, in rows of which a condition, true or false, is looked at anyway.

        Spark writes a timestamp into the code that it compiles, so every run would compile it again and begin with
        slow code. The item of an array is looked up instead; both are the same, but Spark must not know beforehand
        which one it is.
        """
        return f"ARRAY({self.timestamp}, {self.timestamp})[CAST({rows_condition} AS INT)]"

    @property
    def words(self) -> tuple[str, ...]:
        return picked_words(len(self.bits))

    @property
    def hidden(self) -> dict[str, ColumnType]:
        faults = {FAULT_COLUMN: STRING} if self.is_checking else {}
        return {**dict.fromkeys(self.words, INTEGER), **faults, **self.measures.hidden}

    def bit_position(self, seq: int) -> tuple[str, int]:
        """The column and the bit that say whether an operation picked the row."""
        number = self.bits[seq]
        return self.words[number // BITS_PER_WORD], number % BITS_PER_WORD

    def mark(self, seq: int) -> str:
        """SQL that is true on rows that an operation picked."""
        word, bit = self.bit_position(seq)
        return f"{word} & {1 << bit}L <> 0"

    def is_changed(self) -> str | None:
        """SQL that is true on rows that any operation changed; None when none does."""
        masks = dict.fromkeys(self.words, 0)
        for seq in self.changing:
            word, bit = self.bit_position(seq)
            masks[word] |= 1 << bit
        return " OR ".join(f"{word} & {mask}L <> 0" for word, mask in masks.items() if mask) or None


def null_sql(column_type: ColumnType) -> str:
    return f"CAST(NULL AS {spark_type(column_type)})"


_PATTERN_CHARACTERS = re.compile(r"([\\{}\[\]*?])")


def literal_path_pattern(path: str) -> str:
    """The pattern that only this path matches: Spark's readers take paths for patterns, its writers do not."""
    return _PATTERN_CHARACTERS.sub(r"\\\1", path)


ORIGIN_COLUMN = "__place"
ORDINAL_COLUMN = "__ordinal"
# The position of a row in the file it was read from, for sources that know it.
POSITION_COLUMN = "__position"


class SourceRows:
    """Rows with their identity `__place` and `__ordinal`, and the `plain` ones, where those are cheaper to read.

    Either is asked of Spark when somebody needs it: every call takes time, and Spark reads where a row stands in its
    file for every query on a frame that has ever asked for it.
    """

    def __init__(self, identified: "Callable[[], DataFrame]", plain: "Callable[[], DataFrame] | None" = None) -> None:
        self._identified = identified
        self._plain = plain

    @classmethod
    def of(cls, df: "DataFrame") -> "SourceRows":
        return cls(lambda: df)

    @cached_property
    def identified(self) -> "DataFrame":
        return self._identified()

    @cached_property
    def plain(self) -> "DataFrame":
        return self._plain() if self._plain is not None else self.identified

    def map(self, change: "Callable[[DataFrame], DataFrame]") -> "SourceRows":
        plain = None if self._plain is None else lambda: change(self.plain)
        return SourceRows(lambda: change(self.identified), plain)

    def union(self, other: "SourceRows") -> "SourceRows":
        has_plain = self._plain is not None and other._plain is not None
        plain = (lambda: self.plain.unionByName(other.plain)) if has_plain else None
        return SourceRows(lambda: self.identified.unionByName(other.identified), plain)


def period_column(carried: Collection[str]) -> str:
    """The column by which a period table is filtered: in a table that Daybook wrote, the slice."""
    return RUN_PERIOD_COLUMN if RUN_PERIOD_COLUMN in carried else "_period"


@dataclass(frozen=True)
class SourceFrame:
    """Rows with declared columns in their types, and `carried` system columns as stored."""

    rows: SourceRows
    carried: frozenset[str]
    # The period identifiers the time filter accepts; none given, the run's own.
    periods: tuple[str, ...] = ()
    # The periods of all rows where the files prove them, so that the time filter may have nothing to do; else None.
    known_periods: frozenset[str] | None = None
    # Whether one task reads all of it in no time, so that grouping needs no shuffle.
    is_small: bool = False
    # Whether a carried row id can occur twice in one slice: more than one commit or location filled it.
    may_repeat_ids: bool = False
    # The day at which bitemporal rows must be valid; none given, the run's own.
    as_of: datetime.date | None = None
    # The period that all rows get, instead of the one they carry.
    row_period: str | None = None
    # Whether the rows carry their position in a file, as `__position`.
    has_positions: bool = False


_MAX_SPLIT_KEY = "spark.sql.files.maxPartitionBytes"
_OPEN_COST_KEY = "spark.sql.files.openCostInBytes"
_SIZE = re.compile(r"(\d+)\s*([kmgtp]?)b?", re.IGNORECASE)


@contextlib.contextmanager
def even_splits(spark: "SparkSession", sizes: Sequence[int]) -> Iterator[None]:
    """While files of these sizes are read by local threads, each thread gets as many pieces as the others.

    Spark fills pieces up to a limit, and what is left over makes one that keeps a single thread busy. On a cluster
    the number of threads is not known.
    """
    size = _even_size(spark, sizes) if sizes else None
    with temporary_settings(spark, {_MAX_SPLIT_KEY: f"{size}b"}) if size is not None else contextlib.nullcontext():
        yield


def _even_size(spark: "SparkSession", sizes: Sequence[int]) -> int | None:
    """The size of a piece, if it is not the one that Spark takes anyway; every question to a server takes its time."""
    threads = threads_of_session(spark)
    if threads is None:
        return None
    before, opening = read_setting(spark, _MAX_SPLIT_KEY), read_setting(spark, _OPEN_COST_KEY)
    if before is None or opening is None:
        return None
    largest = parse_size(before)
    size = even_split_bytes(sum(sizes) + len(sizes) * parse_size(opening), threads, largest)
    return size if size != largest else None


def even_split_bytes(total: int, threads: int, largest: int) -> int:
    """The size of a piece, at most `largest`, such that their number is a multiple of the threads."""
    rounds = ceil(total / (threads * largest))
    return largest if rounds <= 1 else ceil(total / (threads * rounds))


def parse_size(text: str) -> int:
    """A size as Spark writes it: `134217728b`, `128m`, `128MB`."""
    size = _SIZE.fullmatch(text.strip())
    if size is None:
        raise ValueError(f"not a size: {text}")
    return int(size[1]) << 10 * " kmgtp".index(size[2].lower() or " ")
