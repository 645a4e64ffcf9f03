"""The checked plan of a project: frozen steps in the order they execute, and the columns each one uses."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from daybook.errors import Notice
from daybook.expression import CompiledExpression, Constants
from daybook.expression.typed_tree import ColumnValue, TypedWindow
from daybook.model.dataset import TemporalMode, ends_before_run
from daybook.model.definition import DatasetVersion
from daybook.model.operation import OutputArguments
from daybook.model.project import Project
from daybook.model.types import ColumnType
from daybook.plan.loads import INPUT_KEY, LoadRole


@dataclass(frozen=True, slots=True, order=True)
class PlanColumnUsage:
    operation_seq: int
    dataset_id: str
    column: str


class ColumnUsageLog:
    """Collects what operations read; a column that the project made itself belongs to no dataset."""

    def __init__(self) -> None:
        self._found: set[PlanColumnUsage] = set()

    def add(self, seq: int, dataset_id: str, declared: Iterable[str], names: Iterable[str]) -> None:
        declared_names = frozenset(declared)
        self._found.update(PlanColumnUsage(seq, dataset_id, name) for name in names if name in declared_names)

    def frozen(self) -> tuple[PlanColumnUsage, ...]:
        return tuple(sorted(self._found))


def working_columns(*expressions: CompiledExpression | None) -> set[str]:
    """The working columns that expressions read."""
    return {use.name for expression in expressions if expression for use in expression.uses if use.qualifier is None}


def alias_columns(alias: str, *expressions: CompiledExpression | None) -> set[str]:
    """The columns of a join that expressions read."""
    return {use.name for expression in expressions if expression for use in expression.uses if use.qualifier == alias}


# The business columns of the working dataset, in order; system columns are always there.
Schema: TypeAlias = Mapping[str, ColumnType]


@dataclass(frozen=True, slots=True)
class LoadStep:
    """Data a run reads; `key` identifies it for the caller that provides the data.

    `columns` are those that a plan needs, system columns included; None is all of them. `empty` are columns that
    rows of the input have without a value.
    """

    key: str
    role: LoadRole
    operation_seq: int
    version: DatasetVersion
    alias: str | None = None
    columns: frozenset[str] | None = None
    empty: Schema = field(default_factory=dict)

    def needs(self, name: str) -> bool:
        return self.columns is None or name in self.columns

    @property
    def dataset_id(self) -> str:
        return self.version.dataset.id

    @property
    def table(self) -> str:
        return self.version.dataset.main_table.name

    @property
    def temporal_mode(self) -> TemporalMode | None:
        return self.version.dataset.main_table.temporal_mode

    @property
    def reads_slices(self) -> bool:
        """Whether rows of a table that collects slices are read by their slice."""
        return self.temporal_mode in ("period", "bitemporal") or self.version.viewed.reads_one_slice

    @property
    def has_period_of_slice(self) -> bool:
        """Whether rows without a period belong to that of their slice."""
        is_viewed_slice = self.version.view is not None and self.version.viewed.reads_one_slice
        return self.temporal_mode == "period" or is_viewed_slice

    @property
    def looks_back(self) -> bool:
        """Whether only periods before the run's are read, so that a project may read what it wrote for them."""
        view = self.version.view
        return view is not None and ends_before_run(view.of.window)

    @property
    def types(self) -> dict[str, ColumnType]:
        columns = self.version.dataset.main_table.columns
        return {column.name: column.type for column in columns if self.needs(column.name)}

    @property
    def required_columns(self) -> tuple[str, ...]:
        """The columns that are never NULL, which every row is checked for."""
        return tuple(column.name for column in self.version.dataset.main_table.columns if not column.nullable)


@dataclass(frozen=True, slots=True)
class JoinStep:
    """`columns` are those of the joined table that the operation reads."""

    alias: str
    load_key: str
    on: CompiledExpression
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ComputedColumn:
    """What a column becomes: an expression and the type it is fitted to."""

    column: str
    expression: CompiledExpression
    type: ColumnType


