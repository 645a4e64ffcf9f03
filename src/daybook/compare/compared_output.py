"""What is compared: two recorded runs, an output of each, its rows or those of one operation, and their key."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from daybook.compare.alignment import AlignedOperation, align_operations
from daybook.compare.compared_run import ComparedRows, ComparedRun
from daybook.compare.diff_result import KeyOrigin
from daybook.engine.failures import translate_failure
from daybook.engine.pipeline import Pipeline
from daybook.errors import DaybookError, flatten
from daybook.errors.error import did_you_mean
from daybook.expression import quote_identifier
from daybook.io.pins import Pin
from daybook.io.read_source import ReadSource
from daybook.model.types import COLUMN_SYNONYMS, SYSTEM_COLUMNS, ColumnType
from daybook.plan.conditions import excludes
from daybook.plan.partial_plan import written_rows
from daybook.plan.steps import AggregateStep, AppendStep, LoadStep, OutputStep, Plan, Step
from daybook.runs.attempt.prepare import PreparedRun, restore_run
from daybook.runs.attempt.recorder import recorded_output_result, recorded_pins
from daybook.runs.environment import RunEnvironment
from daybook.runs.outputs import SANDBOX_SUFFIX
from daybook.runs.run_result import OutputResult
from daybook.runs.slices import choose_output, read_written_rows
from daybook.runs.snapshot import RunSnapshot, snapshot_from_json
from daybook.runs.sources import read_sources
from daybook.store.records import OutputCommit, RunRecord


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run that committed something; `pins` are what it read, `commits` what it wrote, by operation.

    A run that is only planned has written nothing.
    """

    record: RunRecord
    prepared: PreparedRun
    pins: Mapping[str, tuple[Pin, ...]]
    commits: Mapping[int, OutputCommit]

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def snapshot(self) -> RunSnapshot:
        return self.prepared.snapshot

    @property
    def outputs(self) -> tuple[OutputResult, ...]:
        return tuple(recorded_output_result(self.prepared.output(seq), commit) for seq, commit in self.commits.items())

    def compared(self, *, is_computed: bool) -> ComparedRun:
        record = self.record
        return ComparedRun(
            record.id, record.project_id, record.project_version, record.period, record.is_draft, is_computed
        )


def find_recorded_run(environment: RunEnvironment, text: str) -> RecordedRun:
    """The run with this id, or the last completed one of `PROJECT@PERIOD` that wrote to its destinations."""
    with environment.store.read() as transaction:
        run_id = transaction.runs.id_of(text)
        record = transaction.runs.get(run_id)
        if record.is_active:
            raise DaybookError(
                "RUN_089", run_id=run_id, status=record.status, project=record.project_id, period=record.period
            )
        snapshot = snapshot_from_json(transaction.runs.snapshot(run_id))
        pins = recorded_pins(transaction, run_id)
        commits = {commit.operation_seq: commit for commit in transaction.outcomes.commits(run_id)}
    if not commits:
        raise DaybookError("RUN_062", run_id=run_id, status=record.status)
    return RecordedRun(record, restore_run(snapshot, environment.root, environment.storage), pins, commits)


def choose_outputs(a: RecordedRun, b: RecordedRun, name: str | None) -> tuple[OutputResult, OutputResult]:
    """The output of each run with a name; without one, the last of A and its counterpart in B."""
    first = choose_output(a.outputs, a.prepared, name)
    if name is not None:
        return first, choose_output(b.outputs, b.prepared, name)
    by_id = {output.operation_id: output for output in b.outputs if not has_default_id(output)}
    by_label = {output.destination.removesuffix(SANDBOX_SUFFIX): output for output in b.outputs}
    counterpart = by_id.get(first.operation_id) or by_label.get(first.destination.removesuffix(SANDBOX_SUFFIX))
    return first, counterpart or b.outputs[-1]


def has_default_id(output: OutputResult) -> bool:
    """Whether the operation has no written id, so that its id is derived from its seq."""
    return output.operation_id == f"op-{output.operation_seq}"


LOADED = 0
_LOADED_NAME = "loaded rows"


