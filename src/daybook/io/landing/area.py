"""The folder of landed inputs: immutable folders, each published by its manifest and checked before use.

Every landed row gets its identity: a hash of its content or key, numbered among equals.
"""

import json
import math
import os
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol, assert_never

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from daybook.engine.context import ORDINAL_COLUMN, ORIGIN_COLUMN, POSITION_COLUMN, literal_path_pattern
from daybook.expression import quote_identifier
from daybook.io.bindings import Binding
from daybook.io.column_types import arrow_type, spark_data_type
from daybook.io.data_files import parquet_batches
from daybook.io.filesystem import (
    arrow_path,
    content_digest,
    join_uri,
    list_files,
    local_path,
    make_folder,
    remove_folder,
    spark_uri,
)
from daybook.io.landing.batches import Batch
from daybook.io.landing.repeated_keys import RepeatedKeys, find_repeated, find_repeated_by_spark
from daybook.io.storage import PROVIDER_STORAGE, ArrowPath, Storage
from daybook.model.dataset import Dataset
from daybook.model.types import (
    BooleanType,
    DateType,
    DecimalType,
    FloatType,
    IntegerType,
    NullType,
    StringType,
    TimestampType,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class LandedFile:
    """`path` is relative to the landing area; `digest` is that of the content, empty in old manifests."""

    path: str
    rows: int
    digest: str = ""


@dataclass(frozen=True, slots=True)
class PublishedLanding:
    """A published landing; `is_unique` when no two rows are equal and every ordinal is 0."""

    folder: str
    files: tuple[LandedFile, ...]
    carried: tuple[str, ...]
    extra: tuple[str, ...]
    is_unique: bool
    repeated: RepeatedKeys | None = None
    has_positions: bool = False
    # Whether runs had appended to a slice of a database when it was landed.
    is_appended: bool = False
    # Whether equal rows are numbered where they are stored, or when they are read.
    is_numbered: bool = True
    # The columns of a landing in a table, in the order in which it stores them.
    columns: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)


