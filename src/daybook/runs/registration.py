"""An output that becomes a dataset others can read."""

from typing import assert_never

from daybook.errors import DaybookError
from daybook.io.writing import Commit
from daybook.model.catalog import SANDBOX_PREFIX, DataPin
from daybook.model.dataset import Dataset, MainTable, PathLocation, TableLocation, TemporalMode
from daybook.model.operation import LocationDestination, TableDestination
from daybook.plan.registering import registered_columns, registered_mode, registered_table
from daybook.resolve.template import is_own, with_table_name
from daybook.runs.snapshot import RunSnapshot
from daybook.runs.targets import PlannedOutput


def registered_dataset(planned: PlannedOutput, snapshot: RunSnapshot, input_mode: TemporalMode | None) -> Dataset:
    """The dataset an output is registered as; OUTPUT_007 when it has nothing but system columns."""
    step = planned.step
    name = step.arguments.register_as_dataset or ""
    columns = registered_columns(step)
    if not columns:
        raise DaybookError("OUTPUT_007", operation_seq=step.seq, name=name)
    is_sandboxed = snapshot.settings.sandbox is not None
    location = _location(planned, snapshot.input_table, is_sandboxed=is_sandboxed)
    is_own_place = isinstance(location, PathLocation) and is_own(location.path, snapshot.period)
    is_told_by_place = planned.target.run_period is not None or is_own_place
    table = MainTable(
        name=registered_table(_table_name(planned)),
        temporal_mode=registered_mode(step, input_mode, is_told_by_place=is_told_by_place),
        columns=columns,
        location=location,
    )
    return Dataset(id=f"{SANDBOX_PREFIX}{name}" if is_sandboxed else name, name=name, main_table=table)


def data_pin(planned: PlannedOutput, commit: Commit) -> DataPin | None:
    """On Delta a registered version stays readable as it was written; elsewhere it follows the live data."""
    if commit.delta_version is None or planned.target.uri is None:
        return None
    return DataPin(planned.target.uri, commit.delta_version)


def _table_name(planned: PlannedOutput) -> str:
    match planned.step.arguments.destination:
        case TableDestination(table=table):
            return table
        case LocationDestination():
            return planned.step.arguments.register_as_dataset or ""


def _location(planned: PlannedOutput, input_table: str, *, is_sandboxed: bool) -> PathLocation | TableLocation:
    destination = planned.step.arguments.destination
    if is_sandboxed:
        return PathLocation(path=planned.target.uri or "", format="delta")
    match destination:
        case TableDestination(datasource_id=datasource_id, table=table):
            return TableLocation(datasource_id=datasource_id, table=table)
        case LocationDestination(location=location):
            # Whoever reads the dataset calls its table by another name.
            path = with_table_name(location.path, input_table)
            return location.model_copy(update={"path": path, "format": planned.target.format})
        case _:
            assert_never(destination)
