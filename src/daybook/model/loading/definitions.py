"""Files → text → nodes with positions → checked definitions; and which documents are definitions at all."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError

from daybook.errors import DaybookError, Span, raise_all
from daybook.errors.error import closest_match
from daybook.model.definition import DEFINITION_KINDS, MODEL_ADAPTERS, MODEL_TYPES, Definition, DefinitionKind
from daybook.model.loading.documents import compose_json, compose_yaml, find_bad_character
from daybook.model.loading.validation_errors import restore_written_texts, translate_validation_error
from daybook.model.operation import OperationType
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

# A key that definitions of the kind have, and very few other documents.
_CHARACTERISTIC_KEYS: dict[DefinitionKind, frozenset[str]] = {
    "dataset": frozenset({"main_table"}),
    "datasource": frozenset({"options", "credential_ref"}),
    "resolver": frozenset({"rules"}),
    "calendar": frozenset({"levels"}),
    "project": frozenset({"operations"}),
}
# Keys of the kinds that identify one beside an id: other programs have projects and datasets, too.
_OWN_KEYS: dict[DefinitionKind, frozenset[str]] = {
    "dataset": frozenset({"view", "natural_key_columns", "resolver_id"}),
    "datasource": frozenset({"type"}),
    "resolver": frozenset({"is_default"}),
    "calendar": frozenset({"rule", "periods"}),
    "project": frozenset({"input", "selectors", "parameters"}),
}
# Keys that together identify the kind, whatever other keys there are.
_TELLING_KEYS: dict[DefinitionKind, frozenset[str]] = {
    "dataset": frozenset({"main_table"}),
    "project": frozenset({"input", "operations"}),
}
_SCENARIO_KEYS = frozenset({"expect", "datasets"})
_OPERATION_HINT = "write it into a project: project: {id: ..., input: {dataset_id: ...}, operations: [...]}"
_VIEW_HINT = "a view is a dataset: dataset: {id: ..., view: {of: ..., window: ...}}"

_LIST_HINT = "write a document for each of them, with --- on a separate line between them"

# The key of a kind, also in braces or in a list; or at the beginning of a line without its colon.
_KINDS = "|".join(DEFINITION_KINDS)
_YAML_HEAD = re.compile(
    rf"^[\s{{\[\-\"']*({_KINDS})[\"']?\s*:|^({_KINDS})[ \t]*(?:\{{|\r?\n[ \t]+[\w\"'-]+[ \t]*:)", re.MULTILINE
)
_JSON_HEAD = re.compile(rf"[\s\[]*\{{\s*\"({_KINDS})\"\s*:")


def identify_document(
    document: DocumentNode, source: SourceMap, errors: list[DaybookError]
) -> tuple[DefinitionKind, DocumentNode] | None:
    """The kind and body of a definition; None for what is none, with an error where one was evidently meant."""
    if isinstance(document, MappingNode) and len(document.entries) == 1:
        ((key, entry),) = document.entries.items()
        if kind := _kind_of_key(key):
            return kind, entry.value
    if error := _find_meant_definition(document, source):
        errors.append(error)
    return None


def looks_like_definition(head: str, file: str) -> bool:
    """Whether an unreadable file was meant to define something, judged by its beginning."""
    return bool(_JSON_HEAD.match(head) if file.endswith(".json") else _YAML_HEAD.search(head))


def _find_meant_definition(document: DocumentNode, source: SourceMap) -> DaybookError | None:
    span = source.node_span(document)
    if _is_operation(document):
        return DaybookError("MODEL_088", span=span, hint=_OPERATION_HINT, what="an operation")
    if isinstance(document, ListNode) and (kind := _kind_of_items(document)):
        return DaybookError("MODEL_088", span=span, hint=_LIST_HINT, what=f"a list with a {kind}")
    if not isinstance(document, MappingNode) or not document.entries:
        return None
    if kind := _telling_kind(document):
        return DaybookError("MODEL_088", span=span, hint=f"put it below {kind}:", what=f"a {kind}")
    if kind := _kind_without_body(document):
        key_span = source.node_span(document.entries[kind].key)
        return DaybookError("MODEL_088", span=key_span, hint=f"indent what belongs to {kind}:", what=f"a {kind}")
    if len(document.entries) > 1:
        return _find_several_kinds(document, source)
    ((key, entry),) = document.entries.items()
    key_span, body = source.node_span(entry.key), _first_item(entry.value)
    if _is_operation(body):
        return DaybookError("MODEL_088", span=key_span, hint=_OPERATION_HINT, what="an operation")
    if not isinstance(body, MappingNode):
        return None
    if meant := _misspelled_kind(key, body) or _telling_kind(body):
        hint = f"did you mean {meant}?"
        if isinstance(entry.value, ListNode):
            hint = f"write one document {meant}: for each, with --- on a separate line between them"
        return DaybookError("MODEL_011", span=key_span, hint=hint, key=key)
    if key == "view" and "of" in body.entries:
        return DaybookError("MODEL_088", span=key_span, hint=_VIEW_HINT, what="a view")
    return None


def _find_several_kinds(document: MappingNode, source: SourceMap) -> DaybookError | None:
    if document.entries.keys() & _SCENARIO_KEYS:
        return None
    present = [kind for key in document.entries if (kind := _kind_of_key(key))]
    if not any(_is_meant(kind, document.get(kind)) for kind in present):
        return None
    keys = list(document.entries)
    second = document.entries[keys[1]].key
    return DaybookError("MODEL_012", span=source.node_span(second), keys=", ".join(keys))


def _kind_of_key(key: str) -> DefinitionKind | None:
    return next((kind for kind in DEFINITION_KINDS if kind == key), None)


def _telling_kind(body: MappingNode) -> DefinitionKind | None:
    return next((kind for kind, keys in _TELLING_KEYS.items() if keys <= body.entries.keys()), None)


def _first_item(node: DocumentNode) -> DocumentNode:
    return node.items[0] if isinstance(node, ListNode) and node.items else node


def _is_operation(node: DocumentNode) -> bool:
    """One operation as the seeds write it, or a list that begins with one."""
    body = _first_item(node)
    if not isinstance(body, MappingNode) or not body.entries.keys() & {"arguments", "parameters", "selector", "seq"}:
        return False
    type_ = body.get("type")
    return isinstance(type_, ScalarNode) and type_.value in get_args(OperationType)


def _misspelled_kind(key: str, body: MappingNode) -> DefinitionKind | None:
    folded = re.sub(r"[^a-z]", "", key.casefold())
    meant = closest_match(folded, DEFINITION_KINDS)
    kind = _kind_of_key(meant) if meant else None
    if kind is None:
        return None
    is_close = folded.removesuffix("s") == kind or abs(len(folded) - len(kind)) <= 2
    has_shape = bool(body.entries.keys() & (_CHARACTERISTIC_KEYS[kind] | {"id", "name"}))
    return kind if is_close and has_shape else None


def _is_meant(kind: DefinitionKind, body: DocumentNode | None) -> bool:
    """Whether what stands below the key of a kind is a definition, and not what another program means by the word."""
    if not isinstance(body, MappingNode):
        return False
    keys = body.entries.keys()
    return bool(keys & _CHARACTERISTIC_KEYS[kind]) or ("id" in keys and bool(keys & _OWN_KEYS[kind]))


def _kind_of_items(document: ListNode) -> DefinitionKind | None:
    """The kind of the first definition in a list, with its key or without."""
    for item in document.items:
        if not isinstance(item, MappingNode):
            continue
        if kind := _telling_kind(item):
            return kind
        for key, entry in item.entries.items():
            if (kind := _kind_of_key(key)) and _is_meant(kind, entry.value):
                return kind
    return None


def _kind_without_body(document: MappingNode) -> DefinitionKind | None:
    """The kind whose keys stand beside its own instead of below it."""
    for key, entry in document.entries.items():
        kind = _kind_of_key(key)
        if kind and isinstance(entry.value, ScalarNode) and entry.value.value is None and _is_meant(kind, document):
            return kind
    return None


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
    """One definition from the nodes below its top-level key, at any position of a composed text."""
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