@dataclass(frozen=True, slots=True)
class LandingArea:
    """`uri` is a folder below the workspace's state, shared with the cluster where there is one."""

    uri: str
    run_id: str
    storage: Storage = PROVIDER_STORAGE

    @property
    def needs_session(self) -> bool:
        """Whether nothing can be landed before there is a session."""
        return False

    def new_sink(self, spark: "SparkSession | None", attempt: str, columns: "Sequence[Binding]", limit: int) -> "Sink":
        """Takes the rows of an attempt."""
        return LandingSink(self, attempt, columns, limit)

    def file_folder(self, key: str) -> str:
        """Landings of files are shared between runs."""
        return f"files/{key}"

    def run_folder(self, key: str) -> str:
        """Landings of databases belong to one run."""
        return f"runs/{self.run_id}/{key}"

    def absolute(self, path: str) -> str:
        return join_uri(self.uri, path)

    def at(self, path: str) -> ArrowPath:
        """Where pyarrow finds what has a path below the area."""
        return arrow_path(self.absolute(path), self.storage)

    def find(self, folder: str) -> PublishedLanding | None:
        """The landing that was published in a folder, if its files are there as its manifest recorded them."""
        place = self.at(f"{folder}/{_MANIFEST}")
        if place.system.get_file_info(place.path).type != fs.FileType.File:
            return None
        with place.system.open_input_stream(place.path) as stream:
            text = stream.read()
        landed = landing_from_text(folder, text)
        return landed if landed is not None and all(self._is_intact(folder, file) for file in landed.files) else None

    def _is_intact(self, folder: str, file: LandedFile) -> bool:
        if not file.path.startswith(f"{folder}/") or ".." in file.path.split("/"):
            return False
        place = self.at(file.path)
        if place.system.get_file_info(place.path).type != fs.FileType.File:
            return False
        return not file.digest or content_digest(self.absolute(file.path), self.storage) == file.digest

    def new_attempt(self, folder: str) -> str:
        """A fresh place inside the folder for an attempt's data, so that two attempts never mix."""
        attempt = f"{folder}/{self.run_id}.{uuid.uuid4().hex}"
        make_folder(self.absolute(attempt), self.storage)
        return attempt

    def publish(self, landed: PublishedLanding) -> PublishedLanding:
        """The one atomic step: from here on the landing exists. What is to be read of two that were made at once."""
        text = json.dumps(asdict(landed), indent=1).encode()
        path = local_path(join_uri(self.uri, landed.folder, _MANIFEST))
        if path is None:
            _write_object(self.at(f"{landed.folder}/{_MANIFEST}"), text)
            return landed
        staged = path.with_name(f".{_MANIFEST}.{uuid.uuid4().hex}")
        with staged.open("wb") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        staged.replace(path)
        return landed

    def land_frame(
        self, spark: "SparkSession", folder: str, df: "DataFrame", carried: Iterable[str], extra: Iterable[str]
    ) -> PublishedLanding:
        """A landing that Spark writes by itself; equal rows are numbered when they are read."""
        attempt = self.new_attempt(folder)
        target = self.absolute(f"{attempt}/rows")
        try:
            options = self.storage.spark_options(self.uri)
            df.write.options(**options).mode("error").parquet(spark_uri(target, self.storage))
            files = tuple(self.spark_files(f"{attempt}/rows"))
            landed = PublishedLanding(
                folder, files, tuple(sorted(carried)), tuple(sorted(extra)), is_unique=False, is_numbered=False
            )
            return self.publish(landed)
        except BaseException:
            self.remove(attempt)
            raise

    def spark_files(self, path: str) -> Iterator[LandedFile]:
        """The files of a folder that Spark wrote."""
        for file in list_files(self.absolute(path), storage=self.storage):
            landed = join_uri(path, file.path.rpartition("/")[2])
            place = self.at(landed)
            rows = pq.ParquetFile(place.path, filesystem=place.system).metadata.num_rows
            yield LandedFile(landed, rows, content_digest(self.absolute(landed), self.storage))

    def frame(self, spark: "SparkSession", landed: PublishedLanding, columns: Sequence[Binding]) -> "DataFrame":
        """The columns of a landing with what it keeps of their rows: their positions, and numbers among equals."""
        has_ordinals = landed.is_numbered and not landed.is_unique
        types = {column.name: spark_data_type(column.type).simpleString() for column in columns}
        types |= {ORDINAL_COLUMN: "bigint"} if has_ordinals else {}
        types |= {POSITION_COLUMN: "string"} if landed.has_positions else {}
        return self.rows(spark, landed, types)

    def rows(self, spark: "SparkSession", landed: PublishedLanding, types: Mapping[str, str]) -> "DataFrame":
        schema = ", ".join(f"{quote_identifier(name)} {type_}" for name, type_ in types.items())
        paths = (literal_path_pattern(spark_uri(self.absolute(file.path), self.storage)) for file in landed.files)
        return spark.read.options(**self.storage.spark_options(self.uri)).schema(schema).parquet(*paths)

    def batches(self, landed: PublishedLanding) -> Iterator[pa.RecordBatch]:
        """All columns of a landing, for readers without Spark."""
        for file in landed.files:
            yield from parquet_batches(self.absolute(file.path), self.storage)

    def remove(self, path: str) -> None:
        """A failed attempt's data."""
        remove_folder(self.absolute(path), self.storage)


