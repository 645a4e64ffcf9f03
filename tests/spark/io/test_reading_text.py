"""CSV and JSON are bound by name and landed exactly; whatever is wrong is named with its line."""

import datetime as dt
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from daybook.errors import DaybookError, flatten
from daybook.io.landing.area import LandingArea
from daybook.io.landing.landing_request import LandingRequest
from daybook.io.pins import LandedPin, pin_from_json, pin_to_json
from daybook.io.read_source import ReadSource, read_landed, read_source
from daybook.model.calendar import Period
from daybook.model.dataset import ColumnDef, Dataset, MainTable
from daybook.model.datasource import SqliteOptions, SqliteSource
from daybook.model.definition import DatasetVersion
from daybook.model.types import parse_type
from daybook.resolve.location import Location, Resolution

JANUARY = Period("2026-01", "month", dt.date(2026, 1, 1), dt.date(2026, 1, 31))


def dataset(
    *columns: str, mode: Any = None, natural_key: tuple[str, ...] = (), on_duplicate_key: Any = None
) -> DatasetVersion:
    """Columns as `name type`, with a `!` behind those that may not be NULL."""
    defined = []
    for column in columns:
        name, type_ = column.rstrip("!").split(" ")
        defined.append(ColumnDef(name=name, type=parse_type(type_), nullable=not column.endswith("!")))
    table = MainTable(name="t", temporal_mode=mode, columns=tuple(defined))
    declared = Dataset(
        id="d", name="d", natural_key_columns=natural_key, on_duplicate_key=on_duplicate_key, main_table=table
    )
    return DatasetVersion(declared, 1)


ORDERS = dataset("id string!", "amount decimal(10,2)", "day date")


class Reader:
    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder

    def area(self, run_id: str = "run") -> LandingArea:
        return LandingArea(str(self.folder / "state"), run_id)

    def read(self, version: DatasetVersion, *contents: str | bytes, format_: str = "csv", **changes: Any) -> ReadSource:
        """Each content becomes a file of one folder."""
        place = self.folder / "in"
        place.mkdir(exist_ok=True)
        for number, content in enumerate(contents):
            data = content.encode() if isinstance(content, str) else content
            (place / f"{number}.{format_}").write_bytes(data)
        location = Location(format_, uri=str(place), **changes)
        return read_source(self.spark, Resolution((location,), ("2026-01",)), version, self.area())

    def error(self, version: DatasetVersion, *contents: str | bytes, **changes: Any) -> DaybookError:
        with pytest.raises(DaybookError) as caught:
            self.read(version, *contents, **changes)
        assert not list((self.folder / "state").rglob("manifest.json"))
        return caught.value


@pytest.fixture
def reader(spark: SparkSession, tmp_path: Path) -> Reader:
    return Reader(spark, tmp_path)


def values(source: ReadSource, *names: str) -> list[tuple[Any, ...]]:
    rows = source.frame.rows.identified.select(*names).toArrow().to_pylist()
    return sorted((tuple(row.values()) for row in rows), key=repr)


def test_csv_binds_by_name_and_tells_empty_from_null(reader: Reader) -> None:
    source = reader.read(dataset("a string", "b string"), 'b,extra,a\n"",x,1\n,y,"2\n3"\n')
    assert values(source, "a", "b") == [("1", ""), ("2\n3", None)]
    assert [(notice.code, "extra" in notice.message) for notice in source.notices] == [("IO_007", True)]


def test_csv_values_are_exact(reader: Reader) -> None:
    version = dataset("d decimal(38,10)", "f float", "b boolean", "t timestamp")
    source = reader.read(
        version,
        "d,f,b,t\n0.1,0.1,TRUE,2026-01-31T12:00:00+02:00\n-9999999999999999999999999999.9999999999,1e3,false,\n",
    )
    got = [(d, f, b, t and t.isoformat()[:19]) for d, f, b, t in values(source, "d", "f", "b", "t")]
    assert got == [
        (Decimal("-9999999999999999999999999999.9999999999"), 1000.0, False, None),
        (Decimal("0.1"), 0.1, True, "2026-01-31T10:00:00"),
    ]


