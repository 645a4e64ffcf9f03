"""A catalog in a file with tables that are written without Spark, and what others do to them."""

import datetime as dt
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from daybook.io.column_types import arrow_type
from daybook.io.format import PinnedLocation, ReadRequest
from daybook.io.formats.iceberg.catalog import load_table, opened_catalog
from daybook.io.formats.iceberg.writer import IcebergWriter, describe_file, schema_of_files, staging_place
from daybook.io.pins import Pin
from daybook.io.target import OutputColumn, RunFacts, SliceOwner, TableTarget
from daybook.io.writer import Commit, RowsDigest, StagedOutput, staged_parquet_files
from daybook.model.dataset import ColumnDef, Dataset, MainTable
from daybook.model.datasource import IcebergOptions, IcebergSource
from daybook.model.definition import DatasetVersion
from daybook.model.types import STRING, DecimalType
from daybook.resolve.location import Location

COLUMNS = (OutputColumn("key", STRING), OutputColumn("amount", DecimalType(18, 2)))
RUN_TIME = dt.datetime(2026, 2, 1, tzinfo=dt.UTC)
WRITER = IcebergWriter()


def source(**options: Any) -> IcebergSource:
    given = {"catalog": "sql", "warehouse": "lake", "namespace": "close", **options}
    return IcebergSource(id="lake", name="lake", type="iceberg", options=IcebergOptions(**given))


@dataclass(frozen=True)
class Lake:
    """A workspace with a data source of Iceberg tables."""

    root: Path

    @property
    def location(self) -> Location:
        return Location("iceberg", table="journal", schema="close", datasource=source())

    def target(self, columns: tuple[OutputColumn, ...] = COLUMNS, **changes: Any) -> TableTarget:
        given: dict[str, Any] = {
            "location": self.location,
            "mode": "replace_period",
            "columns": columns,
            "run_id": str(uuid.uuid4()),
            "operation_seq": 1,
            "owner": SliceOwner("project", "output", "acme", "w1"),
            "run_period": "2026-01",
            "workspace": self.root,
            "facts": RunFacts(RUN_TIME, ()),
        }
        return TableTarget(**{**given, **changes})

    def stage(self, target: TableTarget, keys: str) -> StagedOutput:
        """What Spark would write: one file with the field ids of its columns."""
        checked = WRITER.check(target)
        with opened_catalog(target.datasource, self.root, creates=True) as catalog:
            assert catalog is not None
            place = staging_place(catalog, load_table(catalog, target.location), target)
        values: dict[str, list[Any]] = {column.name: [None] * len(keys) for column in target.columns}
        values |= {"key": list(keys), "amount": [Decimal("1.25")] * len(keys)}
        fields = [(column.name, arrow_type(column.type)) for column in target.columns]
        if target.run_period is not None:
            fields.append(("_run_period", pa.string()))
            values["_run_period"] = [target.run_period] * len(keys)
        schema = pa.schema(
            [pa.field(name, type_, metadata={"PARQUET:field_id": str(place.field_ids[name])}) for name, type_ in fields]
        )
        Path(place.folder).mkdir(parents=True)
        pq.write_table(pa.table(values, schema), f"{place.folder}/part-0.parquet")
        written = schema_of_files(target, place.field_ids)
        files = staged_parquet_files(place.folder, lambda footer: describe_file(footer, written, {}))
        digest = RowsDigest("0123", "0123")
        return StagedOutput(place.folder, len(keys), files=files, digest=digest, seen=checked.seen)

    def write(self, keys: str, target: TableTarget | None = None, **changes: Any) -> Commit:
        target = target or self.target(**changes)
        return WRITER.commit(self.stage(target, keys), target)

    @contextmanager
    def catalog(self) -> Iterator[SqlCatalog]:
        """As somebody else opens it."""
        warehouse = str(self.root / "lake")
        Path(warehouse).mkdir(exist_ok=True)
        catalog = SqlCatalog("default", uri=f"sqlite:///{warehouse}/catalog.db", warehouse=warehouse)
        try:
            yield catalog
        finally:
            catalog.close()

    @contextmanager
    def table(self) -> Iterator[Table]:
        with self.catalog() as catalog:
            yield catalog.load_table("close.journal")

    def rows(self, snapshot_id: int | None = None) -> list[tuple[str, str]]:
        """The rows as pyiceberg reads them."""
        with self.table() as table:
            rows = table.scan(snapshot_id=snapshot_id).to_arrow().to_pylist()
        return sorted((row["key"], row["_run_period"]) for row in rows)

    def append_as_another(self, key: str, period: str) -> None:
        with self.table() as table:
            schema = table.schema().as_arrow()
            row = dict.fromkeys(schema.names) | {"key": key, "_run_period": period}
            table.append(pa.Table.from_pylist([row], schema))

    def expire_all_but(self, *kept: int) -> None:
        """What the maintenance of others does to all that no branch and no tag needs."""
        with self.table() as table:
            current = table.current_snapshot()
            needed = {
                *kept,
                *([current.snapshot_id] if current else []),
                *(r.snapshot_id for r in table.refs().values()),
            }
            ids = [snapshot.snapshot_id for snapshot in table.snapshots() if snapshot.snapshot_id not in needed]
            if ids:
                table.maintenance.expire_snapshots().by_ids(ids).commit()


def version_of(columns: Sequence[OutputColumn] = COLUMNS, **table: Any) -> DatasetVersion:
    defined = tuple(ColumnDef(name=column.name, type=column.type) for column in columns)
    return DatasetVersion(Dataset(id="d", name="d", main_table=MainTable(name="t", columns=defined, **table)), 1)


def request(
    lake: Lake, columns: Sequence[OutputColumn] = COLUMNS, pin: Pin | None = None, slices: frozenset[str] | None = None
) -> tuple[PinnedLocation, ReadRequest]:
    return PinnedLocation(lake.location, pin), ReadRequest((), version_of(columns), slices, lake.root)
