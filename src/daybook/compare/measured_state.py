"""Computes the total of a measure in one state between two runs, and checks that a run wrote the same total."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, LongType

from daybook.compare.compared_output import SEQ_COLUMN, SUMMED_INTEGER, ComparedOutput, written_slice
from daybook.compare.exact_numbers import Number, add, is_about
from daybook.compare.hybrid import FrameSource, HybridPlan, HybridRead, Hybrids, Side
from daybook.compare.shared_rows import SharedRows, StatePass
from daybook.engine.context import SourceFrame
from daybook.engine.pipeline import Pipeline
from daybook.engine.working_dataset import DividedStaging
from daybook.errors import DaybookError, Notice, flatten, notice
from daybook.expression import quote_identifier
from daybook.expression.type_rules import is_number
from daybook.graph.chain import with_content_ids
from daybook.io.pins import LandedPin
from daybook.io.read_source import read_source
from daybook.io.target import OutputColumn
from daybook.io.writer import float_digits, format_parts, hash_sums, row_hash
from daybook.model.types import Value
from daybook.plan.partial_plan import PartialPlan
from daybook.runs.environment import RunEnvironment

# A person does not read more groups.
MOST_GROUPS = 10_000
# Parts of a hash whose sum over two billion rows is a 64-bit integer.
_HASH_PARTS = 2**32
GroupKey = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Measure:
    """The column whose total is explained, and the columns that divide it into groups."""

    column: str
    by: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column, *self.by)


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
        """Whether the measured rows are the same, floats up to the digits that a sum of them has for sure."""
        return (
            (self.rows, self.checksum) == (other.rows, other.checksum)
            and self.totals.keys() == other.totals.keys()
            and all(is_about(total, other.totals[key]) for key, total in self.totals.items())
        )


@dataclass(frozen=True, slots=True)
class WholeOutput:
    """All rows that an output writes, those of other operations included; `fingerprint` where it was asked for."""

    rows: int
    total: Number
    fingerprint: str | None


class HybridSources:
    """The data of intermediate states; each combination of data and definition is read once."""

    def __init__(self, environment: RunEnvironment, spark: SparkSession, hybrids: Hybrids) -> None:
        self._environment = environment
        self._spark = spark
        self._hybrids = hybrids
        self._frames: dict[tuple[str, str, Side, Side], SourceFrame] = {}

    def frame(self, read: HybridRead) -> SourceFrame:
        frame = replace(self.frame_as_read(read), as_of=read.as_of)
        return with_content_ids(frame, read.version) if read.has_content_ids else frame

    def frame_as_read(self, read: HybridRead) -> SourceFrame:
        """What a run read, as of its own day."""
        key = (read.dataset_id, read.source_key, read.data, read.definition)
        if key not in self._frames:
            self._frames[key] = self._read(read)
        return self._frames[key]

    def _read(self, read: HybridRead) -> SourceFrame:
        run = self._hybrids.run(read.data)
        source = run.snapshot.source(read.source_key)
        # A planned run reads sources without pins as they are now.
        pins = run.pins.get(read.source_key, () if run.commits else None)
        is_own = read.data == read.definition
        if not is_own and any(isinstance(pin, LandedPin) for pin in pins or ()):
            self._refuse_other_columns(read)
        landing = self._environment.landing(run.id)
        try:
            loaded = read_source(
                self._spark, source.resolution, read.version, landing, workspace=self._environment.root, pinned=pins
            )
        except DaybookError as error:
            if not is_own:
                raise
            hint = "`daybook diff` can still compare what was written"
            raise DaybookError("RUN_012", run_id=run.id, causes=flatten(error), hint=hint) from error
        periods = source.resolution.periods or (run.snapshot.period.identifier,)
        return replace(loaded.frame, periods=periods)

    def _refuse_other_columns(self, read: HybridRead) -> None:
        """IO_002 for columns that the landing was not made with: they would be read as NULL."""
        landed = self._hybrids.definition_of(read.data, read.dataset_id)
        types = {column.name: column.type for column in landed.dataset.main_table.columns}
        for column in read.version.dataset.main_table.columns:
            if types.get(column.name) != column.type:
                raise DaybookError("IO_002", file=f"data of {read.dataset_id}", column=column.name)


class StateEngine:
    """Computes rows of states below a folder that the caller removes; what states share is computed once.

    `computations` counts the passes that begin with the sources.
    """

    def __init__(self, spark: SparkSession, sources: FrameSource, folder: DividedStaging) -> None:
        self.spark = spark
        self.sources = sources
        self.shared = SharedRows()
        self.computations = 0
        self._folder = folder
        self._passes = 0

    def new_folder(self) -> DividedStaging:
        self._passes += 1
        return self._folder.below(str(self._passes))

    @contextmanager
    def rows(self, state: HybridPlan, cut: PartialPlan) -> Iterator[DataFrame]:
        """The rows of a partial plan of a state, lazily; checks that failed are raised at the end."""
        state_pass = StatePass.of(state, cut)
        start = self.shared.start(state_pass)
        self.computations += start is None
        frames = {key: self.sources.frame(state.reads[whole]) for key, whole in cut.feeds.items()}
        with Pipeline(
            self.spark,
            # The totals of the project are not needed, and shared rows lack the columns for them.
            replace(cut.plan, measures=()),
            frames,
            staging=self.new_folder(),
            forks=self.shared.forks(state_pass),
            start=start,
        ) as pipeline:
            (group,) = pipeline.groups()
            (output,) = group.outputs
            yield output.df
            group.verify()
            self.shared.keep(state_pass, pipeline.kept)


def measure_state(engine: StateEngine, state: HybridPlan, measure: Measure) -> MeasuredState:
    """The measure summed over the measured rows, by group."""
    cut = measured_rows(state, measure)
    with engine.rows(state, cut) as df:
        return collect_totals(df, measure)


def measured_rows(state: HybridPlan, measure: Measure) -> PartialPlan:
    cut = state.written(measure.columns)
    if not is_number(cut.output.columns[measure.column]):
        raise DaybookError("RUN_077", column=f"{measure.column} that is a number")
    return cut


def whole_output(state: HybridPlan, measure: Measure, columns: Iterable[OutputColumn]) -> PartialPlan:
    """All rows of the output, with these columns and those that the measure needs."""
    names = dict.fromkeys((*(column.name for column in columns), *measure.columns, SEQ_COLUMN))
    return state.written(names, all_rows=True)


def measure_output(
    engine: StateEngine, state: HybridPlan, measure: Measure, columns: tuple[OutputColumn, ...]
) -> tuple[MeasuredState, WholeOutput]:
    """The measured rows and the whole output in one pass; with `columns` also the fingerprint of the output."""
    cut = whole_output(state, measure, columns)
    with engine.rows(state, cut) as df:
        is_measured = F.col(SEQ_COLUMN) == state.rows
        keys = [
            F.when(is_measured, F.col(quote_identifier(name))).alias(f"k{number}")
            for number, name in enumerate(measure.by)
        ]
        summed = _Summed.of(df, measure)
        hashed = row_hash(columns) if columns else F.lit(0)
        values = df.select(summed.column, is_measured.alias("is_measured"), *keys, hashed.alias("row_hash"))
        grouped = values.groupBy("is_measured", *(f"k{number}" for number in range(len(keys))))
        rows = _collect(grouped.agg(*summed.aggregates, *hash_sums(F.col("row_hash"))), measure)
    whole = WholeOutput(
        sum(row["rows"] for row in rows),
        add(*(row["total"] for row in rows)),
        format_parts(columns, rows) if columns else None,
    )
    return _measured((row for row in rows if row["is_measured"]), measure), whole


def collect_totals(df: DataFrame, measure: Measure) -> MeasuredState:
    """Collects one row for each group."""
    summed = _Summed.of(df, measure)
    keys = [F.col(quote_identifier(name)).alias(f"k{number}") for number, name in enumerate(measure.by)]
    grouped = df.select(summed.column, *keys).groupBy(*(f"k{number}" for number in range(len(keys))))
    return _measured(_collect(grouped.agg(*summed.aggregates), measure), measure)


@dataclass(frozen=True, slots=True)
class _Summed:
    """The measure as the column `value`, and what is computed of it for every group."""

    column: Column
    aggregates: tuple[Column, ...]

    @classmethod
    def of(cls, df: DataFrame, measure: Measure) -> "_Summed":
        type_ = df.schema[measure.column].dataType
        column = F.col(quote_identifier(measure.column))
        if isinstance(type_, LongType):
            column = column.cast(SUMMED_INTEGER)
        value = F.col("value")
        # A decimal is the same number at any scale.
        hashed = float_digits(value) if isinstance(type_, DoubleType) else [value.cast("double")]
        keys = [F.col(f"k{number}") for number in range(len(measure.by))]
        checksum = F.try_sum(F.pmod(F.xxhash64(*hashed, *keys), F.lit(_HASH_PARTS)))
        total = F.coalesce(F.sum(value), F.lit(0))
        aggregates = total.alias("total"), F.count(F.lit(1)).alias("rows"), checksum.alias("checksum")
        return cls(column.alias("value"), aggregates)


def _collect(df: DataFrame, measure: Measure) -> list[dict[str, Any]]:
    """Collects at most the allowed groups; rows that are not measured add one more."""
    rows: list[dict[str, Any]] = df.limit(MOST_GROUPS + 2).toArrow().to_pylist()
    if sum(row.get("is_measured", True) for row in rows) > MOST_GROUPS:
        raise DaybookError("RUN_075", most=f"{MOST_GROUPS:,}", columns=", ".join(measure.by))
    return rows


def _measured(groups: Iterable[Mapping[str, Any]], measure: Measure) -> MeasuredState:
    totals: dict[GroupKey, Number] = {}
    rows = checksum = 0
    for row in groups:
        key = tuple(row[f"k{number}"] for number in range(len(measure.by)))
        totals[key] = row["total"]
        rows += row["rows"]
        checksum += row["checksum"] or 0
    return MeasuredState(totals, rows, checksum)


@dataclass(frozen=True, slots=True)
class WrittenOutput:
    """The evidence of a written output: its rows, where the table kept its version, or their fingerprint and number."""

    output: ComparedOutput
    df: DataFrame | None

    @classmethod
    def find(cls, environment: RunEnvironment, spark: SparkSession, output: ComparedOutput) -> "WrittenOutput":
        return cls(output, written_slice(environment, spark, output))

    @property
    def needs_whole(self) -> bool:
        """Whether it can only be compared with the whole output, since the measured rows cannot be read alone."""
        return self.df is None or (len(self.output.makers) > 1 and SEQ_COLUMN not in self.output.step.columns)

    @property
    def printed_columns(self) -> tuple[OutputColumn, ...]:
        """The columns whose fingerprint was taken when they were written; none where a table keeps its versions."""
        seq = self.output.step.seq
        if not self.needs_whole or self.output.run.commits[seq].fingerprint is None:
            return ()
        return tuple(self.output.run.prepared.output(seq).target.columns)

    def check(
        self, rows: int, measure: Measure, measured: MeasuredState, whole: WholeOutput | None
    ) -> tuple[Notice, ...]:
        """RUN_068 where `measured`, the rows of operation `rows`, or the whole output differ from what was written."""
        column = Measure(measure.column)
        if whole is None:
            if self.df is None:
                raise AssertionError("what was not kept is compared as a whole")
            df = self.df if len(self.output.makers) == 1 else self.df.where(self.df[SEQ_COLUMN] == rows)
            written = collect_totals(df, column)
            self._compare((measured.rows, measured.total), (written.rows, written.total))
            return ()
        if self.df is not None:
            written = collect_totals(self.df, column)
            self._compare((whole.rows, whole.total), (written.rows, written.total))
            return ()
        commit = self.output.run.commits[self.output.step.seq]
        if whole.fingerprint is not None:
            if whole.fingerprint != commit.fingerprint:
                raise self._other(f"{whole.rows:,} rows", f"{commit.rows:,} others")
            return ()
        if commit.rows is not None and whole.rows != commit.rows:
            raise self._other(f"{whole.rows:,} rows", f"{commit.rows:,} rows")
        return (notice("RUN_076", run_id=self.output.run.id),)

    def _compare(self, computed: tuple[int, Number], written: tuple[int, Number]) -> None:
        if computed[0] != written[0] or not is_about(computed[1], written[1]):
            texts = [f"{total} in {rows:,} rows" for rows, total in (computed, written)]
            raise self._other(*texts)

    def _other(self, computed: str, written: str) -> DaybookError:
        return DaybookError("RUN_068", run_id=self.output.run.id, found=computed, written=written)
