"""Landing a SQLite table: every value checked, since a column's type binds nobody there."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from daybook.errors import DaybookError, raise_all
from daybook.io.formats.sqlite.connecting import columns_of, database_path, open_for_reading, quoted
from daybook.io.formats.sqlite.values import from_sqlite
from daybook.io.landing.rows import Batch, bad_value, row_numbers
from daybook.io.tables import Binding, bind, missing_columns
from daybook.io.text_values import BadValue
from daybook.model.catalog import DatasetVersion
from daybook.resolve.location import Location

_ROWS = 20_000


class SqliteRows:
    def __init__(
        self, location: Location, version: DatasetVersion, workspace: Path, slices: frozenset[str] | None
    ) -> None:
        self._path = database_path(location.datasource, workspace)
        self._table = location.table or ""
        self.name = f"{self._path.name}:{self._table}"
        self.carried: frozenset[str] = frozenset()
        self.extra: frozenset[str] = frozenset()
        self._location = location
        self._version = version
        self._slices = slices

    def batches(self) -> Iterator[Batch]:
        connection = open_for_reading(self._path)
        try:
            stored = columns_of(connection, self._table)
            if stored is None:
                raise DaybookError("IO_001", location=self.name)
            bindings = bind(stored, self._version, self._location)
            raise_all(missing_columns(bindings, self.name))
            self.carried = frozenset(binding.name for binding in bindings.carried)
            self.extra = frozenset(bindings.extra)
            cursor = connection.execute(*self._query(bindings.all, stored))
            start = 0
            while rows := cursor.fetchmany(_ROWS):
                yield self._batch(rows, bindings.all, start)
                start += len(rows)
        except sqlite3.Error as failure:
            raise DaybookError("IO_012", location=self.name, reason=str(failure)) from failure
        finally:
            connection.close()

    def _query(self, bindings: tuple[Binding, ...], stored: dict[str, str]) -> tuple[str, tuple[str, ...]]:
        query = f"select {', '.join(quoted(b.stored) for b in bindings)} from {quoted(self._table)}"
        sliced = next((name for name in ("_run_period", "_period") if name in stored), None)
        if self._slices is None or sliced is None:
            return query, ()
        periods = tuple(sorted(self._slices))
        return f"{query} where {quoted(sliced)} in ({', '.join('?' * len(periods))})", periods

    def _batch(self, rows: list[tuple[object, ...]], bindings: tuple[Binding, ...], start: int) -> Batch:
        where = row_numbers(start)
        columns = {}
        for binding, values in zip(bindings, zip(*rows, strict=True), strict=True):
            try:
                columns[binding.name] = from_sqlite(values, binding.type)
            except BadValue as bad:
                place = where(bad.index)
                raise bad_value(self.name, place, binding.stored, bad.value, binding.type) from None
        return Batch(columns, len(rows), where)
