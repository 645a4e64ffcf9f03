"""The datasets that a project reads, by version, and the datasets that its outputs register."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, assert_never

from daybook.errors import DaybookError
from daybook.errors.error import did_you_mean
from daybook.model.dataset import (
    ColumnDef,
    Dataset,
    DatasetRef,
    MainTable,
    PathLocation,
    TableLocation,
    TemporalMode,
    View,
    check_main_table_name,
    is_single_period,
)
from daybook.model.declaration import ENGINE_COLUMN_NAMES
from daybook.model.definition import Catalog, DatasetVersion, DeclaredVersion, RegisteredDataPin
from daybook.model.operation import AppendOperation, LocationDestination, TableDestination, UpdateOperation
from daybook.model.project import Project
from daybook.model.source_map import KeyPath, SourceMap
from daybook.model.types import SYSTEM_COLUMNS, ColumnType, DecimalType
from daybook.resolve.paths import fill_table_name, template_tokens

if TYPE_CHECKING:
    from daybook.plan.steps import LoadStep, OutputStep, Plan


LoadRole: TypeAlias = Literal["input", "join", "append"]
INPUT_KEY = "input"


def join_key(seq: int, alias: str) -> str:
    """The key under which a plan loads what an update joins."""
    return f"{seq}.{alias}"


def append_key(seq: int) -> str:
    return f"{seq}.source"


# The codes of a missing dataset, a missing version and a disabled dataset.
_CODES: dict[LoadRole, tuple[str, str, str]] = {
    "input": ("PROJECT_020", "PROJECT_021", "PROJECT_022"),
    "join": ("PROJECT_020", "PROJECT_021", "PROJECT_022"),
    "append": ("APPEND_001", "APPEND_002", "PROJECT_022"),
}


@dataclass(frozen=True, slots=True)
class LoadReference:
    """A dataset that a project names to read it; `key` is that of the load it becomes, `path` where it is written."""

    key: str
    role: LoadRole
    operation_seq: int
    dataset: DatasetRef
    path: KeyPath
    alias: str | None = None

    @property
    def reader(self) -> str:
        """The part of the project that names the dataset."""
        match self.role:
            case "input":
                return "the input"
            case "join":
                return f"join {self.alias}"
            case "append":
                return f"the append with seq {self.operation_seq}"
            case _:
                assert_never(self.role)


def load_references(project: Project) -> Iterator[LoadReference]:
    """Everything a project reads, in the order of its operations."""
    yield LoadReference(INPUT_KEY, "input", 0, project.input, ("input",))
    for index, operation in enumerate(project.operations):
        path, seq = ("operations", index, "arguments"), operation.seq
        if isinstance(operation, AppendOperation):
            yield LoadReference(append_key(seq), "append", seq, operation.arguments.source, (*path, "source"))
        elif isinstance(operation, UpdateOperation):
            for number, join in enumerate(operation.arguments.joins):
                dataset = DatasetRef(dataset_id=join.dataset_id, dataset_version=join.dataset_version)
                here = (*path, "joins", number)
                yield LoadReference(join_key(seq, join.alias), "join", seq, dataset, here, join.alias)


def find_load(reference: LoadReference, catalog: Catalog, source: SourceMap) -> "LoadStep":
    """The version that a reference means, to be loaded."""
    from daybook.plan.steps import LoadStep

    dataset_id, wanted = reference.dataset.dataset_id, reference.dataset.dataset_version
    seq = reference.operation_seq or None
    missing, no_version, disabled = _CODES[reference.role]
    described: dict[str, Any] = {"dataset_id": dataset_id, "reader": reference.reader}
    span = source.span(*reference.path, "dataset_id")
    versions = catalog.dataset_versions(dataset_id)
    if not versions:
        hint = run_first(dataset_id, catalog) or did_you_mean(dataset_id, catalog.ids("dataset"))
        raise DaybookError(missing, span=span, hint=hint, operation_seq=seq, **described)
    found = catalog.dataset(dataset_id, wanted)
    if found is None and wanted is None and (viewed := _missing_view(dataset_id, catalog)) is not None:
        raise DaybookError("PROJECT_061", span=span, operation_seq=seq, view=dataset_id, viewed=viewed)
    if found is None:
        span = source.span(*reference.path, "dataset_version")
        known = f"versions are {', '.join(map(str, versions))}"
        # What a run will register has no versions yet that could be pinned.
        is_registered = catalog.declared(dataset_id, versions[-1]) is not None
        hint = known if is_registered else run_first(dataset_id, catalog) or known
        raise DaybookError(no_version, span=span, hint=hint, operation_seq=seq, version=wanted, **described)
    if found.status == "disabled":
        raise DaybookError(disabled, span=span, operation_seq=seq, **described)
    if (problem := _view_problem(found, catalog)) is not None:
        code, viewed = problem
        raise DaybookError(code, span=span, operation_seq=seq, dataset=viewed)
    for column in found.dataset.main_table.columns:
        if ENGINE_COLUMN_NAMES.fullmatch(column.name):
            hint = f"rename the column of dataset {dataset_id}"
            raise DaybookError("PROJECT_027", span=span, hint=hint, operation_seq=seq, column=column.name)
    return LoadStep(reference.key, reference.role, reference.operation_seq, found, reference.alias)


def _missing_view(dataset_id: str, catalog: Catalog) -> str | None:
    """The dataset at the end of a view that is not there; views that only read each other end at the first of them."""
    seen = {dataset_id}
    while (declared := catalog.declared(dataset_id)) is not None and isinstance(declared.dataset, View):
        dataset_id = declared.dataset.view.of
        if dataset_id in seen:
            return dataset_id
        seen.add(dataset_id)
    return dataset_id if declared is None else None


def _view_problem(found: DatasetVersion, catalog: Catalog) -> tuple[str, str] | None:
    """What a view of a registered dataset cannot do; one of a declared dataset is checked with the files."""
    if (view := found.view) is None:
        return None
    if view.dataset.view is not None:
        return _view_problem(view.dataset, catalog)
    viewed = view.dataset.dataset
    declared = catalog.declared(viewed.id)
    if declared is not None and declared.contract is not None:
        return None
    match viewed.main_table.temporal_mode:
        case None | "snapshot":
            return "MODEL_084", viewed.id
        case "bitemporal" if not is_single_period(view.of.window):
            return "MODEL_085", viewed.id
        case _:
            return None


def run_first(dataset_id: str, catalog: Catalog) -> str | None:
    """What to run so that a dataset is registered; None where no project does that."""
    maker = catalog.registering_project(dataset_id)
    if maker is None:
        return None
    return f"project {maker} registers {dataset_id}: run `daybook run {maker} --period PERIOD` first"


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


def registration_errors(plan: "Plan", source: SourceMap, catalog: Catalog) -> Iterator[DaybookError]:
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
        known = catalog.declared(dataset_id)
        if known is None or known.contract is None or known.status == "disabled":
            continue
        differences = find_differences(known.contract, written)
        if differences:
            yield DaybookError(
                "OUTPUT_023",
                span=span,
                operation_seq=step.seq,
                dataset_id=dataset_id,
                difference="; ".join(differences),
                declared=_describe_columns(known.contract),
                written=_describe_columns(written),
            )


def _business_columns(step: "OutputStep") -> tuple[str, ...]:
    return tuple(name for name in step.columns if name not in SYSTEM_COLUMNS)


def find_differences(declared: Dataset | View, written: Dataset) -> list[str]:
    """Why what was written cannot be read as the declared dataset; empty when it can."""
    if isinstance(declared, View):
        return ["it is a view, which reads another dataset"]
    types = {column.name: column.type for column in written.main_table.columns}
    found = [
        f"{column.name} is not written"
        if column.name not in types
        else f"{column.name} is {column.type} in the declaration and {types[column.name]} in the output"
        for column in declared.main_table.columns
        if column.name not in types or not _fits(types[column.name], column.type)
    ]
    mode = declared.main_table.temporal_mode
    if mode not in (None, "snapshot", written.main_table.temporal_mode):
        found.append(f"its temporal_mode is {mode}, which the output does not keep")
    location = declared.main_table.location
    if location is not None and not _is_same_location(location, written.main_table.location):
        found.append("it has another location")
    return found


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
    return "period" if is_of_period or _collects_slices(step) else None


def _collects_slices(step: "OutputStep") -> bool:
    """Whether every period adds rows of its own: all slices together hold those of a timeless input many times."""
    is_table = isinstance(step.arguments.destination, TableDestination)
    return step.arguments.mode == "replace_period" or (is_table and step.arguments.mode in (None, "append"))


def _check_table_name(table_name: str, name: str, seq: int) -> None:
    """Expressions must be able to name the table of a dataset."""
    causes = [DaybookError(each.code, hint=each.hint, **each.parameters) for each in check_main_table_name(table_name)]
    if causes:
        raise DaybookError("OUTPUT_022", operation_seq=seq, causes=causes, name=name)


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


def _describe_columns(dataset: Dataset | View) -> str:
    if isinstance(dataset, View):
        return f"a view of {dataset.view.of}"
    return ", ".join(f"{column.name} {column.type}" for column in dataset.main_table.columns)
