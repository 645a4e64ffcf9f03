"""Rows of Delta tables, read without Spark."""

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import Schema, write_deltalake
from deltalake.transaction import AddAction, create_table_with_add_actions

from daybook.errors import DaybookError
from daybook.io.formats.delta.table import data_files, open_table, read_rows, refuse_foreign_files
from tests.attacks.tables import paths


@pytest.fixture
def uri(tmp_path: Path) -> str:
    place = str(tmp_path / "table 1")
    for period, amounts in (("2026-01", ["1.50", "2.50"]), ("2026-02", ["3.50"])):
        columns = {
            "amount": pa.array([Decimal(amount) for amount in amounts], pa.decimal128(18, 2)),
            "_run_period": pa.array([period] * len(amounts)),
        }
        write_deltalake(place, pa.table(columns), mode="append", partition_by=["_run_period"])
    return place


def rows(table: pa.Table) -> list[tuple[str, str]]:
    return sorted((str(row["amount"]), row["_run_period"]) for row in table.to_pylist())


def test_all_slices(uri: str) -> None:
    assert rows(read_rows(uri)) == [("1.50", "2026-01"), ("2.50", "2026-01"), ("3.50", "2026-02")]


def test_one_slice(uri: str) -> None:
    assert rows(read_rows(uri, run_period="2026-02")) == [("3.50", "2026-02")]
    nothing = read_rows(uri, run_period="2026-03")
    assert (nothing.num_rows, nothing.column_names) == (0, ["amount", "_run_period"])


def test_an_earlier_version(uri: str) -> None:
    assert rows(read_rows(uri, version=0)) == [("1.50", "2026-01"), ("2.50", "2026-01")]


def test_columns_that_were_added_later_are_null_in_older_files(uri: str) -> None:
    added = pa.table(
        {"amount": pa.array([Decimal("4.00")], pa.decimal128(18, 2)), "_run_period": ["2026-03"], "note": ["x"]}
    )
    write_deltalake(uri, added, mode="append", schema_mode="merge")
    found = read_rows(uri).to_pylist()
    assert sorted((str(row["amount"]), row["note"]) for row in found)[-2:] == [("3.50", None), ("4.00", "x")]


def test_a_table_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(DaybookError) as caught:
        read_rows(str(tmp_path / "nowhere"))
    assert caught.value.code == "IO_001"


def table_with_file(folder: Path, path: str) -> str:
    """A table whose log names one file, by whatever path."""
    pq.write_table(pa.table({"secret": ["rows"]}), folder / "outside.parquet")
    (folder / "t").mkdir()
    pq.write_table(pa.table({"secret": ["own"]}), folder / "t" / "inside.parquet")
    schema = Schema.from_arrow(pa.schema([("secret", pa.string())]))
    create_table_with_add_actions(str(folder / "t"), schema, [AddAction("x", 100, {}, 0, True, "")])
    (log,) = (folder / "t/_delta_log").glob("*.json")
    log.write_text(log.read_text().replace('"path":"x"', f'"path":"{path.format(folder=folder)}"'))
    return str(folder / "t")


@pytest.mark.parametrize("path", paths.FOREIGN_DATA_FILES)
def test_a_log_that_names_a_file_outside_of_its_table_is_refused(tmp_path: Path, path: str) -> None:
    uri = table_with_file(tmp_path, path)
    with pytest.raises(DaybookError) as caught:
        read_rows(uri)
    assert (caught.value.code, "outside.parquet" in str(caught.value)) == ("IO_042", True)
    table = open_table(uri)
    assert table is not None
    refuse_foreign_files(data_files(table, uri), uri, {"shallow_clones": True})


@pytest.mark.parametrize("path", ["inside.parquet", "{folder}/t/inside.parquet", "file://{folder}/t/inside.parquet"])
def test_a_file_of_the_table_is_read_however_the_log_names_it(tmp_path: Path, path: str) -> None:
    assert read_rows(table_with_file(tmp_path, path)).to_pylist() == [{"secret": "own"}]


@pytest.mark.parametrize("is_folder", [True, False])
def test_a_link_in_a_table_does_not_lead_out_of_it(tmp_path: Path, is_folder: bool) -> None:
    uri = table_with_file(tmp_path, "x/linked.parquet" if is_folder else "linked.parquet")
    (tmp_path / "elsewhere").mkdir()
    pq.write_table(pa.table({"secret": ["rows"]}), tmp_path / "elsewhere/linked.parquet")
    link, target = ("x", "elsewhere") if is_folder else ("linked.parquet", "elsewhere/linked.parquet")
    (tmp_path / "t" / link).symlink_to(tmp_path / target)
    with pytest.raises(DaybookError) as caught:
        read_rows(uri)
    assert caught.value.code == "IO_042"


def test_a_table_behind_a_link_is_read(tmp_path: Path) -> None:
    table_with_file(tmp_path, "inside.parquet")
    (tmp_path / "link").symlink_to(tmp_path / "t")
    assert read_rows(str(tmp_path / "link")).to_pylist() == [{"secret": "own"}]
