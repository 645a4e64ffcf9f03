"""Matches the operations of two versions of a project, and compares what they do."""

import json
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from daybook.model.operation import Operation, OutputOperation
from daybook.model.project import Project
from daybook.model.serialization import frozen

_ADAPTER: TypeAdapter[Operation] = TypeAdapter(Operation)

# Texts and quoted names, which are left alone, and references to named selectors and expressions.
_REFERENCE = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|\{\{\s*(?P<name>[^{}\n]+?)\s*\}\}")
_EXPRESSION_KEYS = frozenset({"selector", "source_selector", "on", "expression", "condition"})
# What an operation is called does not change what it does.
_NAMES = frozenset({"id", "seq", "name", "description", "accept"})
# Where an output writes, and how, does not change its rows.
_ROW_ARGUMENTS = frozenset({"include_deleted"})


@dataclass(frozen=True, slots=True, eq=False)
class AlignedOperation:
    """The same operation in two versions of a project; None on the side that does not have it.

    Two are equal when they are one object, so that they can be keys.
    """

    a: Operation | None
    b: Operation | None

    @property
    def either(self) -> Operation:
        operation = self.b or self.a
        if operation is None:
            raise AssertionError("an aligned operation is on one side at least")
        return operation


def named_texts(project: Project) -> Mapping[str, str]:
    """The named selectors and expressions of a project."""
    return {**project.selectors, **project.expressions}


def with_named_texts(operation: Operation, named: Mapping[str, str]) -> Operation:
    """The operation with every {{NAME}} written out, so that it means the same in any project."""
    data = operation.model_dump(mode="json", by_alias=True, exclude_none=True)
    return _ADAPTER.validate_python(frozen(_written_out(data, named)))


def _written_out(value: Any, named: Mapping[str, str], key: str | None = None) -> Any:
    match value:
        case dict():
            # A mapping of columns holds expressions.
            return {
                name: _written_out(item, named, "expression" if key == "columns" else name)
                for name, item in value.items()
            }
        case list():
            return [_written_out(item, named) for item in value]
        case str() if key in _EXPRESSION_KEYS:
            return _spell_out(value, named)
        case _:
            return value


def _spell_out(text: str, named: Mapping[str, str]) -> str:
    def replaced(match: re.Match[str]) -> str:
        name = match["name"]
        return f"({_spell_out(named[name], named)})" if name in named else match[0]

    return _REFERENCE.sub(replaced, text)


def operation_content(operation: Operation, named: Mapping[str, str]) -> str:
    """What an operation does to the rows, as text: equal texts do the same."""
    data = with_named_texts(operation, named).model_dump(mode="json", by_alias=True, exclude_defaults=True)
    kept = {key: value for key, value in data.items() if key not in _NAMES}
    if isinstance(operation, OutputOperation):
        kept["arguments"] = {key: value for key, value in kept["arguments"].items() if key in _ROW_ARGUMENTS}
    return json.dumps({**kept, "type": operation.type}, sort_keys=True)


def align_operations(a: Project, b: Project) -> tuple[AlignedOperation, ...]:
    """By written id, else by equal content, else by type and name in order; those of B in its order, then A's rest."""
    left, right = list(a.operations), list(b.operations)
    names_a, names_b = named_texts(a), named_texts(b)
    pairs: dict[int, Operation] = {}
    rules: tuple[tuple[Callable[[Operation], Hashable | None], Callable[[Operation], Hashable | None]], ...] = (
        (_written_id, _written_id),
        (
            lambda operation: operation_content(operation, names_a),
            lambda operation: operation_content(operation, names_b),
        ),
        (lambda operation: (operation.type, operation.name), lambda operation: (operation.type, operation.name)),
    )
    for key_a, key_b in rules:
        for left_operation, right_operation in _matches(left, right, key_a, key_b):
            pairs[right_operation.seq] = left_operation
            left.remove(left_operation)
            right.remove(right_operation)
    aligned = [AlignedOperation(pairs.get(operation.seq), operation) for operation in b.operations]
    return (*aligned, *(AlignedOperation(operation, None) for operation in left))


def _matches(
    left: Iterable[Operation],
    right: Iterable[Operation],
    key_a: Callable[[Operation], Hashable | None],
    key_b: Callable[[Operation], Hashable | None],
) -> Iterator[tuple[Operation, Operation]]:
    waiting: dict[Hashable, list[Operation]] = {}
    for operation in left:
        if (key := key_a(operation)) is not None:
            waiting.setdefault(key, []).append(operation)
    for operation in tuple(right):
        key = key_b(operation)
        if key is not None and waiting.get(key):
            yield waiting[key].pop(0), operation


def _written_id(operation: Operation) -> str | None:
    """None for an id that is made of the seq, because none was written."""
    return None if operation.id == f"op-{operation.seq}" else operation.id


def moved_pairs(pairs: Sequence[AlignedOperation]) -> frozenset[AlignedOperation]:
    """Operations whose position among the common ones changed: as few as explain the new order."""
    common = sorted((pair for pair in pairs if pair.a and pair.b), key=_seq_b)
    kept = _longest_increasing([pair.a.seq for pair in common if pair.a])
    return frozenset(pair for number, pair in enumerate(common) if number not in kept)


def _seq_b(pair: AlignedOperation) -> int:
    return pair.b.seq if pair.b else 0


def _longest_increasing(values: Sequence[int]) -> set[int]:
    """The positions of the longest increasing subsequence."""
    best: list[list[int]] = []
    for number, value in enumerate(values):
        before = max((run for run in best if values[run[-1]] < value), key=len, default=[])
        best.append([*before, number])
    longest: list[int] = max(best, key=len, default=[])
    return set(longest)
