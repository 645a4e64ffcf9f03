"""One definition for many: `for_each` makes one for every element, with `${name}` replaced by the element's value."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from daybook.errors import DaybookError
from daybook.errors.error import did_you_mean
from daybook.model.definition import FOR_EACH_KINDS, DefinitionKind
from daybook.model.secrets import HIDDEN, is_secret_name
from daybook.model.source_map import (
    DocumentNode,
    ListNode,
    MappingEntry,
    MappingNode,
    ScalarNode,
    SourceMap,
    align_offsets,
    describe_node,
)

FOR_EACH = "for_each"

MAX_ELEMENTS = 1_000
# What for_each may make in one text.
MAX_MADE_NODES = 500_000
MAX_MADE_CHARACTERS = 10_000_000

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_VALUE = re.compile(r"[A-Za-z0-9 ._-]{0,128}")
_REFERENCE = re.compile(r"\$?\$\{([^{}]*)\}?")
_MOST_SHOWN = 80

Element = Mapping[str, ScalarNode]
# The names and values of an element as they are written.
_Pairs = Mapping[str, MappingEntry]


@dataclass(frozen=True, slots=True)
class Instance:
    """The nodes of one definition; `element` names the element that it is made for."""

    body: DocumentNode
    element: str | None = None


@dataclass(slots=True)
class Expansion:
    """How much `for_each` has made of one text."""

    nodes: int = 0
    characters: int = 0

    def add(self, node: DocumentNode) -> None:
        self.nodes += 1
        self.characters += len(node.text) if isinstance(node, ScalarNode) else 0

    @property
    def is_too_large(self) -> bool:
        return self.nodes > MAX_MADE_NODES or self.characters > MAX_MADE_CHARACTERS


def find_instances(
    kind: DefinitionKind, body: DocumentNode, source: SourceMap, errors: list[DaybookError], expansion: Expansion
) -> Iterator[Instance]:
    """The definition itself, or one for each element of its `for_each`; findings go to `errors`."""
    if kind not in FOR_EACH_KINDS or not isinstance(body, MappingNode) or FOR_EACH not in body.entries:
        yield Instance(body)
        return
    written = body.entries[FOR_EACH]
    before = len(errors)
    elements = list(_ElementReader(source, errors).read(written.value))
    if len(errors) > before:
        return
    template = replace(body, entries={key: entry for key, entry in body.entries.items() if key != FOR_EACH})
    for number, element in enumerate(elements, start=1):
        described = f"{FOR_EACH} element {number}: {_shown(element)}"
        filling = _Filling(element, replace(source, element=described), errors, expansion)
        filled = filling.node(template)
        if expansion.is_too_large:
            limit = f"{MAX_MADE_NODES:,} values and {MAX_MADE_CHARACTERS // 1_000_000} MB of text"
            errors.append(DaybookError("MODEL_090", span=source.node_span(written.key), what=FOR_EACH, limit=limit))
            return
        if not filling.has_failed:
            yield Instance(filled, described)


def merge_repeated(errors: list[DaybookError], start: int) -> None:
    """The same finding for several elements, from `start` on, becomes one that counts them."""
    first_of: dict[tuple[object, ...], DaybookError] = {}
    more: Counter[tuple[object, ...]] = Counter()
    for error in errors[start:]:
        span = error.span
        # One alias after the other is another place.
        alias = (span.used_for or "").partition(FOR_EACH)[0] if span else ""
        key: tuple[object, ...] = (error.code, error.message, span.start if span else -1, alias)
        more[key] += first_of.setdefault(key, error) is not error
    for key, error in first_of.items():
        if more[key] and error.span is not None:
            error.span = replace(error.span, used_for=f"{error.span.used_for}; and {more[key]} more")
    errors[start:] = first_of.values()


def _shown(element: Element) -> str:
    values = ", ".join(f"{name} {HIDDEN if is_secret_name(name) else value.text}" for name, value in element.items())
    return values if len(values) <= _MOST_SHOWN else f"{values[:_MOST_SHOWN]}…"


@dataclass(frozen=True, slots=True)
class _ElementReader:
    """Reads the elements of a list of mappings with the same keys, or of one name with a list."""

    source: SourceMap
    errors: list[DaybookError]

    def read(self, node: DocumentNode) -> Iterator[Element]:
        items = list(self._items(node))
        names = items[0][1].keys() if items else ()
        for item, pairs in items:
            if pairs.keys() == names:
                yield dict(self._values(pairs))
            else:
                different = ", ".join(sorted(pairs.keys() ^ names))
                problem = f"the elements of for_each have different names: {different}"
                self._report(item, problem, "give every element the same")

    def _items(self, node: DocumentNode) -> Iterator[tuple[DocumentNode, _Pairs]]:
        """Every element with its names and values as they are written; none where the list is wrong as a whole."""
        shape = "write a list of mappings with the same keys, or one name with a list of values"
        match node:
            case MappingNode(entries=entries) if len(entries) > 1:
                hint = "several lists could mean pairs or every combination; write a list of mappings"
                self._report(list(entries.values())[1].key, "for_each has more than one name with a list", hint)
                return
            case MappingNode(entries=entries) if entries:
                ((name, entry),) = entries.items()
                if not isinstance(entry.value, ListNode):
                    problem = f"the values of {name} are {describe_node(entry.value)}, not a list"
                    self._report(entry.value, problem, shape)
                    return
                listed: DocumentNode = entry.value
                items: list[tuple[DocumentNode, _Pairs]] = [
                    (value, {name: MappingEntry(entry.key, value)}) for value in entry.value.items
                ]
            case ListNode() if all(isinstance(item, MappingNode) for item in node.items):
                listed = node
                items = [(item, item.entries) for item in node.items if isinstance(item, MappingNode)]
            case _:
                self._report(node, f"for_each is {describe_node(node)} without names", shape)
                return
        if not items or not items[0][1]:
            self._report(listed, "for_each has no element", "write at least one element, or remove the definition")
        elif len(items) > MAX_ELEMENTS:
            self._report(listed, f"for_each has {len(items):,} elements; the limit is {MAX_ELEMENTS:,}")
        else:
            yield from items

    def _values(self, pairs: _Pairs) -> Iterator[tuple[str, ScalarNode]]:
        value_hint = "use a number, or a text of letters, digits, space . _ -"
        for name, entry in pairs.items():
            value = entry.value
            if not _NAME.fullmatch(name):
                self._report(
                    entry.key, f"{name!r} cannot be a name", "use letters, digits and _, beginning with no digit"
                )
            elif problem := _value_problem(value):
                self._report(value, f"the value of {name} {problem}", value_hint)
            elif isinstance(value, ScalarNode):
                yield name, value

    def _report(self, at: DocumentNode, problem: str, hint: str | None = None) -> None:
        self.errors.append(DaybookError("MODEL_092", span=self.source.node_span(at), hint=hint, problem=problem))


def _value_problem(node: DocumentNode) -> str | None:
    if not isinstance(node, ScalarNode):
        return f"is {describe_node(node)}"
    if isinstance(node.value, bool) or node.value is None:
        return f"is {describe_node(node)}, not a text: put quotes around it"
    if not isinstance(node.value, str):
        return None
    if not _VALUE.fullmatch(node.text):
        return "has other characters than letters, digits, space . _ -" if len(node.text) <= 128 else "is too long"
    return "contains .." if ".." in node.text else None


class _Filling:
    """Copies a definition with the values of one element; a text that was put in is not read again."""

    def __init__(self, element: Element, source: SourceMap, errors: list[DaybookError], expansion: Expansion) -> None:
        self.has_failed = False
        self._element = element
        self._source = source
        self._errors = errors
        self._expansion = expansion

    def node(self, node: DocumentNode) -> DocumentNode:
        if self._expansion.is_too_large:
            return node
        match node:
            case MappingNode(entries=entries):
                filled: DocumentNode = replace(
                    node,
                    entries={
                        key: entry if key == "credential_ref" else MappingEntry(entry.key, self.node(entry.value))
                        for key, entry in entries.items()
                    },
                )
            case ListNode(items=items):
                filled = replace(node, items=[self.node(item) for item in items])
            case ScalarNode():
                filled = self._scalar(node) if isinstance(node.value, str) and "${" in node.text else node
        self._expansion.add(filled)
        return filled

    def _scalar(self, node: ScalarNode) -> ScalarNode:
        whole = _REFERENCE.fullmatch(node.text)
        if whole and node.style is None and node.text == f"${{{whole[1]}}}" and whole[1] in self._element:
            # Without quotes and by itself it is the value: a number stays a number.
            value = self._element[whole[1]]
            return replace(node, text=value.text, value=value.value, offsets=(node.start,) * (len(value.text) + 1))
        written = node.offsets or align_offsets(node, self._source.text)
        text: list[str] = []
        offsets: list[int] = []
        end = 0
        for match in _REFERENCE.finditer(node.text):
            value_text = self._value(match, node, written)
            text += [node.text[end : match.start()], value_text]
            if written is not None:
                offsets += [*written[end : match.start()], *(written[match.start()] for _ in value_text)]
            end = match.end()
        filled = "".join((*text, node.text[end:]))
        return replace(node, text=filled, value=filled, offsets=(*offsets, *written[end:]) if written else None)

    def _value(self, match: re.Match[str], node: ScalarNode, written: tuple[int, ...] | None) -> str:
        name = match[1]
        if match[0].startswith("$$"):
            return match[0][1:]
        if match[0].endswith("}") and name in self._element:
            return self._element[name].text
        self.has_failed = True
        span = self._source.node_span(node)
        if written is not None:
            start, end = written[match.start()], written[match.end()]
            span = self._source.node_span(replace(node, start=start, end=max(end, start + 1)))
        hint = did_you_mean(name, self._element) if match[0].endswith("}") else "write ${name}; $${ is a literal ${"
        self._errors.append(DaybookError("MODEL_093", span=span, hint=hint, reference=match[0]))
        return match[0]
