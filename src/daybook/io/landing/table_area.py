"""Landings in tables: rows are sent through the session in pieces, and read by the pieces that their manifest lists.

Each piece has its own name, so that sending one twice does not repeat its rows.
"""

import hashlib
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from daybook.engine.context import ORDINAL_COLUMN, POSITION_COLUMN
from daybook.errors import DaybookError
from daybook.expression import quote_identifier
from daybook.io.bindings import Binding
from daybook.io.column_types import arrow_frame, arrow_type
from daybook.io.formats.spark_catalog.table import active_session
from daybook.io.landing.area import (
    IN_MEMORY_BYTES,
    LandedFile,
    LandedRows,
    LandingArea,
    PublishedLanding,
    has_unique_rows,
    identity_columns,
    landing_from_text,
    occurrence_numbers,
)
from daybook.io.landing.batches import Batch
from daybook.io.landing.repeated_keys import find_repeated, find_repeated_by_spark
from daybook.io.state_tables import StateTables, named_columns, stored_names, stream_batches
from daybook.model.dataset import Dataset

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# One request of Spark Connect takes less than 128 MB, and every piece a commit.
_PIECE_BYTES = 96 << 20
# Spark Connect converts rows one by one: packed as arrays they take a third of the time.
_PACKED_ROWS = 4096
_PIECE_COLUMN = "piece"


@dataclass(frozen=True, slots=True)
class TableLandingArea(LandingArea):
    """Landings of a workspace that shares no folder with Spark."""

    tables: StateTables = field(kw_only=True)

    @property
    def needs_session(self) -> bool:
        return True

    def find(self, folder: str) -> PublishedLanding | None:
        """The landing that was published in a folder, if its table is there."""
        return self._find(folder, self.tables.manifests.find(folder))

    def _find(self, folder: str, manifest: str | None) -> PublishedLanding | None:
        landed = landing_from_text(folder, manifest.encode()) if manifest is not None else None
        if landed is None or any(not self._has_table(path) for path in {_attempt_of(file) for file in landed.files}):
            return None
        return landed

    def _has_table(self, attempt: str) -> bool:
        return active_session().catalog.tableExists(self.tables.table(attempt).sql)

    def new_attempt(self, folder: str) -> str:
        """A name that is short enough for every catalog."""
        digest = hashlib.blake2b(folder.encode(), digest_size=12).hexdigest()
        return f"landing/{digest}/{self.run_id}/{uuid.uuid4().hex[:8]}"

    def publish(self, landed: PublishedLanding) -> PublishedLanding:
        """The first of two landings that were made at once counts; the other has the same rows, and is dropped."""
        manifests = self.tables.manifests
        while True:
            stored = manifests.find(landed.folder)
            if (other := self._find(landed.folder, stored)) is not None:
                for attempt in {_attempt_of(file) for file in landed.files}:
                    self.remove(attempt)
                return other
            if manifests.publish(landed.folder, json.dumps(asdict(landed)), instead_of=stored):
                return landed

    def remove(self, path: str) -> None:
        self.tables.drop(path)

    def land_frame(
        self, spark: "SparkSession", folder: str, df: "DataFrame", carried: Iterable[str], extra: Iterable[str]
    ) -> PublishedLanding:
        """Lands rows that Spark copies itself, as one piece."""
        from pyspark.sql import functions as F

        attempt = self.new_attempt(folder)
        try:
            self.tables.write(df.withColumn(_PIECE_COLUMN, F.lit("0")), attempt)
            columns = tuple(df.columns)
            rows = spark.table(self.tables.table(attempt).sql).count()
            landed = PublishedLanding(
                folder,
                (LandedFile(f"{attempt}/0", rows),),
                tuple(sorted(carried)),
                tuple(sorted(extra)),
                is_unique=False,
                is_numbered=False,
                columns=columns,
            )
            return self.publish(landed)
        except BaseException:
            self.remove(attempt)
            raise

    def rows(self, spark: "SparkSession", landed: PublishedLanding, types: Mapping[str, str]) -> "DataFrame":
        """Columns of the pieces that the manifest lists."""
        return self.pieces(spark, landed.files, landed.columns).select(*map(quote_identifier, types))

    def pieces(self, spark: "SparkSession", files: Sequence[LandedFile], columns: Sequence[str]) -> "DataFrame":
        from pyspark.sql import functions as F

        attempt = _attempt_of(files[0])
        stored = spark.table(self.tables.table(attempt).sql)
        listed = [file.path.rpartition("/")[2] for file in files]
        return stored.where(F.col(f"c{len(columns)}").isin(listed)).selectExpr(*named_columns(columns))

    def batches(self, landed: PublishedLanding) -> Iterator[pa.RecordBatch]:
        return stream_batches(self.pieces(active_session(), landed.files, landed.columns))

    def new_sink(
        self,
        spark: "SparkSession | None",
        attempt: str,
        columns: Sequence[Binding],
        limit: int = IN_MEMORY_BYTES,
    ) -> "PieceSink":
        if spark is None:
            raise DaybookError("IO_031", format="spark_catalog", missing="a Spark session")
        return PieceSink(self, spark, attempt, columns, limit)


def _attempt_of(file: LandedFile) -> str:
    return file.path.rpartition("/")[0]


