"""The rows an output of a run wrote, as a DataFrame."""

from collections.abc import Iterator
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from daybook.errors import DaybookError
from daybook.errors.suggestion import did_you_mean
from daybook.io.read_source import read_source
from daybook.model.dataset import ColumnDef, Dataset, MainTable
from daybook.model.definition import DatasetVersion
from daybook.model.operation import LocationDestination, TableDestination
from daybook.model.types import RUN_PERIOD_COLUMN, SYSTEM_COLUMNS
from daybook.resolve.locations.location import Resolution
from daybook.runs.environment import RunEnvironment
from daybook.runs.outputs import SANDBOX_SUFFIX, PlannedOutput
from daybook.runs.preparation import PreparedRun, restore_run
from daybook.runs.result import OutputResult, RunResult
from daybook.runs.snapshot import snapshot_from_json


def choose_output(result: RunResult, prepared: PreparedRun, wanted: str | None) -> OutputResult:
    """The output that has this name, or the last one; a name that two have is that of the first."""
    if wanted is None and result.outputs:
        return result.outputs[-1]
    for output in result.outputs:
        if wanted in _names_of_output(output, prepared.output(output.operation_seq)):
            return output
    labels = tuple(output.destination for output in result.outputs)
    hint = did_you_mean(wanted, labels) if wanted else "give the project an output operation"
    raise DaybookError("RUN_019", wanted=wanted or "to show", names=", ".join(labels) or "none", hint=hint)


def _names_of_output(output: OutputResult, planned: PlannedOutput) -> Iterator[str | None]:
    """The destination as it was written, with its tokens or for the period, and everything a result tells."""
    yield from (output.destination, output.destination.removesuffix(SANDBOX_SUFFIX), output.place)
    yield from (output.operation_id, output.name, output.dataset_id)
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
    output = choose_output(result, prepared, wanted)
    planned = prepared.output(output.operation_seq)
    location = replace(planned.target.location, version=output.table_version)
    resolution = Resolution((location,), (result.period,))
    landing = around.landing(result.run_id)
    found = read_source(around.session(), resolution, _output_dataset(planned), landing, workspace=around.root)
    df = found.frame.df
    if RUN_PERIOD_COLUMN in found.frame.carried:
        df = df.where(F.col(RUN_PERIOD_COLUMN) == result.period)
    return df.select(*(F.col(f"`{name}`") for name in planned.step.columns))


def _output_dataset(planned: PlannedOutput) -> DatasetVersion:
    columns = tuple(
        ColumnDef(name=name, type=type_) for name, type_ in planned.step.columns.items() if name not in SYSTEM_COLUMNS
    )
    table = MainTable(name="output", columns=columns)
    return DatasetVersion(Dataset(id="output", name="output", main_table=table), 1)
