"""The number of rows of a location, and the sums of some of its columns."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from daybook.errors import DaybookError
from daybook.expression import quote_identifier, spark_type
from daybook.io.column_types import arrow_type
from daybook.io.data_files import DataFile
from daybook.io.filesystem import arrow_path
from daybook.io.formats.delta.table import find_delta
from daybook.io.formats.parquet.format import find_parquet
from daybook.io.formats.spark_catalog.table import active_session
from daybook.io.landing.area import LandingArea
from daybook.io.landing.landing_request import TextFile, find_text_files
from daybook.io.pins import LandedPin, TablePin
from daybook.io.read_source import ReadSource
from daybook.io.registry import format_named
from daybook.io.staged_sums import sum_of
from daybook.io.storage import Storage
from daybook.model.definition import DatasetVersion
from daybook.model.measures import Amount, plus
from daybook.model.types import ColumnType
from daybook.resolve.location import Location, Resolution

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass
class StoredFigures:
    """The number of rows of a location, and the sums of some columns.

    `sizes` are the sums of the absolute values of floats: what their rounding errors go by.
    """

    totals: dict[str, Amount]
    sizes: dict[str, float]
    rows: int = 0

    @classmethod
    def of(cls, columns: Iterable[str]) -> "StoredFigures":
        return cls(dict.fromkeys(columns, Decimal(0)), {})

    def add(self, rows: int, columns: Mapping[str, pa.ChunkedArray]) -> None:
        self.rows += rows
        for column in self.totals:
            values = columns[column]
            self.totals[column] = plus(self.totals[column], sum_of(values))
            if pa.types.is_floating(values.type):
                self.sizes[column] = self.sizes.get(column, 0.0) + float(sum_of(pc.abs(values)))


@dataclass(frozen=True, slots=True)
class FigureReader:
    """Where the rows of a controlled source are."""

    resolution: Resolution
    version: DatasetVersion
    source: ReadSource
    area: LandingArea

    def figures(self, location: Location, columns: Sequence[str], control: str) -> StoredFigures:
        """The figures of all rows of a location."""
        figures = StoredFigures.of(columns)
        if location.format == "delta":
            pin = self._pin(location, TablePin)
            table = find_delta(location, self.version, None, pin, self.source.storage)
            stored = {binding.name: binding.stored for binding in table.bindings.declared}
            self._add_files(figures, table.files, stored)
        elif location.format == "parquet":
            folder = find_parquet(location, self.version, None, None, self.source.storage)
            stored = {binding.name: binding.stored for binding in folder.bindings}
            self._add_files(figures, folder.files, stored)
        elif not format_named(location.format).is_landed:
            self._add_by_spark(figures, location, control)
        elif len(self._landed_locations()) == 1:
            self._add_landing(figures)
        elif location.uri is not None:
            for file in find_text_files(location, None, self.source.storage):
                self._check_unchanged(file)
                for batch in format_named(location.format).file_rows(file, self.version).batches():
                    figures.add(batch.rows, {column: pa.chunked_array([batch.columns[column]]) for column in columns})
        else:
            raise _incomparable(location, control, "several tables of databases are read together")
        return figures

    def _check_unchanged(self, file: TextFile) -> None:
        """IO_008 for a file that is not what was landed: its figures would be those of rows that are not read."""
        landed = (landed for pin in self.source.pins if isinstance(pin, LandedPin) for landed in pin.files)
        if any(one.stat.path == file.stat.path and one.digest != file.digest for one in landed):
            raise DaybookError("IO_008", file=file.stat.path)

    def _pin(self, location: Location, kind: type[TablePin]) -> TablePin | None:
        return next((pin for pin in self.source.pins if isinstance(pin, kind) and pin.uri == location.uri), None)

    def _landed_locations(self) -> list[Location]:
        return [location for location in self.resolution.locations if format_named(location.format).is_landed]

    def _add_landing(self, figures: StoredFigures) -> None:
        pin = next(pin for pin in self.source.pins if isinstance(pin, LandedPin))
        landed = self.area.find(pin.folder)
        if landed is None:
            raise DaybookError("IO_009", location=", ".join(pin.uris), reason="its landing has been removed or changed")
        if self.area.needs_session:
            types = {name: spark_type(type_) for name, type_ in self._types().items() if name in figures.totals}
            _add_sums(figures, self.area.rows(active_session(), landed, types))
            return
        files = [DataFile(self.area.absolute(file.path)) for file in landed.files]
        self._add_files(figures, files, {column: column for column in figures.totals})

    def _add_files(self, figures: StoredFigures, files: Iterable[DataFile], stored: Mapping[str, str]) -> None:
        types = {name: arrow_type(type_) for name, type_ in self._types().items()}
        stored_names = {column: stored[column] for column in figures.totals}
        for file in files:
            for part in _column_batches(file, stored_names, types, self.source.storage):
                figures.add(part.rows, part.columns)

    def _add_by_spark(self, figures: StoredFigures, location: Location, control: str) -> None:
        """Tables that only Spark reads are summed by a query of their own."""
        if len(self.resolution.locations) > 1:
            raise _incomparable(location, control, "several tables are read together")
        _add_sums(figures, self.source.frame.rows.plain)

    def _types(self) -> dict[str, ColumnType]:
        return {column.name: column.type for column in self.version.dataset.main_table.columns}


def _add_sums(figures: StoredFigures, df: "DataFrame") -> None:
    from pyspark.sql import functions as F

    columns = [quote_identifier(column) for column in figures.totals]
    sums = [F.expr(f"SUM({column})") for column in columns]
    sizes = [F.expr(f"SUM(ABS(CAST({column} AS DOUBLE)))") for column in columns]
    row = df.agg(F.expr("COUNT(1)"), *sums, *sizes).first()
    assert row is not None
    figures.rows = row[0]
    for number, column in enumerate(figures.totals, start=1):
        total = row[number]
        figures.totals[column] = total if isinstance(total, float) else Decimal(total or 0)
        figures.sizes[column] = row[number + len(columns)] or 0.0


@dataclass(frozen=True, slots=True)
class _Part:
    rows: int
    columns: Mapping[str, pa.ChunkedArray]


def _column_batches(
    file: DataFile, stored: Mapping[str, str], types: Mapping[str, pa.DataType], storage: Storage
) -> Iterator[_Part]:
    """Some columns of a file by the name they get; `stored` has the names they have there."""
    place = arrow_path(file.path, storage)
    with place.system.open_input_file(place.path) as stream:
        parquet = pq.ParquetFile(stream)
        present = {column: name for column, name in stored.items() if name in parquet.schema_arrow.names}
        absent = {column: name for column, name in stored.items() if column not in present}
        if not present:
            rows = parquet.metadata.num_rows
            yield _Part(rows, {column: _constant(file, name, rows, types[column]) for column, name in absent.items()})
            return
        for batch in parquet.iter_batches(1 << 20, columns=[*present.values()]):
            rows = batch.num_rows
            columns = {column: pa.chunked_array([batch.column(name)]) for column, name in present.items()}
            columns |= {column: _constant(file, name, rows, types[column]) for column, name in absent.items()}
            yield _Part(rows, columns)


def _constant(file: DataFile, stored: str, rows: int, type_: pa.DataType) -> pa.ChunkedArray:
    """A column that is in the name of a folder, or missing."""
    value = pa.scalar(file.partitions.get(stored), pa.string()).cast(type_)
    return pa.chunked_array([pa.repeat(value, rows)])


def _incomparable(location: Location, control: str, reason: str) -> DaybookError:
    return DaybookError("TOTALS_013", location=location.label, control=control, reason=reason)
