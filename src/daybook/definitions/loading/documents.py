"""YAML and JSON text to nodes with positions, decimals kept exact.

libyaml is ten times faster than any parser in Python; what differs between YAML 1.1 and 1.2 is how scalars are read,
which events leave to us. JSON is strict, several documents one after the other.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import yaml

from daybook.errors import DaybookError, Span
from daybook.model.source_map import DocumentNode, ListNode, MappingEntry, MappingNode, ScalarNode, ScalarValue

# Control characters but tab and line ends, and halves of surrogate pairs.
_BAD_CHARACTER = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def find_bad_character(text: str) -> re.Match[str] | None:
    """The first character that is invisible and never meant."""
    return _BAD_CHARACTER.search(text)


def replace_bad_characters(text: str) -> str:
    """The text with a visible stand-in for them, once they are reported."""
    return _BAD_CHARACTER.sub("\N{REPLACEMENT CHARACTER}", text)


_SCALAR_WORDS: dict[str, ScalarValue] = {
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
_YAML_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NUMBER_START = frozenset("0123456789+-.")

# Longer sequences of digits are not meant as numbers, and Python refuses to convert them.
_LONGEST_NUMBER = 100
_LONGEST_EXPONENT = 8


def resolve_scalar(text: str) -> ScalarValue:
    """The value of an unquoted scalar; what is not evidently something else is text."""
    if text in _SCALAR_WORDS:
        return _SCALAR_WORDS[text]
    if text[0] not in _NUMBER_START or len(text) > _LONGEST_NUMBER:
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    if _OCTAL.fullmatch(text):
        return int(text[2:], 8)
    if _HEXADECIMAL.fullmatch(text):
        return int(text[2:], 16)
    if match := _YAML_NUMBER.fullmatch(text):
        return Decimal(text) if len(match[3] or "") <= _LONGEST_EXPONENT else text
    return text


MAX_NESTING = 50
# What aliases may repeat in one text.
MAX_ALIASED_NODES = 10_000

# What libyaml reports, and the usual cause.
_SYNTAX_HINTS = {
    "did not find expected key": "this line may be indented too little or too much; keys of one mapping and items of "
    "one list begin in the same column",
    "did not find expected '-' indicator": "items of one list begin with - in the same column",
    "could not find expected ':'": "a colon may be missing here or on the line before",
    "mapping values are not allowed": "a text that contains a colon and a space needs quotes; or this line is "
    "indented too far",
    "found unexpected end of stream": "a quote is opened and not closed",
    "did not find expected ',' or": "a comma or a closing bracket is missing",
    "found character that cannot start any token": "put the text in quotes",
}

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def compose_yaml(text: str, shown: Span, errors: list[DaybookError]) -> Iterator[DocumentNode]:
    """The documents of a text; findings go to `errors`, and a document with a finding that spoils it is left out."""
    try:
        events = yaml.parse(text, Loader=_LOADER)
        composer = _YamlComposer(shown, errors)
        for event in events:
            composer.take(event)
            if composer.documents:
                yield composer.documents.pop()
    except _TooDeepError:
        return
    except yaml.YAMLError as error:
        errors.append(_syntax_error(error, text, shown))


class _TooDeepError(Exception):
    """Stops reading, because the rest of the text may be an attack."""


class _ExpandedTooFarError(Exception):
    """What an alias repeats is more than a file may hold."""

    def __init__(self, code: str, **parameters: Any) -> None:
        self.code = code
        self.parameters = parameters


class _YamlComposer:
    """Builds nodes from events without recursion; one open collection per level."""

    def __init__(self, shown: Span, errors: list[DaybookError]) -> None:
        self.documents: list[DocumentNode] = []
        self._shown = shown
        self._errors = errors
        self._open: list[ListNode | MappingNode] = []
        self._open_anchors: list[str | None] = []
        self._keys: list[DocumentNode | None] = []
        self._anchors: dict[str, DocumentNode] = {}
        # In all documents of the text.
        self._copied = 0
        self._is_spoiled = False

    def take(self, event: Any) -> None:
        kind = type(event)
        if kind is yaml.ScalarEvent:
            self._check_marks(event)
            text, start, end = event.value, event.start_mark.index, event.end_mark.index
            if not text.isprintable() and (bad := find_bad_character(text)):
                self._error("MODEL_013", start, end, codepoint=f"{ord(bad[0]):04X}")
                text = replace_bad_characters(text)
            scalar = ScalarNode(start, end, text, text if event.style else resolve_scalar(text), event.style or None)
            self._name(event.anchor, scalar)
            self._add(scalar)
        elif kind is yaml.MappingStartEvent:
            self._check_marks(event)
            self._push(MappingNode(event.start_mark.index, event.end_mark.index, {}), event.anchor)
        elif kind is yaml.SequenceStartEvent:
            self._check_marks(event)
            self._push(ListNode(event.start_mark.index, event.end_mark.index, []), event.anchor)
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            node = self._open.pop()
            self._keys.pop()
            node.end = max(node.start, event.end_mark.index)
            self._name(self._open_anchors.pop(), node)
            self._add(node)
        elif kind is yaml.AliasEvent:
            self._add(self._repeated(event.anchor, event.start_mark.index, event.end_mark.index))
        elif kind is yaml.DocumentStartEvent:
            self._is_spoiled = False
            self._anchors = {}
            if event.version not in (None, (1, 2)):
                problem = f"YAML {event.version[0]}.{event.version[1]} is not supported; definitions are YAML 1.2"
                self._error("MODEL_004", event.start_mark.index, event.end_mark.index, problem=problem)

    def _check_marks(self, event: Any) -> None:
        if event.tag is not None:
            self._spoil("MODEL_007", event.start_mark.index, event.start_mark.index + 1, tag=event.tag)

    def _push(self, node: ListNode | MappingNode, anchor: str | None) -> None:
        if len(self._open) >= MAX_NESTING:
            self._error("MODEL_008", node.start, node.start + 1, limit=MAX_NESTING)
            raise _TooDeepError
        self._open.append(node)
        self._open_anchors.append(anchor)
        self._keys.append(None)

    def _name(self, anchor: str | None, node: DocumentNode) -> None:
        if anchor is not None:
            self._anchors[anchor] = node

    def _repeated(self, anchor: str, start: int, end: int) -> DocumentNode:
        """A copy of what an anchor names, which knows where the alias stands."""
        node = self._anchors.get(anchor)
        if anchor in self._open_anchors:
            self._spoil("MODEL_006", start, end, anchor=anchor, problem="it stands inside of what it repeats")
        elif node is None:
            problem = f"no &{anchor} stands before it in this document"
            self._spoil("MODEL_006", start, end, anchor=anchor, problem=problem)
        else:
            try:
                return self._copy(node, start, len(self._open))
            except _ExpandedTooFarError as error:
                self._spoil(error.code, start, end, **error.parameters)
                raise _TooDeepError from None
        return ScalarNode(start, end, "", None)

    def _copy(self, node: DocumentNode, alias: int, depth: int) -> DocumentNode:
        self._copied += 1
        if self._copied > MAX_ALIASED_NODES:
            raise _ExpandedTooFarError("MODEL_090", what="aliases", limit=f"{MAX_ALIASED_NODES:,} values")
        if not isinstance(node, ScalarNode) and depth >= MAX_NESTING:
            raise _ExpandedTooFarError("MODEL_008", limit=MAX_NESTING)
        match node:
            case ScalarNode():
                return replace(node, alias=alias)
            case ListNode():
                return replace(node, items=[self._copy(item, alias, depth + 1) for item in node.items], alias=alias)
            case MappingNode():
                entries = {
                    key: MappingEntry(replace(entry.key, alias=alias), self._copy(entry.value, alias, depth + 1))
                    for key, entry in node.entries.items()
                }
                return replace(node, entries=entries, alias=alias)

    def _add(self, node: DocumentNode) -> None:
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

    def _add_entry(self, parent: MappingNode, key: DocumentNode, value: DocumentNode) -> None:
        if not isinstance(key, ScalarNode) or key.value is None:
            kind = "nothing" if isinstance(key, ScalarNode) else "a collection"
            is_reference = self._shown.text[max(0, key.start - 1) : key.start + 1] == "{{"
            hint = "put quotes around {{NAME}}: to YAML, braces begin a mapping" if is_reference else None
            self._spoil("MODEL_010", key.start, key.end, hint=hint, kind=kind)
        elif key.text == "<<" and key.style is None:
            self._spoil("MODEL_091", key.start, key.end)
        elif first := parent.entries.get(key.text):
            line = self._shown.within(first.key.start, first.key.end).line
            hint = f"it is first given on line {line}"
            self._error("MODEL_005", key.start, key.end, hint=hint, key=key.text)
        else:
            parent.entries[key.text] = MappingEntry(key, value)

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
    hint = next((hint for words, hint in _SYNTAX_HINTS.items() if words in problem), None)
    line = text[text.rfind("\n", 0, index) + 1 : (text + "\n").find("\n", index)]
    if "${" in line:
        hint = "put quotes around a text with ${name} inside of braces or brackets"
    return DaybookError("MODEL_004", span=span, hint=hint, problem=sentence[:1].upper() + sentence[1:])


_SPACE = re.compile(r"[ \t\r\n]*")
_TEXT = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORD = re.compile(r"[A-Za-z]+")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS = {"true": True, "false": False, "null": None}


class _InvalidJsonError(Exception):
    def __init__(self, problem: str, index: int) -> None:
        self.problem = problem
        self.index = index


def compose_json(text: str, shown: Span, errors: list[DaybookError]) -> Iterator[DocumentNode]:
    """The documents of a text; findings go to `errors`."""
    reader = _JsonReader(text, shown, errors)
    try:
        while reader.skip_space() < len(text):
            yield reader.value(0)
    except _InvalidJsonError as error:
        span = shown.within(error.index, error.index + 1)
        if error.problem:
            errors.append(DaybookError("MODEL_004", span=span, problem=error.problem))
        else:
            errors.append(DaybookError("MODEL_008", span=span, limit=MAX_NESTING))


class _JsonReader:
    """Recursive descent, bounded by the nesting limit."""

    def __init__(self, text: str, shown: Span, errors: list[DaybookError]) -> None:
        self._text = text
        self._shown = shown
        self._errors = errors
        self._position = 0

    def skip_space(self) -> int:
        match = _SPACE.match(self._text, self._position)
        self._position = match.end() if match else self._position
        return self._position

    def value(self, depth: int) -> DocumentNode:
        start = self.skip_space()
        character = self._text[start : start + 1]
        if character in ("{", "[") and depth >= MAX_NESTING:
            raise _InvalidJsonError("", start)
        if character == "{":
            return self._mapping(depth)
        if character == "[":
            return self._list(depth)
        return self._scalar()

    def _mapping(self, depth: int) -> MappingNode:
        start = self._position
        entries: dict[str, MappingEntry] = {}
        self._position += 1
        while not self._closes("}", is_first=not entries):
            key = self._key()
            self._expect(":")
            value = self.value(depth + 1)
            if first := entries.get(key.text):
                hint = f"it is first given on line {self._shown.within(first.key.start, first.key.end).line}"
                span = self._shown.within(key.start, key.end)
                self._errors.append(DaybookError("MODEL_005", span=span, hint=hint, key=key.text))
            else:
                entries[key.text] = MappingEntry(key, value)
        return MappingNode(start, self._position, entries)

    def _list(self, depth: int) -> ListNode:
        start = self._position
        items: list[DocumentNode] = []
        self._position += 1
        while not self._closes("]", is_first=not items):
            items.append(self.value(depth + 1))
        return ListNode(start, self._position, items)

    def _closes(self, bracket: str, is_first: bool) -> bool:
        """Whether the collection ends here; otherwise moves past the comma before the next item."""
        start = self.skip_space()
        character = self._text[start : start + 1]
        if character == bracket:
            self._position += 1
            return True
        if not is_first:
            if character != ",":
                raise _InvalidJsonError(f"A comma or {bracket} is missing here", start)
            self._position += 1
            after = self.skip_space()
            if self._text[after : after + 1] == bracket:
                raise _InvalidJsonError("JSON has no comma after the last item", start)
        return False

    def _expect(self, character: str) -> None:
        start = self.skip_space()
        if self._text[start : start + 1] != character:
            raise _InvalidJsonError(f"A {character} is missing here", start)
        self._position += 1

    def _key(self) -> ScalarNode:
        start = self.skip_space()
        if self._text[start : start + 1] != '"':
            raise _InvalidJsonError("A key in double quotes is missing here", start)
        return self._scalar()

    def _scalar(self) -> ScalarNode:
        start = self._position
        if match := _TEXT.match(self._text, start):
            text = _unescape(match[1], start + 1)
            if not text.isprintable() and (bad := find_bad_character(text)):
                span = self._shown.within(start, match.end())
                self._errors.append(DaybookError("MODEL_013", span=span, codepoint=f"{ord(bad[0]):04X}"))
                text = replace_bad_characters(text)
            self._position = match.end()
            return ScalarNode(start, match.end(), text, text, '"')
        if match := _NUMBER.match(self._text, start):
            self._position = match.end()
            text = match[0]
            return ScalarNode(start, match.end(), text, resolve_scalar(text))
        if (match := _WORD.match(self._text, start)) and match[0] in _WORDS:
            self._position = match.end()
            return ScalarNode(start, match.end(), match[0], _WORDS[match[0]])
        raise _InvalidJsonError("This is not a JSON value", start)


def _unescape(text: str, start: int) -> str:
    if "\\" not in text:
        return text

    def replacement(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        if match[2] not in _ESCAPES:
            raise _InvalidJsonError(f"JSON has no escape \\{match[2]}", start + match.start())
        return _ESCAPES[match[2]]

    return _join_surrogates(_ESCAPE.sub(replacement, text))


def _join_surrogates(text: str) -> str:
    """Pairs of escapes beyond the basic plane become the one character they stand for."""
    return re.sub(
        "[\ud800-\udbff][\udc00-\udfff]",
        lambda match: match[0].encode("utf-16", "surrogatepass").decode("utf-16"),
        text,
    )