class PieceSink:
    """Collects the rows of one attempt, and sends them in pieces once there are more than fit into memory."""

    def __init__(
        self, area: TableLandingArea, spark: "SparkSession", attempt: str, columns: Sequence[Binding], limit: int
    ) -> None:
        self._area = area
        self._spark = spark
        self._attempt = attempt
        self._columns = tuple(columns)
        stored = [pa.field(c.name, arrow_type(c.type)) for c in columns]
        hidden = [pa.field(POSITION_COLUMN, pa.string()), pa.field(ORDINAL_COLUMN, pa.int64())]
        self._schema = pa.schema([*stored, *hidden])
        self.has_positions = False
        self._held: list[pa.RecordBatch] = []
        self._held_bytes = 0
        self._limit = limit
        self._sent: list[LandedFile] = []
        self.rows = 0

    def add(self, batch: Batch) -> None:
        self.has_positions = self.has_positions or batch.positions is not None
        stored = {**batch.columns, **({POSITION_COLUMN: batch.positions} if batch.positions is not None else {})}
        arrays = [stored.get(field.name, pa.nulls(batch.rows, field.type)).cast(field.type) for field in self._schema]
        record = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        self.rows += record.num_rows
        size = sum(array.nbytes for array in arrays if _has_values(array))
        if self._held and self._held_bytes + size > _PIECE_BYTES:
            self._send(pa.Table.from_batches(self._held, self._schema))
            self._held, self._held_bytes = [], 0
        self._held.append(record)
        self._held_bytes += size

    def close(self) -> None:
        """Nothing is open between two requests."""

    def finish(self, spark: "SparkSession | None", carried: Iterable[str], dataset: Dataset) -> LandedRows:
        names = {*carried, *(column.name for column in dataset.main_table.columns)}
        columns = [column for column in self._columns if column.name in names]
        identity = identity_columns(columns, dataset.natural_key_columns)
        held = pa.Table.from_batches(self._held, self._schema)
        if not self._sent and self._held_bytes <= self._limit:
            return self._finish_in_memory(held, columns, identity, dataset)
        if held.num_rows:
            self._send(held)
        df = self._area.pieces(self._spark, self._sent, self._schema.names)
        if has_unique_rows(df, identity, self.rows):
            return LandedRows(tuple(self._sent), is_unique=True, columns=tuple(self._schema.names))
        repeated = find_repeated_by_spark(df, dataset, [column.name for column in columns])
        stored = tuple(self._schema.names)
        return LandedRows(tuple(self._sent), is_unique=False, repeated=repeated, is_numbered=False, columns=stored)

    def _finish_in_memory(
        self, table: pa.Table, columns: Sequence[Binding], identity: Sequence[Binding], dataset: Dataset
    ) -> LandedRows:
        numbers = occurrence_numbers(table, identity, columns)
        if numbers is not None:
            index = table.schema.get_field_index(ORDINAL_COLUMN)
            table = table.set_column(index, ORDINAL_COLUMN, pa.array(numbers, pa.int64()))
        self._send(table)
        repeated = find_repeated(table, dataset) if numbers is not None else None
        return LandedRows(tuple(self._sent), numbers is None, repeated, columns=tuple(self._schema.names))

    def _send(self, table: pa.Table) -> None:
        """Rows in as many pieces as requests need."""
        size = sum(column.nbytes for column in table.columns if _has_values(column))
        width = max(1, -(-size // _PIECE_BYTES))
        step = max(1, -(-table.num_rows // width))
        for first in range(0, max(1, table.num_rows), step):
            part = table.slice(first, step)
            name = f"{len(self._sent)}-{uuid.uuid4().hex[:8]}"
            self._write(_unpacked(self._spark, part), name)
            self._sent.append(LandedFile(f"{self._attempt}/{name}", part.num_rows))

    def _write(self, df: "DataFrame", name: str) -> None:
        from pyspark.sql import functions as F

        tables = self._area.tables
        # Asking Spark Connect for the columns would send the rows once more.
        stored = df.withColumn(_PIECE_COLUMN, F.lit(name)).toDF(*stored_names([*self._schema.names, _PIECE_COLUMN]))
        if not self._sent:
            tables.create(stored, self._attempt)
            return
        writer = stored.writeTo(tables.table(self._attempt).sql)
        if tables.provider == "delta":
            # Delta passes over a transaction that it has; replacing what has the name would take twice as long.
            writer.option("txnAppId", name).option("txnVersion", "1").append()
        else:
            writer.overwrite(F.col(f"c{len(self._schema)}") == F.lit(name))


def _unpacked(spark: "SparkSession", table: pa.Table) -> "DataFrame":
    """Rows that are sent as arrays and become rows where Spark is; what has no value is not sent."""
    from pyspark.sql.pandas.types import from_arrow_type

    names = stored_names(table.column_names)
    columns = {name: column for name, column in zip(names, table.columns, strict=True) if _has_values(column)}
    if not columns:
        return arrow_frame(spark, table)
    ends = pa.array([*range(0, table.num_rows, _PACKED_ROWS), table.num_rows], pa.int32())
    packed = pa.table(
        {name: pa.ListArray.from_arrays(ends, pa.concat_arrays(column.chunks)) for name, column in columns.items()}
    )
    rows = spark.createDataFrame(packed).selectExpr(f"inline(arrays_zip({', '.join(columns)}))")
    nothing = (f"CAST(NULL AS {from_arrow_type(field.type).simpleString()})" for field in table.schema)
    selected = (name if name in columns else f"{null} AS {name}" for name, null in zip(names, nothing, strict=True))
    return rows.selectExpr(*selected).toDF(*table.column_names)


def _has_values(column: "pa.Array | pa.ChunkedArray") -> bool:
    return bool(column.null_count < len(column))
