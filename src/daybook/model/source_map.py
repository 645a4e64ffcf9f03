"""Where the parts of a definition stand in its file."""

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from daybook.errors import Span
from daybook.model.align import align
from daybook.model.node import Entry, ListNode, MappingNode, Node, ScalarNode

Path = tuple[str | int, ...]


@dataclass(frozen=True)
class SourceMap:
    """The nodes of one definition below its top-level key, in the order the model keeps them.

    `text` is the file as it may be shown: secrets are masked in it.
    """

    file: str | None
    text: str
    root: Node | None

    @classmethod
    def empty(cls) -> "SourceMap":
        """For models that came from nowhere."""
        return cls(None, "", None)

    def node(self, *path: str | int) -> Node | None:
        """The node exactly at a path."""
        node = self.root
        for step in path:
            node = _child(node, step)
            if node is None:
                return None
        return node

    def span(self, *path: str | int) -> Span | None:
        """The place of a value, or of the nearest thing around it that has one."""
        node = self.root
        for step in path:
            child = _child(node, step)
            if child is None:
                break
            node = child
        return self.place(node) if node is not None else None

    def key(self, *path: str | int) -> Span | None:
        """The place of a key; of its value, or of what surrounds it, where there is no such key."""
        if path and isinstance(parent := self.node(*path[:-1]), MappingNode):
            entry = parent.entries.get(str(path[-1]))
            if entry and entry.key.end > entry.key.start:
                return self.place(entry.key)
        return self.span(*path)

    def scalar(self, *path: str | int) -> Span | None:
        """A span over the text of a scalar alone, so that positions inside an expression become places in the file."""
        node = self.node(*path)
        if not isinstance(node, ScalarNode):
            return None
        if node.end == node.start:
            return Span(node.text, 0, len(node.text), self.file, *self._line_and_column(node.start))
        quote = 1 if node.style in ("'", '"') else 0
        begin = node.start + quote
        line, column = self._line_and_column(begin)
        if self.text[begin : begin + len(node.text)] == node.text and "\n" not in node.text:
            return Span(node.text, 0, len(node.text), self.file, line, column)
        offsets = align(node, self.text)
        places = tuple(self._line_and_column(offset) for offset in offsets) if offsets else None
        return Span(node.text, 0, len(node.text), self.file, line, column, places)

    def place(self, node: Node) -> Span:
        """The span of a node in the file."""
        return Span(self.text, node.start, node.end, self.file)

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        while found := self.text.find("\n", starts[-1]) + 1:
            starts.append(found)
        return starts

    def _line_and_column(self, index: int) -> tuple[int, int]:
        line = bisect_right(self._line_starts, index)
        return line, index - self._line_starts[line - 1] + 1


def _child(node: Node | None, step: str | int) -> Node | None:
    if isinstance(node, MappingNode):
        entry: Entry | None = node.entries.get(str(step))
        return entry.value if entry else None
    if isinstance(node, ListNode) and isinstance(step, int) and 0 <= step < len(node.items):
        return node.items[step]
    return None


def dotted(path: Path) -> str:
    """A path as users read it: `operations[0].arguments.assignments`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")
