"""What an output is as a dataset: exactly its columns, and the input's way with time where it survives."""

from daybook.errors import DaybookError
from daybook.model.dataset import ColumnDef, TemporalMode, is_table_name
from daybook.model.operation import TableDestination
from daybook.model.system_columns import SYSTEM_COLUMNS
from daybook.plan.steps import OutputStep


def registered_columns(step: OutputStep) -> tuple[ColumnDef, ...]:
    return tuple(ColumnDef(name=name, type=type_) for name, type_ in step.columns.items() if name not in SYSTEM_COLUMNS)


def registered_mode(
    step: OutputStep, input_mode: TemporalMode | None, *, is_told_by_place: bool
) -> TemporalMode | None:
    """`is_told_by_place`: a slice of a table, or a path of its own, says which period rows belong to."""
    if input_mode == "bitemporal" and {"_valid_from", "_valid_to"} <= step.columns.keys():
        return "bitemporal"
    is_of_period = input_mode == "period" and (is_told_by_place or "_period" in step.columns)
    return "period" if is_of_period or _collects_slices(step) else None


def _collects_slices(step: OutputStep) -> bool:
    """Whether every period adds rows of its own: all slices together hold those of a timeless input many times."""
    is_table = isinstance(step.arguments.destination, TableDestination)
    return step.arguments.mode == "replace_period" or (is_table and step.arguments.mode in (None, "append"))


def registered_table(name: str) -> str:
    """A table's name, if a dataset may have it: expressions must be able to name it."""
    for found in is_table_name(name):
        raise DaybookError(found.code, hint=found.hint, **found.parameters)
    return name
