"""The total of a measure in one state between two runs, computed in one pass."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from daybook.compare.hybrid import HybridPlan, HybridRead, Hybrids, Side
from daybook.compare.result import Number, add
from daybook.compare.slices import SUMMED_INTEGER
from daybook.engine.pipeline import OutputGroup, Pipeline
from daybook.engine.source import SourceFrame
from daybook.errors import DaybookError, flatten
from daybook.expression import quote_identifier
from daybook.expression.type_rules import is_number
from daybook.io.pins import LandedPin
from daybook.io.read_source import read_source
from daybook.model.types import Value
from daybook.plan.partial_plan import PartialPlan
from daybook.runs.environment import RunEnvironment

# More groups than anybody reads.
MOST_GROUPS = 10_000
_HASH_PARTS = 2**40

GroupKey = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Measure:
    """The column whose total is explained, and the columns that divide it into groups."""

    column: str
    by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MeasuredState:
    """Totals by group, with the number and a checksum of the measured rows; without groups the key is ()."""

    totals: Mapping[GroupKey, Number]
    rows: int
    checksum: int

    @property
    def total(self) -> Number:
        return add(*self.totals.values()) if self.totals else Decimal(0)

    def is_same(self, other: "MeasuredState") -> bool:
        """Whether the measured rows are the same."""
        return (self.rows, self.checksum) == (other.rows, other.checksum) and self.totals == other.totals


class HybridSources:
    """The data of half-way states, each dataset read once for every way it is read."""

    def __init__(self, environment: RunEnvironment, spark: SparkSession, hybrids: Hybrids) -> None:
        self._environment = environment
        self._spark = spark
        self._hybrids = hybrids
        self._known: dict[tuple[str, str, Side, Side], SourceFrame] = {}

    def frame(self, read: HybridRead) -> SourceFrame:
        key = (read.dataset_id, read.source_key, read.data, read.definition)
        if key not in self._known:
            self._known[key] = self._read(read)
        return replace(self._known[key], as_of=read.as_of)

    def _read(self, read: HybridRead) -> SourceFrame:
        run = self._hybrids.run(read.data)
        source = run.snapshot.source(read.source_key)
        pins = run.pins.get(read.source_key, ())
        is_own = read.data == read.definition
        if not is_own and any(isinstance(pin, LandedPin) for pin in pins):
            self._refuse_other_columns(read)
        landing = self._environment.landing(run.id)
        try:
            found = read_source(
                self._spark, source.resolution, read.version, landing, workspace=self._environment.root, pinned=pins
            )
        except DaybookError as error:
            if not is_own:
                raise
            hint = "`daybook diff` can still compare what was written"
            raise DaybookError("RUN_012", run_id=run.id, causes=flatten(error), hint=hint) from error
        periods = source.resolution.periods or (run.snapshot.period.identifier,)
        return replace(found.frame, periods=periods)

    def _refuse_other_columns(self, read: HybridRead) -> None:
        """A landing has the columns of the definition it was made by, and others would be read as NULL."""
        landed = self._hybrids.definition_of(read.data, read.dataset_id)
        known = {column.name: column.type for column in landed.dataset.main_table.columns}
        for column in read.version.dataset.main_table.columns:
            if known.get(column.name) != column.type:
                raise DaybookError("IO_002", file=f"data of {read.dataset_id}", column=column.name)


@dataclass(frozen=True, slots=True)
class StateRows:
    """Rows of a state that are computed when they are used."""

    df: DataFrame
    group: OutputGroup
    pipeline: Pipeline


@contextlib.contextmanager
def state_rows(
    spark: SparkSession, sources: HybridSources, state: HybridPlan, cut: PartialPlan, staging: str
) -> Iterator[StateRows]:
    """The rows of a partial plan of a state; checks that failed are raised at the end."""
    frames = {key: sources.frame(state.reads[whole]) for key, whole in cut.feeds.items()}
    with Pipeline(spark, cut.plan, frames, staging=staging) as pipeline:
        try:
            (group,) = pipeline.groups()
            (output,) = group.outputs
            yield StateRows(output.df, group, pipeline)
            group.verify()
        except Exception as failure:
            raise pipeline.failure(failure) from failure


def measure_state(
    spark: SparkSession, sources: HybridSources, state: HybridPlan, measure: Measure, staging: str
) -> MeasuredState:
    """The measure summed over the measured rows, by group."""
    cut = state.written((measure.column, *measure.by))
    if not is_number(cut.plan.outputs[-1].columns[measure.column]):
        raise DaybookError("RUN_077", column=f"{measure.column} that is a number")
    with state_rows(spark, sources, state, cut, staging) as rows:
        return collect_totals(rows.df, measure)


def collect_totals(df: DataFrame, measure: Measure) -> MeasuredState:
    """One row per group leaves Spark."""
    value, by = F.col(quote_identifier(measure.column)), measure.by
    if isinstance(df.schema[measure.column].dataType, LongType):
        value = value.cast(SUMMED_INTEGER)
    keys = [F.col(quote_identifier(name)).alias(f"k{number}") for number, name in enumerate(by)]
    grouped = df.select(value.alias("value"), *keys).groupBy(*(f"k{number}" for number in range(len(by))))
    found = grouped.agg(*_aggregates(len(by))).limit(MOST_GROUPS + 1).toArrow().to_pylist()
    if len(found) > MOST_GROUPS:
        raise DaybookError("RUN_075", most=f"{MOST_GROUPS:,}", columns=", ".join(by))
    return _measured(found, len(by))


def _aggregates(keys: int) -> list[Column]:
    hashed = F.pmod(F.xxhash64("value", *(f"k{number}" for number in range(keys))), F.lit(_HASH_PARTS))
    return [F.sum("value").alias("total"), F.count(F.lit(1)).alias("rows"), F.sum(hashed).alias("checksum")]


def _measured(found: Iterable[Mapping[str, Any]], keys: int) -> MeasuredState:
    totals: dict[GroupKey, Number] = {}
    rows = checksum = 0
    for row in found:
        totals[tuple(row[f"k{number}"] for number in range(keys))] = (
            Decimal(0) if row["total"] is None else row["total"]
        )
        rows += row["rows"]
        checksum += row["checksum"] or 0
    return MeasuredState(totals, rows, checksum)
