"""The operations of a project with their expressions as typed trees."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TypeAlias, assert_never

from daybook.model.calendar import Period
from daybook.model.declaration import split_reference
from daybook.model.operation import (
    AggregateOperation,
    Aggregation,
    AppendOperation,
    Assignment,
    CheckOperation,
    DeleteOperation,
    Operation,
    OutputArguments,
    OutputOperation,
    UpdateOperation,
)
from daybook.model.project import Project, declared_column_types
from daybook.model.types import (
    COLUMN_SYNONYMS,
    DATE,
    NULL,
    STRING,
    SYSTEM_COLUMNS,
    TIMESTAMP,
    ColumnType,
    DecimalType,
    Value,
)
from daybook.recompute.arithmetic import TypedOperand, as_type, common_type, is_numeric
from daybook.recompute.parse import Names, parse
from daybook.recompute.stored_tables import RunFacts, StoredTable
from daybook.recompute.tree import Column, Literal, Node

# What an operation reads: its seq, and the alias of a join.
TableKey: TypeAlias = tuple[int, str | None]
INPUT: TableKey = (0, None)
Types: TypeAlias = Mapping[str, ColumnType]


@dataclass(frozen=True)
class ComputedValue:
    """What a column becomes: an expression, and the text of it."""

    column: str
    node: Node
    text: str
    type: ColumnType = NULL


@dataclass(frozen=True)
class Condition:
    node: Node
    text: str


@dataclass(frozen=True)
class Join:
    alias: str
    on: Condition


@dataclass(frozen=True)
class OperationName:
    seq: int
    id: str
    name: str


@dataclass(frozen=True)
class Update:
    name: OperationName
    selector: Condition | None
    joins: tuple[Join, ...]
    values: tuple[ComputedValue, ...]


@dataclass(frozen=True)
class Summarise:
    """The `aggregate` operation."""

    name: OperationName
    selector: Condition | None
    group_by: tuple[str, ...]
    values: tuple[ComputedValue, ...]


@dataclass(frozen=True)
class Append:
    """With `group_by` the source's groups arrive, else its rows."""

    name: OperationName
    selector: Condition | None
    group_by: tuple[str, ...]
    values: tuple[ComputedValue, ...]


@dataclass(frozen=True)
class Delete:
    name: OperationName
    selector: Condition | None


@dataclass(frozen=True)
class Check:
    """`columns` are shown of the first row that fails."""

    name: OperationName
    selector: Condition | None
    condition: Condition
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Output:
    """`columns` are what is written, in order, with the types they are written in; `names` are those they get."""

    name: OperationName
    selector: Condition | None
    columns: Types
    names: tuple[str, ...]
    order_by: tuple[str, ...]
    arguments: OutputArguments


Step: TypeAlias = Update | Summarise | Append | Delete | Check | Output


@dataclass(frozen=True)
class Program:
    """`types` are the final types of the business columns, in the order in which they appear."""

    steps: tuple[Step, ...]
    types: Types


def build_program(project: Project, tables: Mapping[TableKey, StoredTable], facts: RunFacts) -> Program:
    """A column that the project makes has the narrowest type that holds everything assigned to it.

    Its type may depend on itself, so the operations are read again with the types found before until those settle.
    Types that never do, as that of a column to which something is added again and again, are not looked up: such a
    column has in every operation the type of what was assigned to it until then.
    """
    constants = run_constants(project, facts)
    assumed: dict[str, ColumnType] = {}
    growing: frozenset[str] = frozenset()
    while True:
        changed: frozenset[str] = frozenset()
        for _ in range(_MAX_ROUNDS):
            reader = _Reader(project, tables, constants, assumed, growing)
            try:
                steps = tuple(reader.steps())
            except TypeGrewError:
                break
            types = {name: STRING if type_ == NULL else type_ for name, type_ in reader.made_types().items()}
            if types == assumed:
                return Program(steps, {name: types.get(name, type_) for name, type_ in reader.columns.items()})
            changed = frozenset(name for name, type_ in types.items() if assumed.get(name) != type_)
            assumed = types
        growing |= changed
        assumed = {name: type_ for name, type_ in assumed.items() if name not in growing}