@dataclass(frozen=True, slots=True)
class UpdateStep:
    seq: int
    operation_id: str
    name: str
    selector: CompiledExpression | None
    joins: tuple[JoinStep, ...]
    assignments: tuple[ComputedColumn, ...]
    schema: Schema

    @property
    def expressions(self) -> tuple[CompiledExpression | None, ...]:
        """The selector and the values."""
        return (self.selector, *(value.expression for value in self.assignments))

    @property
    def windows(self) -> tuple[TypedWindow, ...]:
        """The windows in its values, each once."""
        nodes = (node for value in self.assignments for node in value.expression.tree.walk())
        return tuple(dict.fromkeys(node for node in nodes if isinstance(node, TypedWindow)))


@dataclass(frozen=True, slots=True)
class AggregateStep:
    seq: int
    operation_id: str
    name: str
    selector: CompiledExpression | None
    group_by: tuple[str, ...]
    aggregations: tuple[ComputedColumn, ...]
    schema: Schema


@dataclass(frozen=True, slots=True)
class AppendStep:
    """Without `aggregations` the source's rows are appended; `columns` are the source columns that arrive.

    With `mapped` no column arrives by its own name.
    """

    seq: int
    operation_id: str
    name: str
    load_key: str
    source_selector: CompiledExpression | None
    group_by: tuple[str, ...]
    aggregations: tuple[ComputedColumn, ...]
    columns: tuple[str, ...]
    schema: Schema
    mapped: tuple[ComputedColumn, ...] = ()

    @property
    def carried(self) -> dict[str, str]:
        """The columns that hold a column of the source as it is, each with the name it has there."""
        named = {
            value.column: value.expression.tree.use.name
            for value in self.mapped
            if isinstance(value.expression.tree, ColumnValue)
        }
        return {**{name: name for name in self.columns}, **named}

    @property
    def made_columns(self) -> tuple[str, ...]:
        """The columns in which appended rows have a value."""
        return (*self.columns, *(value.column for value in (*self.aggregations, *self.mapped)))


@dataclass(frozen=True, slots=True)
class DeleteStep:
    seq: int
    operation_id: str
    name: str
    selector: CompiledExpression | None
    schema: Schema

    @property
    def expressions(self) -> tuple[CompiledExpression | None, ...]:
        return (self.selector,)


@dataclass(frozen=True, slots=True)
class CheckStep:
    """`columns` identify a failing row."""

    seq: int
    operation_id: str
    name: str
    selector: CompiledExpression | None
    condition: CompiledExpression
    columns: tuple[str, ...]
    schema: Schema

    @property
    def expressions(self) -> tuple[CompiledExpression | None, ...]:
        return (self.selector, self.condition)


@dataclass(frozen=True, slots=True)
class OutputStep:
    """`columns` are what is written, in order, with the types they are written in.

    `written_names` are those that differ from the names in the working dataset, by these.
    """

    seq: int
    operation_id: str
    name: str
    selector: CompiledExpression | None
    columns: Schema
    order_by: tuple[str, ...]
    arguments: OutputArguments
    schema: Schema
    written_names: Mapping[str, str] = field(default_factory=dict)


Step: TypeAlias = UpdateStep | AggregateStep | AppendStep | DeleteStep | CheckStep | OutputStep

# Steps that pick rows of the working dataset where they stand.
RowStep: TypeAlias = UpdateStep | DeleteStep | CheckStep


def count_until_last_output(steps: Sequence[Step]) -> int:
    """How many steps there are up to the last output and with it; what follows is never seen."""
    return max((index + 1 for index, step in enumerate(steps) if isinstance(step, OutputStep)), default=0)


@dataclass(frozen=True, slots=True)
class Plan:
    """`types` are the final types of the business columns; `constants` are missing when only validity was asked for."""

    project: Project
    loads: tuple[LoadStep, ...]
    steps: tuple[Step, ...]
    types: Mapping[str, ColumnType]
    notices: tuple[Notice, ...]
    usage: tuple[PlanColumnUsage, ...]
    constants: Constants | None = None
    # How many warnings operations accept.
    accepted: int = 0
    # The columns whose totals are followed.
    measures: tuple[str, ...] = ()

    def load(self, key: str) -> LoadStep:
        return next(load for load in self.loads if load.key == key)

    def step(self, seq: int) -> Step:
        return next(step for step in self.steps if step.seq == seq)

    @property
    def input(self) -> LoadStep:
        return self.load(INPUT_KEY)

    @property
    def outputs(self) -> tuple[OutputStep, ...]:
        return tuple(step for step in self.steps if isinstance(step, OutputStep))
