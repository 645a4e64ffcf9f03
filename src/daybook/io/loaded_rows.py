"""Whether the rows that a run loaded from files have changed, by digests of the landed rows and of the present files.

Results are kept by the content of the files, so that the same content is read once.
"""

import contextlib
import datetime
import hashlib
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from daybook.errors import DaybookError
from daybook.io.column_types import arrow_type
from daybook.io.filesystem import FileStat, arrow_path, join_uri, list_files, local_path, make_folder
from daybook.io.landing.area import LandingArea
from daybook.io.landing.landing_request import LandingRequest
from daybook.io.pins import LandedPin
from daybook.io.read_source import checked_batches, find_inputs
from daybook.io.registry import format_named
from daybook.io.storage import Storage
from daybook.model.types import RUN_PERIOD_COLUMN, TIME_COLUMNS

# Up to this many rows are sorted in memory and compared regardless of their order; more count as changed.
_MOST_SORTED = 2_000_000


@dataclass(frozen=True, slots=True)
class LoadedPart:
    """The rows of a source that a node loads: of these periods, or valid on a day; None means all."""

    periods: tuple[str, ...] | None = None
    as_of: datetime.date | None = None
    # Whether the times at which rows were made count, too.
    with_times: bool = False


@dataclass(frozen=True, slots=True)
class _GroupDigest:
    rows: int
    digest: str


# By the period of the rows, as text; of rows without one it is empty.
_Digests = Mapping[str, _GroupDigest]


def have_rows_changed(
    request: LandingRequest, pin: LandedPin, part: LoadedPart, *, looks: bool, root: str
) -> bool | None:
    """Whether the rows that a run loaded have changed; None where this is not known yet and `looks` is False.

    Results are kept below `root`. Files that cannot be read count as changed.
    """
    try:
        return _compare(request, pin, part, _KeptLooks(root, request.storage), looks=looks)
    except (DaybookError, OSError):
        return True


def _compare(
    request: LandingRequest, pin: LandedPin, part: LoadedPart, kept: "_KeptLooks", *, looks: bool
) -> bool | None:
    folder = _folder_now(request, kept, looks=looks)
    if folder is None:
        return None
    if folder == pin.folder:
        return False
    before = _digests_of(request, pin.folder, part, kept, looks=looks)
    now = _digests_of(request, folder, part, kept, looks=looks)
    if before is None or now is None:
        return True if looks else None
    chosen_before, chosen_now = _chosen(before, part), _chosen(now, part)
    if chosen_before == chosen_now:
        return False
    if {name: group.rows for name, group in chosen_before.items()} != {
        name: group.rows for name, group in chosen_now.items()
    }:
        return True
    return _has_other_rows_in_any_order(request, pin.folder, folder, part, kept, looks=looks)


def _chosen(digests: _Digests, part: LoadedPart) -> dict[str, _GroupDigest]:
    if part.periods is None:
        return dict(digests)
    return {name: group for name, group in digests.items() if name in part.periods}


class _KeptLooks:
    """Kept results as small JSON texts by key, in the state of the workspace."""

    def __init__(self, root: str, storage: Storage) -> None:
        self._root = root
        self._storage = storage

    def find(self, *key: Any) -> Any:
        at = arrow_path(self._uri(key), self._storage)
        try:
            with at.system.open_input_stream(at.path) as stream:
                return json.loads(stream.read())
        except (FileNotFoundError, ValueError):
            return None

    def keep(self, value: Any, *key: Any) -> None:
        # A result that cannot be kept is computed again.
        with contextlib.suppress(OSError):
            at, text = arrow_path(self._uri(key), self._storage), json.dumps(value).encode()
            make_folder(self._root, self._storage)
            # An object store makes an object visible as a whole when it is complete.
            is_local = local_path(self._root) is not None
            path = f"{at.path}.{uuid.uuid4().hex}" if is_local else at.path
            with at.system.open_output_stream(path) as stream:
                stream.write(text)
            if is_local:
                at.system.move(path, at.path)

    def _uri(self, key: tuple[Any, ...]) -> str:
        text = json.dumps(key, default=str)
        return join_uri(self._root, f"{hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}.json")


