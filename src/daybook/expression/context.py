"""What the checking passes share while they walk one expression."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from daybook.errors import DaybookError, Span
from daybook.expression.limits import MAX_NODES
from daybook.expression.nodes import Node, Place
from daybook.expression.scope import ColumnUse, Grouping, Scope
from daybook.expression.selectors import Selectors
from daybook.expression.typed import Broken


@dataclass(slots=True)
class Checking:
    """Errors are collected; `source` is the text at hand, which changes inside a named selector.

    Without `selectors` none may be named at this place.
    """

    scope: Scope
    selectors: Selectors | None
    grouping: Grouping | None
    source: Span
    errors: list[DaybookError] = field(default_factory=list)
    uses: set[ColumnUse] = field(default_factory=set)
    open_selectors: tuple[str, ...] = ()
    aggregate: str | None = None
    has_aggregate: bool = False
    nodes: int = 0
    level: int = 0

    def report(self, code: str, place: Place, *, hint: str | None = None, **parameters: Any) -> Broken:
        return self.report_at(code, self.source.within(place.start, place.end), hint=hint, **parameters)

    def report_at(self, code: str, span: Span, *, hint: str | None = None, **parameters: Any) -> Broken:
        self.keep(DaybookError(code, span=span, hint=hint, **parameters))
        return Broken()

    def keep(self, error: DaybookError) -> None:
        """A finding of a named selector that is used twice stays one finding."""
        if not any(known.code == error.code and known.span == error.span for known in self.errors):
            self.errors.append(error)

    @contextmanager
    def inside_selector(self, name: str, source: Span) -> Iterator[None]:
        outer, self.source = self.source, source
        self.open_selectors = (*self.open_selectors, name)
        try:
            yield
        finally:
            self.source = outer
            self.open_selectors = self.open_selectors[:-1]

    @contextmanager
    def inside_aggregate(self, name: str) -> Iterator[None]:
        self.aggregate = name
        self.has_aggregate = True
        try:
            yield
        finally:
            self.aggregate = None

    def has_room_for(self, tree: Node) -> bool:
        """Counts spliced trees, so that selectors of selectors cannot multiply without end."""
        self.nodes += tree.place.size
        return self.nodes <= MAX_NODES
