"""JSON text to nodes: strict JSON, several documents one after the other."""

import re
from collections.abc import Iterator

from daybook.errors import DaybookError, Span
from daybook.model.loading.yaml_reader import MAX_NESTING, find_bad_character, replace_bad_characters, resolve_scalar
from daybook.model.source_map import DocumentNode, ListNode, MappingEntry, MappingNode, ScalarNode

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
                hint = f"it stands first on line {self._shown.within(first.key.start, first.key.end).line}"
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
        raise _InvalidJsonError("This is no JSON value", start)


def _unescape(text: str, start: int) -> str:
    if "\\" not in text:
        return text

    def one(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        if match[2] not in _ESCAPES:
            raise _InvalidJsonError(f"JSON has no escape \\{match[2]}", start + match.start())
        return _ESCAPES[match[2]]

    return _join_surrogates(_ESCAPE.sub(one, text))


def _join_surrogates(text: str) -> str:
    """Pairs of escapes beyond the basic plane become the one character they stand for."""
    return re.sub(
        "[\ud800-\udbff][\udc00-\udfff]",
        lambda match: match[0].encode("utf-16", "surrogatepass").decode("utf-16"),
        text,
    )
