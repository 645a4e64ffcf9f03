"""Every format gives back what was written, to the last digit."""

import pytest
from pyspark.sql import SparkSession

from daybook.io.landing.area import LandingArea
from daybook.io.registry import format_named, writer_for, written_fingerprint
from daybook.io.source_rows import read_source_rows
from daybook.io.writer import fingerprint
from daybook.model.formats import FORMATS
from daybook.resolve.location import Resolution
from tests.catalogs import catalog_jars
from tests.spark.io.cases import (
    CASES,
    Case,
    Place,
    columns_of,
    frame,
    hard_rows,
    parameters,
    read_target,
    rows_of,
    sorted_rows,
    version_of,
    write,
)


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    return found


def test_every_writable_format_has_a_case() -> None:
    not_here = set() if catalog_jars() else {"spark_catalog"}
    assert {case.format for case in CASES} == set(FORMATS) - not_here


def test_hard_values_come_back(spark: SparkSession, case: Case, place: Place) -> None:
    columns = columns_of(case)
    rows = hard_rows(case)
    target = place.target(columns)
    writer = writer_for(case.format)
    writer.check(target)
    staged = writer.stage(frame(spark, columns, rows), target)
    assert staged.rows == len(rows)
    commit = writer.commit(staged, target)
    assert (commit.rows, commit.is_repeat) == (len(rows), False)

    source = read_target(spark, target)

    assert rows_of(source, *(column.name for column in columns)) == sorted_rows(rows)
    assert written_fingerprint(spark, target, staged, commit) == fingerprint(source.frame.rows.identified, columns)
    identities = source.frame.rows.identified.select("__place", "__ordinal").toArrow().to_pylist()
    assert len({tuple(row.values()) for row in identities}) == len(rows)


def test_hard_values_are_read_without_spark(spark: SparkSession, case: Case, place: Place) -> None:
    if format_named(case.format).needs_session:
        pytest.skip(f"{case.format} needs Spark")
    columns = columns_of(case)
    rows = hard_rows(case)
    target = place.target(columns)
    write(frame(spark, columns, rows), target)
    area = LandingArea(str(target.workspace / "landed"), "r")
    resolution = Resolution((target.location,), ())

    source = read_source_rows(resolution, version_of(columns), [area], workspace=target.workspace)

    names = [column.name for column in columns]
    read = [dict(zip(names, row[: len(names)], strict=True)) for row in source.rows()]
    assert sorted_rows(read) == sorted_rows(rows)


@pytest.mark.parametrize("case", parameters(CASES))
def test_an_empty_table_comes_back_empty(spark: SparkSession, case: Case, place: Place) -> None:
    columns = columns_of(case)
    target = place.target(columns)
    writer = writer_for(case.format)
    commit = writer.commit(writer.stage(frame(spark, columns, []), target), target)
    assert commit.rows == 0

    source = read_target(spark, target)

    assert source.frame.rows.identified.count() == 0
    assert [column.name for column in columns] == [
        name for name in source.frame.rows.identified.columns if not name.startswith("__")
    ]
