"""A project in the reference's terms: what it declares, and the rows its outputs write."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from daybook.model.types import BOOLEAN, ColumnType
from tests.reference.functions import RUN_TIMESTAMP
from tests.reference.generate import is_exact
from tests.reference.operations import Append, Operation, Record, Run, Summarise, Table, Update, WorkingDataset
from tests.reference.retype import created_types, retyped, targets
from tests.reference.tree import Expression, Row, Value
from tests.reference.windows import Window

RUN = Run("2026-01", datetime.date(2026, 1, 1), RUN_TIMESTAMP)


@dataclass(frozen=True)
class Named(Expression):
    """A reference to a named selector."""

    name: str
    selector: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.selector,)

    @property
    def type(self) -> ColumnType:
        return BOOLEAN

    def __str__(self) -> str:
        return f"{{{{{self.name}}}}}"

    def value(self, row: Row) -> Value:
        return self.selector.value(row)


@dataclass(frozen=True)
class NamedValue(Expression):
    """A reference to a named expression."""

    name: str
    expression: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.expression,)

    @property
    def type(self) -> ColumnType:
        return self.expression.type

    @property
    def digits(self) -> int | None:
        return self.expression.digits

    @property
    def type_alone(self) -> ColumnType:
        return self.expression.type_alone

    def __str__(self) -> str:
        return f"{{{{{self.name}}}}}"

    def value(self, row: Row) -> Value:
        return self.expression.value(row)


@dataclass(frozen=True)
class Parameter(Expression):
    """A parameter of the project, which has its value from the run."""

    name: str
    parameter_type: ColumnType
    given: Value

    @property
    def type(self) -> ColumnType:
        return self.parameter_type

    def __str__(self) -> str:
        return f"param.{self.name}"

    def value(self, row: Row) -> Value:
        return self.given


@dataclass(frozen=True)
class GeneratedProject:
    seed: int
    input: Table
    others: Sequence[Table]
    selectors: Mapping[str, Expression]
    operations: Sequence[Operation]
    run: Run = RUN
    expressions: Mapping[str, Expression] = field(default_factory=dict)
    parameters: Sequence[Parameter] = ()

    @cached_property
    def types(self) -> dict[str, ColumnType]:
        return created_types(self.operations, self.input.columns)

    def expected(self) -> dict[int, list[Record]]:
        """The rows of every output, by seq."""
        return self._executed[0]

    def counts(self) -> dict[int, tuple[int, int]]:
        """The rows that every other operation picks and adds, by seq; 0 is the input."""
        return self._executed[1]

    @cached_property
    def _executed(self) -> tuple[dict[int, list[Record]], dict[int, tuple[int, int]]]:
        working = WorkingDataset(self.input, self.types, self.run)
        working.load()
        loaded = {0: (len(working.rows), 0)}
        outputs = {operation.seq: working.apply(operation) for operation in self.settled()}
        return {seq: rows for seq, rows in outputs.items() if rows is not None}, loaded | working.counts

    def settled(self) -> list[Operation]:
        """The operations with every working column at its final type."""
        return [with_types(operation, self.types) for operation in self.operations]

    def is_well_typed(self) -> bool:
        try:
            settled = self.settled()
        except (TypeError, ValueError):
            return False
        nodes = [node for operation in settled for root in expressions(operation) for node in root.walk()]
        return all(is_exact(node) and not (isinstance(node, Window) and node.is_too_wide) for node in nodes)


def with_types(operation: Operation, types: Mapping[str, ColumnType]) -> Operation:
    match operation:
        case Update():
            joins = [replace(join, on=retyped(join.on, types)) for join in operation.joins]
            changed = retyped(operation.assignments, types)
            return replace(operation, selector=retyped(operation.selector, types), assignments=changed, joins=joins)
        case Summarise():
            changed = retyped(operation.aggregations, types)
            return replace(operation, selector=retyped(operation.selector, types), aggregations=changed)
        case Append():
            return operation
        case _:
            return replace(operation, selector=retyped(operation.selector, types))


def expressions(operation: Operation) -> list[Expression]:
    selector = operation.source_selector if isinstance(operation, Append) else operation.selector
    joins = operation.joins if isinstance(operation, Update) else ()
    values = [*operation.aggregations, *operation.columns] if isinstance(operation, Append) else targets(operation)
    return [*([selector] if selector else []), *(join.on for join in joins), *(value for _, value in values)]
