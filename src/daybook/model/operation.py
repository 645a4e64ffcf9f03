"""The operations of a project, discriminated by `type`, with the structural rules of the seeds."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, ConfigDict, Field, Tag, model_validator

from daybook.errors import CODES
from daybook.errors.error import did_you_mean
from daybook.model.dataset import DatasetRef, PathLocation, TypeField, find_location_problem, path_from_text
from daybook.model.declaration import (
    ID_PATTERN,
    IDENTIFIER_PATTERN,
    MAX_STORED_INTEGER,
    PERIOD_QUALIFIER,
    Declaration,
    Expression,
    Id,
    NonEmptyText,
    Violation,
    case_violations,
    find_name_problem,
    find_repeated,
    raise_violations,
    slug,
    split_reference,
    tag_by_shape,
    validated_by,
    violation,
)
from daybook.model.types import ASSIGNABLE_SYSTEM_COLUMNS, GROUPABLE_SYSTEM_COLUMNS, RESERVED_COLUMNS


def check_assignments(assignments: "Sequence[Assignment]") -> Iterator[Violation]:
    if not assignments:
        yield violation("UPDATE_001")
    names = [assignment.column for assignment in assignments]
    for index, name in enumerate(names):
        if not IDENTIFIER_PATTERN.fullmatch(name):
            yield violation("UPDATE_002", index, "column", name=name)
        elif name in RESERVED_COLUMNS and name not in ASSIGNABLE_SYSTEM_COLUMNS:
            yield violation("UPDATE_011", index, "column", column=name)
    for index, name in find_repeated(names):
        yield violation("UPDATE_010", index, "column", column=name)
    yield from case_violations(names, "column")


def check_joins(joins: "Sequence[RuntimeJoin]") -> Iterator[Violation]:
    aliases = [join.alias for join in joins]
    for index, alias in enumerate(aliases):
        if reason := find_name_problem(alias):
            yield violation("UPDATE_013", index, "alias", alias=alias, reason=reason)
        elif alias.casefold() == PERIOD_QUALIFIER:
            yield violation(
                "UPDATE_013", index, "alias", alias=alias, reason="expressions use it for the period of the run"
            )
    for index, _ in find_repeated(alias.casefold() for alias in aliases):
        yield violation("UPDATE_012", index, "alias", alias=aliases[index])


def check_group_by(group_by: Sequence[str]) -> Iterator[Violation]:
    if not group_by:
        yield violation("AGGREGATE_001")
    names = [split_reference(reference)[1] for reference in group_by]
    for index, name in find_repeated(names):
        yield violation("AGGREGATE_003", index, column=name)
    for index, name in enumerate(names):
        if name in RESERVED_COLUMNS and name not in GROUPABLE_SYSTEM_COLUMNS:
            yield violation("AGGREGATE_011", index, column=name)


def check_results(aggregations: "Sequence[Aggregation]") -> Iterator[Violation]:
    """The columns that aggregations give, of an aggregate or an append."""
    if not aggregations:
        yield violation("AGGREGATE_002")
    names = [aggregation.column for aggregation in aggregations]
    for index, name in enumerate(names):
        if name in RESERVED_COLUMNS:
            yield violation("AGGREGATE_005", index, "column", column=name)
    for index, name in find_repeated(names):
        yield violation("AGGREGATE_007", index, "column", column=name)


def check_new_columns(aggregations: "Sequence[Aggregation]") -> Iterator[Violation]:
    """An aggregate can create columns, so their names must be possible; an append only fills existing ones."""
    yield from check_results(aggregations)
    names = [aggregation.column for aggregation in aggregations]
    for index, name in enumerate(names):
        if name not in RESERVED_COLUMNS and (reason := find_name_problem(name)):
            yield violation("MODEL_045", index, "column", name=name, reason=reason)
    yield from case_violations(names, "column")


def check_grouped_results(group_by: Sequence[str], aggregations: "Sequence[Aggregation]") -> Iterator[Violation]:
    """Checks that no result column is also a group_by column."""
    grouped = {split_reference(reference)[1] for reference in group_by}
    for index, aggregation in enumerate(aggregations):
        if aggregation.column in grouped:
            yield violation("AGGREGATE_010", "aggregations", index, "column", column=aggregation.column)


def check_output_columns(columns: Sequence[str]) -> Iterator[Violation]:
    if not columns:
        yield violation("OUTPUT_010")
    for index, name in find_repeated(split_reference(column)[1] for column in columns):
        yield violation("OUTPUT_011", index, key="columns", column=name)


def check_order_by(order_by: Sequence[str]) -> Iterator[Violation]:
    for index, name in find_repeated(split_reference(column)[1] for column in order_by):
        yield violation("OUTPUT_011", index, key="order_by", column=name)


def check_natural_key(columns: Sequence[str]) -> Iterator[Violation]:
    for index, name in find_repeated(columns):
        yield violation("OUTPUT_011", index, key="natural_key_columns", column=name)


def check_dataset_name(name: str) -> Iterator[Violation]:
    if not name.strip():
        yield violation("OUTPUT_004", name=name)


def registered_dataset_id(name: str) -> str:
    """The id of the dataset that is registered under a name: the name itself, or its slug where it can be no id."""
    if re.fullmatch(ID_PATTERN, name):
        return name
    # A name without a single letter that an id may have is known by its digest.
    return slug(name) or f"dataset-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def require_one_destination(value: Any) -> Any:
    """Refuses a destination that has not exactly one form, before its members are looked at."""
    if isinstance(value, str) and value:
        return {"location": {"path": value}}
    if isinstance(value, Declaration):
        return value
    reason = find_location_problem(value, inline="location")
    if reason is None and value.get("location") is not None and not isinstance(value["location"], Declaration):
        location = path_from_text(value["location"])
        reason = find_location_problem(location, inline="path")
        if reason is None and location.get("path") is None:
            reason = "its location has no path"
    if reason:
        raise_violations([violation("OUTPUT_003", reason=reason)])
    return value


def check_accepted(codes: Sequence[str]) -> Iterator[Violation]:
    acceptable = [code for code, entry in CODES.items() if entry.is_acceptable]
    for index, code in enumerate(codes):
        if code not in acceptable:
            yield violation("PROJECT_045", index, hint=did_you_mean(code, acceptable), warning=code)


def require_no_arguments(value: Any) -> Any:
    if value is None:
        return {}
    if isinstance(value, dict) and value:
        raise_violations(violation("DELETE_001", key, key=key) for key in value)
    return value


_MIN_ONE_ITEM: dict[str, Any] = {"minItems": 1}
_TYPE_DESCRIPTION = (
    "The type of a column that the project creates; by default the narrowest type that fits all assigned values."
)
_SELECTOR_DESCRIPTION = (
    "Selects the rows of the operation; {{NAME}} refers to a named selector. By default all rows that are not deleted."
)


class RuntimeJoin(Declaration):
    """A dataset joined to the left of the picked rows, visible to this update alone."""

    alias: NonEmptyText = Field(description="The qualifier of the joined columns: customers.tier.")
    dataset_id: Id = Field(description="The id of the dataset to join.")
    dataset_version: int | None = Field(default=None, ge=1, le=MAX_STORED_INTEGER, description="Pins a version.")
    on: Expression = Field(description="The join condition, a boolean expression.")


class Assignment(Declaration):
    """One column of an update."""

    column: str = Field(
        description="The column to set, existing or new.",
        json_schema_extra={"pattern": "^[a-zA-Z_][a-zA-Z0-9_]*$"},
    )
    expression: Expression = Field(description="Its value, computed from the row as it was before the operation.")
    type: TypeField | None = Field(default=None, description=_TYPE_DESCRIPTION)


class Aggregation(Declaration):
    """One result of a grouping."""

    column: NonEmptyText = Field(description="The column for the result.")
    expression: Expression = Field(description="An aggregate expression: SUM, COUNT, AVG, MIN_AGG, MAX_AGG.")
    type: TypeField | None = Field(default=None, description=_TYPE_DESCRIPTION)


def _allow_selector(schema: dict[str, Any]) -> None:
    """Some write the selector among the arguments; the loader lifts it onto the operation."""
    schema.setdefault("properties", {})["selector"] = {
        "type": "string",
        "minLength": 1,
        "description": _SELECTOR_DESCRIPTION,
    }


class SelectableArguments(Declaration):
    """Arguments of an operation that picks rows of the working dataset."""

    model_config = ConfigDict(json_schema_extra=_allow_selector)


class UpdateArguments(SelectableArguments):
    """What an update changes."""

    joins: Annotated[tuple[RuntimeJoin, ...], validated_by(check_joins)] = Field(
        default=(), description="Datasets whose columns this update may use."
    )
    assignments: Annotated[tuple[Assignment, ...], validated_by(check_assignments)] = Field(
        json_schema_extra=_MIN_ONE_ITEM,
        description="The columns to set; all expressions read the row as it was before.",
    )


class AggregateArguments(SelectableArguments):
    """What an aggregate groups by and computes; the summary rows join the working dataset."""

    group_by: Annotated[tuple[NonEmptyText, ...], validated_by(check_group_by)] = Field(
        json_schema_extra=_MIN_ONE_ITEM, description="Business columns, `_period` or `_labels`; NULL is a group."
    )
    aggregations: Annotated[tuple[Aggregation, ...], validated_by(check_new_columns)] = Field(
        json_schema_extra=_MIN_ONE_ITEM, description="What is computed for each group."
    )

    @model_validator(mode="after")
    def _check(self) -> "AggregateArguments":
        raise_violations(check_grouped_results(self.group_by, self.aggregations))
        return self


class AppendAggregation(Declaration):
    """How the source is summed up before it is appended."""

    group_by: Annotated[tuple[NonEmptyText, ...], validated_by(check_group_by)] = Field(
        json_schema_extra=_MIN_ONE_ITEM, description="Columns of the source."
    )
    aggregations: Annotated[tuple[Aggregation, ...], validated_by(check_results)] = Field(
        json_schema_extra=_MIN_ONE_ITEM,
        description="What is computed for each group: FUNCTION(column), or COUNT(*).",
    )

    @model_validator(mode="after")
    def _check(self) -> "AppendAggregation":
        raise_violations(check_grouped_results(self.group_by, self.aggregations))
        return self


class AppendArguments(Declaration):
    """What an append brings in."""

    source: DatasetRef = Field(description="The dataset whose rows are appended.")
    source_selector: Expression | None = Field(default=None, description="Selects rows of the source.")
    aggregation: AppendAggregation | None = Field(
        default=None, description="Aggregates the source before its rows are appended."
    )
    columns: Annotated[dict[NonEmptyText, Expression], Field(min_length=1)] | None = Field(
        default=None,
        description="Columns of the working dataset, each with an expression over the source; only these are appended.",
    )

    @model_validator(mode="after")
    def _check(self) -> "AppendArguments":
        if self.columns is not None and self.aggregation is not None:
            raise_violations([violation("APPEND_021", "columns")])
        return self


class DeleteArguments(SelectableArguments):
    """Nothing: the selector says which rows."""


class CheckArguments(SelectableArguments):
    """What must be true of every picked row."""

    condition: Expression = Field(description="The condition; if it is false or NULL for a row, the run fails.")


class TableDestination(Declaration):
    """A table of a data source."""

    datasource_id: Id = Field(description="The id of a data source.")
    table: NonEmptyText = Field(description="The table's name, or the folder below the data source.")


class LocationDestination(Declaration):
    """An inline location; a path as bare text is one, too."""

    location: Annotated[PathLocation, BeforeValidator(path_from_text, json_schema_input_type=str | PathLocation)] = (
        Field(description="A path, or a path with its format and options.")
    )


OutputDestination: TypeAlias = Annotated[
    Annotated[TableDestination, Tag("<table>")] | Annotated[LocationDestination, Tag("<location>")],
    tag_by_shape({"location": "<location>", "datasource_id": "<table>", "table": "<table>"}),
    BeforeValidator(require_one_destination, json_schema_input_type=str | TableDestination | LocationDestination),
]
OutputMode = Literal["replace", "replace_period", "append", "error"]
SchemaChangeRule = Literal["refuse", "add", "keep"]


class OutputArguments(SelectableArguments):
    """What an output writes where."""

    destination: OutputDestination = Field(
        description="A table of a data source, or an inline location; a path alone is an inline location."
    )
    columns: Annotated[tuple[NonEmptyText, ...], validated_by(check_output_columns)] | None = Field(
        default=None,
        json_schema_extra=_MIN_ONE_ITEM,
        description="The columns to write, in this order; by default all.",
    )
    include_deleted: bool = Field(default=False, description="Whether deleted rows are written too.")
    system_columns: bool = Field(default=True, description="Whether system columns are among all columns.")
    order_by: Annotated[tuple[NonEmptyText, ...], validated_by(check_order_by)] = Field(
        default=(), description="The columns by which the written rows are sorted; NULL comes last."
    )
    mode: OutputMode | None = Field(
        default=None, description="By default replace_period for a table, replace for an inline location."
    )
    on_schema_change: SchemaChangeRule = Field(
        default="refuse",
        description="What happens when the table has other columns: `add` adds those that are new, `keep` keeps those "
        "that the output no longer has and writes NULL there.",
    )
    on_empty: Literal["refuse", "replace"] = Field(
        default="refuse", description="What happens when an empty output would replace existing rows."
    )
    register_as_dataset: Annotated[str, validated_by(check_dataset_name)] | None = Field(
        default=None, description="Registers the written data as a dataset with this name; the id is its slug."
    )
    natural_key_columns: Annotated[tuple[NonEmptyText, ...], validated_by(check_natural_key)] = Field(
        default=(),
        description="The columns that together identify a row of the registered dataset; by default the group_by "
        "columns, where the output writes the rows of one aggregate only.",
    )

    @model_validator(mode="after")
    def _check_registration(self) -> "OutputArguments":
        if self.natural_key_columns and self.register_as_dataset is None:
            raise_violations([violation("OUTPUT_025", "natural_key_columns")])
        return self

    @property
    def registered_id(self) -> str | None:
        """The id of the dataset that the output registers."""
        name = self.register_as_dataset
        return registered_dataset_id(name) if name is not None else None


def _allow_synonyms(schema: dict[str, Any]) -> None:
    """What the loader fills in is optional in files, and two keys have a second name there."""
    properties = schema["properties"]
    properties["order"] = {**properties["seq"], "description": "Another name of seq."}
    if "arguments" in properties:
        properties["parameters"] = properties["arguments"]
    optional = {"id", "name", "seq", "arguments"}
    schema["required"] = [key for key in schema["required"] if key not in optional]
    if properties.get("type", {}).get("const") != "delete":
        schema["anyOf"] = [{"required": ["arguments"]}, {"required": ["parameters"]}]


class OperationBase(Declaration):
    """What every operation has; `arguments` may be written `parameters`, `seq` may be written `order`."""

    model_config = ConfigDict(json_schema_extra=_allow_synonyms)

    id: Id = Field(description="Unique within the project; by default op-<seq>.")
    seq: int = Field(
        ge=1,
        le=MAX_STORED_INTEGER,
        description="Operations execute in the order of seq; if none has a seq, in the order of the list.",
    )
    name: NonEmptyText = Field(description="A display name; by default the type and the seq.")
    description: str | None = Field(default=None, description="A description.")
    accept: Annotated[tuple[NonEmptyText, ...], validated_by(check_accepted)] = Field(
        default=(),
        description="Codes of warnings about this operation that are accepted: they are counted, but not shown.",
    )


class UpdateOperation(OperationBase):
    """Sets columns of the picked rows."""

    type: Literal["update"]
    selector: Expression | None = Field(default=None, description=_SELECTOR_DESCRIPTION)
    arguments: UpdateArguments


class AggregateOperation(OperationBase):
    """Adds summary rows of the picked rows."""

    type: Literal["aggregate"]
    selector: Expression | None = Field(default=None, description=_SELECTOR_DESCRIPTION)
    arguments: AggregateArguments


class AppendOperation(OperationBase):
    """Brings in rows of another dataset."""

    type: Literal["append"]
    arguments: AppendArguments


class DeleteOperation(OperationBase):
    """Marks the picked rows as deleted."""

    type: Literal["delete"]
    selector: Expression | None = Field(default=None, description=_SELECTOR_DESCRIPTION)
    arguments: Annotated[
        DeleteArguments, BeforeValidator(require_no_arguments, json_schema_input_type=DeleteArguments | None)
    ] = DeleteArguments()


class CheckOperation(OperationBase):
    """Fails the run, before anything more is committed, unless a condition holds for all picked rows."""

    type: Literal["check"]
    selector: Expression | None = Field(default=None, description=_SELECTOR_DESCRIPTION)
    arguments: CheckArguments


class OutputOperation(OperationBase):
    """Writes the picked rows."""

    type: Literal["output"]
    selector: Expression | None = Field(default=None, description=_SELECTOR_DESCRIPTION)
    arguments: OutputArguments


OperationType = Literal["update", "aggregate", "append", "delete", "check", "output"]
Operation: TypeAlias = Annotated[
    UpdateOperation | AggregateOperation | AppendOperation | DeleteOperation | CheckOperation | OutputOperation,
    Field(discriminator="type"),
]
