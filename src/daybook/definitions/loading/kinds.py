"""Which documents are definitions, of which kind, and which were evidently meant as one."""

import re
from typing import get_args

from daybook.errors import DaybookError
from daybook.errors.error import closest_match
from daybook.model.definition import DEFINITION_KINDS, DefinitionKind
from daybook.model.operation import OperationType
from daybook.model.source_map import (
    DocumentNode,
    ListNode,
    MappingNode,
    ScalarNode,
    SourceMap,
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
