"""Tables of JDBC are names: quoted, found in the case the database keeps them in, and never queries."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from daybook.errors import DaybookError
from daybook.io.formats.jdbc.table import jdbc_source, jdbc_transaction
from daybook.io.landing.area import LandingArea
from daybook.io.read_source import ReadSource, read_source
from daybook.io.target import OutputColumn
from daybook.model.types import INTEGER
from daybook.resolve.location import Location, Resolution
from tests.attacks.tables.databases import QUERIES
from tests.attacks.tables.identifiers import NAMES
from tests.spark.io.cases import CASES, Place, version_of


@pytest.fixture
def place(tmp_path: Path, is_connect: bool) -> Place:
    if is_connect:
        pytest.skip("JDBC needs a classic session")
    return Place(next(case for case in CASES if case.format == "jdbc"), tmp_path)


def run(spark: SparkSession, place: Place, *statements: str) -> None:
    with jdbc_transaction(spark, jdbc_source(place.datasource()), place.workspace) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def read(spark: SparkSession, place: Place, table: str, schema: str | None = None) -> ReadSource:
    location = Location("jdbc", table=table, schema=schema, datasource=place.datasource())
    area = LandingArea(str(place.workspace / "landed"), f"run-{abs(hash(table))}")
    version = version_of((OutputColumn("A", INTEGER),))
    return read_source(spark, Resolution((location,), ()), version, area, workspace=place.workspace)


def test_names_are_found_as_the_database_keeps_them(spark: SparkSession, place: Place) -> None:
    run(spark, place, "create table Orders (a bigint)", 'create table "Odd name" (A bigint)')
    run(spark, place, "insert into orders values (1)", 'insert into "Odd name" values (2)')
    for table in ("orders", "ORDERS", "app.orders"):
        assert read(spark, place, table).frame.rows.identified.select("A").collect() == [(1,)]
    assert read(spark, place, "orders", "app").frame.rows.identified.select("A").collect() == [(1,)]
    assert read(spark, place, "Odd name").frame.rows.identified.select("A").collect() == [(2,)]


def test_a_query_is_no_table(spark: SparkSession, place: Place) -> None:
    run(spark, place, "create table orders (a bigint)", "create table secrets (a bigint)")
    for table in QUERIES:
        with pytest.raises(DaybookError) as caught:
            read(spark, place, table)
        assert caught.value.code == "IO_001", table
    # No statement behind a semicolon was executed.
    assert read(spark, place, "orders").frame.rows.identified.count() == 0


def test_a_table_with_an_odd_name_is_read_by_it(spark: SparkSession, place: Place) -> None:
    odd = [name for name in NAMES if "." not in name and name.isascii()]
    for name in odd:
        quoted = '"' + name.replace('"', '""') + '"'
        run(spark, place, f"create table {quoted} (a bigint)", f"insert into {quoted} values ({odd.index(name)})")
    for name in odd[:6]:
        assert read(spark, place, name).frame.rows.identified.select("A").collect() == [(odd.index(name),)]
