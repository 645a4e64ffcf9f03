"""Compares rows cell by cell; floats count as equal in their first twelve digits."""

import datetime
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from daybook.model.types import value_text
from daybook.recompute.tree import Row, Value

_FLOAT_DIGITS = 12
_MISSING = "no such row"


@dataclass(frozen=True)
class CellDifference:
    """One cell that is not what it should be; without a column the whole row is on one side only."""

    row: str
    column: str | None
    written: str
    computed: str


@dataclass(frozen=True)
class RowComparison:
    """How many rows and cells were compared, how many cells differ, and the first of them."""

    rows: int
    cells: int
    count: int
    differences: tuple[CellDifference, ...]


def compare_rows(
    columns: Sequence[str], written: Sequence[Row], computed: Sequence[Row], *, shown: int = 20
) -> RowComparison:
    """Rows that are equal cancel out, however often they occur; the others are paired by `_row_id`, else in order."""
    written_count = Counter(map(_comparable_row, written))
    computed_count = Counter(map(_comparable_row, computed))
    cells = len(columns) * max(len(written), len(computed))
    if written_count == computed_count:
        return RowComparison(len(written), cells, 0, ())
    only_written = list((written_count - computed_count).elements())
    only_computed = list((computed_count - written_count).elements())
    differences = list(_differences(columns, only_written, only_computed))
    return RowComparison(len(written), cells, len(differences), tuple(differences[:shown]))


def _differences(columns: Sequence[str], written: Sequence[Row], computed: Sequence[Row]) -> Iterator[CellDifference]:
    key = columns.index("_row_id") if "_row_id" in columns else None
    for one, other in _pairs(written, computed, key):
        label = _label(columns, one if one is not None else other or ())
        if one is None or other is None:
            yield CellDifference(label, None, *((_MISSING, "a row") if one is None else ("a row", _MISSING)))
            continue
        for column, before, after in zip(columns, one, other, strict=True):
            if before != after:
                yield CellDifference(label, column, _text(before), _text(after))


def _pairs(written: Sequence[Row], computed: Sequence[Row], key: int | None) -> Iterator[tuple[Row | None, Row | None]]:
    if key is not None:
        by_key = {row[key]: row for row in computed}
        if len(by_key) == len(computed):
            written_keys = {row[key] for row in written}
            yield from ((row, by_key.get(row[key])) for row in sorted(written, key=_order))
            yield from ((None, row) for row in computed if row[key] not in written_keys)
            return
    ordered, others = sorted(written, key=_order), sorted(computed, key=_order)
    for place in range(max(len(ordered), len(others))):
        yield (ordered[place] if place < len(ordered) else None, others[place] if place < len(others) else None)


def _order(row: Row) -> list[str]:
    return [_text(value) for value in row]


def _label(columns: Sequence[str], row: Row) -> str:
    """The first columns of a row, by which a reader finds it."""
    named = [(name, value) for name, value in zip(columns, row, strict=True) if not name.startswith("_")][:3]
    return ", ".join(f"{name} = {_text(value)}" for name, value in named or zip(columns, row, strict=True))


def _text(value: Value) -> str:
    return value_text(value)


def _comparable_row(row: Row) -> Row:
    return tuple(map(_comparable, row))


def _comparable(value: Value) -> Value:
    match value:
        case float() if math.isnan(value):
            return "NaN"
        case float():
            return float(f"{value:.{_FLOAT_DIGITS}g}") or 0.0
        case datetime.datetime() if value.tzinfo is None:
            return value.replace(tzinfo=datetime.UTC)
        case _:
            return value
