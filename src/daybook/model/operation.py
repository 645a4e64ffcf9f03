"""The operations of a project, discriminated by `type`."""

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, ConfigDict, Field, Tag, model_validator

from daybook.model.base import MAX_NUMBER, Declaration, Expression, Id, Text
from daybook.model.dataset import DatasetRef, PathLocation, TypeField, path_of_text
from daybook.model.findings import checked_by, refuse
from daybook.model.operation_rules import (
    accepts_no_arguments,
    check_aggregations,
    check_append_aggregations,
    check_append_group_by,
    check_assignments,
    check_dataset_name,
    check_group_by,
    check_joins,
    check_order_by,
    check_output_columns,
    check_results,
    one_destination,
)
from daybook.model.tags import by_shape

_NOT_EMPTY: dict[str, Any] = {"minItems": 1}
_TYPE = "The type of a column that the project makes; left out, the narrowest that holds all that is assigned to it."
_SELECTOR = "Picks the rows the operation acts on; {{NAME}} refers to a named selector. Left out: all live rows."


class RuntimeJoin(Declaration):
    """A dataset joined to the left of the picked rows, visible to this update alone."""

    alias: Text = Field(description="The qualifier of the joined columns: customers.tier.")
    dataset_id: Id = Field(description="The id of the dataset to join.")
    dataset_version: int | None = Field(default=None, ge=1, le=MAX_NUMBER, description="Pins a version.")
    on: Expression = Field(description="The join condition, a boolean expression.")


class Assignment(Declaration):
    """One column of an update."""

    column: str = Field(
        description="The column to set, existing or new.",
        json_schema_extra={"pattern": "^[a-zA-Z_][a-zA-Z0-9_]*$"},
    )
    expression: Expression = Field(description="Its value, computed from the row as it was before the operation.")
    type: TypeField | None = Field(default=None, description=_TYPE)


class Aggregation(Declaration):
    """One result of a grouping."""

    column: Text = Field(description="The column that takes the result.")
    expression: Expression = Field(description="An aggregate expression: SUM, COUNT, AVG, MIN_AGG, MAX_AGG.")
    type: TypeField | None = Field(default=None, description=_TYPE)


def _allow_selector(schema: dict[str, Any]) -> None:
    """Some write the selector among the arguments; the loader lifts it onto the operation."""
    schema.setdefault("properties", {})["selector"] = {"type": "string", "minLength": 1, "description": _SELECTOR}


class SelectableArguments(Declaration):
    """Arguments of an operation that picks rows of the working dataset."""

    model_config = ConfigDict(json_schema_extra=_allow_selector)


class UpdateArguments(SelectableArguments):
    """What an update changes."""

    joins: Annotated[tuple[RuntimeJoin, ...], checked_by(check_joins)] = Field(
        default=(), description="Datasets whose columns this update may use."
    )
    assignments: Annotated[tuple[Assignment, ...], checked_by(check_assignments)] = Field(
        json_schema_extra=_NOT_EMPTY, description="The columns to set; all of them see the row as it was before."
    )


class AggregateArguments(SelectableArguments):
    """What an aggregate groups by and computes; the summary rows join the working dataset."""

    group_by: Annotated[tuple[Text, ...], checked_by(check_group_by)] = Field(
        json_schema_extra=_NOT_EMPTY, description="Business columns, `_period` or `_labels`; NULL is a group."
    )
    aggregations: Annotated[tuple[Aggregation, ...], checked_by(check_aggregations)] = Field(
        json_schema_extra=_NOT_EMPTY, description="What is computed of each group."
    )

    @model_validator(mode="after")
    def _check(self) -> "AggregateArguments":
        refuse(check_results(self.group_by, self.aggregations, "AGGREGATE_010"))
        return self


class AppendAggregation(Declaration):
    """How the source is summed up before it is appended."""

    group_by: Annotated[tuple[Text, ...], checked_by(check_append_group_by)] = Field(
        json_schema_extra=_NOT_EMPTY, description="Columns of the source."
    )
    aggregations: Annotated[tuple[Aggregation, ...], checked_by(check_append_aggregations)] = Field(
        json_schema_extra=_NOT_EMPTY, description="What is computed of each group: FUNCTION(column), or COUNT(*)."
    )

    @model_validator(mode="after")
    def _check(self) -> "AppendAggregation":
        refuse(check_results(self.group_by, self.aggregations, "APPEND_014"))
        return self


class AppendArguments(Declaration):
    """What an append brings in."""

    source: DatasetRef = Field(description="The dataset whose rows are appended.")
    source_selector: Expression | None = Field(default=None, description="Picks rows of the source.")
    aggregation: AppendAggregation | None = Field(
        default=None, description="Sums the source up before its rows are appended."
    )


class DeleteArguments(SelectableArguments):
    """Nothing: the selector says which rows."""


