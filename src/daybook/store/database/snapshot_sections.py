"""The snapshots of many runs: of each only what is asked for is decoded, and what several say is decoded once."""

from collections.abc import Iterator, Mapping
from typing import Any

from daybook.model.serialization import stored_json

# A snapshot is written with one blank before each of its own keys, and more before those within; no JSON string has a
# line end.
_BEGIN, _SEPARATOR, _END = '{\n "', '\n "', "\n}"


class SnapshotReader:
    """Reads the snapshots of a close: the runs of a project mostly have the same project and data sources."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}

    def read(self, body: str) -> Mapping[str, Any]:
        if not (body.startswith(_BEGIN) and body.endswith(_END)):
            # Of earlier versions, or not what was written, which the decoder reports.
            snapshot: Mapping[str, Any] = stored_json(body)
            return snapshot
        sections = body[len(_BEGIN) : -len(_END)].split(_SEPARATOR)
        parts = (section.partition('": ') for section in sections)
        return _Snapshot({key: text.removesuffix(",") for key, _, text in parts}, self)

    def decoded(self, text: str) -> Any:
        """The value of a section; the same text gives the same value."""
        if text not in self._values:
            self._values[text] = stored_json(text)
        return self._values[text]


class _Snapshot(Mapping[str, Any]):
    """A snapshot by its keys. Nobody changes the values, which other snapshots share."""

    __slots__ = ("_reader", "_texts")

    def __init__(self, texts: Mapping[str, str], reader: SnapshotReader) -> None:
        self._texts = texts
        self._reader = reader

    def __getitem__(self, key: str) -> Any:
        return self._reader.decoded(self._texts[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)