def _folder_now(request: LandingRequest, kept: _KeptLooks, *, looks: bool) -> str | None:
    """The landing folder of the files, which depends on their content; kept by their sizes and times."""
    stats: list[FileStat] = []
    for location in request.locations:
        stats += list_files(location.file_uri, location.root or location.file_uri, request.storage)
    columns = [[column.name, str(column.type)] for column in request.columns]
    states = [[file.path, file.size, file.modified_ns] for file in stats]
    places = [[location.format, location.file_uri, sorted(location.options.items())] for location in request.locations]
    key = ("folder", states, columns, places, sorted(request.slices or ()))
    folder = kept.find(*key)
    if folder is None and looks:
        folder = find_inputs(request).folder
        kept.keep(folder, *key)
    return None if folder is None else str(folder)


def _digests_of(
    request: LandingRequest, folder: str, part: LoadedPart, kept: _KeptLooks, *, looks: bool
) -> _Digests | None:
    """Digests by period; None where they are not known yet, and where the rows are gone."""
    columns = _compared(request, part)
    key = ("digests", folder, [field.name for field in columns], part.as_of)
    if (stored := kept.find(*key)) is not None:
        return {name: _GroupDigest(*group) for name, group in stored.items()}
    if not looks or (batches := _batches(request, folder, columns, part)) is None:
        return None
    hashers: dict[str, _RowHasher] = {}
    for batch in batches:
        for name, rows in _by_period(batch):
            hashers.setdefault(name, _RowHasher(columns)).add(rows)
    digests = {name: hasher.digest for name, hasher in sorted(hashers.items()) if hasher.rows}
    kept.keep({name: [group.rows, group.digest] for name, group in digests.items()}, *key)
    return digests


def _compared(request: LandingRequest, part: LoadedPart) -> pa.Schema:
    """Every column that a source may have, so that one that is missing counts as NULL."""
    columns = sorted(request.columns, key=lambda column: column.name)
    counted = (column for column in columns if part.with_times or column.name not in TIME_COLUMNS)
    return pa.schema([(column.name, arrow_type(column.type)) for column in counted])


def _batches(
    request: LandingRequest, folder: str, columns: pa.Schema, part: LoadedPart
) -> Iterator[pa.RecordBatch] | None:
    """The rows of a landing; where it is gone, of the files themselves if their content is the same."""
    batches: Iterator[pa.RecordBatch]
    if (landed := request.area.find(folder)) is not None:
        batches = _landed_batches(request.area, [file.path for file in landed.files])
    elif find_inputs(request).folder == folder:
        batches = _file_batches(request)
    else:
        return None
    full = (_with_all(batch, columns) for batch in batches)
    return full if part.as_of is None else (_valid_on(batch, part.as_of) for batch in full)


def _landed_batches(area: LandingArea, paths: Iterable[str]) -> Iterator[pa.RecordBatch]:
    for path in paths:
        at = arrow_path(area.absolute(path), area.storage)
        with at.system.open_input_file(at.path) as stream:
            yield from pq.ParquetFile(stream).iter_batches()


def _file_batches(request: LandingRequest) -> Iterator[pa.RecordBatch]:
    for file in find_inputs(request).files:
        source = format_named(file.location.format).file_rows(file, request.version)
        for batch in checked_batches(source, file.location, request.columns):
            yield pa.RecordBatch.from_pydict(batch.columns)


def _with_all(batch: pa.RecordBatch, columns: pa.Schema) -> pa.RecordBatch:
    names = set(batch.schema.names)
    arrays = [
        batch.column(field.name).cast(field.type) if field.name in names else pa.nulls(batch.num_rows, field.type)
        for field in columns
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=columns)