@pytest.mark.parametrize(
    ("content", "code", "place", "column", "value"),
    [
        ("id,amount,day\n1,2.50,2026-01-01\n2,abc,2026-01-01\n", "IO_004", "line 3", "amount", "'abc'"),
        ('id,amount,day\n"1\n\n",2.50,2026-01-01\n2,2.505,2026-01-01\n', "IO_004", "line 5", "amount", "'2.505'"),
        ("id,amount,day\n1,123456789.00,2026-01-01\n", "IO_004", "line 2", "amount", "'123456789.00'"),
        ("id,amount,day\n1,1,2026-02-30\n", "IO_004", "line 2", "day", "'2026-02-30'"),
        ("id,amount,day\n1,1,31.01.2026\n", "IO_004", "line 2", "day", "'31.01.2026'"),
        ("id,amount,day\n1,1,2026-01-01\n,1,2026-01-01\n", "IO_006", "line 3", "id", None),
    ],
)
def test_csv_errors_name_line_column_and_value(
    reader: Reader, content: str, code: str, place: str, column: str, value: str | None
) -> None:
    error = reader.error(ORDERS, content)
    assert (error.code, error.parameters["place"], error.parameters["column"]) == (code, place, column)
    assert error.parameters["file"] == str(reader.folder / "in" / "0.csv")
    assert error.parameters.get("value") == value


@pytest.mark.parametrize(
    ("content", "code", "parameters"),
    [
        ("id,day\n1,2026-01-01\n", "IO_002", {"column": "amount"}),
        ("id,amount,day,id\n", "IO_014", {"column": "id"}),
        ("id,amount,day\n1,2,2026-01-01\n1,2\n", "IO_005", {"place": "line 3"}),
        ("id,amount,day\n1,2,2026-01-01,9\n", "IO_005", {"place": "line 2"}),
        ("", "IO_005", {"place": "line 1"}),
        (b"id,amount,day\n1,2,2026-01-01\n\xff\xfe,1,2026-01-01\n", "IO_005", {}),
    ],
)
def test_csv_that_cannot_be_split(reader: Reader, content: str | bytes, code: str, parameters: dict[str, str]) -> None:
    error = reader.error(ORDERS, content)
    assert error.code == code
    assert {name: error.parameters[name] for name in parameters} == parameters


def test_csv_options(reader: Reader) -> None:
    version = dataset("a string", "b string")
    options = {"delimiter": ";", "quote": "'", "encoding": "latin-1", "null_value": "NULL"}
    source = reader.read(version, "a;b\n'é;x';NULL\n".encode("latin-1"), options=options)
    assert values(source, "a", "b") == [("é;x", None)]


def test_an_unknown_option_is_refused(reader: Reader) -> None:
    assert reader.error(ORDERS, "id,amount,day\n", options={"separator": ";"}).code == "IO_011"


def test_a_byte_order_mark_is_no_part_of_the_header(reader: Reader) -> None:
    source = reader.read(dataset("a string"), b"\xef\xbb\xbfa\nx\n")
    assert values(source, "a") == [("x",)]


def test_a_single_column_keeps_its_empty_lines(reader: Reader) -> None:
    assert values(reader.read(dataset("a string"), 'a\nx\n\n""\n'), "a") == [("",), ("x",), (None,)]


@pytest.mark.parametrize("content", ["", "\n \n"])
@pytest.mark.parametrize(
    ("mode", "carried"),
    [(None, set()), ("snapshot", set()), ("period", {"_period"}), ("bitemporal", {"_valid_from", "_valid_to"})],
)
def test_json_without_rows_is_no_row(reader: Reader, content: str, mode: Any, carried: set[str]) -> None:
    version = dataset("id string!", "amount decimal(10,2)", mode=mode)
    source = reader.read(version, content, format_="json")
    assert source.frame.carried == carried
    assert source.frame.rows.plain.count() == 0


def test_json_without_rows_beside_files_with_rows(reader: Reader) -> None:
    version = dataset("id string", mode="bitemporal")
    row = '{"id": "a", "valid_from": "2026-01-01", "valid_to": null}'
    rows = reader.read(version, "", row, "", format_="json").frame.rows.plain
    found = rows.select("id", "_valid_from", "_valid_to").toArrow().to_pylist()
    assert found == [{"id": "a", "_valid_from": dt.date(2026, 1, 1), "_valid_to": None}]


def test_json_takes_numbers_from_their_text(reader: Reader) -> None:
    version = dataset("d decimal(38,10)", "f float", "s string", "i integer")
    lines = (
        '{"d": 0.1, "f": 0.1, "s": "x", "i": 9223372036854775807}\n\n{"d": "1234567890123456789012345678.0000000001"}\n'
    )
    source = reader.read(version, lines, format_="json")
    assert values(source, "d", "f", "s", "i") == [
        (Decimal("0.1"), 0.1, "x", 2**63 - 1),
        (Decimal("1234567890123456789012345678.0000000001"), None, None, None),
    ]


