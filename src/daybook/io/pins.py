"""What an input was when it was read, so that a change is noticed and a replay finds the same data.

What one format's reader makes of its locations.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias, assert_never

from pyspark.sql import DataFrame

from daybook.errors import DaybookError, Notice, raise_all
from daybook.io.filesystem import FileStat, list_files


@dataclass(frozen=True, slots=True)
class DeltaPin:
    """A Delta table at a version; its files never change, so only the table itself can vanish."""

    uri: str
    version: int
    table_id: str


@dataclass(frozen=True, slots=True)
class FilesPin:
    """The files that were read, of a file or folder."""

    uri: str
    files: tuple[FileStat, ...]


@dataclass(frozen=True, slots=True)
class LandedPin:
    """A landing, which is immutable; `folder` is relative to the landing area."""

    uris: tuple[str, ...]
    folder: str
    rows: int


Pin: TypeAlias = DeltaPin | FilesPin | LandedPin


def verify_pin(pin: Pin) -> None:
    """IO_008 when the source is not what it was."""
    match pin:
        case DeltaPin(uri, version, table_id):
            from daybook.io.formats.delta.table import table_id_at

            if table_id_at(uri, version) != table_id:
                raise DaybookError("IO_008", file=uri)
        case FilesPin(uri, files):
            # One listing: asking file by file takes a round trip each on an object store.
            found = frozenset(list_files(uri))
            raise_all(DaybookError("IO_008", file=file.path) for file in files if file not in found)
        case LandedPin():
            pass
        case _:
            assert_never(pin)


def pin_to_json(pin: Pin) -> dict[str, Any]:
    kind = {DeltaPin: "delta", FilesPin: "files", LandedPin: "landed"}[type(pin)]
    return {"kind": kind, **asdict(pin)}


def pin_from_json(data: Mapping[str, Any]) -> Pin:
    match data:
        case {"kind": "delta", "uri": uri, "version": version, "table_id": table_id}:
            return DeltaPin(uri, version, table_id)
        case {"kind": "files", "uri": uri, "files": files}:
            return FilesPin(uri, tuple(FileStat(**file) for file in files))
        case {"kind": "landed", "uris": uris, "folder": folder, "rows": rows}:
            return LandedPin(tuple(uris), folder, rows)
        case _:
            raise ValueError(f"not a pin: {data!r}")


@dataclass(frozen=True, slots=True)
class ReadPart:
    df: DataFrame
    carried: frozenset[str]
    pins: tuple[Pin, ...]
    notices: tuple[Notice, ...] = ()
    # Of the files that Spark is going to read, as far as they are known.
    sizes: tuple[int, ...] = ()