@dataclass(frozen=True, slots=True)
class ComparedOutput:
    """One output of one run, with the operations whose rows it may write."""

    run: RecordedRun
    step: OutputStep

    @property
    def plan(self) -> Plan:
        return self.run.prepared.plan

    @property
    def makers(self) -> tuple[int, ...]:
        """The loaded rows and the operations before the output that add rows, unless its selector rules them out."""
        before = self.plan.steps[: self.plan.steps.index(self.step)]
        seqs = (LOADED, *(step.seq for step in before if isinstance(step, AggregateStep | AppendStep)))
        return tuple(seq for seq in seqs if not excludes(self.step.selector, seq))

    @property
    def dataset_ids(self) -> frozenset[str]:
        """The datasets that operations before the output read."""
        return frozenset(load.dataset_id for load in self.plan.loads if load.operation_seq < self.step.seq)

    def aggregates(self) -> tuple[int, ...]:
        return tuple(seq for seq in self.makers if seq and isinstance(self.plan.step(seq), AggregateStep))

    def maker(self, seq: int) -> Step | None:
        return self.plan.step(seq) if seq else None

    def maker_name(self, seq: int) -> str:
        return self.plan.step(seq).name if seq else _LOADED_NAME


def choose_rows(a: ComparedOutput, b: ComparedOutput, seq: int | None) -> ComparedRows:
    """The rows of an operation by its seq, else of the last aggregate that both outputs write, else loaded rows."""
    pairs = _maker_pairs(a, b)
    if seq is not None:
        named_pairs = [pair for pair in pairs if seq in pair and (pair[1] == seq or seq not in b.makers)]
        if not named_pairs:
            listed = ", ".join(f"{seq_b} ({b.maker_name(seq_b)})" for _, seq_b in pairs) or "none"
            raise DaybookError("RUN_065", seq=seq, output=b.step.name, known=listed)
        return _rows(b, *named_pairs[-1])
    aggregates = [pair for pair in pairs if pair[0] in a.aggregates() and pair[1] in b.aggregates()]
    loaded = [pair for pair in pairs if pair == (LOADED, LOADED)]
    chosen = aggregates or loaded or pairs
    if not chosen:
        raise DaybookError("RUN_065", seq="of the same operation", output=b.step.name, known="none")
    return _rows(b, *chosen[-1])


def _rows(b: ComparedOutput, seq_a: int, seq_b: int) -> ComparedRows:
    return ComparedRows(seq_a, seq_b, b.maker_name(seq_b))


def _maker_pairs(a: ComparedOutput, b: ComparedOutput) -> list[tuple[int, int]]:
    """The operations whose rows both outputs may write, in the order of B."""
    aligned: Iterable[AlignedOperation] = align_operations(a.plan.project, b.plan.project)
    pairs = [(LOADED, LOADED), *((pair.a.seq, pair.b.seq) for pair in aligned if pair.a and pair.b)]
    return [pair for pair in pairs if pair[0] in a.makers and pair[1] in b.makers]


@dataclass(frozen=True, slots=True)
class RowKeyColumns:
    columns: tuple[str, ...]
    origin: KeyOrigin


def choose_key(a: ComparedOutput, b: ComparedOutput, rows: ComparedRows, columns: tuple[str, ...]) -> RowKeyColumns:
    """The requested columns, else those the rows are grouped by, else the natural key, else the row id."""
    if columns:
        return RowKeyColumns(_known_columns(a, b, columns), "given")
    for origin, columns_a, columns_b in (
        ("group_by", _group_by(a, rows.seq_a), _group_by(b, rows.seq_b)),
        ("natural_key", _natural_key(a, rows.seq_a), _natural_key(b, rows.seq_b)),
    ):
        # A grouping that became finer or coarser is compared by what both have.
        common = tuple(name for name in columns_b if name in columns_a)
        if common and all(_has_column(side, name) for side in (a, b) for name in common):
            return RowKeyColumns(common, "group_by" if origin == "group_by" else "natural_key")
    return RowKeyColumns(("_row_id",), "row_id")


def _known_columns(a: ComparedOutput, b: ComparedOutput, requested: Iterable[str]) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(COLUMN_SYNONYMS.get(name, name) for name in requested))
    for side in (a, b):
        for name in names:
            if not _has_column(side, name):
                hint = did_you_mean(name, side.step.columns)
                raise DaybookError("RUN_064", column=name, run_id=side.run.id, hint=hint)
    return names


