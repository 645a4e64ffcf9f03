"""Pins: the state of an input when it was read, so that a change is detected and a replay reads the same data."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

from daybook.errors import DaybookError, Notice, raise_all
from daybook.io.filesystem import FileStat, list_files
from daybook.io.storage import PROVIDER_STORAGE, Storage
from daybook.model.definition import TableVersion
from daybook.resolve.location import Location

if TYPE_CHECKING:
    # Whether files changed is asked without Spark.
    from pyspark.sql import DataFrame

    from daybook.engine.context import SourceRows


@dataclass(frozen=True, slots=True)
class TablePin:
    """A table at a version that stays readable; only the whole table can be removed or created again."""

    uri: str
    version: TableVersion
    table_id: str


@dataclass(frozen=True, slots=True)
class FilesPin:
    """The files that were read, of a file or folder."""

    uri: str
    files: tuple[FileStat, ...]


@dataclass(frozen=True, slots=True)
class PinnedFile:
    """A file that was landed, with the digest of its content."""

    stat: FileStat
    digest: str


@dataclass(frozen=True, slots=True)
class TableState:
    """What a table of a database says of itself: its rows, and the largest value of a column as text."""

    table: str
    column: str
    rows: int
    newest: str | None


@dataclass(frozen=True, slots=True)
class LandedPin:
    """A landing, which is immutable; `folder` is relative to the landing area."""

    uris: tuple[str, ...]
    folder: str
    rows: int
    # The files it was made of; none for databases, and in runs of earlier versions.
    files: tuple[PinnedFile, ...] = ()
    # Of tables of databases whose dataset names a column for it, as they were before they were read.
    states: tuple[TableState, ...] = ()


Pin: TypeAlias = TablePin | FilesPin | LandedPin


def verify_files(pin: FilesPin, storage: Storage = PROVIDER_STORAGE) -> None:
    """IO_008 for files that are not what they were."""
    # One listing: asking file by file takes a round trip each on an object store.
    stored_files = frozenset(list_files(pin.uri, storage=storage))
    raise_all(DaybookError("IO_008", file=file.path) for file in pin.files if file not in stored_files)


def pin_to_json(pin: Pin) -> dict[str, Any]:
    match pin:
        case TablePin(uri, version, table_id):
            return {"kind": version.format, "uri": uri, "version": version.token, "table_id": table_id}
        case FilesPin():
            return {"kind": "files", **asdict(pin)}
        case LandedPin():
            return {"kind": "landed", **asdict(pin)}
        case _:
            assert_never(pin)


def pin_from_json(data: Mapping[str, Any]) -> Pin:
    match data:
        case {"kind": "files", "uri": uri, "files": files}:
            return FilesPin(uri, tuple(FileStat(**file) for file in files))
        case {"kind": "landed", "uris": uris, "folder": folder, "rows": rows}:
            files = (PinnedFile(FileStat(**file["stat"]), file["digest"]) for file in data.get("files", ()))
            states = (TableState(**state) for state in data.get("states", ()))
            return LandedPin(tuple(uris), folder, rows, tuple(files), tuple(states))
        case {"kind": str(format_), "uri": uri, "version": version, "table_id": table_id}:
            # Earlier stores hold the version as a number.
            return TablePin(uri, TableVersion(format_, str(version)), table_id)
        case _:
            raise ValueError(f"not a pin: {data!r}")


@dataclass(frozen=True, slots=True)
class ReadPart:
    rows: "SourceRows"
    carried: frozenset[str]
    pins: tuple[Pin, ...]
    notices: tuple[Notice, ...] = ()
    # Of the files that Spark is going to read, as far as they are known.
    sizes: tuple[int, ...] = ()
    # Whether more than one commit may have filled a slice.
    may_repeat_ids: bool = False
    # Whether the rows carry their position in a file.
    has_positions: bool = False
    # The periods of all rows, in the column that the time filter reads; None where the files do not prove them.
    known_periods: frozenset[str] | None = None

    def map(self, change: Callable[["DataFrame"], "DataFrame"]) -> "ReadPart":
        """The part with a change of its rows."""
        return replace(self, rows=self.rows.map(change))

    def with_period(self, location: Location) -> "ReadPart":
        """Rows of a location that belongs to one period may lack `_period`."""
        if location.period is None or "_period" in self.carried:
            return self
        from pyspark.sql import functions as F

        period = F.lit(location.period.identifier)
        return replace(self.map(lambda df: df.withColumn("_period", period)), carried=self.carried | {"_period"})
