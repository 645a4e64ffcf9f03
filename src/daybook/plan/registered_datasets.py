"""The datasets that the outputs of a project register."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, assert_never

from daybook.definitions.dataset_fit import describe_columns, find_differences
from daybook.definitions.value import Definitions
from daybook.errors import DaybookError
from daybook.model.dataset import (
    ColumnDef,
    Dataset,
    MainTable,
    PathLocation,
    TableLocation,
    TemporalMode,
    check_main_table_name,
)
from daybook.model.operation import LocationDestination, TableDestination
from daybook.model.source_map import SourceMap
from daybook.model.types import SYSTEM_COLUMNS
from daybook.resolve.paths import fill_table_name, template_tokens

if TYPE_CHECKING:
    from daybook.plan.steps import OutputStep, Plan


def registered_dataset(
    plan: "Plan",
    step: "OutputStep",
    *,
    location: PathLocation | TableLocation | None = None,
    has_own_period: bool | None = None,
) -> Dataset:
    """The dataset that a run registers; OUTPUT_007 when it has nothing but system columns.

    A run knows better than the definition: `location` is where it wrote, `has_own_period` whether that location
    identifies the period of the rows.
    """
    arguments = step.arguments
    name, dataset_id = arguments.register_as_dataset or "", arguments.registered_id or ""
    columns = _registered_columns(plan, step)
    if not columns:
        raise DaybookError("OUTPUT_007", operation_seq=step.seq, name=name)
    destination = arguments.destination
    declared: PathLocation | TableLocation
    match destination:
        case LocationDestination(location=path):
            # Readers of the dataset use another name for its table.
            declared = path.model_copy(update={"path": fill_table_name(path.path, plan.input.table)})
            table_name, tells_period = dataset_id.replace(".", "_"), bool(template_tokens(declared.path))
        case TableDestination():
            # Expressions name a table without its schema.
            table_name, tells_period = destination.table.rpartition(".")[2], True
            declared = TableLocation(datasource_id=destination.datasource_id, table=destination.table)
        case _:
            assert_never(destination)
    _check_table_name(table_name, name, step.seq)
    mode = _registered_temporal_mode(
        step, plan.input.temporal_mode, tells_period=tells_period if has_own_period is None else has_own_period
    )
    table = MainTable(name=table_name, temporal_mode=mode, columns=columns, location=location or declared)
    return Dataset(id=dataset_id, name=name, natural_key_columns=_registered_key(plan, step), main_table=table)


def _registered_key(plan: "Plan", step: "OutputStep") -> tuple[str, ...]:
    """The written natural key, else the groups of the one aggregate whose rows are written, without the period."""
    from daybook.plan.output_rows import key_of_output

    if step.arguments.natural_key_columns:
        return step.arguments.natural_key_columns
    # What runs append may be there twice.
    group_key = key_of_output(plan, step) if step.arguments.mode != "append" else ()
    business = tuple(name for name in group_key if name != "_period")
    return () if any(name in SYSTEM_COLUMNS for name in business) else business


def registration_errors(plan: "Plan", source: SourceMap, definitions: Definitions) -> Iterator[DaybookError]:
    """What is wrong with the datasets that a project registers, known before anything is written."""
    positions = {operation.seq: index for index, operation in enumerate(plan.project.operations)}
    for step in plan.outputs:
        if (dataset_id := step.arguments.registered_id) is None:
            continue
        span = source.span("operations", positions[step.seq], "arguments", "register_as_dataset")
        missing = [name for name in step.arguments.natural_key_columns if name not in _business_columns(step)]
        if missing:
            path = ("operations", positions[step.seq], "arguments", "natural_key_columns")
            yield DaybookError("OUTPUT_026", span=source.span(*path), operation_seq=step.seq, column=missing[0])
            continue
        try:
            written = registered_dataset(plan, step)
        except DaybookError as error:
            error.span = span
            yield error
            continue
        declared = definitions.declared(dataset_id)
        if declared is None or declared.contract is None or declared.status == "disabled":
            continue
        differences = find_differences(declared.contract, written)
        if differences:
            yield DaybookError(
                "OUTPUT_023",
                span=span,
                operation_seq=step.seq,
                dataset_id=dataset_id,
                difference="; ".join(differences),
                declared=describe_columns(declared.contract),
                written=describe_columns(written),
            )


def _registered_columns(plan: "Plan", step: "OutputStep") -> tuple[ColumnDef, ...]:
    required = _required_columns(plan, step)
    return tuple(
        ColumnDef(name=name, type=type_, nullable=name not in required)
        for name, type_ in step.columns.items()
        if name not in SYSTEM_COLUMNS
    )


def _required_columns(plan: "Plan", output: "OutputStep") -> set[str]:
    """Columns of the input that are declared without NULL and that no operation before the output can make NULL."""
    from daybook.plan.steps import AggregateStep, AppendStep, UpdateStep

    loads = {load.key: load for load in plan.loads}
    required = _not_null(plan.input.version.dataset)
    for step in plan.steps:
        if step is output:
            break
        match step:
            case UpdateStep():
                required -= {value.column for value in step.assignments}
            case AggregateStep():
                return set()
            case AppendStep():
                source = _not_null(loads[step.load_key].version.dataset)
                carried = {} if step.aggregations else step.carried
                required &= {name for name, in_source in carried.items() if in_source in source}
            case _:
                pass
    return required


def _not_null(dataset: Dataset) -> set[str]:
    return {column.name for column in dataset.main_table.columns if not column.nullable}


def _registered_temporal_mode(
    step: "OutputStep", input_mode: TemporalMode | None, *, tells_period: bool
) -> TemporalMode | None:
    """`tells_period`: a slice of a table, or a path of its own, says which period rows belong to."""
    if input_mode == "bitemporal" and {"_valid_from", "_valid_to"} <= step.columns.keys():
        return "bitemporal"
    is_of_period = input_mode == "period" and (tells_period or "_period" in step.columns)
    return "period" if is_of_period else None


def _check_table_name(table_name: str, name: str, seq: int) -> None:
    """Expressions must be able to name the table of a dataset."""
    causes = [
        DaybookError(error.code, hint=error.hint, **error.parameters) for error in check_main_table_name(table_name)
    ]
    if causes:
        raise DaybookError("OUTPUT_022", operation_seq=seq, causes=causes, name=name)


def _business_columns(step: "OutputStep") -> tuple[str, ...]:
    return tuple(name for name in step.columns if name not in SYSTEM_COLUMNS)
