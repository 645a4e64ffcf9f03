"""Rows of Iceberg tables that others made and changed, read without Spark."""

import itertools
import sys
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import DataScan, FileScanTask
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import IntegerType as IcebergInteger
from pyiceberg.types import LongType, NestedField, StringType

from daybook.errors import DaybookError
from daybook.io.formats.iceberg.catalog import opened_table
from daybook.io.formats.iceberg.table import find_iceberg
from daybook.io.landing.area import LandingArea
from daybook.io.pins import Pin
from daybook.io.source_rows import read_source_rows
from daybook.io.target import OutputColumn
from daybook.model.types import INTEGER, STRING
from daybook.resolve.location import Resolution
from tests.unit.io.formats.iceberg.lake import Lake, request, version_of

NUMBERS = (OutputColumn("key", STRING), OutputColumn("number", INTEGER))
SCHEMA = Schema(
    NestedField(1, "key", StringType(), required=False), NestedField(2, "number", IcebergInteger(), required=False)
)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


def rows(lake: Lake, columns: Sequence[OutputColumn] = NUMBERS, pins: list[Pin] | None = None) -> list[tuple[Any, ...]]:
    """The declared columns, as the second engine gets them."""
    resolution = Resolution((lake.location,), ())
    landing = LandingArea(str(lake.root / "landed"), "r")
    source = read_source_rows(resolution, version_of(columns), [landing], workspace=lake.root, pinned=pins)
    return sorted((row[: len(columns)] for row in source.rows()), key=repr)


def create(lake: Lake, *keys: str, spec: PartitionSpec | None = None) -> None:
    """A table of somebody else, a file for each key."""
    with lake.catalog() as catalog:
        catalog.create_namespace_if_not_exists("close")
        table = catalog.create_table("close.journal", SCHEMA, partition_spec=spec or PartitionSpec())
        arrow = pa.schema([("key", pa.string()), ("number", pa.int32())])
        for number, key in enumerate(keys):
            table.append(pa.Table.from_pylist([{"key": key, "number": number}], arrow))


def code_of(lake: Lake) -> tuple[str, Any]:
    with pytest.raises(DaybookError) as caught:
        rows(lake)
    return caught.value.code, caught.value.parameters.get("feature")


def test_a_column_is_found_by_its_field_id(lake: Lake) -> None:
    create(lake, "a")
    with lake.table() as table:
        with table.update_schema() as update:
            update.rename_column("number", "count").update_column("number", LongType())
        with table.update_schema(allow_incompatible_changes=True) as update:
            # Another column under the name that one had before.
            update.add_column("number", StringType())
        table.append(pa.table({"key": ["b"], "count": pa.array([2**40]), "number": ["x"]}))
    columns = (OutputColumn("key", STRING), OutputColumn("count", INTEGER), OutputColumn("number", STRING))
    assert rows(lake, columns) == [("a", 0, None), ("b", 2**40, "x")]


def test_a_pin_keeps_the_columns_as_they_were(lake: Lake) -> None:
    create(lake, "a")
    with lake.table() as table, table.update_schema() as update:
        update.rename_column("number", "count")
    renamed = (OutputColumn("key", STRING), OutputColumn("count", INTEGER))
    pin = find_iceberg(*request(lake, renamed)).pin
    with lake.table() as table, table.update_schema() as update:
        update.rename_column("count", "total")
    assert rows(lake, renamed, [pin]) == [("a", 0)]
    with pytest.raises(DaybookError) as caught:
        rows(lake, renamed)
    assert caught.value.code == "IO_002"


def test_rows_of_a_table_without_a_snapshot(lake: Lake) -> None:
    create(lake)
    assert rows(lake) == []


def test_files_without_field_ids_are_read_by_the_names_that_the_table_maps(lake: Lake) -> None:
    """A table that was imported from folders of files, and whose columns were renamed then."""
    spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "key"))
    create(lake, spec=spec)
    imported = lake.root / "lake/import.parquet"
    pq.write_table(pa.table({"key": ["a", "a"], "number": pa.array([1, 2], pa.int32())}), imported)
    with lake.table() as table:
        table.add_files([str(imported)])
        table.append(pa.table({"key": ["b"], "number": pa.array([3], pa.int32())}))
        with table.update_schema() as update:
            update.rename_column("number", "count")
    columns = (OutputColumn("key", STRING), OutputColumn("count", INTEGER))
    assert rows(lake, columns) == [("a", 1), ("a", 2), ("b", 3)]


def with_delete_files(lake: Lake, *files: DataFile) -> Any:
    """Plans as they are where later snapshots have deleted rows."""
    plan = DataScan.plan_files

    def planned(scan: DataScan) -> list[FileScanTask]:
        return [FileScanTask(task.file, set(files)) for task in plan(scan)]

    return patch.object(DataScan, "plan_files", planned)


def delete_file(lake: Lake, positions: list[tuple[str, int]], content: DataFileContent) -> DataFile:
    path = lake.root / "lake/deletes.parquet"
    table = pa.table({"file_path": [path for path, _ in positions], "pos": [position for _, position in positions]})
    pq.write_table(table, path)
    return DataFile.from_args(
        content=content,
        file_path=str(path),
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=len(positions),
        file_size_in_bytes=path.stat().st_size,
    )


