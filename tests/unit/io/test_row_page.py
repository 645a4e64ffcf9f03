"""Pages of stored rows against a reference in plain Python: filtered, sorted, cut and summed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daybook.errors import DaybookError
from daybook.io.column_types import arrow_type
from daybook.io.row_page import MOST_SORTED_ROWS, PageRequest, all_batches, read_page
from daybook.io.stored_rows import (
    ParquetPart,
    RowBlock,
    RowCondition,
    RowOrder,
    StoredRows,
    TypedCondition,
    parquet_rows,
    type_conditions,
)
from daybook.io.target import OutputColumn
from daybook.model.types import FLOAT, INTEGER, STRING, DecimalType

COLUMNS = (
    OutputColumn("name", STRING),
    OutputColumn("amount", DecimalType(18, 2)),
    OutputColumn("quantity", INTEGER),
    OutputColumn("rate", FLOAT),
)
NAMES = [column.name for column in COLUMNS]
Row = tuple[Any, ...]


@dataclass(frozen=True)
class Batches(RowBlock):
    """Rows in memory, in small batches."""

    rows_held: Sequence[Row]
    is_counted: bool = True

    @property
    def rows(self) -> int | None:
        return len(self.rows_held) if self.is_counted else None

    def batches(self, columns: Sequence[OutputColumn], size: int = 3) -> Iterator[pa.RecordBatch]:
        for start in range(0, len(self.rows_held), min(size, 3)):
            part = self.rows_held[start : start + min(size, 3)]
            arrays = [
                pa.array([row[NAMES.index(each.name)] for row in part], arrow_type(each.type)) for each in columns
            ]
            yield pa.RecordBatch.from_arrays(arrays, [each.name for each in columns])


def stored(*blocks: Sequence[Row], is_columnar: bool = True) -> StoredRows:
    return StoredRows(COLUMNS, tuple(Batches(block, is_columnar) for block in blocks), is_columnar)


def rows_of(table: pa.Table) -> list[Row]:
    return list(zip(*(table.column(name).to_pylist() for name in NAMES), strict=True))


def conditions(*wanted: RowCondition) -> tuple[TypedCondition, ...]:
    return type_conditions(wanted, COLUMNS, "out")


ROW = st.tuples(
    st.none() | st.sampled_from(["a", "b", "ab", ""]),
    st.none() | st.decimals(-5, 5, places=2),
    st.none() | st.integers(-3, 3),
    st.none() | st.sampled_from([0.5, -0.5, 1e300]),
)
ORDER = st.lists(st.builds(RowOrder, st.sampled_from(NAMES), st.booleans()), max_size=2)


def sorted_rows(rows: list[Row], order: Sequence[RowOrder]) -> list[Row]:
    """NULL last in both directions, equal rows as they were."""
    for each in reversed(order):
        index = NAMES.index(each.column)
        known = [row for row in rows if row[index] is not None]
        known.sort(key=lambda row: row[index], reverse=each.is_descending)
        rows = [*known, *(row for row in rows if row[index] is None)]
    return rows


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.lists(ROW, max_size=9), max_size=4),
    ORDER,
    st.integers(0, 12),
    st.integers(0, 8),
    st.none() | st.decimals(-5, 5, places=3),
    st.booleans(),
)
def test_a_page_is_what_plain_python_finds(
    blocks: list[list[Row]],
    order: list[RowOrder],
    offset: int,
    limit: int,
    least: Decimal | None,
    is_columnar: bool,
) -> None:
    everything = [row for block in blocks for row in block]
    wanted = () if least is None else conditions(RowCondition("amount", ">=", least))
    kept = [row for row in everything if least is None or (row[1] is not None and row[1] >= least)]
    request = PageRequest(wanted, tuple(order), offset, limit, ("amount", "quantity"))
    page = read_page(stored(*blocks, is_columnar=is_columnar), request)
    expected = sorted_rows(kept, order)
    assert rows_of(page.rows) == expected[offset : offset + limit]
    assert page.count == len(kept)
    for name, index in (("amount", 1), ("quantity", 2)):
        values = [row[index] for row in kept if row[index] is not None]
        assert page.totals[name] == (sum(values) if values else None)
    whole = pa.Table.from_batches(
        list(all_batches(stored(*blocks, is_columnar=is_columnar), PageRequest(wanted, tuple(order)))),
        pa.schema([(column.name, arrow_type(column.type)) for column in COLUMNS]),
    )
    assert rows_of(whole) == expected


def test_totals_are_exact_where_machine_numbers_overflow() -> None:
    wide = DecimalType(38, 0)
    columns = (OutputColumn("wide", wide), OutputColumn("whole", INTEGER))

    class Block(RowBlock):
        def batches(self, columns: Sequence[OutputColumn], size: int = 0) -> Iterator[pa.RecordBatch]:
            arrays = {"wide": [Decimal("9" * 38)] * 3, "whole": [2**63 - 1] * 3}
            chosen = [pa.array(arrays[each.name], arrow_type(each.type)) for each in columns]
            yield pa.RecordBatch.from_arrays(chosen, [each.name for each in columns])

    page = read_page(StoredRows(columns, (Block(), Block())), PageRequest(limit=0, totals=("wide", "whole")))
    assert page.totals == {"wide": 6 * (10**38 - 1), "whole": 6 * (2**63 - 1)}


def test_an_ordered_page_too_far_down_is_refused() -> None:
    with pytest.raises(DaybookError) as caught:
        read_page(stored([]), PageRequest(order=(RowOrder("name"),), offset=MOST_SORTED_ROWS, limit=1))
    assert caught.value.code == "RUN_083"


def parquet(folder: Path, *tables: pa.Table, group: int = 10) -> list[ParquetPart]:
    parts = []
    for number, table in enumerate(tables):
        pq.write_table(table, folder / f"{number}.parquet", row_group_size=group)
        parts.append(ParquetPart(str(folder / f"{number}.parquet"), {"period": f"2026-0{number + 1}"}))
    return parts


def test_files_lack_columns_that_were_added_later_or_that_folders_name(tmp_path: Path) -> None:
    columns = (OutputColumn("id", INTEGER), OutputColumn("note", STRING), OutputColumn("period", STRING))
    old, new = pa.table({"id": pa.array([1], pa.int32())}), pa.table({"note": ["n"], "id": [2]})
    found = parquet_rows(columns, parquet(tmp_path, old, new), "t")
    assert read_page(found, PageRequest()).rows.to_pylist() == [
        {"id": 1, "note": None, "period": "2026-01"},
        {"id": 2, "note": "n", "period": "2026-02"},
    ]
    constant = type_conditions([RowCondition("period", "=", "2026-02")], columns, "t")
    assert read_page(found, PageRequest(constant, totals=("id",))).totals == {"id": 2}


def test_statistics_leave_row_groups_unread(tmp_path: Path) -> None:
    columns = (OutputColumn("id", INTEGER), OutputColumn("amount", DecimalType(18, 2)))
    amounts = pa.array([Decimal(number) for number in range(100)], pa.decimal128(18, 2))
    found = parquet_rows(columns, parquet(tmp_path, pa.table({"id": range(100), "amount": amounts})), "t")
    assert len(found.blocks) == 10
    for name, value in (("id", 55), ("amount", "55.00")):
        wanted = type_conditions([RowCondition(name, "=", value)], columns, "t")
        assert [block.may_hold(wanted) for block in found.blocks] == [number == 5 for number in range(10)]
        assert read_page(found, PageRequest(wanted)).rows.column("id").to_pylist() == [55]


def test_the_first_page_reads_one_row_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = (OutputColumn("id", INTEGER),)
    found = parquet_rows(columns, parquet(tmp_path, pa.table({"id": range(100)})), "t")
    opened: list[RowBlock] = []
    read = type(found.blocks[0]).batches

    def watched(block: RowBlock, *given: Any) -> Iterator[pa.RecordBatch]:
        opened.append(block)
        return read(block, *given)

    monkeypatch.setattr(type(found.blocks[0]), "batches", watched)
    assert read_page(found, PageRequest(limit=5)).count == 100
    assert opened == [found.blocks[0]]


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(DaybookError) as caught:
        parquet_rows(COLUMNS, [ParquetPart(str(tmp_path / "gone.parquet"))], "t")
    assert caught.value.code == "IO_009"