@pytest.mark.parametrize(
    ("content", "code", "parameters"),
    [
        ('{"id": "1", "amount": 1}\n', "IO_002", {"column": "day"}),
        ('{"id": 1, "amount": 1, "day": null}\n', "IO_004", {"column": "id", "value": "1", "place": "line 1"}),
        ('{"id": "1", "amount": 1, "day": null}\n{"id": "1", "amount": true}\n', "IO_004", {"place": "line 2"}),
        ('{"id": "1", "amount": 1.005, "day": null}\n', "IO_004", {"column": "amount", "value": "'1.005'"}),
        ('{"amount": 1, "day": null}\n{"id": "2"}\n', "IO_006", {"column": "id", "place": "line 1"}),
        ('{"id": "1", "id": "2"}\n', "IO_005", {"place": "line 1"}),
        ("[1]\n", "IO_005", {"place": "line 1"}),
        ('{"id": "1", "amount": 1, "day": null}\n{"id"\n', "IO_005", {"place": "line 2"}),
    ],
)
def test_json_errors_name_the_line(reader: Reader, content: str, code: str, parameters: dict[str, str]) -> None:
    error = reader.error(ORDERS, content, format_="json")
    assert error.code == code
    assert {name: error.parameters[name] for name in parameters} == parameters


def test_equal_rows_are_told_apart_whatever_the_order_of_files(reader: Reader) -> None:
    version = dataset("a string", "b integer")
    first = reader.read(version, "a,b\nx,1\ny,2\n", "a,b\nx,1\n")
    identities = values(first, "a", "__place", "__ordinal")
    second = reader.read(version, "b,a\n1,x\n", "b,a\n2,y\n1,x\n")
    assert values(second, "a", "__place", "__ordinal") == identities
    assert [(a, ordinal) for a, _, ordinal in identities] == [("x", 0), ("x", 1), ("y", 0)]


def test_a_natural_key_is_the_identity(reader: Reader) -> None:
    version = dataset("id string", "note string", natural_key=("id",))
    before = values(reader.read(version, "id,note\n1,a\n2,b\n"), "id", "__place", "__ordinal")
    after = values(reader.read(version, "id,note\n2,changed\n1,\n"), "id", "__place", "__ordinal")
    assert before == after


@pytest.mark.parametrize("natural_key", [(), ("a",)])
def test_many_rows_get_the_same_identity_from_spark(
    spark: SparkSession, tmp_path: Path, natural_key: tuple[str, ...]
) -> None:
    version = dataset("a string", "b integer", "f float", natural_key=natural_key)
    path = tmp_path / "in.csv"
    lines = [f"k{n % 7},{n % 3 or ''},{n % 2}.5" for n in range(60)]
    path.write_text("\n".join(["a,b,f", *lines]))
    found = []
    for limit in (1 << 20, 1):
        area = LandingArea(str(tmp_path / f"state{limit}"), "run")
        request = LandingRequest([Location("csv", uri=str(path))], version, area, None, tmp_path, limit)
        part = read_landed(spark, request)
        found.append(
            sorted(map(repr, part.rows.identified.select("a", "b", "f", "__place", "__ordinal").toArrow().to_pylist()))
        )
    assert found[0] == found[1]
    assert len(set(found[0])) == 60


def test_a_period_file_may_lack_its_period(reader: Reader) -> None:
    version = dataset("a string", mode="period")
    error = reader.error(version, "a\nx\n")
    assert error.parameters["column"] == "_period"
    assert "temporal_mode" in (error.hint or "")
    source = reader.read(version, "a\nx\n", period=JANUARY)
    assert values(source, "a", "_period") == [("x", "2026-01")]
    assert source.frame.carried == {"_period"}


def test_bitemporal_tables_may_use_plain_names(reader: Reader) -> None:
    version = dataset("a string", mode="bitemporal")
    findings = flatten(reader.error(version, "a\nx\n"))
    assert {finding.parameters["column"] for finding in findings} == {"valid_from", "valid_to"}
    source = reader.read(version, "a,valid_from,valid_to\nx,2026-01-01,\n")
    assert values(source, "a", "_valid_from", "_valid_to") == [("x", dt.date(2026, 1, 1), None)]


