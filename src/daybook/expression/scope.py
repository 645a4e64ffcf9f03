"""What an expression can use: columns, named expressions, constants of the run, and its grouping."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from daybook.errors import Span
from daybook.expression.parser import parse_expression, source_span
from daybook.expression.syntax_tree import SyntaxNode
from daybook.model.calendar import Period
from daybook.model.types import ColumnType, Value


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """A column that an expression reads; without qualifier it is a working column, otherwise a join alias's."""

    qualifier: str | None
    name: str


@dataclass(frozen=True, slots=True)
class Scope:
    """`qualifiers` are the main table's name and the join aliases; `aliases` says which of them are joins."""

    columns: Mapping[str, ColumnType]
    qualifiers: Mapping[str, Mapping[str, ColumnType]]
    aliases: frozenset[str] = frozenset()
    has_period: bool = True
    # The project's parameters, found under the name param where there are any.
    parameters: Mapping[str, ColumnType] = field(default_factory=dict)

    def type_of(self, use: ColumnUse) -> ColumnType | None:
        """The type of a column; None where it cannot be seen."""
        columns = self.columns if use.qualifier is None else self.qualifiers.get(use.qualifier, {})
        return columns.get(use.name)


@dataclass(frozen=True, slots=True)
class Constants:
    """What NOW(), TODAY(), period.* and param.* become; `timestamp` is aware and in UTC."""

    timestamp: datetime
    period: Period | None
    parameters: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Grouping:
    """The columns rows are grouped by; `strict` allows FUNCTION(column) only."""

    columns: tuple[str, ...]
    strict: bool = False


class NamedExpressions:
    """A project's named selectors and expressions with their spans; each is parsed once and spliced as a tree."""

    def __init__(
        self,
        selectors: Mapping[str, str],
        spans: Mapping[str, Span | None] | None = None,
        *,
        expressions: Mapping[str, str] | None = None,
    ) -> None:
        self._texts = {**(expressions or {}), **selectors}
        self._selectors = frozenset(selectors)
        self._spans = dict(spans or {})
        self._trees: dict[str, SyntaxNode] = {}
        # The names that expressions have referred to so far.
        self.used: set[str] = set()

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._texts)

    def is_selector(self, name: str) -> bool:
        """Whether it is a selector, which is always boolean."""
        return name in self._selectors

    def source(self, name: str) -> Span:
        return source_span(self._texts[name], self._spans.get(name))

    def tree(self, name: str) -> SyntaxNode:
        """The tree of a name; raises what is wrong with its text, pointing into its own line."""
        if name not in self._trees:
            self._trees[name] = parse_expression(self._texts[name], self._spans.get(name))
        return self._trees[name]
