"""Tables of data sources and inline paths."""

from pathlib import Path

import pytest

from daybook.errors import DaybookError
from daybook.model.formats import FileFormat
from daybook.resolve.location import inline_location, path_location, table_location
from tests.unit.resolve.definitions import source


@pytest.mark.parametrize("kind", ["delta", "parquet", "csv", "json"])
def test_a_table_of_a_folder_is_a_subfolder(tmp_path: Path, kind: str) -> None:
    found = table_location(source("s", kind, path="data"), "orders", None, tmp_path)
    assert (found.format, found.uri, found.root) == (kind, f"{tmp_path}/data/orders", f"{tmp_path}/data")
    below = table_location(source("s", kind, path="data"), "orders", "sales", tmp_path)
    assert below.uri == f"{tmp_path}/data/sales/orders"


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_a_table_may_be_one_file(tmp_path: Path, kind: str) -> None:
    (tmp_path / f"orders.{kind}").write_text("")
    found = table_location(source("s", kind, path="."), "orders", None, tmp_path)
    assert found.uri == f"{tmp_path}/orders.{kind}"


def test_a_table_cannot_be_both(tmp_path: Path) -> None:
    (tmp_path / "orders.csv").write_text("")
    (tmp_path / "orders").mkdir()
    with pytest.raises(DaybookError) as caught:
        table_location(source("s", "csv", path="."), "orders", None, tmp_path)
    assert caught.value.code == "RESOLVE_034"


@pytest.mark.parametrize("name", ["../x", "a/b", "*", "..", "", "a\\b", "%2e%2e"])
def test_table_names_that_are_no_folder_names(tmp_path: Path, name: str) -> None:
    for table, schema in ((name, None), ("orders", name)):
        with pytest.raises(DaybookError) as caught:
            table_location(source("s", "delta", path="."), table, schema, tmp_path)
        assert caught.value.code == "RESOLVE_038"


def test_options_of_the_data_source_come_along(tmp_path: Path) -> None:
    found = table_location(source("s", "csv", path=".", options={"delimiter": ";"}), "orders", None, tmp_path)
    assert found.options == {"delimiter": ";"}


def test_databases(tmp_path: Path) -> None:
    warehouse = source("pg", "postgresql", database="dw", schema="finance")
    found = table_location(warehouse, "orders", None, tmp_path)
    assert (found.format, found.table, found.schema, found.uri) == ("postgresql", "orders", "finance", None)
    assert table_location(warehouse, "a/b", "sales", tmp_path).schema == "sales"
    lite = table_location(source("l", "sqlite", path="data/x.db"), "orders", None, tmp_path)
    assert (lite.format, lite.table, lite.uri) == ("sqlite", "orders", None)
    jdbc = table_location(source("j", "jdbc", url="jdbc:x:y", driver="x.Driver"), "orders", None, tmp_path)
    assert (jdbc.format, jdbc.table, jdbc.schema) == ("jdbc", "orders", None)
    assert all(place.is_database for place in (found, lite, jdbc))


def test_a_path_of_a_database(tmp_path: Path) -> None:
    with pytest.raises(DaybookError) as caught:
        path_location(source("l", "sqlite", path="x.db"), "orders", tmp_path)
    assert caught.value.code == "RESOLVE_039"


@pytest.mark.parametrize(
    ("path", "written", "expected"),
    [
        ("out/x.csv", None, "csv"),
        ("out/x.CSV", None, "csv"),
        ("out/x.json", None, "json"),
        ("out/x.jsonl", None, "json"),
        ("out/x.ndjson", None, "json"),
        ("out/x.parquet", None, "parquet"),
        ("out/x.delta", None, "delta"),
        ("out/x", "parquet", "parquet"),
        ("out/x.txt", "csv", "csv"),
    ],
)
def test_the_format_is_read_off_the_extension(
    tmp_path: Path, path: str, written: FileFormat | None, expected: str
) -> None:
    found = inline_location(path, written, {}, tmp_path)
    assert found.format == expected
    assert (found.uri, found.root) == (f"{tmp_path}/{path}", str(tmp_path))


@pytest.mark.parametrize("path", ["out/x", "out/x.txt", "out/x.csv.gz"])
def test_a_format_that_cannot_be_told(tmp_path: Path, path: str) -> None:
    with pytest.raises(DaybookError) as caught:
        inline_location(path, None, {}, tmp_path)
    assert caught.value.code == "RESOLVE_037"


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("/data/x.csv", "/data/x.csv"),
        ("file:///data/a%20b.csv", "/data/a b.csv"),
        ("s3a://bucket/x.csv", "s3://bucket/x.csv"),
        ("hdfs:///data/x.csv", "hdfs:///data/x.csv"),
    ],
)
def test_an_inline_path_elsewhere(tmp_path: Path, path: str, uri: str) -> None:
    found = inline_location(path, None, {}, tmp_path)
    assert (found.uri, found.root) == (uri, None)
    assert (found.local_path is None) is ("://" in uri)


@pytest.mark.parametrize(
    "path", ["../x.csv", "/data/../x.csv", "/data/*.csv", "s3a://bucket/../x.csv", "s3a://x.csv", "/data/%2e%2e/x.csv"]
)
def test_inline_paths_that_are_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(DaybookError) as caught:
        inline_location(path, "csv", {}, tmp_path)
    assert caught.value.code == "RESOLVE_035"