def landing_from_text(folder: str, text: bytes) -> PublishedLanding | None:
    """The landing of a manifest; None for one that was damaged."""
    try:
        return _landing_from_json(folder, json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _landing_from_json(folder: str, data: dict[str, Any]) -> PublishedLanding:
    files = tuple(LandedFile(str(file["path"]), int(file["rows"]), file.get("digest", "")) for file in data["files"])
    repeated = RepeatedKeys(**data["repeated"]) if data.get("repeated") else None
    carried, extra = tuple(map(str, data["carried"])), tuple(map(str, data["extra"]))
    has_positions = bool(data.get("has_positions", False))
    is_appended = bool(data.get("is_appended", False))
    is_unique = bool(data["is_unique"])
    is_numbered, columns = bool(data.get("is_numbered", True)), tuple(map(str, data.get("columns", ())))
    return PublishedLanding(
        folder, files, carried, extra, is_unique, repeated, has_positions, is_appended, is_numbered, columns
    )


def _write_object(place: ArrowPath, text: bytes) -> None:
    """An object store makes an object visible as a whole when it is complete."""
    with place.system.open_output_stream(place.path) as stream:
        stream.write(text)


def identity_columns(columns: Sequence[Binding], natural_key: Sequence[str]) -> tuple[Binding, ...]:
    """What makes a row itself: its natural key and period, or all it has; by name, so that order does not matter."""
    key = {*natural_key, "_period", "_run_period"} if natural_key else None
    return tuple(sorted((c for c in columns if key is None or c.name in key), key=lambda column: column.name))


def identity_hash(columns: Sequence[Binding]) -> "Column":
    """Length-prefixed text of every column, NULL tagged, hashed."""
    from pyspark.sql import functions as F

    return F.md5(F.concat(*(_prefixed_text(column) for column in columns)).cast("binary"))


def _prefixed_text(column: Binding) -> "Column":
    from pyspark.sql import functions as F

    text = _identity_text(column)
    return F.coalesce(F.concat(F.octet_length(text).cast("string"), F.lit(":"), text), F.lit("-"))


def _identity_text(column: Binding) -> "Column":
    from pyspark.sql import functions as F

    value = F.col(quote_identifier(column.name))
    match column.type:
        case StringType():
            return value
        case IntegerType() | DecimalType() | BooleanType():
            return value.cast("string")
        case FloatType():
            # The text of a double differs between Java versions; its hash is taken from its bits.
            return F.when(value.isNotNull(), F.xxhash64(value).cast("string"))
        case DateType():
            return F.unix_date(value).cast("string")
        case TimestampType():
            return F.unix_micros(value).cast("string")
        case NullType():
            raise TypeError("no column has the type null")
        case _:
            assert_never(column.type)


def occurrence_numbers(table: pa.Table, identity: Sequence[Binding], everything: Sequence[Binding]) -> list[int] | None:
    """Occurrence numbers of rows held in memory; None when no two rows are equal."""
    names = [column.name for column in identity]
    groups = table.group_by(names, use_threads=False).aggregate([([], "count_all")])
    if groups.num_rows == table.num_rows:
        return None
    by_identity: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    keys = [table.column(name).to_pylist() for name in names]
    for index, key in enumerate(zip(*keys, strict=True)):
        by_identity[tuple(map(_sort_key, key))].append(index)
    numbers = [0] * table.num_rows
    order = sorted(column.name for column in everything)
    for rows in by_identity.values():
        if len(rows) > 1:
            content = {index: [_sort_key(table.column(name)[index].as_py()) for name in order] for index in rows}
            for number, index in enumerate(sorted(rows, key=content.__getitem__)):
                numbers[index] = number
    return numbers


def _sort_key(value: Any) -> tuple[Any, ...]:
    """NULL first, NaN last, as Spark orders."""
    if value is None:
        return (0,)
    if isinstance(value, float) and math.isnan(value):
        return (2,)
    return (1, value)


def number_occurrences(df: "DataFrame", identity: Sequence[Binding], everything: Sequence[Binding]) -> "DataFrame":
    """The same numbers by Spark, for what does not fit into memory."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    order = [F.col(quote_identifier(name)).asc_nulls_first() for name in sorted(c.name for c in everything)]
    window = Window.partitionBy(ORIGIN_COLUMN).orderBy(*order)
    return df.withColumn(ORIGIN_COLUMN, identity_hash(identity)).withColumn(
        ORDINAL_COLUMN, F.row_number().over(window).cast("bigint") - 1
    )


def has_unique_rows(df: "DataFrame", identity: Sequence[Binding], rows: int) -> bool:
    return df.select(identity_hash(identity).alias(ORIGIN_COLUMN)).distinct().count() == rows


# Beyond this much data in memory, rows are streamed to disk.
IN_MEMORY_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class LandedRows:
    """What an attempt wrote; `is_unique` when no two rows are equal and every ordinal is 0."""

    files: tuple[LandedFile, ...]
    is_unique: bool
    repeated: RepeatedKeys | None = None
    is_numbered: bool = True
    columns: tuple[str, ...] = ()


class Sink(Protocol):
    """Takes the rows of one landing attempt."""

    has_positions: bool

    def add(self, batch: Batch) -> None: ...

    def close(self) -> None:
        """Let go of what is open; harmless at any time."""
        ...

    def finish(self, spark: "SparkSession | None", carried: Iterable[str], dataset: Dataset) -> LandedRows:
        """What was landed, and which of its rows repeat others."""
        ...


class LandingSink:
    """Collects the rows of one landing attempt."""

    def __init__(
        self, area: LandingArea, attempt: str, columns: Sequence[Binding], limit: int = IN_MEMORY_BYTES
    ) -> None:
        self._area = area
        self._attempt = attempt
        self._columns = tuple(columns)
        stored = [pa.field(c.name, arrow_type(c.type)) for c in columns]
        self._schema = pa.schema([*stored, pa.field(POSITION_COLUMN, pa.string())])
        self.has_positions = False
        self._held: list[pa.RecordBatch] = []
        self._held_bytes = 0
        self._limit = limit
        self._writer: pq.ParquetWriter | None = None
        self._stream: pa.NativeFile | None = None
        self.rows = 0

    def add(self, batch: Batch) -> None:
        self.has_positions = self.has_positions or batch.positions is not None
        stored = {**batch.columns, **({POSITION_COLUMN: batch.positions} if batch.positions is not None else {})}
        arrays = [stored.get(field.name, pa.nulls(batch.rows, field.type)).cast(field.type) for field in self._schema]
        record = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        self.rows += record.num_rows
        if self._writer is None:
            self._held.append(record)
            self._held_bytes += record.nbytes
            if self._held_bytes > self._limit:
                self._spill()
        else:
            self._writer.write_batch(record)

    def _spill(self) -> None:
        place = self._area.at(f"{self._attempt}/rows.parquet")
        self._stream = place.system.open_output_stream(place.path)
        self._writer = pq.ParquetWriter(self._stream, self._schema)
        self._writer.write_table(pa.Table.from_batches(self._held, self._schema))
        self._held = []

    def close(self) -> None:
        """Let go of the open file; harmless at any time."""
        if self._writer is not None:
            self._writer.close()
        if self._stream is not None:
            self._stream.close()

    def finish(self, spark: "SparkSession | None", carried: Iterable[str], dataset: Dataset) -> LandedRows:
        """The files of the landing, and which of its rows repeat others; only rows in memory need no session."""
        self.close()
        names = {*carried, *(column.name for column in dataset.main_table.columns)}
        columns = [column for column in self._columns if column.name in names]
        identity = identity_columns(columns, dataset.natural_key_columns)
        if self._writer is None:
            return self._finish_in_memory(columns, identity, dataset)
        if spark is None:
            raise ValueError("so many rows need a session")
        return self._finish_with_spark(spark, columns, identity, dataset)

    def _finish_in_memory(
        self, columns: Sequence[Binding], identity: Sequence[Binding], dataset: Dataset
    ) -> LandedRows:
        kept = [*(column.name for column in columns), *([POSITION_COLUMN] if self.has_positions else [])]
        table = pa.Table.from_batches(self._held, self._schema).select(kept)
        numbers = occurrence_numbers(table, identity, columns)
        if numbers is not None:
            table = table.append_column(ORDINAL_COLUMN, pa.array(numbers, pa.int64()))
        path = f"{self._attempt}/rows.parquet"
        place = self._area.at(path)
        pq.write_table(table, place.path, filesystem=place.system)
        repeated = find_repeated(table, dataset) if numbers is not None else None
        return LandedRows((self._landed_file(path, table.num_rows),), numbers is None, repeated)

    def _landed_file(self, path: str, rows: int) -> LandedFile:
        return LandedFile(path, rows, content_digest(self._area.absolute(path), self._area.storage))

    def _finish_with_spark(
        self, spark: "SparkSession", columns: Sequence[Binding], identity: Sequence[Binding], dataset: Dataset
    ) -> LandedRows:
        raw = f"{self._attempt}/rows.parquet"
        schema = ", ".join(f"{quote_identifier(c.name)} {spark_data_type(c.type).simpleString()}" for c in columns)
        schema += f", {POSITION_COLUMN} string" if self.has_positions else ""
        options = self._area.storage.spark_options(self._area.uri)
        reader = spark.read.options(**options).schema(schema)
        df = reader.parquet(literal_path_pattern(spark_uri(self._area.absolute(raw), self._area.storage)))
        if has_unique_rows(df, identity, self.rows):
            return LandedRows((self._landed_file(raw, self.rows),), is_unique=True)
        repeated = find_repeated_by_spark(df, dataset, [column.name for column in columns])
        numbered = f"{self._attempt}/numbered"
        target = self._area.absolute(numbered)
        rows = number_occurrences(df, identity, columns).drop(ORIGIN_COLUMN)
        rows.write.options(**options).mode("error").parquet(spark_uri(target, self._area.storage))
        place = self._area.at(raw)
        place.system.delete_file(place.path)
        return LandedRows(tuple(self._area.spark_files(numbered)), is_unique=False, repeated=repeated)
