"""Whether what an output writes can be read as a declared dataset, and what a declaration takes over from it."""

from daybook.model.dataset import Dataset, PathLocation, TableLocation, View
from daybook.model.definition import DeclaredVersion, RegisteredDataPin
from daybook.model.types import ColumnType, DecimalType


def find_differences(declared: Dataset | View, written: Dataset) -> list[str]:
    """Why what was written cannot be read as the declared dataset; empty when it can."""
    if isinstance(declared, View):
        return ["it is a view, which reads another dataset"]
    types = {column.name: column.type for column in written.main_table.columns}
    differences = [
        f"{column.name} is not written"
        if column.name not in types
        else f"{column.name} is {column.type} in the declaration and {types[column.name]} in the output"
        for column in declared.main_table.columns
        if column.name not in types or not _fits(types[column.name], column.type)
    ]
    mode = declared.main_table.temporal_mode
    if mode not in (None, "snapshot", written.main_table.temporal_mode):
        differences.append(f"its temporal_mode is {mode}, which the output does not keep")
    location = declared.main_table.location
    if location is not None and not _is_same_location(location, written.main_table.location):
        differences.append("it has another location")
    return differences


def fulfil_declaration(declared: Dataset, written: Dataset) -> Dataset:
    """The declared dataset with the data of an output: the file's text, and the location where that is left open."""
    if declared.resolver_id is not None or declared.main_table.location is not None:
        return declared
    table = declared.main_table.model_copy(update={"location": written.main_table.location})
    return declared.model_copy(update={"main_table": table})


def carry_data(
    declared: Dataset | View, stored: DeclaredVersion | None
) -> tuple[Dataset | View, RegisteredDataPin | None]:
    """A declaration with the location and the data that the version before has, where they fit it."""
    if isinstance(declared, View) or stored is None or not isinstance(stored.dataset, Dataset):
        return declared, None
    filled = fulfil_declaration(declared, stored.dataset)
    is_fitting = declared.resolver_id is None and not find_differences(declared, stored.dataset)
    return filled, stored.pin if is_fitting else None


def has_same_schema(one: Dataset | View, other: Dataset) -> bool:
    """Whether readers see no difference: columns with their types, the table's name, its way with time."""
    return isinstance(one, Dataset) and _schema(one) == _schema(other)


def keep_nullable(written: Dataset, before: Dataset | View) -> Dataset:
    """A column that could be NULL in the version before stays so: taking it back would break projects that read it."""
    if not isinstance(before, Dataset):
        return written
    nullable = {column.name for column in before.main_table.columns if column.nullable}
    columns = tuple(
        column.model_copy(update={"nullable": True}) if column.name in nullable else column
        for column in written.main_table.columns
    )
    return written.model_copy(update={"main_table": written.main_table.model_copy(update={"columns": columns})})


def _schema(dataset: Dataset) -> tuple[object, ...]:
    table = dataset.main_table
    return table.name, table.temporal_mode, tuple((column.name, column.type) for column in table.columns)


def _fits(written: ColumnType, declared: ColumnType) -> bool:
    match written, declared:
        case DecimalType(), DecimalType():
            has_room = written.precision - written.scale <= declared.precision - declared.scale
            return has_room and written.scale <= declared.scale
        case _:
            return written == declared


def _is_same_location(declared: PathLocation | TableLocation, written: PathLocation | TableLocation | None) -> bool:
    match declared, written:
        case PathLocation(), PathLocation():
            return declared.path.removeprefix("./") == written.path.removeprefix("./")
        case TableLocation(), TableLocation():
            return (declared.datasource_id, declared.table) == (written.datasource_id, written.table)
        case _:
            return False


def describe_columns(dataset: Dataset | View) -> str:
    if isinstance(dataset, View):
        return f"a view of {dataset.view.of}"
    return ", ".join(f"{column.name} {column.type}" for column in dataset.main_table.columns)
