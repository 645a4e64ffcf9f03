"""The rows that an output of a run wrote: as a DataFrame, or read without Spark."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from daybook.errors import DaybookError
from daybook.errors.error import did_you_mean
from daybook.io.read_source import read_source
from daybook.io.registry import format_named
from daybook.io.rows.stored import StoredRows, dataset_of
from daybook.io.writer import Commit
from daybook.model.definition import TableVersion
from daybook.model.operation import LocationDestination, TableDestination
from daybook.model.types import RUN_PERIOD_COLUMN
from daybook.resolve.locations.location import Resolution
from daybook.runs.attempt.recorder import recorded_output_result
from daybook.runs.attempt.start import PreparedRun, restore_run
from daybook.runs.environment import RunEnvironment
from daybook.runs.outputs import SANDBOX_SUFFIX, PlannedOutput
from daybook.runs.result import OutputResult, RunResult
from daybook.runs.snapshot import snapshot_from_json
from daybook.store.records import RunRecord
from daybook.store.store import Transaction


def choose_output(outputs: Sequence[OutputResult], prepared: PreparedRun, wanted: str | None) -> OutputResult:
    """The output that has this name, or the last one; a name that two have is that of the first."""
    if wanted is None and outputs:
        return outputs[-1]
    for output in outputs:
        if wanted in _names_of_output(output, prepared.output(output.operation_seq)):
            return output
    labels = tuple(output.destination for output in outputs)
    hint = did_you_mean(wanted, labels) if wanted else "give the project an output operation"
    raise DaybookError("RUN_019", wanted=wanted or "to show", names=", ".join(labels) or "none", hint=hint)


def _names_of_output(output: OutputResult, planned: PlannedOutput) -> Iterator[str | None]:
    """The destination as it was written, with its tokens or for the period, and everything a result tells."""
    yield from (output.destination, output.destination.removesuffix(SANDBOX_SUFFIX), output.place)
    yield from (output.operation_id, output.name, output.dataset_id, str(output.operation_seq))
    match planned.step.arguments.destination:
        case TableDestination(table=table):
            yield table
        case LocationDestination(location=location):
            yield location.path


def read_output(environment: RunEnvironment, result: RunResult, wanted: str | None = None) -> DataFrame:
    """What the run wrote there for its period; on Delta as it was then, elsewhere as it is now."""
    with environment.store.read() as transaction:
        snapshot = snapshot_from_json(transaction.runs.snapshot(result.run_id))
    prepared = restore_run(snapshot, environment.root)
    output = choose_output(result.outputs, prepared, wanted)
    return read_written_rows(environment, environment.session(), prepared, output.operation_seq, output.table_version)


def read_written_rows(
    environment: RunEnvironment, spark: SparkSession, prepared: PreparedRun, seq: int, version: TableVersion | None
) -> DataFrame:
    """The rows of an output's target for the run's period, of a version where the format keeps them."""
    planned, period = prepared.output(seq), prepared.snapshot.period.identifier
    location = replace(planned.target.location, version=version)
    resolution = Resolution((location,), (period,))
    landing = environment.landing(prepared.snapshot.run_id)
    found = read_source(spark, resolution, dataset_of(planned.target.columns), landing, workspace=environment.root)
    df = found.frame.df
    if RUN_PERIOD_COLUMN in found.frame.carried:
        df = df.where(F.col(RUN_PERIOD_COLUMN) == period)
    return df.select(*(F.col(f"`{name}`") for name in planned.step.columns))


@dataclass(frozen=True, slots=True)
class CommittedOutput:
    """One output that a run committed, whatever became of the run afterwards."""

    record: RunRecord
    result: OutputResult
    planned: PlannedOutput

    def rows(self) -> StoredRows:
        """Its rows as they were committed; RUN_084 when they are not there any more."""
        commit = Commit(self.result.rows_written, self.result.table_version)
        return format_named(self.planned.target.format).committed_rows(self.planned.target, commit)


def find_committed_output(transaction: Transaction, root: Path, run_id: str, wanted: str | None) -> CommittedOutput:
    """The output by any name it has, or the last one; RUN_019 when the run has committed no such output."""
    record, prepared, outputs = _read_outputs(transaction, root, run_id)
    chosen = choose_output(outputs, prepared, wanted)
    return CommittedOutput(record, chosen, prepared.output(chosen.operation_seq))


def _read_outputs(
    transaction: Transaction, root: Path, run_id: str
) -> tuple[RunRecord, PreparedRun, tuple[OutputResult, ...]]:
    record = transaction.runs.shown(run_id)
    prepared = restore_run(snapshot_from_json(transaction.runs.snapshot(run_id)), root)
    commits = transaction.outcomes.commits(run_id)
    return (
        record,
        prepared,
        tuple(recorded_output_result(prepared.output(each.operation_seq), each) for each in commits),
    )
