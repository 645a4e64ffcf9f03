"""The rows an output of a run wrote, as a DataFrame."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from daybook.io.reading import read
from daybook.model.catalog import DatasetVersion
from daybook.model.dataset import ColumnDef, Dataset, MainTable
from daybook.model.system_columns import RUN_PERIOD, SYSTEM_COLUMNS
from daybook.resolve.location import Location, Resolution
from daybook.runs.attempt import Surroundings
from daybook.runs.output_choice import choose_output
from daybook.runs.preparing import restore
from daybook.runs.result import OutputResult, RunResult
from daybook.runs.snapshot import snapshot_from_json
from daybook.runs.targets import PlannedOutput


def output_frame(around: Surroundings, result: RunResult, wanted: str | None = None) -> DataFrame:
    """What the run wrote there for its period; on Delta as it was then, elsewhere as it is now."""
    with around.store.read() as transaction:
        snapshot = snapshot_from_json(transaction.runs.snapshot(result.run_id))
    prepared = restore(snapshot, around.root)
    output = choose_output(result, prepared, wanted)
    planned = prepared.output(output.operation_seq)
    resolution = Resolution((_location(planned, output),), (result.period,))
    landing = around.landing(result.run_id)
    found = read(around.session(), resolution, _as_dataset(planned), landing, workspace=around.root)
    df = found.frame.df
    if RUN_PERIOD in found.frame.carried:
        df = df.where(F.col(RUN_PERIOD) == result.period)
    return df.select(*(F.col(f"`{name}`") for name in planned.step.columns))


def _location(planned: PlannedOutput, output: OutputResult) -> Location:
    target = planned.target
    return Location(
        target.format,
        uri=target.uri,
        table=target.table,
        schema=target.schema,
        datasource=target.datasource,
        options=target.options,
        delta_version=output.delta_version,
    )


def _as_dataset(planned: PlannedOutput) -> DatasetVersion:
    columns = tuple(
        ColumnDef(name=name, type=type_) for name, type_ in planned.step.columns.items() if name not in SYSTEM_COLUMNS
    )
    table = MainTable(name="output", columns=columns)
    return DatasetVersion(Dataset(id="output", name="output", main_table=table), 1)
