"""Files → text → nodes with positions → checked definitions."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from daybook.errors import DaybookError, Span, raise_all
from daybook.model.definition import MODEL_ADAPTERS, MODEL_TYPES, Definition, DefinitionKind
from daybook.model.loading.documents import compose_json, compose_yaml, find_bad_character
from daybook.model.loading.kinds import identify_document
from daybook.model.loading.validation_errors import restore_written_texts, translate_validation_error
from daybook.model.secrets import find_secrets, mask_range, mask_secrets
from daybook.model.source_map import (
    DocumentNode,
    ListNode,
    MappingEntry,
    MappingNode,
    ScalarNode,
    SourceMap,
    dotted_path,
    plain_value,
)

MAX_FILE_BYTES = 10_000_000


def read_text(path: Path, shown_as: str | None = None) -> str:
    """The text of a file: UTF-8, at most 10 MB, without a byte order mark."""
    file = shown_as or path.as_posix()
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise DaybookError("MODEL_001", file=file, reason=error.strerror or str(error)) from error
    if len(raw) > MAX_FILE_BYTES:
        raise DaybookError("MODEL_002", file=file)
    return decode_utf8(raw, file)


def decode_utf8(raw: bytes, file: str) -> str:
    if hint := _encoding_hint(raw):
        # Without its NUL bytes most of the text can be shown.
        readable = raw.replace(b"\0", b"").decode("utf-8", errors="replace")
        raise DaybookError("MODEL_003", span=Span(mask_secrets(readable), 0, 1, file), hint=hint)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        readable = raw.decode("utf-8", errors="replace")
        start = len(raw[: error.start].decode("utf-8", errors="replace"))
        span = Span(mask_secrets(readable), start, start + 1, file)
        raise DaybookError("MODEL_003", span=span) from None


@dataclass(frozen=True, slots=True)
class ComposedText:
    """The documents of a text, what is wrong in it, and the text as it may be shown: with secrets masked."""

    documents: list[DocumentNode]
    errors: list[DaybookError]
    shown: str


def compose_documents(text: str, file: str | None) -> ComposedText:
    """Reads YAML, or JSON when the file's name says so."""
    shown = Span(mask_secrets(text), 0, 0, file)
    if bad := find_bad_character(text):
        span = shown.within(bad.start(), bad.end())
        return ComposedText([], [DaybookError("MODEL_013", span=span, codepoint=f"{ord(bad[0]):04X}")], shown.text)
    errors: list[DaybookError] = []
    reader = compose_json if file and file.endswith(".json") else compose_yaml
    return ComposedText(list(reader(text, shown, errors)), errors, shown.text)


def _encoding_hint(raw: bytes) -> str | None:
    """A file of wide characters is known by its byte order mark, or by the NUL bytes around its first character."""
    if raw[:4] in (b"\xff\xfe\0\0", b"\0\0\xfe\xff") or raw[:4].count(0) == 3:
        return "the file is UTF-32; save it as UTF-8"
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff") or raw[:4].count(0) == 2:
        return "the file is UTF-16; save it as UTF-8"
    return None


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
    entries["operations"] = MappingEntry(key, ListNode(listed.start, listed.end, in_order))
    return MappingNode(project.start, project.end, entries)


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
    return MappingNode(node.start, node.end, entries)


def _lift_selector(entries: dict[str, MappingEntry], source: SourceMap, errors: list[DaybookError]) -> None:
    arguments = entries.get("arguments")
    if arguments is None or not isinstance(arguments.value, MappingNode):
        return
    inner = arguments.value.entries.get("selector")
    if inner is None:
        return
    rest = {key: entry for key, entry in arguments.value.entries.items() if key != "selector"}
    entries["arguments"] = MappingEntry(arguments.key, MappingNode(arguments.value.start, arguments.value.end, rest))
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
    return MappingNode(node.start, node.end, entries)


def _generated_entry(key: str, value: str | int, parent: MappingNode) -> MappingEntry:
    """A generated entry; its span is empty and at the start of its mapping."""
    start = parent.start
    return MappingEntry(ScalarNode(start, start, key, key), ScalarNode(start, start, str(value), value))