def _valid_on(batch: pa.RecordBatch, day: datetime.date) -> pa.RecordBatch:
    """The rows of a bitemporal table that are valid at the beginning of a day."""
    masks = []
    for name, compare in (("_valid_from", pc.less_equal), ("_valid_to", pc.greater)):
        column = batch.column(name)
        moment = pa.scalar(day, pa.date32()).cast(column.type)
        masks.append(pc.fill_null(compare(column, moment), name == "_valid_to"))
    return batch.filter(pc.and_(*masks))


def _by_period(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows by period: that of the slice where the rows have one, else that of the row."""
    column = pc.coalesce(batch.column(RUN_PERIOD_COLUMN), batch.column("_period"), pa.scalar(""))
    names = pc.unique(column).to_pylist()
    if len(names) == 1:
        yield names[0], batch
        return
    for name in names:
        yield name, batch.filter(pc.equal(column, name))


class _RowHasher:
    """A digest of rows in their order, which does not depend on how they are divided into batches."""

    def __init__(self, columns: pa.Schema) -> None:
        self.rows = 0
        self._columns = columns
        self._parts = [(hashlib.blake2b(digest_size=16), hashlib.blake2b(digest_size=16)) for _ in columns]

    def add(self, batch: pa.RecordBatch) -> None:
        self.rows += batch.num_rows
        for column, (values, marks) in zip(batch.columns, self._parts, strict=True):
            if pa.types.is_string(column.type):
                lengths = pc.fill_null(pc.binary_length(column), -1)
                marks.update(_fixed_bytes(lengths))
                values.update(_text_bytes(pc.fill_null(column, "")))
            else:
                marks.update(_fixed_bytes(column.is_valid().cast(pa.uint8())))
                stored = column.cast(pa.uint8()) if pa.types.is_boolean(column.type) else column
                values.update(_fixed_bytes(pc.fill_null(stored, _zero(stored.type))))

    @property
    def digest(self) -> _GroupDigest:
        whole = hashlib.blake2b(digest_size=16)
        for values, marks in self._parts:
            whole.update(values.digest() + marks.digest())
        return _GroupDigest(self.rows, whole.hexdigest())


def _zero(type_: pa.DataType) -> pa.Scalar:
    if pa.types.is_decimal(type_):
        return pa.scalar(Decimal(0), type_)
    # Days are numbers of 32 bits.
    return pa.scalar(0, pa.int32() if pa.types.is_date32(type_) else pa.int64()).cast(type_)


def _fixed_bytes(array: pa.Array) -> memoryview:
    width = array.type.bit_width // 8
    return memoryview(array.buffers()[1])[array.offset * width : (array.offset + len(array)) * width]


def _text_bytes(array: pa.Array) -> memoryview:
    _, offsets, data = array.buffers()
    bounds = memoryview(offsets).cast("i")
    start, end = bounds[array.offset], bounds[array.offset + len(array)]
    return memoryview(data)[start:end] if data is not None else memoryview(b"")


def _has_other_rows_in_any_order(
    request: LandingRequest, before: str, now: str, part: LoadedPart, kept: _KeptLooks, *, looks: bool
) -> bool | None:
    """Compares as many rows as sorted tables, regardless of their order."""
    columns = _compared(request, part)
    key = ("order", before, now, [field.name for field in columns], part.periods, part.as_of)
    if (has_other_rows := kept.find(*key)) is not None or not looks:
        return None if has_other_rows is None else bool(has_other_rows)
    tables = [_sorted_rows(request, folder, columns, part) for folder in (before, now)]
    has_changed = tables[0] is None or tables[1] is None or not tables[0].equals(tables[1])
    kept.keep(has_changed, *key)
    return has_changed


def _sorted_rows(request: LandingRequest, folder: str, columns: pa.Schema, part: LoadedPart) -> pa.Table | None:
    chosen: list[pa.RecordBatch] = []
    for batch in _batches(request, folder, columns, part) or ():
        chosen += [rows for name, rows in _by_period(batch) if part.periods is None or name in part.periods]
        if sum(rows.num_rows for rows in chosen) > _MOST_SORTED:
            return None
    table = pa.Table.from_batches(chosen, columns)
    return table.sort_by([(name, "ascending") for name in columns.names])
