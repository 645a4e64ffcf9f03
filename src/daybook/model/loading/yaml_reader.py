"""YAML text to nodes, by libyaml's events and our own reading of scalars.

libyaml is ten times faster than any parser in Python; what differs between YAML 1.1 and 1.2 is how scalars
are read, which events leave to us.
"""

from collections.abc import Iterator
from typing import Any

import yaml

from daybook.errors import DaybookError, Span
from daybook.model.loading.scalars import resolve
from daybook.model.loading.text import bad_character, without_bad_characters
from daybook.model.node import Entry, ListNode, MappingNode, Node, ScalarNode

MAX_DEPTH = 50

# What libyaml says, and what mostly is the matter.
_WAYS_OUT = {
    "did not find expected key": "this line may be indented too little or too much; keys of one mapping and items of "
    "one list begin in the same column",
    "did not find expected '-' indicator": "items of one list begin with - in the same column",
    "could not find expected ':'": "a colon may be missing here or on the line before",
    "mapping values are not allowed": "a text that has a colon and a blank in it needs quotes; or this line is "
    "indented too far",
    "found unexpected end of stream": "a quote is opened and not closed",
    "did not find expected ',' or": "a comma or a closing bracket is missing",
    "found character that cannot start any token": "put the text into quotes",
}

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def compose_yaml(text: str, shown: Span, errors: list[DaybookError]) -> Iterator[Node]:
    """The documents of a text; findings go to `errors`, and a document with a finding that spoils it is left out."""
    try:
        events = yaml.parse(text, Loader=_LOADER)
        composer = _Composer(shown, errors)
        for event in events:
            composer.take(event)
            if composer.documents:
                yield composer.documents.pop()
    except _TooDeepError:
        return
    except yaml.YAMLError as error:
        errors.append(_syntax_error(error, text, shown))


class _TooDeepError(Exception):
    """Stops reading: the rest of the text cannot be told from an attack."""


class _Composer:
    """Builds nodes from events without recursion; one open collection per level."""

    def __init__(self, shown: Span, errors: list[DaybookError]) -> None:
        self.documents: list[Node] = []
        self._shown = shown
        self._errors = errors
        self._open: list[ListNode | MappingNode] = []
        self._keys: list[Node | None] = []
        self._is_spoiled = False

    def take(self, event: Any) -> None:
        kind = type(event)
        if kind is yaml.ScalarEvent:
            self._check_marks(event)
            text, start, end = event.value, event.start_mark.index, event.end_mark.index
            if not text.isprintable() and (bad := bad_character(text)):
                self._error("MODEL_013", start, end, codepoint=f"{ord(bad[0]):04X}")
                text = without_bad_characters(text)
            self._add(ScalarNode(start, end, text, text if event.style else resolve(text), event.style or None))
        elif kind is yaml.MappingStartEvent:
            self._check_marks(event)
            self._push(MappingNode(event.start_mark.index, event.end_mark.index, {}))
        elif kind is yaml.SequenceStartEvent:
            self._check_marks(event)
            self._push(ListNode(event.start_mark.index, event.end_mark.index, []))
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            node = self._open.pop()
            self._keys.pop()
            node.end = max(node.start, event.end_mark.index)
            self._add(node)
        elif kind is yaml.AliasEvent:
            self._spoil("MODEL_006", event.start_mark.index, event.end_mark.index)
            self._add(ScalarNode(event.start_mark.index, event.end_mark.index, "", None))
        elif kind is yaml.DocumentStartEvent:
            self._is_spoiled = False
            if event.version not in (None, (1, 2)):
                problem = f"YAML {event.version[0]}.{event.version[1]} is not read; definitions are YAML 1.2"
                self._error("MODEL_004", event.start_mark.index, event.end_mark.index, problem=problem)

    def _check_marks(self, event: Any) -> None:
        if event.anchor is not None:
            self._spoil("MODEL_006", event.start_mark.index, event.start_mark.index + len(event.anchor) + 1)
        if event.tag is not None:
            self._spoil("MODEL_007", event.start_mark.index, event.start_mark.index + 1, tag=event.tag)

    def _push(self, node: ListNode | MappingNode) -> None:
        if len(self._open) >= MAX_DEPTH:
            self._error("MODEL_008", node.start, node.start + 1, limit=MAX_DEPTH)
            raise _TooDeepError
        self._open.append(node)
        self._keys.append(None)

    def _add(self, node: Node) -> None:
        if not self._open:
            if not self._is_spoiled:
                self.documents.append(node)
            return
        parent = self._open[-1]
        if isinstance(parent, ListNode):
            parent.items.append(node)
        elif (key := self._keys[-1]) is None:
            self._keys[-1] = node
        else:
            self._keys[-1] = None
            self._add_entry(parent, key, node)

    def _add_entry(self, parent: MappingNode, key: Node, value: Node) -> None:
        if not isinstance(key, ScalarNode) or key.value is None:
            kind = "nothing" if isinstance(key, ScalarNode) else "a collection"
            is_reference = self._shown.text[max(0, key.start - 1) : key.start + 1] == "{{"
            hint = "put quotes around {{NAME}}: to YAML, braces begin a mapping" if is_reference else None
            self._spoil("MODEL_010", key.start, key.end, hint=hint, kind=kind)
        elif first := parent.entries.get(key.text):
            line = self._shown.within(first.key.start, first.key.end).line
            hint = f"it stands first on line {line}"
            self._error("MODEL_005", key.start, key.end, hint=hint, key=key.text)
        else:
            parent.entries[key.text] = Entry(key, value)

    def _spoil(self, code: str, start: int, end: int, **parameters: Any) -> None:
        self._is_spoiled = True
        self._error(code, start, end, **parameters)

    def _error(self, code: str, start: int, end: int, hint: str | None = None, **parameters: Any) -> None:
        self._errors.append(DaybookError(code, span=self._shown.within(start, end), hint=hint, **parameters))


def _syntax_error(error: yaml.YAMLError, text: str, shown: Span) -> DaybookError:
    problem_mark, context_mark = getattr(error, "problem_mark", None), getattr(error, "context_mark", None)
    index = problem_mark.index if problem_mark is not None else 0
    if context_mark is not None and not text[index:].strip():
        # Something is open at the end of the text: where it begins says more.
        index = context_mark.index
    span = shown.within(index, index + 1)
    if text[index : index + 1] == "\t":
        return DaybookError("MODEL_009", span=span)
    problem = str(getattr(error, "problem", None) or getattr(error, "reason", None) or "invalid YAML")
    context = getattr(error, "context", None)
    sentence = f"{problem} {context}" if context else problem
    hint = next((hint for words, hint in _WAYS_OUT.items() if words in problem), None)
    return DaybookError("MODEL_004", span=span, hint=hint, problem=sentence[:1].upper() + sentence[1:])
