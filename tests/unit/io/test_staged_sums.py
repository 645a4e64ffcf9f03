"""Sums of staged files, against sums by hand."""

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from daybook.io.staged_sums import StagedRows, sum_of, sums_of_staged
from daybook.io.writer import StagedFile, StagedOutput


def staged(folder: Path, *tables: pa.Table) -> StagedOutput:
    files = []
    for number, table in enumerate(tables):
        name = f"part-{number}.parquet"
        pq.write_table(table, folder / name)
        files.append(StagedFile(name, 1, table.num_rows))
    return StagedOutput(str(folder), sum(table.num_rows for table in tables), files=tuple(files))


def table(amounts: list[str | None], makers: list[int], deleted: list[bool]) -> pa.Table:
    values = [None if text is None else Decimal(text) for text in amounts]
    return pa.table(
        {
            "amount": pa.array(values, pa.decimal128(18, 2)),
            "_operation_seq": pa.array(makers, pa.int64()),
            "_deleted": pa.array(deleted),
        }
    )


def test_rows_are_summed_by_maker_and_state_over_all_files(tmp_path: Path) -> None:
    output = staged(
        tmp_path,
        table(["1.10", None, "3.30"], [0, 0, 20], [False, False, False]),
        table(["5.00", "7.00"], [0, 0], [True, False]),
    )
    sums = sums_of_staged(output, ["amount"], maker="_operation_seq", deleted="_deleted")
    assert {key: total for key, total in sums.items() if total} == {
        ("amount", StagedRows(0, False)): Decimal("8.10"),
        ("amount", StagedRows(20, False)): Decimal("3.30"),
        ("amount", StagedRows(0, True)): Decimal("5.00"),
    }


def test_an_empty_output_has_no_sums(tmp_path: Path) -> None:
    assert sums_of_staged(staged(tmp_path), ["amount"], maker=None, deleted=None) == {}


def test_sums_of_files_are_added_up_without_rounding(tmp_path: Path) -> None:
    """Python's own precision is 28 digits."""
    wide = pa.table({"amount": pa.array([Decimal("12345678901234567890123456789012345.67")], pa.decimal128(38, 2))})
    sums = sums_of_staged(staged(tmp_path, wide, wide), ["amount"], maker=None, deleted=None)
    assert [*sums.values()] == [Decimal("24691357802469135780246913578024691.34")]


@pytest.mark.parametrize(
    ("values", "total"),
    [
        (pa.array([2**63 - 1, 2**63 - 1], pa.int64()), Decimal(2**64 - 2)),
        (pa.array([Decimal("9" * 18), Decimal(1)], pa.decimal128(18, 0)), Decimal(10**18)),
        (pa.array([Decimal("9" * 38)] * 12, pa.decimal128(38, 0)), Decimal("1" + "1" + "9" * 36 + "88")),
        (pa.array([None], pa.decimal128(9, 2)), Decimal("0.00")),
        (pa.array([0.5, None], pa.float64()), 0.5),
    ],
)
def test_a_sum_is_exact_beyond_the_type_of_its_column(values: pa.Array, total: Decimal | float) -> None:
    assert sum_of(pa.chunked_array([values])) == total
