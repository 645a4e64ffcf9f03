"""What an output is as a dataset: exactly its columns, and the input's way with time where it survives."""

from daybook.errors import DaybookError
from daybook.model.dataset import ColumnDef, TemporalMode, is_table_name
from daybook.model.system_columns import SYSTEM_COLUMNS
from daybook.plan.steps import OutputStep


def registered_columns(step: OutputStep) -> tuple[ColumnDef, ...]:
    return tuple(ColumnDef(name=name, type=type_) for name, type_ in step.columns.items() if name not in SYSTEM_COLUMNS)


def registered_mode(
    step: OutputStep, input_mode: TemporalMode | None, *, is_told_by_place: bool
) -> TemporalMode | None:
    """`is_told_by_place`: a slice of a table, or a path of its own, says which period rows belong to."""
    match input_mode:
        case "period" if is_told_by_place or "_period" in step.columns:
            return "period"
        case "bitemporal" if "_valid_from" in step.columns and "_valid_to" in step.columns:
            return "bitemporal"
        case _:
            return None


def registered_table(name: str) -> str:
    """A table's name, if a dataset may have it: expressions must be able to name it."""
    for found in is_table_name(name):
        raise DaybookError(found.code, hint=found.hint, **found.parameters)
    return name
