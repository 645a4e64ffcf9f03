"""The engines that compute scenarios: Spark, the second engine, or both, which must agree cell by cell."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import pyarrow as pa

from daybook.errors import DaybookError, flatten
from daybook.io.column_types import arrow_type
from daybook.model.definition import DatasetVersion
from daybook.model.types import ColumnType
from daybook.plan.steps import AggregateStep, AppendStep, LoadStep, Plan
from daybook.recompute import StoredTable, compute
from daybook.recompute.comparison import CellDifference, compare_rows
from daybook.resolve.location import Resolution, inline_location
from daybook.runs.second_engine import ReadWindow, make_table, run_facts, stored_table, table_key
from daybook.scenarios.scenario import ORDINAL_COLUMN, ORIGIN_COLUMN

if TYPE_CHECKING:
    import datetime

    from pyspark.sql import DataFrame, SparkSession

    from daybook.engine.context import SourceFrame
    from daybook.engine.pipeline import OutputFrame
    from daybook.runs.environment import SessionProvider

EngineName: TypeAlias = Literal["spark", "quick", "both"]


@dataclass(frozen=True, slots=True)
class ScenarioSource:
    """What a load reads: rows, or a file that has them; `window` says which of them."""

    load: LoadStep
    window: ReadWindow
    rows: pa.Table | None = None
    carried: tuple[str, ...] = ()
    file: Path | None = None
    version: DatasetVersion | None = None
    folder: Path = Path()

    def resolution(self) -> Resolution:
        """The location of the file."""
        if self.file is None:
            raise ValueError("a source without a file has its rows")
        return Resolution((inline_location(str(self.file.resolve()), None, {}, self.folder),), self.window.periods)


@dataclass(frozen=True, slots=True)
class ScenarioOutputs:
    """The rows of every output, and the row counts of operations, by seq."""

    tables: Mapping[int, pa.Table]
    counts: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class ScenarioTask:
    """One project to compute for one period; `is_counting` asks for the counts of all operations."""

    plan: Plan
    sources: Mapping[str, ScenarioSource]
    as_of: "datetime.date | None"
    is_counting: bool


class ScenarioEngine(Protocol):
    """Computes a task of a scenario."""

    def run(self, task: ScenarioTask) -> ScenarioOutputs: ...


class MemoryStaging:
    """Keeps intermediate results in memory, since writing files takes longer than computing a few rows."""

    def __init__(self, spark: "SparkSession") -> None:
        self._spark = spark

    def keep(self, df: "DataFrame", label: str) -> "DataFrame":
        return self._spark.createDataFrame(df.toArrow(), df.schema)


@dataclass(frozen=True, slots=True)
class SparkScenarios:
    """Computes by the engine that runs use."""

    session: "SessionProvider"

    def run(self, task: ScenarioTask) -> ScenarioOutputs:
        from daybook.engine.pipeline import Pipeline

        spark = self.session()
        tables: dict[int, pa.Table] = {}
        counts: dict[int, int] = {}
        with tempfile.TemporaryDirectory(prefix="daybook-scenario-") as scratch:
            frames = {key: _source_frame(spark, source, scratch) for key, source in task.sources.items()}
            with Pipeline(spark, task.plan, frames, staging=MemoryStaging(spark), as_of=task.as_of) as pipeline:
                for group in pipeline.groups():
                    for output in group.outputs:
                        tables[output.step.seq] = table = _read_output(output)
                        counts[output.step.seq] = table.num_rows
                    group.verify()
                    if task.is_counting:
                        added = _adding_seqs(task.plan)
                        for operation in group.counts().operations:
                            counts[operation.seq] = operation.added if operation.seq in added else operation.picked
        return ScenarioOutputs(tables, counts)


def _read_output(output: "OutputFrame") -> pa.Table:
    """Arrow's timestamps are UTC; those of collect() are the machine's local time."""
    return output.df.toArrow()


def _source_frame(spark: "SparkSession", source: ScenarioSource, scratch: str) -> "SourceFrame":
    from daybook.engine.context import SourceFrame, SourceRows
    from daybook.io.column_types import arrow_frame
    from daybook.io.landing.area import LandingArea
    from daybook.io.read_source import read_source

    window = source.window
    if source.rows is None:
        landing = LandingArea(f"{scratch}/landing", "scenario")
        frame = read_source(spark, source.resolution(), source.version or source.load.version, landing).frame
    else:
        frame = SourceFrame(SourceRows.of(arrow_frame(spark, source.rows)), frozenset(source.carried))
    return replace(frame, periods=window.periods, as_of=window.as_of, row_period=window.row_period)


def _adding_seqs(plan: Plan) -> set[int]:
    """The operations whose count is that of the rows they add."""
    return {step.seq for step in plan.steps if isinstance(step, AggregateStep | AppendStep)}


class QuickScenarios:
    """Computes by the second engine, without Spark."""

    def run(self, task: ScenarioTask) -> ScenarioOutputs:
        with tempfile.TemporaryDirectory(prefix="daybook-scenario-") as scratch:
            tables = {table_key(source.load): _stored_table(source, scratch) for source in task.sources.values()}
            computation = compute(task.plan.project, tables, run_facts(task.plan, task.as_of))
        outputs = {output.name.seq: _arrow_table(output.columns, output.rows) for output in computation.outputs}
        added = _adding_seqs(task.plan)
        counts = {
            operation.seq: operation.added if operation.seq in added else operation.picked
            for operation in computation.counts
        }
        return ScenarioOutputs(outputs, {**counts, **{seq: table.num_rows for seq, table in outputs.items()}})


def _stored_table(source: ScenarioSource, scratch: str) -> StoredTable:
    from daybook.io.landing.area import LandingArea
    from daybook.io.source_rows import read_source_rows

    load = source.load
    if source.rows is None:
        landing = LandingArea(f"{scratch}/landing", "scenario")
        version = source.version or load.version
        rows = read_source_rows(source.resolution(), version, (landing,), workspace=Path())
        return stored_table(load, rows, source.window)
    columns = {column.name: column.type for column in load.version.dataset.main_table.columns}
    table = source.rows
    names = (*columns, *source.carried, ORIGIN_COLUMN, ORDINAL_COLUMN)

    def iterate() -> Iterator[tuple[Any, ...]]:
        return zip(*(table.column(name).to_pylist() for name in names), strict=True)

    return make_table(load, columns, source.carried, iterate, source.window)


def _arrow_table(columns: Mapping[str, ColumnType], rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    values = list(zip(*rows, strict=True)) if rows else [()] * len(columns)
    arrays = [pa.array(column, arrow_type(type_)) for column, type_ in zip(values, columns.values(), strict=True)]
    return pa.Table.from_arrays(arrays, names=list(columns))


@dataclass(frozen=True, slots=True)
class EngineDisagreement:
    """A difference between Spark and the second engine; `differences` are cells of an output."""

    output: str
    differences: tuple[CellDifference, ...] = ()
    # The result of each engine where not both gave comparable rows: codes, counts or columns.
    spark: str = ""
    quick: str = ""


@dataclass
class BothEngines:
    """Computes by both; the result is that of Spark, and what differs is collected."""

    spark: SparkScenarios
    quick: QuickScenarios = field(default_factory=QuickScenarios)
    disagreements: list[EngineDisagreement] = field(default_factory=list)

    def run(self, task: ScenarioTask) -> ScenarioOutputs:
        quick: ScenarioOutputs | DaybookError
        try:
            quick = self.quick.run(task)
        except DaybookError as error:
            quick = error
        try:
            outputs = self.spark.run(task)
        except DaybookError as error:
            self._compare_failures(task.plan, error, quick)
            raise
        self._compare_outputs(task.plan, outputs, quick)
        return outputs

    def _compare_failures(self, plan: Plan, error: DaybookError, quick: ScenarioOutputs | DaybookError) -> None:
        codes = sorted({single.code for single in flatten(error)})
        others = sorted({single.code for single in flatten(quick)}) if isinstance(quick, DaybookError) else ["no error"]
        if codes != others:
            self.disagreements.append(
                EngineDisagreement(plan.project.id, spark=", ".join(codes), quick=", ".join(others))
            )

    def _compare_outputs(self, plan: Plan, outputs: ScenarioOutputs, quick: ScenarioOutputs | DaybookError) -> None:
        if isinstance(quick, DaybookError):
            self.disagreements.append(EngineDisagreement(plan.project.id, spark="no error", quick=str(quick)))
            return
        for step in plan.outputs:
            table, quick_table = outputs.tables[step.seq], quick.tables[step.seq]
            if table.column_names != quick_table.column_names:
                self.disagreements.append(
                    EngineDisagreement(
                        step.operation_id,
                        spark=", ".join(table.column_names),
                        quick=", ".join(quick_table.column_names),
                    )
                )
                continue
            compared = compare_rows(table.column_names, _rows_of(table), _rows_of(quick_table))
            if compared.differences:
                self.disagreements.append(EngineDisagreement(step.operation_id, compared.differences))
        for seq in sorted(outputs.counts.keys() & quick.counts.keys()):
            if outputs.counts[seq] != quick.counts[seq]:
                self.disagreements.append(
                    EngineDisagreement(
                        f"operation {seq}", spark=f"{outputs.counts[seq]} rows", quick=f"{quick.counts[seq]} rows"
                    )
                )


def _rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True)) if table.num_rows else []
