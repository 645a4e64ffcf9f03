"""The text of a file, and its documents."""

from dataclasses import dataclass
from pathlib import Path

from daybook.definitions.loading.documents import compose_json, compose_yaml, find_bad_character
from daybook.errors import DaybookError, Span
from daybook.model.secrets import mask_secrets
from daybook.model.source_map import (
    DocumentNode,
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
