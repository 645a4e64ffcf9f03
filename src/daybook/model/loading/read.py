"""Files to text, text to nodes."""

from dataclasses import dataclass
from pathlib import Path

from daybook.errors import DaybookError, Span
from daybook.model.loading.json_reader import compose_json
from daybook.model.loading.masking import mask
from daybook.model.loading.text import bad_character
from daybook.model.loading.yaml_reader import compose_yaml
from daybook.model.node import Node

MAX_BYTES = 10_000_000


def read_text(path: Path, shown_as: str | None = None) -> str:
    """The text of a file: UTF-8, at most 10 MB, without a byte order mark."""
    file = shown_as or path.as_posix()
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise DaybookError("MODEL_001", file=file, reason=error.strerror or str(error)) from error
    if len(raw) > MAX_BYTES:
        raise DaybookError("MODEL_002", file=file)
    return decode(raw, file)


def decode(raw: bytes, file: str) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        readable = raw.decode("utf-8", errors="replace")
        start = len(raw[: error.start].decode("utf-8", errors="replace"))
        span = Span(mask(readable), start, start + 1, file)
        raise DaybookError("MODEL_003", span=span, hint=_encoding_hint(raw)) from None


@dataclass(frozen=True, slots=True)
class Composed:
    """The documents of a text, what is wrong in it, and the text as it may be shown: with secrets masked."""

    documents: list[Node]
    errors: list[DaybookError]
    shown: str


def compose(text: str, file: str | None) -> Composed:
    """Reads YAML, or JSON when the file's name says so."""
    shown = Span(mask(text), 0, 0, file)
    if bad := bad_character(text):
        span = shown.within(bad.start(), bad.end())
        return Composed([], [DaybookError("MODEL_013", span=span, codepoint=f"{ord(bad[0]):04X}")], shown.text)
    errors: list[DaybookError] = []
    reader = compose_json if file and file.endswith(".json") else compose_yaml
    return Composed(list(reader(text, shown, errors)), errors, shown.text)


def _encoding_hint(raw: bytes) -> str | None:
    is_utf16 = raw[:2] in (b"\xff\xfe", b"\xfe\xff")
    return "the file is UTF-16; save it as UTF-8" if is_utf16 else None
