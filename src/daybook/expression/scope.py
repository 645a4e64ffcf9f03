"""What an expression can see: columns, the run's constants, the grouping it stands in."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from daybook.model.period import Period
from daybook.model.types import ColumnType


@dataclass(frozen=True, slots=True)
class Scope:
    """`qualifiers` are the main table's name and the join aliases; `aliases` says which of them are joins."""

    columns: Mapping[str, ColumnType]
    qualifiers: Mapping[str, Mapping[str, ColumnType]]
    aliases: frozenset[str] = frozenset()
    has_period: bool = True


@dataclass(frozen=True, slots=True)
class Constants:
    """What NOW(), TODAY() and period.* become; `timestamp` is aware and in UTC."""

    timestamp: datetime
    period: Period | None


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """A column that an expression reads; without qualifier it is a working column, otherwise a join alias's."""

    qualifier: str | None
    name: str


@dataclass(frozen=True, slots=True)
class Grouping:
    """The columns rows are grouped by; `strict` allows FUNCTION(column) only."""

    columns: tuple[str, ...]
    strict: bool = False