def _with_seq(entry: MappingEntry, seq: int) -> MappingEntry:
    """The seq that counts, at the position of the one that was written."""
    return MappingEntry(entry.key, ScalarNode(entry.value.start, entry.value.end, str(seq), seq))


def _integer_value(node: DocumentNode | None) -> int:
    return node.value if isinstance(node, ScalarNode) and isinstance(node.value, int) else 0


def _describe_value(node: DocumentNode) -> str:
    return repr(node.text) if isinstance(node, ScalarNode) else "a collection"


# For the settings of a workspace, which have no data source to write a credential_ref on.
_SECRET_HINTS = {
    "store": "remove it; the environment variable PGPASSWORD or a .pgpass file passes it to the driver of the database",
    "engine": "remove it; Spark finds it in spark-defaults.conf or in the environment",
}

ModelT = TypeVar("ModelT", bound=BaseModel)


def load_text(text: str, file: str | None) -> list[Definition[Any]]:
    """Every definition of a text; documents that define nothing are left out, all errors are raised together."""
    definitions, errors = read_definitions(text, file)
    raise_all(errors)
    return definitions


def read_definitions(text: str, file: str | None) -> tuple[list[Definition[Any]], list[DaybookError]]:
    """The definitions of a text that are right, and everything that is wrong with the others."""
    composed = compose_documents(text, file)
    errors = composed.errors
    definitions: list[Definition[Any]] = []
    for document in composed.documents:
        found = identify_document(document, SourceMap(file, composed.shown, document), errors)
        if found is not None:
            definition = build_definition(*found, composed.shown, file, errors)
            if definition is not None:
                definitions.append(definition)
    return definitions, errors


def build_definition(
    kind: DefinitionKind, body: DocumentNode, shown: str, file: str | None, errors: list[DaybookError]
) -> Definition[Any] | None:
    """One definition from what stands below its top-level key, wherever in a composed text that is."""
    before = len(errors)
    source = _without_secrets(SourceMap(file, shown, body), errors)
    if kind == "project":
        source = SourceMap(file, source.text, normalize_operations(body, source, errors))
    model = validate_model(MODEL_TYPES[kind], MODEL_ADAPTERS[kind], source, errors)
    return Definition(kind, model, source) if len(errors) == before else None


def read_model(type_: type[ModelT], text: str, file: str, errors: list[DaybookError]) -> ModelT | None:
    """The one model a whole text describes, or None with the findings in `errors`."""
    composed = compose_documents(text, file)
    errors += composed.errors
    if len(composed.documents) > 1:
        span = Span(composed.shown, composed.documents[1].start, composed.documents[1].end, file)
        errors.append(DaybookError("MODEL_004", span=span, problem="There is one document in this file"))
    if composed.errors:
        return None
    body = composed.documents[0] if composed.documents else MappingNode(0, 0, {})
    source = _without_secrets(SourceMap(file, composed.shown, body), errors)
    model: ModelT | None = validate_model(type_, TypeAdapter(type_), source, errors)
    return model


def validate_model(type_: Any, adapter: TypeAdapter[Any], source: SourceMap, errors: list[DaybookError]) -> Any:
    """The model that a source describes, or None with the findings in `errors`."""
    value = plain_value(_root_node(source))
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        first = error
    try:
        return adapter.validate_python(restore_written_texts(value, first, source))
    except ValidationError as error:
        errors.extend(translate_validation_error(error, type_, source))
        return None


def _without_secrets(source: SourceMap, errors: list[DaybookError]) -> SourceMap:
    """Reports secrets that were written out, and makes them unreadable in what is shown."""
    found = list(find_secrets(_root_node(source)))
    text = source.text
    for _, node in found:
        text = mask_range(text, node.start, node.end)
    masked = SourceMap(source.file, text, source.root)
    for path, _ in found:
        hint = _SECRET_HINTS.get(str(path[0])) if path else None
        errors.append(DaybookError("MODEL_051", span=masked.key(*path), hint=hint, where=dotted_path(path)))
    return masked


def _root_node(source: SourceMap) -> DocumentNode:
    if source.root is None:
        raise ValueError("a source without nodes describes nothing")
    return source.root