def test_rows_that_were_deleted_by_position_are_left_out_and_the_others_keep_their_place(lake: Lake) -> None:
    create(lake)
    with lake.table() as table:
        table.append(pa.table({"key": list("abcd"), "number": pa.array(range(4), pa.int32())}))
        (task,) = table.scan().plan_files()
    deletes = delete_file(lake, [(task.file.file_path, 0), (task.file.file_path, 2)], DataFileContent.POSITION_DELETES)
    with with_delete_files(lake, deletes):
        landing = LandingArea(str(lake.root / "landed"), "r")
        source = read_source_rows(Resolution((lake.location,), ()), version_of(NUMBERS), [landing], workspace=lake.root)
        assert [(row[0], row[-1]) for row in source.rows()] == [("b", 1), ("d", 3)]
        assert source.count == 2


def test_equality_deletes_are_refused_by_name(lake: Lake) -> None:
    create(lake, "a")
    deletes = delete_file(lake, [("x", 0)], DataFileContent.EQUALITY_DELETES)
    with with_delete_files(lake, deletes):
        assert code_of(lake) == ("IO_010", "equality deletes")


def test_so_many_deleted_rows_that_the_table_should_be_compacted_are_refused(lake: Lake) -> None:
    create(lake, "a")
    deletes = delete_file(lake, list(itertools.repeat(("x", 0), 3)), DataFileContent.POSITION_DELETES)
    with with_delete_files(lake, deletes), patch("daybook.io.formats.iceberg.table.MOST_DELETED_ROWS", 2):
        assert code_of(lake) == ("IO_010", "3 deleted rows in files of their own")


@pytest.mark.parametrize(
    ("name", "class_"), [("write.py-location-provider.impl", "SimpleLocationProvider"), ("py-io-impl", "PyArrowFileIO")]
)
def test_a_table_that_names_code_is_not_opened(
    name: str, class_: str, lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(lake, "a")
    module = tmp_path / f"of_somebody_{class_}.py"
    module.write_text(
        "from pyiceberg.io.pyarrow import PyArrowFileIO\nfrom pyiceberg.table.locations import SimpleLocationProvider\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with lake.table() as table:
        table.transaction().set_properties({name: f"{module.stem}.{class_}"}).commit_transaction()
    sys.modules.pop(module.stem, None)
    module.write_text("raise SystemExit('it was imported')")
    assert code_of(lake) == ("IO_010", f"code of its own ({name})")


def test_a_table_does_not_say_which_server_gets_the_requests(lake: Lake) -> None:
    create(lake, "a")
    server = {"s3.endpoint": "http://elsewhere", "s3.proxy-uri": "http://elsewhere"}
    with lake.table() as table:
        table.transaction().set_properties(server).commit_transaction()
    with opened_table(lake.location, lake.root) as table:
        assert table is not None
        assert table.properties["s3.endpoint"] == "http://elsewhere"
        assert not any("elsewhere" in value for value in table.io.properties.values())


def test_a_file_outside_of_the_warehouse_is_not_read(lake: Lake) -> None:
    create(lake)
    outside = lake.root / "outside.parquet"
    pq.write_table(pa.table({"key": ["secret"], "number": pa.array([1], pa.int32())}), outside)
    with lake.table() as table:
        table.add_files([str(outside)])
    assert code_of(lake)[0] == "IO_042"


def test_a_file_in_another_bucket_is_not_read(lake: Lake) -> None:
    create(lake, "a")
    file = DataFile.from_args(
        _table_format_version=2,
        content=DataFileContent.DATA,
        file_path="s3://payroll/salaries.parquet",
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=1,
        file_size_in_bytes=100,
    )
    with (
        lake.table() as table,
        table.transaction() as transaction,
        transaction.update_snapshot().fast_append() as update,
    ):
        update.append_data_file(file)
    assert code_of(lake)[0] == "IO_042"


def test_a_column_of_another_type_is_refused(lake: Lake) -> None:
    lake.write("a")
    with pytest.raises(DaybookError) as caught:
        rows(lake, (OutputColumn("key", STRING), OutputColumn("amount", STRING)))
    assert (caught.value.code, caught.value.parameters["found"]) == ("IO_003", "decimal128(18, 2)")


def test_a_table_that_is_not_there(lake: Lake) -> None:
    assert code_of(lake)[0] == "IO_001"


def test_only_files_of_needed_slices_are_planned(lake: Lake) -> None:
    for period in ("2026-01", "2026-02"):
        lake.write("a", run_period=period)
    found = find_iceberg(*request(lake, slices=frozenset({"2026-02"})))
    (file,) = found.groups[0].files
    assert file.partitions == {"_run_period": "2026-02"}
    assert rows(lake, (OutputColumn("key", STRING),)) == [("a",), ("a",)]
    assert rows(lake, lake.target().columns)[0] == ("a", Decimal("1.25"))
