"""Left joins of an update to stored rows, looked up by the keys that must be equal."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from daybook.model.types import FLOAT, ColumnType
from daybook.recompute.arithmetic import is_numeric
from daybook.recompute.program import Join
from daybook.recompute.stored_tables import LoadedTable
from daybook.recompute.tree import Column, Comparison, Layout, Logic, Node, Row, RowFunction, all_of


def conjuncts(node: Node) -> Iterator[Node]:
    """The conditions that must all hold for a condition to hold."""
    if isinstance(node, Logic) and node.operator == "AND":
        for operand in node.operands():
            yield from conjuncts(operand)
    else:
        yield node


def aliases_in(node: Node) -> set[str]:
    """The joins whose columns an expression reads."""
    return {part.qualifier for part in node.walk() if isinstance(part, Column) and part.alias and part.qualifier}


@dataclass(frozen=True)
class JoinedTable:
    """The rows of a join by their key; `conditions` are what must hold beside equal keys, of both rows together."""

    by_key: dict[tuple[object, ...], list[Row]]
    own_keys: tuple[RowFunction, ...]
    conditions: RowFunction | None
    nothing: Row

    def matches(self, row: Row) -> list[Row]:
        """What the row becomes: itself with each matching row behind it, or with NULL where none matches."""
        key = tuple(function(row) for function in self.own_keys)
        candidates = self.by_key.get(key, ()) if None not in key else ()
        if self.conditions is None:
            joined = [row + other for other in candidates]
        else:
            joined = [both for other in candidates if self.conditions(both := row + other) is True]
        return joined or [row + self.nothing]


def prepare_join(join: Join, loaded: LoadedTable, layout: Layout, used: Sequence[str]) -> JoinedTable:
    """`layout` is that of a row with this join's columns behind it, `used` are the columns that it gets."""
    own_keys: list[RowFunction] = []
    other_keys: list[RowFunction] = []
    others: list[RowFunction] = []
    other_layout: Layout = {(join.alias, name): position for name, position in loaded.layout.items()}
    joined_alone: list[RowFunction] = []
    for condition in conjuncts(join.on.node):
        match _key_sides(condition, join.alias):
            case (own, other):
                own_keys.append(own.function(layout))
                other_keys.append(other.function(other_layout))
            case None if _reads_only(condition, join.alias):
                joined_alone.append(condition.function(other_layout))
            case None:
                others.append(condition.function(layout))
    positions = [loaded.layout[name] for name in used]
    by_key: dict[tuple[object, ...], list[Row]] = {}
    for row in loaded.rows:
        if all(condition(row) is True for condition in joined_alone):
            key = tuple(function(row) for function in other_keys)
            if None not in key:
                by_key.setdefault(key, []).append(tuple(row[position] for position in positions))
    return JoinedTable(by_key, tuple(own_keys), all_of(others) if others else None, (None,) * len(positions))


def used_columns(alias: str, nodes: Sequence[Node]) -> list[str]:
    """The columns of a join that expressions read."""
    columns = (part for node in nodes for part in node.walk() if isinstance(part, Column))
    return sorted({column.name for column in columns if column.alias and column.qualifier == alias})


def _reads_only(node: Node, alias: str) -> bool:
    columns = [part for part in node.walk() if isinstance(part, Column)]
    return bool(columns) and all(column.alias and column.qualifier == alias for column in columns)


def _key_sides(condition: Node, alias: str) -> tuple[Node, Node] | None:
    """Of an equality between the joined row and the rest: the side of the rest, and that of the joined row."""
    if not isinstance(condition, Comparison) or condition.operator != "=":
        return None
    if not _can_be_looked_up(condition.left.type, condition.right.type):
        return None
    for own, other in ((condition.left, condition.right), (condition.right, condition.left)):
        if _reads_only(other, alias) and alias not in aliases_in(own):
            return own, other
    return None


def _can_be_looked_up(left: ColumnType, right: ColumnType) -> bool:
    """Whether values of the two types are equal exactly when Python takes them for the same key."""
    return FLOAT not in (left, right) and (left == right or (is_numeric(left) and is_numeric(right)))
