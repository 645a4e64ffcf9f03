"""A project's operations as the model wants them: in order, under their proper keys, with ids and names.

Works on nodes, so that everything keeps its place in the file.
"""

from daybook.errors import DaybookError
from daybook.model.node import Entry, ListNode, MappingNode, Node, ScalarNode
from daybook.model.source_map import SourceMap

_SYNONYMS = {"parameters": "arguments", "order": "seq"}


def arrange(project: Node, source: SourceMap, errors: list[DaybookError]) -> Node:
    """The project with its operations arranged; what cannot be arranged is left as it is."""
    if not isinstance(project, MappingNode) or not isinstance(listed := project.get("operations"), ListNode):
        return project
    operations = [_with_proper_keys(node, source, errors) for node in listed.items]
    numbers = _numbers(operations, source, errors)
    completed = [_completed(node, seq) for node, seq in zip(operations, numbers, strict=True)]
    in_order = [node for _, node in sorted(zip(numbers, completed, strict=True), key=lambda pair: pair[0])]
    entries = dict(project.entries)
    key = project.entries["operations"].key
    entries["operations"] = Entry(key, ListNode(listed.start, listed.end, in_order))
    return MappingNode(project.start, project.end, entries)


def _with_proper_keys(node: Node, source: SourceMap, errors: list[DaybookError]) -> Node:
    """Synonyms replaced, and the selector standing on the operation."""
    if not isinstance(node, MappingNode):
        return node
    entries: dict[str, Entry] = {}
    for written, entry in node.entries.items():
        key = _SYNONYMS.get(written, written)
        if key in entries:
            span = source.place(entry.key)
            first, second = sorted((written, entries[key].key.text))
            errors.append(DaybookError("PROJECT_004", span=span, first=first, second=second))
        else:
            entries[key] = entry
    _lift_selector(entries, source, errors)
    _without_selector_on_append(entries, source, errors)
    return MappingNode(node.start, node.end, entries)


def _lift_selector(entries: dict[str, Entry], source: SourceMap, errors: list[DaybookError]) -> None:
    arguments = entries.get("arguments")
    if arguments is None or not isinstance(arguments.value, MappingNode):
        return
    inner = arguments.value.entries.get("selector")
    if inner is None:
        return
    rest = {key: entry for key, entry in arguments.value.entries.items() if key != "selector"}
    entries["arguments"] = Entry(arguments.key, MappingNode(arguments.value.start, arguments.value.end, rest))
    if "selector" in entries:
        errors.append(DaybookError("PROJECT_005", span=source.place(inner.key)))
    else:
        entries["selector"] = inner


def _without_selector_on_append(entries: dict[str, Entry], source: SourceMap, errors: list[DaybookError]) -> None:
    kind = entries.get("type")
    if "selector" in entries and kind and isinstance(kind.value, ScalarNode) and kind.value.text == "append":
        errors.append(DaybookError("APPEND_010", span=source.place(entries.pop("selector").key)))


def _numbers(operations: list[Node], source: SourceMap, errors: list[DaybookError]) -> list[int]:
    """The seq of every operation (BR-001); one that nobody has stands in for a wrong one, once that is reported."""
    written = [node.get("seq") if isinstance(node, MappingNode) else None for node in operations]
    has_any = any(node is not None for node in written)
    stand_in = max((_whole(node) for node in written), default=0)
    numbers: list[int] = []
    first_with: dict[int, Node] = {}
    for position, (operation, node) in enumerate(zip(operations, written, strict=True), start=1):
        number = stand_in + position
        if node is None:
            if not has_any:
                number = position
            elif isinstance(operation, MappingNode):
                errors.append(DaybookError("PROJECT_003", span=source.place(operation)))
        elif not isinstance(node, ScalarNode) or isinstance(node.value, bool) or not isinstance(node.value, int):
            errors.append(DaybookError("PROJECT_001", span=source.place(node), value=_shown(node)))
        elif node.value < 1:
            errors.append(DaybookError("PROJECT_001", span=source.place(node), value=node.value))
        elif (first := first_with.setdefault(node.value, node)) is not node:
            hint = f"the first stands on line {source.place(first).line}; give each its own, gaps are fine"
            errors.append(DaybookError("PROJECT_002", span=source.place(node), hint=hint, seq=node.value))
        else:
            number = node.value
        numbers.append(number)
    return numbers


def _completed(node: Node, seq: int) -> Node:
    """With seq, id and name where they were left out."""
    if not isinstance(node, MappingNode):
        return node
    type_ = node.get("type")
    type_name = type_.text if isinstance(type_, ScalarNode) and type_.text else "operation"
    defaults: dict[str, str | int] = {"id": f"op-{seq}", "name": f"{type_name} {seq}"}
    entries = {key: _made(key, value, node) for key, value in defaults.items()} | node.entries
    entries["seq"] = _made("seq", seq, node) if "seq" not in node.entries else _replaced(node.entries["seq"], seq)
    return MappingNode(node.start, node.end, entries)


def _made(key: str, value: str | int, parent: MappingNode) -> Entry:
    """An entry nobody wrote: it stands where its mapping begins and takes no room."""
    start = parent.start
    return Entry(ScalarNode(start, start, key, key), ScalarNode(start, start, str(value), value))


def _replaced(entry: Entry, seq: int) -> Entry:
    """The seq that counts, at the place of the one that was written."""
    return Entry(entry.key, ScalarNode(entry.value.start, entry.value.end, str(seq), seq))


def _whole(node: Node | None) -> int:
    return node.value if isinstance(node, ScalarNode) and isinstance(node.value, int) else 0


def _shown(node: Node) -> str:
    return repr(node.text) if isinstance(node, ScalarNode) else "a collection"
