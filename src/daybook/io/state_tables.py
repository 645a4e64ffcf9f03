"""The state of a workspace in a schema of a Spark catalog, where Spark and this machine share no folder.

Each folder below the state is a table here, named by the id of the workspace and the path. Columns are named by their
positions, since catalogs restrict the names of columns.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from daybook.engine.context import aliased_sql
from daybook.engine.java.connect import is_connect
from daybook.errors import DaybookError
from daybook.expression import quote_identifier
from daybook.io.column_types import arrow_type
from daybook.io.formats.spark_catalog.table import (
    Provider,
    TableName,
    active_session,
    drop_table,
    new_table_provider,
    require_schema,
    session_errors,
    tables_beginning,
)
from daybook.io.storage import STATE_ADDRESS
from daybook.io.target import OutputColumn
from daybook.model.datasource import SparkCatalogSource
from daybook.resolve.location import Location

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from daybook.io.storage import Storage


class Manifests(Protocol):
    """The manifests of landings, which the store keeps."""

    def find(self, folder: str) -> str | None: ...

    def publish(self, folder: str, manifest: str, *, instead_of: str | None = None) -> bool:
        """Store a manifest in place of the one that was there; False where that is another one by now."""
        ...

    def folders(self) -> Iterable[str]: ...


@dataclass(frozen=True, slots=True)
class StateTables:
    """Tables of one workspace in a schema; the data source is looked up when the first of them is needed."""

    find_source: Callable[[], SparkCatalogSource]
    schema: str
    workspace_id: str
    manifests: Manifests

    @property
    def prefix(self) -> str:
        return f"daybook_{self.workspace_id[:8]}_"

    def table(self, path: str) -> TableName:
        """The table of a path below the state."""
        inside = path.removeprefix(STATE_ADDRESS).strip("/").lower()
        name = f"{self.prefix}{re.sub('[^0-9a-z]', '_', inside)}"
        return TableName(self.find_source().options.catalog, self.schema, name)

    def location(self, path: str) -> Location:
        """A table below the state as an output is written to it."""
        name = self.table(path)
        return Location("spark_catalog", table=name.table, schema=name.schema, datasource=self.find_source())

    @property
    def provider(self) -> Provider:
        source = self.find_source()
        provider = new_table_provider(active_session(), source)
        if provider is None:
            reason = f"nothing says whether catalog {source.options.catalog} makes tables of Delta or of Iceberg"
            hint = f"write `provider: delta` or `provider: iceberg` into the options of {source.id}"
            raise DaybookError("IO_012", location=f"{source.id}.{self.schema}", reason=reason, hint=hint)
        return provider

    def write(self, df: "DataFrame", path: str) -> None:
        """Write rows as a new table, or in place of the rows of an earlier attempt; IO_001 without the schema."""
        self.create(df.toDF(*stored_names(df.columns)), path)

    def create(self, stored: "DataFrame", path: str) -> None:
        """The same of rows whose columns have their stored names."""
        name = self.table(path)
        try:
            stored.writeTo(name.sql).using(self.provider).createOrReplace()
        except session_errors():
            require_schema(active_session(), name)
            raise

    def read(self, path: str, columns: Sequence[str]) -> "DataFrame":
        return active_session().table(self.table(path).sql).selectExpr(*named_columns(columns))

    def drop(self, path: str) -> None:
        """Drop the table of a path and the tables below it, if there are any."""
        first = self.table(path)
        spark = active_session()
        for name in tables_beginning(spark, first, first.table):
            if name == first.table or name.startswith(f"{first.table}_"):
                drop_table(spark, first.beside(name), self.provider)

    def drop_unused(self, folder: str) -> None:
        """The tables of a landing or a replay that nothing refers to any more; the caller removes a manifest."""
        for path in self._tables_of(folder) or (folder,):
            self.drop(path)

    def replayed_runs(self) -> frozenset[str]:
        """The runs of which replays are kept."""
        matches = (_RUN_OF_REPLAY.match(name.table.removeprefix(self.prefix)) for name in self.names())
        return frozenset(match["run"].replace("_", "-") for match in matches if match)

    def listed(self) -> frozenset[TableName]:
        """The tables of all landings."""
        return frozenset(self.table(path) for folder in self.manifests.folders() for path in self._tables_of(folder))

    def _tables_of(self, folder: str) -> frozenset[str]:
        landed = json.loads(self.manifests.find(folder) or "{}")
        # A path is an attempt, which is a table, and a piece of its rows.
        return frozenset(
            f"landing/{file['path'].removeprefix('landing/').rpartition('/')[0]}" for file in landed.get("files", ())
        )

    def names(self) -> Iterator[TableName]:
        """All tables of this workspace."""
        first = self.table("")
        for name in tables_beginning(active_session(), first, self.prefix):
            yield first.beside(name)

    def run_of(self, name: TableName) -> str | None:
        """The run that a table of an attempt or of staging belongs to."""
        match = _RUN_OF_TABLE.search(name.table.removeprefix(self.prefix))
        return match["run"].replace("_", "-") if match else None


# Ids of runs have three parts; what follows is an attempt, a token or a part of it.
_RUN_OF_TABLE = re.compile(r"^(?:landing_[0-9a-f]{24}|staging)_(?P<run>\d{8}_\d{6}_[0-9a-f]{6})_")
_RUN_OF_REPLAY = re.compile(r"^replays_(?P<run>\d{8}_\d{6}_[0-9a-f]{6})_")


def require_tables(storage: "Storage") -> StateTables:
    if storage.tables is None:
        raise ValueError("the state of this workspace is no schema")
    return storage.tables


def stored_names(columns: Sequence[str]) -> list[str]:
    """Columns by their positions."""
    return [f"c{index}" for index in range(len(columns))]


def named_columns(columns: Sequence[str]) -> list[str]:
    """SQL that gives stored columns their names back."""
    return aliased_sql(dict(zip(columns, stored_names(columns), strict=True)))


class StagingTables:
    """Intermediate results, each a table; the caller removes them."""

    def __init__(self, tables: StateTables, path: str) -> None:
        self._tables = tables
        self._path = path.rstrip("/")
        self._count = 0

    def below(self, name: str) -> "StagingTables":
        return StagingTables(self._tables, f"{self._path}/{name}")

    def keep(self, df: "DataFrame", label: str) -> "DataFrame":
        """The same rows, from storage."""
        self._count += 1
        path = f"{self._path}/{self._count:03d}-{label}"
        self._tables.write(df, path)
        return self._tables.read(path, df.columns)


def stream_batches(df: "DataFrame") -> Iterator[pa.RecordBatch]:
    """Rows in their order, streamed from Spark Connect; a classic session collects them at once."""
    if not is_connect(df.sparkSession):
        yield from df.toArrow().to_batches()
        return
    connected: Any = df
    client, plan = connected.sparkSession.client, connected._plan
    for part in client.to_table_as_iterator(plan.to_proto(client), plan.observations):
        if isinstance(part, pa.Table):
            yield from part.to_batches()


def stream_parquet(df: "DataFrame", folder: Path, columns: Sequence[OutputColumn]) -> None:
    """Rows in their order as one file of a folder of this machine."""
    schema = pa.schema([(column.name, arrow_type(column.type)) for column in columns])
    with pq.ParquetWriter(folder / "part-00000.parquet", schema) as writer:
        for batch in stream_batches(df.select(*map(quote_identifier, schema.names))):
            writer.write_batch(batch.cast(schema))


def text_lines(df: "DataFrame") -> Iterator[bytes]:
    """The only column of rows as lines of UTF-8."""
    for batch in stream_batches(df):
        for text in batch.column(0):
            yield (text.as_py() or "").encode() + b"\n"