_MAX_ROUNDS = 6


class TypeGrewError(Exception):
    """A column is assumed to be so wide that no type holds what is computed of it."""


def is_well_typed(node: Node) -> bool:
    """Whether every decimal of the tree has a precision that holds its scale."""
    types = (part.type for part in node.walk())
    return all(type_.scale <= type_.precision for type_ in types if isinstance(type_, DecimalType))


def run_constants(project: Project, facts: RunFacts) -> dict[str, Literal]:
    """What `period.…`, `param.…`, NOW() and TODAY() stand for."""
    period: Period = facts.period
    parameters: dict[str, tuple[Value, ColumnType]] = {
        f"param.{name}": (_in_type(facts.parameters.get(name), parameter.type), parameter.type)
        for name, parameter in project.parameters.items()
    }
    values: dict[str, tuple[Value, ColumnType]] = {
        "period.identifier": (period.identifier, STRING),
        "period.level": (period.level, STRING),
        "period.start_date": (period.start_date, DATE),
        "period.end_date": (period.end_date, DATE),
        "NOW": (facts.timestamp, TIMESTAMP),
        "TODAY": (facts.timestamp.date(), DATE),
        **parameters,
    }
    return {name: Literal(value, type_, name, is_written=False) for name, (value, type_) in values.items()}


def _in_type(value: Value, type_: ColumnType) -> Value:
    """A value that is given, with the places of its type."""
    return as_type(value, type_) if is_numeric(type_) and isinstance(value, int | float | Decimal) else value


