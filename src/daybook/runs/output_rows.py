"""The rows an output of a run wrote, as a DataFrame."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from daybook.errors import DaybookError
from daybook.errors.suggestion import did_you_mean
from daybook.io.read_source import read_source
from daybook.io.rows.stored import dataset_of
from daybook.model.definition import TableVersion
from daybook.model.operation import LocationDestination, TableDestination
from daybook.model.types import RUN_PERIOD_COLUMN
from daybook.resolve.locations.location import Resolution
from daybook.runs.environment import RunEnvironment
from daybook.runs.outputs import SANDBOX_SUFFIX, PlannedOutput
from daybook.runs.preparation import PreparedRun, restore_run
from daybook.runs.result import OutputResult, RunResult
from daybook.runs.snapshot import snapshot_from_json


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


def read_output(around: RunEnvironment, result: RunResult, wanted: str | None = None) -> DataFrame:
    """What the run wrote there for its period; on Delta as it was then, elsewhere as it is now."""
    with around.store.read() as transaction:
        snapshot = snapshot_from_json(transaction.runs.snapshot(result.run_id))
    prepared = restore_run(snapshot, around.root)
    output = choose_output(result.outputs, prepared, wanted)
    return read_written_rows(around, around.session(), prepared, output.operation_seq, output.table_version)


def read_written_rows(
    around: RunEnvironment, spark: SparkSession, prepared: PreparedRun, seq: int, version: TableVersion | None
) -> DataFrame:
    """The rows of an output's target for the run's period, of a version where the format keeps them."""
    planned, period = prepared.output(seq), prepared.snapshot.period.identifier
    location = replace(planned.target.location, version=version)
    resolution = Resolution((location,), (period,))
    landing = around.landing(prepared.snapshot.run_id)
    found = read_source(spark, resolution, dataset_of(planned.target.columns), landing, workspace=around.root)
    df = found.frame.df
    if RUN_PERIOD_COLUMN in found.frame.carried:
        df = df.where(F.col(RUN_PERIOD_COLUMN) == period)
    return df.select(*(F.col(f"`{name}`") for name in planned.step.columns))