class CheckArguments(SelectableArguments):
    """What must be true of every picked row."""

    condition: Expression = Field(description="Must be true; a row for which it is false or NULL fails the run.")


class TableDestination(Declaration):
    """A table of a data source."""

    datasource_id: Id = Field(description="The id of a data source.")
    table: Text = Field(description="The table's name, or the folder below the data source.")


class LocationDestination(Declaration):
    """An inline location; a bare path string is read as `{path: ...}`."""

    location: Annotated[PathLocation, BeforeValidator(path_of_text, json_schema_input_type=str | PathLocation)] = Field(
        description="A path, or a path with its format and options."
    )


OutputDestination: TypeAlias = Annotated[
    Annotated[TableDestination, Tag("<table>")] | Annotated[LocationDestination, Tag("<location>")],
    by_shape({"location": "<location>", "datasource_id": "<table>", "table": "<table>"}),
    BeforeValidator(one_destination, json_schema_input_type=TableDestination | LocationDestination),
]
OutputMode = Literal["replace", "replace_period", "append", "error"]


class OutputArguments(SelectableArguments):
    """What an output writes where."""

    destination: OutputDestination = Field(description="A table of a data source, or an inline location.")
    columns: Annotated[tuple[Text, ...], checked_by(check_output_columns)] | None = Field(
        default=None,
        json_schema_extra=_NOT_EMPTY,
        description="The columns to write, in this order; left out, all of them.",
    )
    include_deleted: bool = Field(default=False, description="Whether deleted rows are written too.")
    system_columns: bool = Field(default=True, description="Whether system columns are among all columns.")
    order_by: Annotated[tuple[Text, ...], checked_by(check_order_by)] = Field(
        default=(), description="Sorts what is written."
    )
    mode: OutputMode | None = Field(
        default=None, description="Left out: replace_period for a table, replace for an inline location."
    )
    on_schema_change: Literal["refuse", "add"] = Field(
        default="refuse", description="What happens when the table has other columns."
    )
    register_as_dataset: Annotated[str, checked_by(check_dataset_name)] | None = Field(
        default=None, description="Registers what was written as the dataset with this id."
    )


def _allow_synonyms(schema: dict[str, Any]) -> None:
    """What the loader fills in is optional in files, and two keys have a second name there."""
    properties = schema["properties"]
    properties["order"] = {**properties["seq"], "description": "The same as seq."}
    if "arguments" in properties:
        properties["parameters"] = properties["arguments"]
    optional = {"id", "name", "seq", "arguments"}
    schema["required"] = [key for key in schema["required"] if key not in optional]
    if properties.get("type", {}).get("const") != "delete":
        schema["anyOf"] = [{"required": ["arguments"]}, {"required": ["parameters"]}]


class OperationBase(Declaration):
    """What every operation has; `arguments` may be written `parameters`, `seq` may be written `order`."""

    model_config = ConfigDict(json_schema_extra=_allow_synonyms)

    id: Id = Field(description="Unique within the project; left out, op-<seq>.")
    seq: int = Field(
        ge=1, le=MAX_NUMBER, description="When the operation executes; left out everywhere, the order of the list."
    )
    name: Text = Field(description="A label for people; left out, the type and the seq.")
    description: str | None = Field(default=None, description="A note for people.")


class UpdateOperation(OperationBase):
    """Sets columns of the picked rows."""

    type: Literal["update"]
    selector: Expression | None = Field(default=None, description=_SELECTOR)
    arguments: UpdateArguments


class AggregateOperation(OperationBase):
    """Adds summary rows of the picked rows."""

    type: Literal["aggregate"]
    selector: Expression | None = Field(default=None, description=_SELECTOR)
    arguments: AggregateArguments


class AppendOperation(OperationBase):
    """Brings in rows of another dataset."""

    type: Literal["append"]
    arguments: AppendArguments


class DeleteOperation(OperationBase):
    """Marks the picked rows as deleted."""

    type: Literal["delete"]
    selector: Expression | None = Field(default=None, description=_SELECTOR)
    arguments: Annotated[
        DeleteArguments, BeforeValidator(accepts_no_arguments, json_schema_input_type=DeleteArguments | None)
    ] = DeleteArguments()


class CheckOperation(OperationBase):
    """Fails the run, before anything more is committed, unless a condition holds for all picked rows."""

    type: Literal["check"]
    selector: Expression | None = Field(default=None, description=_SELECTOR)
    arguments: CheckArguments


class OutputOperation(OperationBase):
    """Writes the picked rows."""

    type: Literal["output"]
    selector: Expression | None = Field(default=None, description=_SELECTOR)
    arguments: OutputArguments


Operation: TypeAlias = Annotated[
    UpdateOperation | AggregateOperation | AppendOperation | DeleteOperation | CheckOperation | OutputOperation,
    Field(discriminator="type"),
]