def _has_column(side: ComparedOutput, name: str) -> bool:
    """System columns can be computed again where they were not written."""
    return name in side.step.columns or name in SYSTEM_COLUMNS


def _group_by(side: ComparedOutput, seq: int) -> tuple[str, ...]:
    match side.maker(seq):
        case AggregateStep(group_by=columns) | AppendStep(group_by=columns):
            return columns
        case _:
            return ()


def _natural_key(side: ComparedOutput, seq: int) -> tuple[str, ...]:
    match side.maker(seq):
        case None:
            return tuple(side.plan.input.version.dataset.natural_key_columns)
        case AppendStep(load_key=key, aggregations=()) as step:
            natural = side.plan.load(key).version.dataset.natural_key_columns
            return tuple(natural) if all(step.carried.get(name) == name for name in natural) else ()
        case _:
            return ()


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
    translate: Callable[[PySparkException], DaybookError]


def open_slice(
    environment: RunEnvironment,
    spark: SparkSession,
    output: ComparedOutput,
    seq: int,
    columns: Iterable[str],
    staging: str,
) -> SliceRows:
    """The rows of an output that the operation `seq` made, with these columns."""
    requested = tuple(columns)
    needed = set(requested) | ({SEQ_COLUMN} if len(output.makers) > 1 else set())
    if needed <= output.step.columns.keys() and (df := written_slice(environment, spark, output)) is not None:
        types = {name: output.step.columns[name] for name in requested}
        rows = _rows_of(df, output, seq, requested)
        return SliceRows(rows, types, False, lambda: None, lambda failure: translate_failure(output.plan, failure))
    return _compute_slice(environment, spark, output, seq, requested, staging)


def written_slice(environment: RunEnvironment, spark: SparkSession, output: ComparedOutput) -> DataFrame | None:
    """What the run wrote, as it was then; None where that is gone, shared with other runs, or was never kept."""
    run, step = output.run, output.step
    commit, target = run.commits[step.seq], run.prepared.output(step.seq).target
    if commit.table_version is None or target.mode == "append":
        return None
    try:
        return read_written_rows(environment, spark, run.prepared, step.seq, commit.table_version)
    except DaybookError as error:
        if not all(finding.code in _GONE_CODES for finding in flatten(error)):
            raise
        return None


def _compute_slice(
    environment: RunEnvironment,
    spark: SparkSession,
    output: ComparedOutput,
    seq: int,
    columns: tuple[str, ...],
    staging: str,
) -> SliceRows:
    run = output.run
    cut = written_rows(output.plan, output.step, columns, seq if len(output.makers) > 1 else None)
    loads = [load for load in output.plan.loads if load.key in cut.feeds.values()]
    sources = read_run_sources(environment, spark, run, loads)
    frames = {key: sources[whole].frame for key, whole in cut.feeds.items()}
    folder = environment.staging(spark, staging)
    pipeline = Pipeline(spark, cut.plan, frames, staging=folder, as_of=run.snapshot.as_of)
    (group,) = pipeline.groups()
    (written,) = group.outputs
    types = {**SYSTEM_COLUMNS, **written.step.columns}

    def finish() -> None:
        group.verify()
        pipeline.close()

    return SliceRows(written.df, {name: types[name] for name in columns}, True, finish, pipeline.failure)


def read_run_sources(
    environment: RunEnvironment, spark: SparkSession, run: RecordedRun, loads: Iterable[LoadStep]
) -> dict[str, ReadSource]:
    """The data that a run read; RUN_012 where some of it is gone."""
    try:
        return read_sources(spark, loads, run.snapshot, environment.landing(run.id), environment.root, pinned=run.pins)
    except DaybookError as error:
        hint = "rows can still be compared if they were written to a Delta table with the column _operation_seq"
        raise DaybookError("RUN_012", run_id=run.id, causes=flatten(error), hint=hint) from error


def _rows_of(df: DataFrame, output: ComparedOutput, seq: int, columns: tuple[str, ...]) -> DataFrame:
    if len(output.makers) > 1:
        df = df.where(F.col(SEQ_COLUMN) == seq)
    return df.select(*(F.col(quote_identifier(name)) for name in columns))
