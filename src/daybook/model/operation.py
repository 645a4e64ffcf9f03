"""The five operations of a project, discriminated by `type`."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from daybook.model.base import Declaration, Expression, Id, Text
from daybook.model.dataset import DatasetRef, PathLocation


class RuntimeJoin(Declaration):
    alias: Text
    dataset_id: Id
    dataset_version: int | None = Field(default=None, ge=1)
    on: Expression


class Assignment(Declaration):
    column: Text
    expression: Expression


class Aggregation(Declaration):
    column: Text
    expression: Expression


class UpdateArguments(Declaration):
    joins: tuple[RuntimeJoin, ...] = ()
    assignments: tuple[Assignment, ...]


class AggregateArguments(Declaration):
    group_by: tuple[Text, ...]
    aggregations: tuple[Aggregation, ...]


class AppendAggregation(Declaration):
    group_by: tuple[Text, ...]
    aggregations: tuple[Aggregation, ...]


class AppendArguments(Declaration):
    source: DatasetRef
    source_selector: Expression | None = None
    aggregation: AppendAggregation | None = None


class DeleteArguments(Declaration):
    pass


class TableDestination(Declaration):
    datasource_id: Id
    table: Text


class LocationDestination(Declaration):
    """An inline location; a bare path string is read as `{path: ...}`."""

    location: PathLocation


OutputDestination: TypeAlias = TableDestination | LocationDestination
OutputMode = Literal["replace", "replace_period", "append", "error"]


class OutputArguments(Declaration):
    destination: OutputDestination
    columns: tuple[Text, ...] | None = None
    include_deleted: bool = False
    system_columns: bool = True
    order_by: tuple[Text, ...] = ()
    mode: OutputMode | None = None
    on_schema_change: Literal["refuse", "add"] = "refuse"
    register_as_dataset: str | None = None


class OperationBase(Declaration):
    """What every operation has; `arguments` may be written `parameters`, `seq` may be written `order`."""

    id: Id
    seq: int = Field(ge=1)
    name: Text
    description: str | None = None


class UpdateOperation(OperationBase):
    type: Literal["update"]
    selector: Expression | None = None
    arguments: UpdateArguments


class AggregateOperation(OperationBase):
    type: Literal["aggregate"]
    selector: Expression | None = None
    arguments: AggregateArguments


class AppendOperation(OperationBase):
    type: Literal["append"]
    arguments: AppendArguments


class DeleteOperation(OperationBase):
    type: Literal["delete"]
    selector: Expression | None = None
    arguments: DeleteArguments = DeleteArguments()


class OutputOperation(OperationBase):
    type: Literal["output"]
    selector: Expression | None = None
    arguments: OutputArguments


Operation: TypeAlias = Annotated[
    UpdateOperation | AggregateOperation | AppendOperation | DeleteOperation | OutputOperation,
    Field(discriminator="type"),
]

