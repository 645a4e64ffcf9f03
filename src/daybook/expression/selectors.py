"""A project's named selectors."""

from collections.abc import Mapping

from daybook.errors import Span
from daybook.expression.nodes import Node
from daybook.expression.parsing import parse, span_of


class Selectors:
    """Named selectors with their places; each is parsed on its own, once, and spliced as a tree."""

    def __init__(self, texts: Mapping[str, str], spans: Mapping[str, Span | None] | None = None) -> None:
        self._texts = dict(texts)
        self._spans = dict(spans or {})
        self._trees: dict[str, Node] = {}

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._texts)

    def source(self, name: str) -> Span:
        return span_of(self._texts[name], self._spans.get(name))

    def tree(self, name: str) -> Node:
        """The tree of a selector; raises what is wrong with its text, pointing into its own line."""
        if name not in self._trees:
            self._trees[name] = parse(self._texts[name], self._spans.get(name))
        return self._trees[name]
