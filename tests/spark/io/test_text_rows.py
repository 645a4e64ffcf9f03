"""Every row that a text file or a workbook was given comes back: NULL, empty and odd texts, one column or several."""

import csv
import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from daybook.io.target import OutputColumn
from daybook.model.types import BOOLEAN, DATE, FLOAT, INTEGER, STRING, ColumnType, DecimalType
from tests.spark.io.cases import CASES, Case, Place, frame, read_target, rows_of, write

TEXT_CASES = [case for case in CASES if case.format in ("csv", "json", "xlsx")]
CSV_FILE, CSV_FOLDER = (next(case for case in CASES if case.name == name) for name in ("csv-file", "csv-folder"))


def records_of(root: Path) -> list[list[str]]:
    """The records below the headers of a file, or of the files of a folder."""
    files = [root] if root.is_file() else sorted(root.rglob("part-*.csv"))
    records: list[list[str]] = []
    for file in files:
        with file.open(newline="", encoding="utf-8") as stream:
            header, *rest = csv.reader(stream)
            assert header == ["only"]
            records += rest
    return records


@pytest.mark.parametrize("case", TEXT_CASES, ids=lambda case: case.name)
@pytest.mark.parametrize(
    "texts",
    [
        ["a", None, "b", None, "c"],
        [None, None],
        ["", "a", ""],
        ["", None, "a", None],
        ["a\n\nb", None, "\n", '"\n\n"'],
        ["a\rb", "\r", None, "a\r\n"],
        ["=1", " ", "\t", ",", '"', '""', None],
        [],
    ],
    ids=["null", "only-null", "empty", "null-and-empty", "line-feeds", "returns", "odd", "none"],
)
def test_texts(spark: SparkSession, tmp_path: Path, case: Case, texts: list[str | None]) -> None:
    columns = (OutputColumn("only", STRING),)
    target = Place(case, tmp_path).target(columns)
    commit = write(frame(spark, columns, [{"only": text} for text in texts]), target)
    assert commit.rows == len(texts)
    found = [row["only"] for row in rows_of(read_target(spark, target), "only")]
    assert sorted(found, key=repr) == sorted(texts, key=repr)
    if case.format == "csv":
        values = [record[0] if record else "" for record in records_of(tmp_path / "lake" / str(case.path))]
        assert sorted(values) == sorted(text or "" for text in texts)


@pytest.mark.parametrize(
    ("type_", "value"),
    [(INTEGER, 7), (DecimalType(5, 1), Decimal("-1.5")), (FLOAT, 0.5), (BOOLEAN, True), (DATE, dt.date(2026, 1, 31))],
    ids=str,
)
@pytest.mark.parametrize("options", [{}, {"delimiter": ";", "decimal": ",", "quote": "'", "bom": True}], ids=repr)
def test_values_of_every_type(
    spark: SparkSession, tmp_path: Path, type_: ColumnType, value: Any, options: dict[str, Any]
) -> None:
    columns = (OutputColumn("only", type_),)
    target = Place(CSV_FILE, tmp_path).target(columns, options=options)
    write(frame(spark, columns, [{"only": value}, {"only": None}, {"only": None}]), target)
    values = [row["only"] for row in rows_of(read_target(spark, target), "only")]
    assert values.count(None) == 2
    assert [each for each in values if each is not None] == [value]


@pytest.mark.parametrize("case", TEXT_CASES, ids=lambda case: case.name)
def test_rows_of_several_columns_that_are_null_or_odd(spark: SparkSession, tmp_path: Path, case: Case) -> None:
    columns = (OutputColumn("first", STRING), OutputColumn("second", STRING), OutputColumn("number", INTEGER))
    texts = [None, "", "\r", "a\rb", "\n\n", ";", "\t"]
    rows = [{"first": one, "second": other, "number": None} for one in texts for other in texts]
    target = Place(case, tmp_path).target(columns)
    write(frame(spark, columns, rows), target)
    found = rows_of(read_target(spark, target), "first", "second", "number")
    assert sorted(found, key=repr) == sorted(rows, key=repr)


def test_a_table_of_one_column(spark: SparkSession, tmp_path: Path) -> None:
    columns = (OutputColumn("only", STRING),)
    place = Place(CSV_FOLDER, tmp_path)
    for period in ("2026-01", "2026-02"):
        target = place.target(columns, mode="replace_period", run_period=period)
        write(frame(spark, columns, [{"only": None}, {"only": period}]), target)
    found = rows_of(read_target(spark, target), "only")
    assert sorted(found, key=repr) == [{"only": "2026-01"}, {"only": "2026-02"}, {"only": None}, {"only": None}]
