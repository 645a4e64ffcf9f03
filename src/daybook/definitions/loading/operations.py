"""The operations of a project with their keys, numbers and defaults arranged."""

from dataclasses import replace

from daybook.errors import DaybookError
from daybook.model.source_map import (
    DocumentNode,
    ListNode,
    MappingEntry,
    MappingNode,
    ScalarNode,
    SourceMap,
)

_KEY_SYNONYMS = {"parameters": "arguments", "order": "seq"}


def normalize_operations(project: DocumentNode, source: SourceMap, errors: list[DaybookError]) -> DocumentNode:
    """The project with its operations arranged; what cannot be arranged is left as it is."""
    if not isinstance(project, MappingNode) or not isinstance(listed := project.get("operations"), ListNode):
        return project
    operations = [_with_proper_keys(node, source, errors) for node in listed.items]
    numbers = _assign_seqs(operations, source, errors)
    completed = [_with_defaults(node, seq) for node, seq in zip(operations, numbers, strict=True)]
    in_order = [node for _, node in sorted(zip(numbers, completed, strict=True), key=lambda pair: pair[0])]
    entries = dict(project.entries)
    key = project.entries["operations"].key
    entries["operations"] = MappingEntry(key, replace(listed, items=in_order))
    return replace(project, entries=entries)


def _with_proper_keys(node: DocumentNode, source: SourceMap, errors: list[DaybookError]) -> DocumentNode:
    """Synonyms replaced, and the selector standing on the operation."""
    if not isinstance(node, MappingNode):
        return node
    entries: dict[str, MappingEntry] = {}
    for written, entry in node.entries.items():
        key = _KEY_SYNONYMS.get(written, written)
        if key in entries:
            span = source.node_span(entry.key)
            first, second = sorted((written, entries[key].key.text))
            errors.append(DaybookError("PROJECT_004", span=span, first=first, second=second))
        else:
            entries[key] = entry
    _lift_selector(entries, source, errors)
    _without_selector_on_append(entries, source, errors)
    return replace(node, entries=entries)


def _lift_selector(entries: dict[str, MappingEntry], source: SourceMap, errors: list[DaybookError]) -> None:
    arguments = entries.get("arguments")
    if arguments is None or not isinstance(arguments.value, MappingNode):
        return
    inner = arguments.value.entries.get("selector")
    if inner is None:
        return
    rest = {key: entry for key, entry in arguments.value.entries.items() if key != "selector"}
    entries["arguments"] = MappingEntry(arguments.key, replace(arguments.value, entries=rest))
    if "selector" in entries:
        errors.append(DaybookError("PROJECT_005", span=source.node_span(inner.key)))
    else:
        entries["selector"] = inner


def _without_selector_on_append(
    entries: dict[str, MappingEntry], source: SourceMap, errors: list[DaybookError]
) -> None:
    kind = entries.get("type")
    if "selector" in entries and kind and isinstance(kind.value, ScalarNode) and kind.value.text == "append":
        errors.append(DaybookError("APPEND_010", span=source.node_span(entries.pop("selector").key)))


def _assign_seqs(operations: list[DocumentNode], source: SourceMap, errors: list[DaybookError]) -> list[int]:
    """The seq of every operation (BR-001); a wrong seq is reported and replaced by an unused one."""
    written = [node.get("seq") if isinstance(node, MappingNode) else None for node in operations]
    has_any = any(node is not None for node in written)
    stand_in = max((_integer_value(node) for node in written), default=0)
    numbers: list[int] = []
    first_with: dict[int, DocumentNode] = {}
    for position, (operation, node) in enumerate(zip(operations, written, strict=True), start=1):
        number = stand_in + position
        if node is None:
            if not has_any:
                number = position
            elif isinstance(operation, MappingNode):
                errors.append(DaybookError("PROJECT_003", span=source.node_span(operation)))
        elif not isinstance(node, ScalarNode) or isinstance(node.value, bool) or not isinstance(node.value, int):
            errors.append(DaybookError("PROJECT_001", span=source.node_span(node), value=_describe_value(node)))
        elif node.value < 1:
            errors.append(DaybookError("PROJECT_001", span=source.node_span(node), value=node.value))
        elif (first := first_with.setdefault(node.value, node)) is not node:
            hint = (
                f"the first is on line {source.node_span(first).line}; give each operation its own "
                f"seq, gaps are allowed"
            )
            errors.append(DaybookError("PROJECT_002", span=source.node_span(node), hint=hint, seq=node.value))
        else:
            number = node.value
        numbers.append(number)
    return numbers


def _with_defaults(node: DocumentNode, seq: int) -> DocumentNode:
    """With seq, id and name where they were left out."""
    if not isinstance(node, MappingNode):
        return node
    type_ = node.get("type")
    type_name = type_.text if isinstance(type_, ScalarNode) and type_.text else "operation"
    defaults: dict[str, str | int] = {"id": f"op-{seq}", "name": f"{type_name} {seq}"}
    entries = {key: _generated_entry(key, value, node) for key, value in defaults.items()} | node.entries
    entries["seq"] = (
        _generated_entry("seq", seq, node) if "seq" not in node.entries else _with_seq(node.entries["seq"], seq)
    )
    return replace(node, entries=entries)


def _generated_entry(key: str, value: str | int, parent: MappingNode) -> MappingEntry:
    """A generated entry; its span is empty and at the start of its mapping."""
    start = parent.start
    return MappingEntry(ScalarNode(start, start, key, key), ScalarNode(start, start, str(value), value))


def _with_seq(entry: MappingEntry, seq: int) -> MappingEntry:
    """The seq that counts, at the position of the one that was written."""
    value = ScalarNode(entry.value.start, entry.value.end, str(seq), seq, alias=entry.value.alias)
    return MappingEntry(entry.key, value)


def _integer_value(node: DocumentNode | None) -> int:
    return node.value if isinstance(node, ScalarNode) and isinstance(node.value, int) else 0


def _describe_value(node: DocumentNode) -> str:
    return repr(node.text) if isinstance(node, ScalarNode) else "a collection"
