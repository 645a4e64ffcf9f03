"""A project in the reference's terms: what it declares, and the rows its outputs write."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from daybook.model.types import BOOLEAN, MAX_DIGITS, ColumnType
from daybook.recompute.arithmetic import decimal_of
from daybook.recompute.tree import Layout, Node, RowFunction, Value
from daybook.recompute.windows import Window
from tests.reference.evaluate import RUN_TIMESTAMP, computed, records
from tests.reference.generate import is_exact
from tests.reference.operations import Append, Operation, Record, Run, Summarise, Table, Update
from tests.reference.retype import created_types, retyped, targets

RUN = Run("2026-01", datetime.date(2026, 1, 1), RUN_TIMESTAMP)


@dataclass(frozen=True)
class Named(Node):
    """A reference to a named selector."""

    name: str
    selector: Node

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.selector,)

    @property
    def type(self) -> ColumnType:
        return BOOLEAN

    def __str__(self) -> str:
        return f"{{{{{self.name}}}}}"

    def function(self, layout: Layout) -> RowFunction:
        return self.selector.function(layout)


@dataclass(frozen=True)
class NamedValue(Node):
    """A reference to a named expression."""

    name: str
    expression: Node

    @property
    def children(self) -> tuple[Node, ...]:
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

    def function(self, layout: Layout) -> RowFunction:
        return self.expression.function(layout)


@dataclass(frozen=True)
class Parameter(Node):
    """A parameter of the project, which has its value from the run."""

    name: str
    parameter_type: ColumnType
    given: Value

    @property
    def type(self) -> ColumnType:
        return self.parameter_type

    def __str__(self) -> str:
        return f"param.{self.name}"

    def function(self, layout: Layout) -> RowFunction:
        return lambda row: self.given


@dataclass(frozen=True)
class GeneratedProject:
    seed: int
    input: Table
    others: Sequence[Table]
    selectors: Mapping[str, Node]
    operations: Sequence[Operation]
    run: Run = RUN
    expressions: Mapping[str, Node] = field(default_factory=dict)
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
        computation = computed(self)
        counts = {each.seq: (each.picked, each.added) for each in computation.counts}
        return records(computation), {0: (computation.input_rows, 0), **counts}

    def settled(self) -> list[Operation]:
        """The operations with every working column at its final type."""
        return [with_types(operation, self.types) for operation in self.operations]

    def is_well_typed(self) -> bool:
        try:
            settled = self.settled()
        except (TypeError, ValueError):
            return False
        nodes = [node for operation in settled for root in expressions(operation) for node in root.walk()]
        return all(is_exact(node) and not (isinstance(node, Window) and is_too_wide(node)) for node in nodes)


def is_too_wide(window: Window) -> bool:
    """Whether an allocation may need more than 38 digits."""
    if window.call != "ALLOCATE":
        return False
    amount, weight = (decimal_of(each.type, each.digits) for each in window.arguments)
    return amount.precision + weight.precision > MAX_DIGITS or amount.precision + amount.scale > MAX_DIGITS


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


def expressions(operation: Operation) -> list[Node]:
    selector = operation.source_selector if isinstance(operation, Append) else operation.selector
    joins = operation.joins if isinstance(operation, Update) else ()
    values = [*operation.aggregations, *operation.columns] if isinstance(operation, Append) else targets(operation)
    return [*([selector] if selector else []), *(join.on for join in joins), *(value for _, value in values)]