class _Reader:
    """Reads the operations in order; `columns` are those there are so far, with the types they have there."""

    def __init__(
        self,
        project: Project,
        tables: Mapping[TableKey, StoredTable],
        constants: Mapping[str, Literal],
        assumed: Types,
        growing: frozenset[str],
    ) -> None:
        declared = tables[INPUT].columns
        self._project = project
        self._tables = tables
        self._main = tables[INPUT].name
        self._constants = constants
        self._expressions = {**project.selectors, **project.expressions}
        self._assumed = assumed
        self._growing = growing
        self._fixed = {item.column: item.type for item in declared_column_types(project.operations)} | dict(declared)
        self._assigned: dict[str, list[TypedOperand]] = {}
        self.columns: dict[str, ColumnType] = dict(declared)

    def made_types(self) -> dict[str, ColumnType]:
        """The types of the columns that the project makes, by what is assigned to them."""
        return {name: common_type(*operands) for name, operands in self._assigned.items()}

    def _fitted(self, value: ComputedValue) -> ComputedValue:
        """A value with the type that it takes in its column; an average alone is rounded once."""
        column, node = value.column, value.node
        if required := SYSTEM_COLUMNS.get(column) or self._fixed.get(column):
            return replace(value, node=node.for_column(required), type=required)
        if not is_well_typed(node):
            raise TypeGrewError(column)
        operands = self._assigned.setdefault(column, [])
        operands.append((node.type_alone, node.digits))
        merged = common_type(*operands)
        is_growing = column in self._growing and merged != NULL
        type_ = merged if is_growing else self._assumed.get(column, merged)
        return replace(value, node=node.for_column(type_), type=type_)

    def steps(self) -> Iterator[Step]:
        for operation in self._project.operations:
            yield self._step(operation)

    def _step(self, operation: Operation) -> Step:
        name = OperationName(operation.seq, operation.id, operation.name)
        match operation:
            case UpdateOperation(arguments=arguments):
                return self._update(name, operation)
            case AggregateOperation(arguments=arguments):
                names = self._names()
                group_by = tuple(self._column_name(written, self._main) for written in arguments.group_by)
                values = self._computed(arguments.aggregations, names)
                selector = self._condition(operation.selector, names)
                return Summarise(name, selector, group_by, self._assign(values))
            case AppendOperation():
                return self._append(name, operation)
            case DeleteOperation():
                return Delete(name, self._condition(operation.selector, self._names()))
            case CheckOperation(arguments=arguments):
                names = self._names()
                selector = self._condition(operation.selector, names)
                condition = Condition(parse(arguments.condition, names), arguments.condition)
                read = {
                    node.name
                    for part in (selector, condition)
                    if part
                    for node in part.node.walk()
                    if isinstance(node, Column)
                }
                key = [column for column in self._tables[INPUT].natural_key if column in self.columns]
                columns = tuple(dict.fromkeys((*key, *sorted(read - SYSTEM_COLUMNS.keys()))))
                return Check(name, selector, condition, columns)
            case OutputOperation(arguments=arguments):
                selector = self._condition(operation.selector, self._names())
                written = arguments.columns
                if written is None:
                    columns = (*self.columns, *(SYSTEM_COLUMNS if arguments.system_columns else ()))
                else:
                    columns = tuple(self._column_name(reference, self._main) for reference in written)
                order_by = tuple(self._column_name(reference, self._main) for reference in arguments.order_by)
                types = {**self.columns, **SYSTEM_COLUMNS}
                types |= {column: self._assumed[column] for column in self.columns if column in self._assumed}
                labels = columns if written is None else tuple(split_reference(reference)[1] for reference in written)
                return Output(
                    name, selector, {column: types[column] for column in columns}, labels, order_by, arguments
                )
            case _:
                assert_never(operation)

    def _update(self, name: OperationName, operation: UpdateOperation) -> Update:
        aliases: dict[str, Types] = {}
        joins: list[Join] = []
        for join in operation.arguments.joins:
            aliases[join.alias] = self._tables[operation.seq, join.alias].columns
            joins.append(Join(join.alias, Condition(parse(join.on, self._names(aliases)), join.on)))
        names = self._names(aliases)
        selector = self._condition(operation.selector, names)
        values = self._computed(operation.arguments.assignments, names)
        return Update(name, selector, tuple(joins), self._assign(values))

    def _append(self, name: OperationName, operation: AppendOperation) -> Append:
        arguments, source = operation.arguments, self._tables[operation.seq, None]
        names = replace(self._names(), columns=source.columns, qualifiers=frozenset({source.name}))
        selector = self._condition(arguments.source_selector, names)
        if arguments.columns is not None:
            mapped = tuple(ComputedValue(to, parse(text, names), text) for to, text in arguments.columns.items())
            return Append(name, selector, (), self._assign(mapped))
        if arguments.aggregation is None:
            own = tuple(
                ComputedValue(column, Column(column, type_), column) for column, type_ in source.columns.items()
            )
            return Append(name, selector, (), self._assign(own))
        group_by = tuple(self._column_name(reference, source.name) for reference in arguments.aggregation.group_by)
        keys = tuple(
            ComputedValue(column, Column(column, source.columns.get(column) or SYSTEM_COLUMNS[column]), column)
            for column in group_by
        )
        values = (*keys, *self._computed(arguments.aggregation.aggregations, names))
        return Append(name, selector, group_by, self._assign(values))

    def _names(self, aliases: Mapping[str, Types] | None = None) -> Names:
        return Names(
            dict(self.columns), dict(aliases or {}), frozenset({self._main}), self._constants, self._expressions
        )

    def _condition(self, text: str | None, names: Names) -> Condition | None:
        return Condition(parse(text, names), text) if text is not None else None

    def _computed(self, values: Sequence[Assignment | Aggregation], names: Names) -> tuple[ComputedValue, ...]:
        return tuple(ComputedValue(value.column, parse(value.expression, names), value.expression) for value in values)

    def _assign(self, values: Sequence[ComputedValue]) -> tuple[ComputedValue, ...]:
        """The values in the types of their columns, which exist from here on."""
        fitted = tuple(self._fitted(value) for value in values)
        self.columns.update({value.column: value.type for value in fitted if value.column not in SYSTEM_COLUMNS})
        return fitted

    def _column_name(self, written: str, table: str) -> str:
        qualifier, name = split_reference(written)
        bare = name if qualifier in ("", table) else written
        return COLUMN_SYNONYMS.get(bare, bare)
