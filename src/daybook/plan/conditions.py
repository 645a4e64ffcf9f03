"""Conditions taken apart: what must hold together, and which of it concerns which side of a join."""

from collections.abc import Iterator
from dataclasses import dataclass, fields

from daybook.expression.scope import ColumnUse
from daybook.expression.typed import ColumnValue, Compared, Junction, Typed
from daybook.model.types import ColumnType, DecimalType, IntegerType


def conjuncts(tree: Typed) -> Iterator[Typed]:
    """The parts of a condition that AND puts together."""
    if isinstance(tree, Junction) and tree.operator == "AND":
        for operand in tree.operands:
            yield from conjuncts(operand)
    else:
        yield tree


def parts_of(tree: object) -> Iterator[object]:
    """A tree and all that it is made of."""
    if isinstance(tree, tuple):
        for each in tree:
            yield from parts_of(each)
    elif isinstance(tree, Typed):
        yield tree
        for field in fields(tree):
            yield from parts_of(getattr(tree, field.name))


def column_uses(tree: object) -> Iterator[ColumnUse]:
    """Every column that a part of an expression reads."""
    return (part.use for part in parts_of(tree) if isinstance(part, ColumnValue))


def aliases_of(tree: object) -> frozenset[str]:
    """The joins whose columns a part of an expression reads."""
    return frozenset(use.qualifier for use in column_uses(tree) if use.qualifier is not None)


@dataclass(frozen=True, slots=True)
class JoinShape:
    """A join condition by sides: key pairs (own side, joined side), what concerns the joined rows alone, the rest."""

    keys: tuple[tuple[Typed, Typed], ...]
    joined_only: tuple[Typed, ...]
    own_only: tuple[Typed, ...]
    rest: tuple[Typed, ...]

    @property
    def is_by_key(self) -> bool:
        """Whether equal keys alone decide on a match, so that counting keys finds every double match."""
        return bool(self.keys) and not self.rest


def shape_of(condition: Typed, alias: str) -> JoinShape:
    keys: list[tuple[Typed, Typed]] = []
    joined_only: list[Typed] = []
    own_only: list[Typed] = []
    rest: list[Typed] = []
    for part in conjuncts(condition):
        aliases = frozenset(use.qualifier for use in column_uses(part))
        if aliases == {alias}:
            joined_only.append(part)
        elif alias not in aliases:
            own_only.append(part)
        elif pair := _key_pair(part, alias):
            keys.append(pair)
        else:
            rest.append(part)
    return JoinShape(tuple(keys), tuple(joined_only), tuple(own_only), tuple(rest))


def _key_pair(part: Typed, alias: str) -> tuple[Typed, Typed] | None:
    # Operands that compare in two parts have no common type in which Spark could look keys up exactly.
    if not isinstance(part, Compared) or part.operator != "=" or part.is_split:
        return None
    if not _equal_as_they_stand(part.left.type, part.right.type):
        return None
    for own, joined in ((part.left, part.right), (part.right, part.left)):
        sides = frozenset(use.qualifier for use in column_uses(joined))
        if sides == {alias} and alias not in aliases_of(own):
            return own, joined
    return None


def _equal_as_they_stand(left: ColumnType, right: ColumnType) -> bool:
    """Whether two different keys of one side can never equal the same key of the other, as they can through floats."""
    exact = (IntegerType, DecimalType)
    return left == right or (isinstance(left, exact) and isinstance(right, exact))
