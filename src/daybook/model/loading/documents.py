"""Which documents are definitions."""

import re

from daybook.errors import DaybookError
from daybook.model.definition import KINDS, Kind
from daybook.model.node import MappingNode, Node
from daybook.model.source_map import SourceMap
from daybook.model.suggestion import nearest

# A key that a definition of the kind has and hardly anything else.
_TELLING: dict[Kind, frozenset[str]] = {
    "dataset": frozenset({"main_table"}),
    "datasource": frozenset({"options", "credential_ref"}),
    "resolver": frozenset({"rules"}),
    "calendar": frozenset({"levels"}),
    "project": frozenset({"operations"}),
}
_SCENARIO_KEYS = frozenset({"expect", "datasets"})

_YAML_HEAD = re.compile(rf"^\s*[\"']?({'|'.join(KINDS)})[\"']?\s*:", re.MULTILINE)
_JSON_HEAD = re.compile(rf"\s*\{{\s*\"({'|'.join(KINDS)})\"\s*:")


def kind_of_document(document: Node, source: SourceMap, errors: list[DaybookError]) -> tuple[Kind, Node] | None:
    """The kind and body of a definition; None for what is none, with an error where one was evidently meant."""
    if not isinstance(document, MappingNode) or not document.entries:
        return None
    if len(document.entries) == 1:
        ((key, entry),) = document.entries.items()
        if kind := _kind(key):
            return kind, entry.value
        if isinstance(entry.value, MappingNode) and (meant := _misspelt_kind(key, entry.value)):
            errors.append(
                DaybookError("MODEL_011", span=source.place(entry.key), hint=f"did you mean {meant}?", key=key)
            )
        return None
    if document.entries.keys() & _SCENARIO_KEYS:
        return None
    present = [kind for key in document.entries if (kind := _kind(key))]
    if any(_is_telling(kind, document) for kind in present):
        keys = list(document.entries)
        second = document.entries[keys[1]].key
        errors.append(DaybookError("MODEL_012", span=source.place(second), keys=", ".join(keys)))
    return None


def looks_like_definition(head: str, file: str) -> bool:
    """Whether an unreadable file was meant to define something, told from its beginning."""
    return bool(_JSON_HEAD.match(head) if file.endswith(".json") else _YAML_HEAD.search(head))


def _kind(key: str) -> Kind | None:
    return next((kind for kind in KINDS if kind == key), None)


def _misspelt_kind(key: str, body: MappingNode) -> Kind | None:
    folded = re.sub(r"[^a-z]", "", key.casefold())
    meant = nearest(folded, KINDS)
    kind = _kind(meant) if meant else None
    if kind is None:
        return None
    is_close = folded.removesuffix("s") == kind or abs(len(folded) - len(kind)) <= 2
    has_shape = bool(body.entries.keys() & (_TELLING[kind] | {"id", "name"}))
    return kind if is_close and has_shape else None


def _is_telling(kind: Kind, document: MappingNode) -> bool:
    body = document.get(kind)
    return isinstance(body, MappingNode) and bool(body.entries.keys() & _TELLING[kind])
