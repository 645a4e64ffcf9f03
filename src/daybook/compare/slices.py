"""The rows that one operation added to an output: from the version of its table, or computed again."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from daybook.compare.compared_output import ComparedOutput, RecordedRun
from daybook.engine.failures import translate_failure
from daybook.engine.pipeline import Pipeline
from daybook.errors import DaybookError, flatten
from daybook.expression import quote_identifier
from daybook.io.read_source import ReadSource
from daybook.model.types import SYSTEM_COLUMNS, ColumnType
from daybook.plan.partial_plan import written_rows
from daybook.plan.steps import LoadStep
from daybook.runs.environment import RunEnvironment
from daybook.runs.output_rows import read_written_rows
from daybook.runs.sources import read_sources

SEQ_COLUMN = "_operation_seq"
# The type in which integers are summed.
SUMMED_INTEGER = "DECIMAL(38,0)"
# A version that was removed, or a table that was removed or created again with other columns.
_GONE_CODES = frozenset({"IO_001", "IO_002", "IO_003", "IO_009"})


@dataclass(frozen=True, slots=True)
class SliceRows:
    """Rows with their types; `finish` raises what was found wrong with them once they have been used."""

    df: DataFrame
    types: Mapping[str, ColumnType]
    is_computed: bool
    finish: Callable[[], None]
    translate: Callable[[Exception], Exception]


def open_slice(
    environment: RunEnvironment,
    spark: SparkSession,
    output: ComparedOutput,
    seq: int,
    columns: Iterable[str],
    staging: str,
) -> SliceRows:
    """The rows of an output that the operation `seq` made, with these columns."""
    wanted = tuple(columns)
    needed = set(wanted) | ({SEQ_COLUMN} if len(output.makers) > 1 else set())
    if needed <= output.step.columns.keys() and (df := written_slice(environment, spark, output)) is not None:
        types = {name: output.step.columns[name] for name in wanted}
        rows = _rows_of(df, output, seq, wanted)
        return SliceRows(rows, types, False, lambda: None, lambda failure: translate_failure(output.plan, failure))
    return _compute_slice(environment, spark, output, seq, wanted, staging)


def written_slice(environment: RunEnvironment, spark: SparkSession, output: ComparedOutput) -> DataFrame | None:
    """What the run wrote, as it was then; None where that is gone, shared with other runs, or was never kept."""
    run, step = output.run, output.step
    commit, target = run.commits[step.seq], run.prepared.output(step.seq).target
    if commit.table_version is None or target.mode == "append":
        return None
    try:
        return read_written_rows(environment, spark, run.prepared, step.seq, commit.table_version)
    except DaybookError as error:
        if not all(each.code in _GONE_CODES for each in flatten(error)):
            raise
        return None


def _compute_slice(
    environment: RunEnvironment,
    spark: SparkSession,
    output: ComparedOutput,
    seq: int,
    wanted: tuple[str, ...],
    staging: str,
) -> SliceRows:
    run = output.run
    cut = written_rows(output.plan, output.step, wanted, seq if len(output.makers) > 1 else None)
    loads = [load for load in output.plan.loads if load.key in cut.feeds.values()]
    sources = read_run_sources(environment, spark, run, loads)
    frames = {key: sources[whole].frame for key, whole in cut.feeds.items()}
    pipeline = Pipeline(spark, cut.plan, frames, staging=staging, as_of=run.snapshot.as_of)
    (group,) = pipeline.groups()
    (found,) = group.outputs
    types = {**SYSTEM_COLUMNS, **found.step.columns}

    def finish() -> None:
        group.verify()
        pipeline.close()

    return SliceRows(found.df, {name: types[name] for name in wanted}, True, finish, pipeline.failure)


def read_run_sources(
    environment: RunEnvironment, spark: SparkSession, run: RecordedRun, loads: Iterable[LoadStep]
) -> dict[str, ReadSource]:
    """The data that a run read; RUN_012 where some of it is gone."""
    try:
        return read_sources(spark, loads, run.snapshot, environment.landing(run.id), environment.root, pinned=run.pins)
    except DaybookError as error:
        hint = "rows can still be compared if they were written to a Delta table with the column _operation_seq"
        raise DaybookError("RUN_012", run_id=run.id, causes=flatten(error), hint=hint) from error


def _rows_of(df: DataFrame, output: ComparedOutput, seq: int, wanted: tuple[str, ...]) -> DataFrame:
    if len(output.makers) > 1:
        df = df.where(F.col(SEQ_COLUMN) == seq)
    return df.select(*(F.col(quote_identifier(name)) for name in wanted))