def test_a_landing_is_shared_until_the_file_changes(reader: Reader) -> None:
    version = dataset("a string")

    def landings() -> int:
        return len(list((reader.folder / "state").rglob("manifest.json")))

    first = reader.read(version, "a\nx\n")
    again = reader.read(version)
    assert (landings(), first.pins) == (1, again.pins)
    path = reader.folder / "in" / "0.csv"
    status = path.stat()
    path.write_text("a\ny\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert values(reader.read(version), "a") == [("y",)]
    assert landings() == 2


def test_a_replay_reads_the_landing_or_says_that_it_is_gone(reader: Reader) -> None:
    version = dataset("a string")
    source = reader.read(version, "a\nx\n")
    (pin,) = source.pins
    assert isinstance(pin, LandedPin)
    file = reader.folder / "in" / "0.csv"
    before = file.stat().st_mtime_ns
    file.write_text("a\nchanged\n")
    location = Location("csv", uri=str(reader.folder / "in"))
    resolution = Resolution((location,), ())
    pinned = [pin_from_json(pin_to_json(pin))]

    def read_again() -> list[tuple[Any, ...]]:
        return values(read_source(reader.spark, resolution, version, reader.area("later"), pinned=pinned), "a")

    assert read_again() == [("x",)]
    reader.area().remove(pin.folder)
    with pytest.raises(DaybookError) as caught:
        read_again()
    assert caught.value.code == "IO_009"
    file.write_text("a\nx\n")
    os.utime(file, ns=(before, before))
    assert read_again() == [("x",)]


def damage_nothing(landing: Path) -> None:
    pass


def remove_file(landing: Path) -> None:
    for path in landing.rglob("*.parquet"):
        path.unlink()


def change_file(landing: Path) -> None:
    """A landed copy that somebody edits, of the same size and time."""
    for path in landing.rglob("*.parquet"):
        status, content = path.stat(), bytearray(path.read_bytes())
        content[content.index(b"secret")] ^= 1
        path.write_bytes(content)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def edit_manifest(change: Callable[[str], str]) -> Callable[[Path], None]:
    def damage(landing: Path) -> None:
        for path in landing.rglob("manifest.json"):
            path.write_text(change(path.read_text()))

    return damage


DAMAGES = {
    "nothing": damage_nothing,
    "file removed": remove_file,
    "file changed": change_file,
    "manifest cut": edit_manifest(lambda text: text[:20]),
    "manifest empty": edit_manifest(lambda text: ""),
    "manifest a list": edit_manifest(lambda text: "[]"),
    "manifest nested": edit_manifest(lambda text: "[" * 100_000),
    "manifest without files": edit_manifest(lambda text: text.replace('"files"', '"fils"')),
    "manifest with numbers for names": edit_manifest(lambda text: text.replace('"files/', '5, "x": "')),
    "manifest leading elsewhere": edit_manifest(lambda text: text.replace('"path": "files/', '"path": "../files/')),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_landing_is_landed_again(reader: Reader, name: str) -> None:
    version = dataset("a string")
    reader.read(version, "a\nsecret\n")
    landing = reader.folder / "state"
    (folder,) = (landing / "files").iterdir()
    before = {path.name for path in folder.iterdir() if path.is_dir()}
    DAMAGES[name](landing)
    assert values(reader.read(version), "a") == [("secret",)]
    assert ({path.name for path in folder.iterdir() if path.is_dir()} != before) == (name != "nothing")
    assert values(reader.read(version), "a") == [("secret",)]


def test_a_damaged_landing_of_a_database_cannot_be_replayed(spark: SparkSession, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "d.db")) as connection, connection:
        connection.execute("create table t (a text)")
        connection.execute("insert into t values ('secret')")
    source = SqliteSource(id="s", name="s", type="sqlite", options=SqliteOptions(path=str(tmp_path / "d.db")))
    resolution = Resolution((Location("sqlite", table="t", datasource=source),), ())
    area = LandingArea(str(tmp_path / "state"), "run")
    pins = read_source(spark, resolution, dataset("a string"), area).pins
    change_file(tmp_path / "state")
    with pytest.raises(DaybookError) as caught:
        read_source(spark, resolution, dataset("a string"), area, pinned=pins)
    assert caught.value.code == "IO_009"


def test_a_missing_file_is_named(reader: Reader) -> None:
    resolution = Resolution((Location("csv", uri=str(reader.folder / "nothing.csv")),), ())
    with pytest.raises(DaybookError) as caught:
        read_source(reader.spark, resolution, ORDERS, reader.area())
    assert (caught.value.code, caught.value.parameters["location"]) == ("IO_001", str(reader.folder / "nothing.csv"))


def test_bitemporal_timestamps_are_read_where_they_are_declared(reader: Reader) -> None:
    version = dataset("a string", "valid_from timestamp", "valid_to timestamp", mode="bitemporal")
    source = reader.read(version, "a,valid_from,valid_to\nx,2026-01-15T10:00:00Z,\ny,2026-01-15,2026-01-20\n")
    found = values(source, "a", "_valid_from", "_valid_to", "valid_from")
    noon = dt.datetime(2026, 1, 15, 10, tzinfo=dt.UTC)
    assert [row[0] for row in found] == ["x", "y"]
    assert found[0][1] == found[0][3] == noon
    assert found[1][2] == dt.datetime(2026, 1, 20, tzinfo=dt.UTC)


TWICE = "id,amount,day\n1,5,\n2,6,\n"


@pytest.mark.parametrize(("rule", "limit"), [(None, 1 << 20), ("warn", 1 << 20), ("warn", 1)])
def test_a_file_that_is_delivered_twice_is_warned_of(
    spark: SparkSession, tmp_path: Path, rule: str | None, limit: int
) -> None:
    version = dataset("id string!", "amount decimal(10,2)", "day date", natural_key=("id",), on_duplicate_key=rule)
    for name in ("a.csv", "b.csv"):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / name).write_text(TWICE)
    area = LandingArea(str(tmp_path / "state"), "run")
    request = LandingRequest([Location("csv", uri=str(tmp_path / "in"))], version, area, None, tmp_path, limit)
    for _ in ("landed", "found again"):
        (notice,) = read_landed(spark, request).notices
        assert notice.code == "IO_039"
        assert "2 rows" in notice.message
        assert "id = 1" in notice.message


