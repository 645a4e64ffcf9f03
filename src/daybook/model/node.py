"""A document as it was written: values with the characters they stand on."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

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


@dataclass(slots=True)
class ListNode:
    start: int
    end: int
    items: list["Node"]


@dataclass(slots=True)
class Entry:
    key: ScalarNode
    value: "Node"


@dataclass(slots=True)
class MappingNode:
    start: int
    end: int
    entries: dict[str, Entry]

    def get(self, key: str) -> "Node | None":
        entry = self.entries.get(key)
        return entry.value if entry else None


Node: TypeAlias = ScalarNode | ListNode | MappingNode


def plain(node: Node) -> Any:
    """The node as tuples, dictionaries and scalars; numbers with a point are exact decimals."""
    match node:
        case ScalarNode():
            return node.value
        case ListNode():
            return tuple(plain(item) for item in node.items)
        case MappingNode():
            return {key: plain(entry.value) for key, entry in node.entries.items()}


def kind_of(node: Node) -> str:
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
