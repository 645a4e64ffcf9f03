"""The second engine over rows that are mappings, and over generated projects."""

import datetime
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from daybook.errors import DaybookError
from daybook.model.calendar import Period
from daybook.model.types import TIMESTAMP, ColumnType
from daybook.recompute import INPUT, Computation, RunFacts, StoredTable, TableKey, compute
from daybook.recompute.aggregates import Aggregate
from daybook.recompute.parse import Names
from daybook.recompute.parse import parse as parse_with_names
from daybook.recompute.tree import Literal, Node, Value
from tests.reference.operations import Append, Table, Update

if TYPE_CHECKING:
    from tests.reference.generated import GeneratedProject

# When every run of the reference takes place, and so what NOW() is.
RUN_TIMESTAMP = datetime.datetime(2026, 2, 3, 4, 5, 6, 789, tzinfo=datetime.UTC)
PERIOD = Period("2026-01", "month", datetime.date(2026, 1, 1), datetime.date(2026, 1, 31))
NOW = Literal(RUN_TIMESTAMP, TIMESTAMP, "NOW()")


class FailedRunError(Exception):
    """What fails the run always, whether or not an output needs the value."""


class ValueFailedError(Exception):
    """A value that fails a run which needs it."""


class FanOutError(FailedRunError):
    """A picked row that matches more than one row of a join."""


class NullValueError(FailedRunError):
    """NULL in a column declared not to hold it."""


class AllocationFailedError(FailedRunError):
    """An amount that cannot be divided among the rows of a group."""


_FAILURES: Mapping[str, type[Exception]] = {
    "PROJECT_033": ValueFailedError,
    "UPDATE_007": ValueFailedError,
    "UPDATE_024": FanOutError,
    "UPDATE_026": AllocationFailedError,
    "PROJECT_030": NullValueError,
}


def column_key(name: str) -> Hashable:
    """`alias.column` is a column of a join."""
    alias, _, column = name.partition(".")
    return (alias, column) if column else name


def value(node: Node, row: Mapping[str, Value]) -> Value:
    layout = {column_key(name): position for position, name in enumerate(row)}
    return node.function(layout)(tuple(row.values()))


def group_value(aggregate: Node, rows: Sequence[Mapping[str, Value]]) -> Value:
    """The value of an expression of aggregates over the rows of one group."""
    layout: dict[Hashable, int] = {name: position for position, name in enumerate(rows[0])}
    members = [tuple(row.values()) for row in rows]
    nodes = [node for node in aggregate.walk() if isinstance(node, Aggregate)]
    totals = tuple(node.of_group(layout)(members) for node in nodes)
    return aggregate.function({node: position for position, node in enumerate(nodes)})(totals)


def parse(text: str, types: Mapping[str, ColumnType] | None = None) -> Node:
    """`types` has `column` and `qualifier.column`; a qualified name that is not there is a working column."""
    columns: dict[str, ColumnType] = {}
    aliases: dict[str, dict[str, ColumnType]] = {}
    for name, type_ in (types or {}).items():
        alias, _, column = name.partition(".")
        if column:
            aliases.setdefault(alias, {})[column] = type_
        else:
            columns[name] = type_
    return parse_with_names(text, Names(columns, aliases, frozenset({"orders", "orders_table"}), {"NOW": NOW}))


def stored_table(table: Table) -> StoredTable:
    names = (*table.columns, *table.carried)

    def rows() -> Iterator[tuple[Any, ...]]:
        for number, row in enumerate(table.rows):
            yield (*(row.get(name) for name in names), "part-0", number)

    return StoredTable(
        dataset_id=table.dataset_id,
        name=table.name,
        columns=table.columns,
        carried=table.carried,
        rows=rows,
        required=tuple(name for name in table.columns if name in table.required),
        temporal_mode=table.temporal_mode,  # type: ignore[arg-type]
        natural_key=table.natural_key,
    )


def computed(generated: "GeneratedProject") -> Computation:
    """What the second engine makes of a project; a failure is raised by its kind."""
    from tests.reference.declare import project_model

    tables: dict[TableKey, StoredTable] = {INPUT: stored_table(generated.input)}
    for operation in generated.operations:
        if isinstance(operation, Append):
            tables[operation.seq, None] = stored_table(operation.source)
        elif isinstance(operation, Update):
            tables |= {(operation.seq, join.alias): stored_table(join.table) for join in operation.joins}
    parameters = {each.name: each.given for each in generated.parameters}
    facts = RunFacts(f"project-{generated.seed}", PERIOD, generated.run.as_of, generated.run.timestamp, parameters)
    try:
        return compute(project_model(generated), tables, facts)
    except DaybookError as error:
        # What is wrong with the rows of an append is the cause of its own code.
        code = error.causes[0].code if error.code == "APPEND_008" else error.code
        raise _FAILURES[code](str(error)) from error


def records(computation: Computation) -> dict[int, list[dict[str, Value]]]:
    """The rows of every output, by seq."""
    return {
        output.name.seq: [dict(zip(output.columns, row, strict=True)) for row in output.rows]
        for output in computation.outputs
    }
