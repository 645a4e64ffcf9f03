"""The positions of all values of a document in its text."""

from bisect import bisect_right
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, TypeAlias

from daybook.errors import Span

ScalarValue: TypeAlias = str | int | Decimal | bool | None


@dataclass(slots=True)
class ScalarNode:
    """`text` is what was written, unquoted and unescaped; `value` is how YAML 1.2 reads it."""

    start: int
    end: int
    text: str
    value: ScalarValue
    # One of ' " | > for quoted and block scalars.
    style: str | None = None
    # Where the alias stands that repeats this node.
    alias: int | None = None
    # Of a text made of a template: where each of its characters comes from.
    offsets: tuple[int, ...] | None = None


@dataclass(slots=True)
class ListNode:
    start: int
    end: int
    items: list["DocumentNode"]
    alias: int | None = None


@dataclass(slots=True)
class MappingEntry:
    key: ScalarNode
    value: "DocumentNode"


@dataclass(slots=True)
class MappingNode:
    start: int
    end: int
    entries: dict[str, MappingEntry]
    alias: int | None = None

    def get(self, key: str) -> "DocumentNode | None":
        entry = self.entries.get(key)
        return entry.value if entry else None


DocumentNode: TypeAlias = ScalarNode | ListNode | MappingNode


def plain_value(node: DocumentNode) -> Any:
    """The node as tuples, dictionaries and scalars; numbers with a point are exact decimals."""
    match node:
        case ScalarNode():
            return node.value
        case ListNode():
            return tuple(plain_value(item) for item in node.items)
        case MappingNode():
            return {key: plain_value(entry.value) for key, entry in node.entries.items()}


def describe_node(node: DocumentNode) -> str:
    """What a value is, in a user's words."""
    match node:
        case ListNode():
            return "a list"
        case MappingNode():
            return "a mapping"
        case ScalarNode():
            match node.value:
                case None:
                    return "nothing"
                case bool():
                    return "a boolean"
                case int():
                    return "a whole number"
                case Decimal():
                    return "a number"
                case str():
                    return "a text"


_ESCAPE_DIGITS = {"x": 2, "u": 4, "U": 8}
_SPACES = frozenset(" \t\r\n")


def align_offsets(node: ScalarNode, text: str) -> tuple[int, ...] | None:
    """The offset in `text` of every character of the value and of its end; None where they do not line up.

    Escapes count as the one character they stand for; indentation and the line ends of folded scalars are skipped.
    """
    position = node.start
    match node.style:
        case "'" | '"':
            position += 1
        case "|" | ">":
            position = text.find("\n", position) + 1
        case _:
            pass
    offsets: list[int] = []
    for character in node.text:
        if node.style == '"':
            position = _skip_joined_lines(text, position)
        if position >= node.end:
            position = node.end
        elif text[position] == "\\" and node.style == '"':
            offsets.append(position)
            position += 2 + _ESCAPE_DIGITS.get(text[position + 1 : position + 2], 0)
            continue
        elif character in _SPACES and text[position] in _SPACES:
            offsets.append(position)
            position = _skip_line_break(text, position, node.end)
            continue
        else:
            while position < node.end and text[position] in _SPACES and text[position] != character:
                position += 1
            if text[position : position + 1] != character:
                return None
        offsets.append(position)
        position += 2 if character == "'" and node.style == "'" else 1
    offsets.append(min(position, node.end))
    return tuple(offsets)


def _skip_line_break(text: str, position: int, end: int) -> int:
    """Past one space, or past a whole line break with the indentation that follows it."""
    stop = position
    while stop < end and text[stop] in " \t\r":
        stop += 1
    if stop >= end or text[stop] != "\n":
        return position + 1
    return stop + 1


def _skip_joined_lines(text: str, position: int) -> int:
    """Past a backslash that ends a line, with the indentation of the next."""
    while text[position : position + 2] == "\\\n":
        position += 2
        while text[position : position + 1] in (" ", "\t"):
            position += 1
    return position


KeyPath = tuple[str | int, ...]


@dataclass(frozen=True)
class SourceMap:
    """The nodes of one definition below its top-level key, in the order the model keeps them.

    `text` is the file as it may be shown: secrets are masked in it. `element` names the element of `for_each` that the
    definition is made for.
    """

    file: str | None
    text: str
    root: DocumentNode | None
    element: str | None = None

    @classmethod
    def empty(cls) -> "SourceMap":
        """For models without a file."""
        return cls(None, "", None)

    def node(self, *path: str | int) -> DocumentNode | None:
        """The node exactly at a path."""
        node = self.root
        for step in path:
            node = _child_node(node, step)
            if node is None:
                return None
        return node

    def span(self, *path: str | int) -> Span | None:
        """The span of a value, or of the nearest thing around it that has one."""
        node = self.root
        for step in path:
            child = _child_node(node, step)
            if child is None:
                break
            node = child
        return self.node_span(node) if node is not None else None

    def key(self, *path: str | int) -> Span | None:
        """The span of a key; of its value, or of what surrounds it, where there is no such key."""
        if path and isinstance(parent := self.node(*path[:-1]), MappingNode):
            entry = parent.entries.get(str(path[-1]))
            if entry and entry.key.end > entry.key.start:
                return self.node_span(entry.key)
        return self.span(*path)

    def scalar(self, *path: str | int) -> Span | None:
        """A span over the text of a scalar alone, so that positions in an expression become those in the file."""
        node = self.node(*path)
        if not isinstance(node, ScalarNode):
            return None
        used_for = self._used_for(node)
        if node.end == node.start:
            return Span(node.text, 0, len(node.text), self.file, *self._line_and_column(node.start), used_for=used_for)
        quote = 1 if node.style in ("'", '"') else 0
        begin = node.start + quote
        line, column = self._line_and_column(begin)
        if self.text[begin : begin + len(node.text)] == node.text and "\n" not in node.text:
            return Span(node.text, 0, len(node.text), self.file, line, column, used_for=used_for)
        offsets = node.offsets or align_offsets(node, self.text)
        positions = tuple(self._line_and_column(offset) for offset in offsets) if offsets else None
        return Span(node.text, 0, len(node.text), self.file, line, column, positions, used_for)

    def node_span(self, node: DocumentNode) -> Span:
        """The span of a node in the file."""
        return Span(self.text, node.start, node.end, self.file, used_for=self._used_for(node))

    def _used_for(self, node: DocumentNode) -> str | None:
        """The alias that repeats a node, and the element of `for_each`."""
        if node.alias is None:
            return self.element
        line, column = self._line_and_column(node.alias)
        alias = f"by the alias at {line}:{column}"
        return f"{alias}; {self.element}" if self.element else alias

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        while start := self.text.find("\n", starts[-1]) + 1:
            starts.append(start)
        return starts

    def _line_and_column(self, index: int) -> tuple[int, int]:
        line = bisect_right(self._line_starts, index)
        return line, index - self._line_starts[line - 1] + 1


def _child_node(node: DocumentNode | None, step: str | int) -> DocumentNode | None:
    if isinstance(node, MappingNode):
        entry: MappingEntry | None = node.entries.get(str(step))
        return entry.value if entry else None
    if isinstance(node, ListNode) and isinstance(step, int) and 0 <= step < len(node.items):
        return node.items[step]
    return None


def dotted_path(path: KeyPath) -> str:
    """A path as users read it: `operations[0].arguments.assignments`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")
