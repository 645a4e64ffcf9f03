"""CSV and JSON are bound by name and landed exactly; whatever is wrong is named with its line."""

import datetime as dt
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from daybook.errors import DaybookError, flatten
from daybook.io.landing.area import LandingArea
from daybook.io.landing.reader import read_landed
from daybook.io.landing.request import LandingRequest
from daybook.io.pins import LandedPin, pin_from_json, pin_to_json
from daybook.io.read_source import ReadSource, read_source
from daybook.model.dataset import ColumnDef, Dataset, MainTable
from daybook.model.definition import DatasetVersion
from daybook.model.period import Period
from daybook.model.types import parse_type
from daybook.resolve.locations.location import Location, Resolution

JANUARY = Period("2026-01", "month", dt.date(2026, 1, 1), dt.date(2026, 1, 31))


def dataset(*columns: str, mode: Any = None, natural_key: tuple[str, ...] = ()) -> DatasetVersion:
    """Columns as `name type`, with a `!` behind those that may not be NULL."""
    defined = []
    for column in columns:
        name, type_ = column.rstrip("!").split(" ")
        defined.append(ColumnDef(name=name, type=parse_type(type_), nullable=not column.endswith("!")))
    table = MainTable(name="t", temporal_mode=mode, columns=tuple(defined))
    return DatasetVersion(Dataset(id="d", name="d", natural_key_columns=natural_key, main_table=table), 1)


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
    rows = source.frame.df.select(*names).toArrow().to_pylist()
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
        found.append(sorted(map(repr, part.df.select("a", "b", "f", "__place", "__ordinal").toArrow().to_pylist())))
    assert found[0] == found[1]
    assert len(set(found[0])) == 60


def test_a_period_file_may_lack_its_period(reader: Reader) -> None:
    version = dataset("a string", mode="period")
    assert reader.error(version, "a\nx\n").parameters["column"] == "_period"
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
    (reader.folder / "in" / "0.csv").write_text("a\nchanged\n")
    location = Location("csv", uri=str(reader.folder / "in"))
    resolution = Resolution((location,), ())
    pinned = [pin_from_json(pin_to_json(pin))]
    assert values(read_source(reader.spark, resolution, version, reader.area("later"), pinned=pinned), "a") == [("x",)]
    reader.area().remove(pin.folder)
    with pytest.raises(DaybookError) as caught:
        read_source(reader.spark, resolution, version, reader.area("later"), pinned=pinned)
    assert caught.value.code == "IO_009"


def test_a_missing_file_is_named(reader: Reader) -> None:
    resolution = Resolution((Location("csv", uri=str(reader.folder / "nothing.csv")),), ())
    with pytest.raises(DaybookError) as caught:
        read_source(reader.spark, resolution, ORDERS, reader.area())
    assert (caught.value.code, caught.value.parameters["location"]) == ("IO_001", str(reader.folder / "nothing.csv"))
