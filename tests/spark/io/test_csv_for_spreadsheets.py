"""CSV as spreadsheets of every country want it, and text that no spreadsheet takes for a formula."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from daybook.io.landing.area import LandingArea
from daybook.io.read_source import read_source
from daybook.io.target import OutputColumn
from daybook.model.types import STRING, DecimalType
from daybook.resolve.location import Resolution
from tests.attacks.tables.spreadsheets import FORMULAS, PLAIN
from tests.spark.io.cases import (
    Case,
    Place,
    columns_of,
    frame,
    hard_rows,
    rows_of,
    sorted_rows,
    version_of,
    write,
)

GERMAN = {"bom": True, "decimal": ",", "delimiter": ";"}
CASES = (Case("csv-folder", "csv", "table"), Case("csv-file", "csv", "table.csv", is_one_file=True))
MARK = b"\xef\xbb\xbf"


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    return found


def files(place: Place) -> list[Path]:
    return sorted(path for path in (place.workspace / "lake").rglob("*.csv") if path.is_file() and path.name[0] != ".")


@pytest.mark.parametrize("rows", [0, None], ids=["empty", "hard"])
def test_marks_commas_and_semicolons_come_back_exactly(
    spark: SparkSession, case: Case, place: Place, tmp_path: Path, rows: int | None
) -> None:
    columns, content = columns_of(case), hard_rows(case)[:rows]
    target = place.target(columns, options=GERMAN)
    write(frame(spark, columns, content), target)

    header = ";".join(column.name for column in columns).encode()
    assert [path.read_bytes().split(b"\n")[0] for path in files(place)] == [MARK + header] * len(files(place))

    location = replace(target.location, options={"decimal": ",", "delimiter": ";"})
    area = LandingArea(str(tmp_path / "landed"), "run")
    source = read_source(spark, Resolution((location,), ()), version_of(columns), area)
    assert rows_of(source, *(column.name for column in columns)) == sorted_rows(content)


def test_numbers_are_written_with_a_comma_and_nothing_else_is(spark: SparkSession, case: Case, place: Place) -> None:
    columns = (OutputColumn("n", DecimalType(18, 2)), OutputColumn("t", STRING))
    target = place.target(columns, options=GERMAN)
    write(frame(spark, columns, [{"n": Decimal("-1234.50"), "t": "1.5"}], parts=1), target)
    (path,) = files(place)
    assert path.read_bytes() == MARK + b"n;t\n-1234,50;1.5\n"


def test_no_cell_and_no_header_is_a_formula(spark: SparkSession, case: Case, place: Place) -> None:
    columns = (OutputColumn("=a", STRING), OutputColumn("b", STRING))
    rows = [{"=a": text, "b": None} for text in (*FORMULAS, *PLAIN)]
    target = place.target(columns, options={"spreadsheet_safe": True})
    write(frame(spark, columns, rows, parts=1), target)

    version = version_of((OutputColumn("'=a", STRING), OutputColumn("b", STRING)))
    area = LandingArea(str(place.workspace / "landed"), "run")
    source = read_source(spark, Resolution((target.location,), ()), version, area)
    assert rows_of(source, "'=a") == sorted_rows([{"'=a": f"'{t}"} for t in FORMULAS] + [{"'=a": t} for t in PLAIN])
