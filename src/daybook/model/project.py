"""Projects: an input dataset, named selectors and expressions, parameters, ordered operations."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, assert_never

from pydantic import Field, model_validator

from daybook.model.dataset import DatasetRef
from daybook.model.declaration import (
    Expression,
    Id,
    NamedDeclaration,
    NonEmptyText,
    Violation,
    find_repeated,
    raise_violations,
    validated_by,
    violation,
)
from daybook.model.measures import MeasureColumns
from daybook.model.operation import (
    AggregateOperation,
    Aggregation,
    AppendOperation,
    Assignment,
    CheckOperation,
    DeleteOperation,
    LocationDestination,
    Operation,
    OutputDestination,
    OutputOperation,
    UpdateOperation,
)
from daybook.model.parameter import Parameter, ParameterName
from daybook.model.types import ColumnType

_SELECTOR_NAME_PATTERN = re.compile(r"[^\s{}](?:[^\n{}]*[^\s{}])?")


def _check_selector_name(name: str) -> Iterator[Violation]:
    if not _SELECTOR_NAME_PATTERN.fullmatch(name):
        yield violation("PROJECT_011", name=name)


SelectorName = Annotated[str, validated_by(_check_selector_name)]


def _check_operations(operations: tuple[Operation, ...]) -> Iterator[Violation]:
    if not operations:
        yield violation("PROJECT_010")
    for index, seq in find_repeated(operation.seq for operation in operations):
        yield violation("PROJECT_002", index, "seq", seq=seq)
    for index, id_ in find_repeated(operation.id for operation in operations):
        yield violation("PROJECT_006", index, "id", id=id_)
    yield from _check_distinct_targets(operations)
    yield from _check_consistent_types(operations)


def _check_distinct_targets(operations: tuple[Operation, ...]) -> Iterator[Violation]:
    """Two outputs into one place would overwrite each other unless both append."""
    first_by_target: dict[str, OutputOperation] = {}
    for index, operation in enumerate(operations):
        if isinstance(operation, OutputOperation):
            target = target_name(operation.arguments.destination)
            first = first_by_target.setdefault(target, operation)
            if first is not operation and {first.arguments.mode, operation.arguments.mode} != {"append"}:
                path = (index, "arguments", "destination")
                yield violation("OUTPUT_012", *path, first=first.seq, second=operation.seq, target=target)


@dataclass(frozen=True, slots=True)
class DeclaredColumnType:
    """A type that a user gives a column where a value is assigned to it; `path` begins at the operations."""

    path: tuple[str | int, ...]
    seq: int
    column: str
    type: ColumnType


def declared_column_types(operations: tuple[Operation, ...]) -> Iterator[DeclaredColumnType]:
    for index, operation in enumerate(operations):
        path, values = _computed_columns(operation)
        for number, value in enumerate(values):
            if value.type is not None:
                full: tuple[str | int, ...] = (index, "arguments", *path, number, "type")
                yield DeclaredColumnType(full, operation.seq, value.column, value.type)


def _computed_columns(operation: Operation) -> tuple[tuple[str, ...], Sequence[Assignment | Aggregation]]:
    """What an operation computes, and the path of it in the arguments."""
    match operation:
        case UpdateOperation(arguments=arguments):
            return ("assignments",), arguments.assignments
        case AggregateOperation(arguments=arguments):
            return ("aggregations",), arguments.aggregations
        case AppendOperation(arguments=arguments):
            return ("aggregation", "aggregations"), arguments.aggregation.aggregations if arguments.aggregation else ()
        case DeleteOperation() | CheckOperation() | OutputOperation():
            return (), ()
        case _:
            assert_never(operation)


def _check_consistent_types(operations: tuple[Operation, ...]) -> Iterator[Violation]:
    """Checks that a column has one type in all operations."""
    first_by_column: dict[str, DeclaredColumnType] = {}
    for declared in declared_column_types(operations):
        first = first_by_column.setdefault(declared.column, declared)
        if first.type != declared.type:
            yield violation(
                "PROJECT_013",
                *declared.path,
                column=declared.column,
                type=declared.type,
                first=first.type,
                seq=first.seq,
            )


def target_name(destination: OutputDestination) -> str:
    """What a destination is called in messages; equal names are the same place."""
    if isinstance(destination, LocationDestination):
        return destination.location.path
    return f"{destination.datasource_id}.{destination.table}"


class Project(NamedDeclaration):
    """`operations` are kept in the order they execute."""

    input: DatasetRef = Field(description="The dataset whose rows the operations work on.")
    calendar_id: Id | None = Field(
        default=None, description="The calendar of its periods; by default the Gregorian one."
    )
    level: NonEmptyText | None = Field(
        default=None, description="The level of its periods in a build, such as month; by default that of its runs."
    )
    selectors: dict[SelectorName, Expression] = Field(
        default_factory=dict, description="Boolean expressions by name, referred to as {{NAME}}."
    )
    expressions: dict[SelectorName, Expression] = Field(
        default_factory=dict, description="Expressions by name, referred to as {{NAME}} like selectors."
    )
    parameters: dict[ParameterName, Parameter] = Field(
        default_factory=dict, description="Values that a run can set, referred to as param.NAME."
    )
    resolver_overrides: dict[Id, Id] = Field(
        default_factory=dict, description="Resolvers for this project: dataset id to resolver id."
    )
    measures: MeasureColumns = Field(
        default=(), description="Numeric columns whose totals every run follows from the sources to the outputs."
    )
    operations: Annotated[tuple[Operation, ...], validated_by(_check_operations)] = Field(
        json_schema_extra={"minItems": 1}, description="The operations, in order."
    )

    @model_validator(mode="after")
    def _check(self) -> "Project":
        raise_violations(self._findings())
        return self

    def reads(self) -> Iterator[tuple[tuple[str | int, ...], DatasetRef]]:
        """Every dataset the project reads, with the path of the reference."""
        yield ("input",), self.input
        for index, operation in enumerate(self.operations):
            path = ("operations", index, "arguments")
            if isinstance(operation, AppendOperation):
                yield (*path, "source"), operation.arguments.source
            elif isinstance(operation, UpdateOperation):
                for number, join in enumerate(operation.arguments.joins):
                    reference = DatasetRef(dataset_id=join.dataset_id, dataset_version=join.dataset_version)
                    yield (*path, "joins", number), reference

    def _findings(self) -> Iterator[Violation]:
        for repeated in (name for name in self.expressions if name in self.selectors):
            yield violation("PROJECT_050", "expressions", repeated, name=repeated)
        read = {reference.dataset_id for _, reference in self.reads()}
        for index, operation in enumerate(self.operations):
            if isinstance(operation, OutputOperation) and (name := operation.arguments.registered_id) in read:
                path = ("operations", index, "arguments", "register_as_dataset")
                yield violation("PROJECT_008", *path, dataset_id=name, seq=operation.seq)
