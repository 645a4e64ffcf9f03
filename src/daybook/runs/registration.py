"""An output that becomes a dataset others can read."""

from daybook.errors import DaybookError
from daybook.io.writing import Commit
from daybook.model.catalog import SANDBOX_PREFIX, DataPin
from daybook.model.dataset import ColumnDef, Dataset, MainTable, PathLocation, TableLocation, TemporalMode
from daybook.model.operation import LocationDestination, TableDestination
from daybook.model.system_columns import SYSTEM_COLUMNS
from daybook.runs.targets import PlannedOutput


def registered_dataset(planned: PlannedOutput, input_mode: TemporalMode | None, *, is_sandboxed: bool) -> Dataset:
    """The dataset an output is registered as: exactly its columns, and the input's way with time where it survives."""
    step = planned.step
    name = step.arguments.register_as_dataset or ""
    columns = tuple(
        ColumnDef(name=column, type=type_) for column, type_ in step.columns.items() if column not in SYSTEM_COLUMNS
    )
    if not columns:
        raise DaybookError("OUTPUT_007", operation_seq=step.seq, name=name)
    dataset_id = f"{SANDBOX_PREFIX}{name}" if is_sandboxed else name
    table = MainTable(
        name=_table_name(planned),
        temporal_mode=_temporal_mode(planned, input_mode),
        columns=columns,
        location=_location(planned, is_sandboxed=is_sandboxed),
    )
    return Dataset(id=dataset_id, name=name, main_table=table)


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


def _temporal_mode(planned: PlannedOutput, input_mode: TemporalMode | None) -> TemporalMode | None:
    columns = planned.step.columns
    match input_mode:
        case "period" if planned.target.run_period is not None or "_period" in columns or _is_per_period(planned):
            return "period"
        case "bitemporal" if "_valid_from" in columns and "_valid_to" in columns:
            return "bitemporal"
        case _:
            return None


def _is_per_period(planned: PlannedOutput) -> bool:
    destination = planned.step.arguments.destination
    return isinstance(destination, LocationDestination) and "{{" in destination.location.path


def _location(planned: PlannedOutput, *, is_sandboxed: bool) -> PathLocation | TableLocation:
    destination = planned.step.arguments.destination
    if isinstance(destination, TableDestination) and not is_sandboxed:
        return TableLocation(datasource_id=destination.datasource_id, table=destination.table)
    if isinstance(destination, LocationDestination) and not is_sandboxed:
        return destination.location.model_copy(update={"format": planned.target.format})
    return PathLocation(path=planned.target.uri or "", format="delta")