def test_repeated_keys_are_an_error_or_allowed_where_the_dataset_says_so(reader: Reader) -> None:
    columns = ("id string!", "amount decimal(10,2)", "day date")
    reader.read(dataset(*columns, natural_key=("id",)), TWICE, TWICE)
    with pytest.raises(DaybookError) as caught:
        reader.read(dataset(*columns, natural_key=("id",), on_duplicate_key="error"))
    assert (caught.value.code, caught.value.parameters["rows"]) == ("IO_039", 2)
    assert reader.read(dataset(*columns, natural_key=("id",), on_duplicate_key="allow")).notices == ()
    assert reader.read(ORDERS).notices == ()


@pytest.mark.parametrize("limit", [1 << 20, 1])
def test_what_repeats_no_natural_key(spark: SparkSession, tmp_path: Path, limit: int) -> None:
    """Other periods, deleted rows, totals without a key, and later versions of a row."""
    lines = ["id,n,_period,_deleted", "1,1,2026-01,", "1,2,2026-02,", "1,3,2026-01,true", ",4,2026-01,", ",5,2026-01,"]
    (tmp_path / "in.csv").write_text("\n".join(lines))
    version = dataset("id string", "n integer", mode="period", natural_key=("id",))
    area = LandingArea(str(tmp_path / "state"), "run")
    request = LandingRequest([Location("csv", uri=str(tmp_path / "in.csv"))], version, area, None, tmp_path, limit)
    assert read_landed(spark, request).notices == ()
    (tmp_path / "in.csv").write_text("id,n,valid_from,valid_to\n1,1,2026-01-01,2026-02-01\n1,2,2026-02-01,\n")
    version = dataset("id string", "n integer", mode="bitemporal", natural_key=("id",))
    request = LandingRequest([Location("csv", uri=str(tmp_path / "in.csv"))], version, area, None, tmp_path, limit)
    assert read_landed(spark, request).notices == ()


@pytest.mark.parametrize("format_", ["parquet", "delta"])
def test_parquet_and_delta_are_looked_through_where_the_dataset_asks(
    spark: SparkSession, tmp_path: Path, format_: str
) -> None:
    rows = pa.table({"id": ["1", "1", "2", "2"], "_period": ["2026-01", "2026-01", "2026-01", "2026-02"]})
    path = tmp_path / "t"
    if format_ == "parquet":
        path.mkdir()
        pq.write_table(rows, path / "x.parquet")
    else:
        write_deltalake(path, rows)
    resolution = Resolution((Location(format_, uri=str(path)),), ("2026-01",))

    def notices(rule: str | None, periods: tuple[str, ...] = ("2026-01",)) -> list[str]:
        version = dataset("id string", mode="period", natural_key=("id",), on_duplicate_key=rule)
        area = LandingArea(str(tmp_path / "state"), "run")
        source = read_source(spark, replace(resolution, periods=periods), version, area)
        return [notice.code for notice in source.notices]

    assert notices(None) == notices("allow") == notices("warn", ("2026-02",)) == []
    assert notices("warn") == ["IO_039"]
    with pytest.raises(DaybookError) as caught:
        notices("error")
    assert (caught.value.code, caught.value.parameters["rows"]) == ("IO_039", 1)
