"""Every format with a place to write to, and rows that are hard to keep."""

import datetime as dt
import hashlib
import math
import uuid
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from _pytest.mark import ParameterSet
from pyspark.sql import DataFrame, SparkSession

from daybook.io.column_types import arrow_type, spark_data_type
from daybook.io.landing.area import LandingArea
from daybook.io.read_source import ReadSource, read_source
from daybook.io.registry import writer_for
from daybook.io.target import OutputColumn, SliceOwner, Target, target_at
from daybook.io.writer import Commit
from daybook.model.dataset import ColumnDef, Dataset, MainTable
from daybook.model.datasource import (
    DataSource,
    IcebergOptions,
    IcebergSource,
    JdbcOptions,
    JdbcSource,
    PostgresqlSource,
    SparkCatalogOptions,
    SparkCatalogSource,
    SqliteOptions,
    SqliteSource,
)
from daybook.model.definition import DatasetVersion
from daybook.model.types import BOOLEAN, DATE, FLOAT, INTEGER, STRING, TIMESTAMP, ColumnType, DecimalType
from daybook.resolve.location import Location, Resolution
from tests.catalogs import DELTA, ICEBERG, catalog_jars

DERBY = "org.apache.derby.iapi.jdbc.AutoloadedDriver"


@dataclass(frozen=True)
class Case:
    """A format with one kind of place."""

    name: str
    format: str
    path: str | None = None
    is_one_file: bool = False
    # Derby, which Spark brings along, has no more than 31 digits and no NaN; JDBC lacks ten days of October 1582.
    max_digits: int = 38
    has_nan: bool = True
    has_lost_days: bool = False
    # Of a table by its name in Spark.
    catalog: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Place:
    """A case with the folder and server of one test."""

    case: Case
    workspace: Path
    postgresql: PostgresqlSource | None = None

    def target(self, columns: tuple[OutputColumn, ...] | None = None, **changes: Any) -> Any:
        """A target of the kind that the case's writer takes."""
        options = changes.pop("options", self.case.options)
        if self.case.path is not None:
            uri = changes.pop("uri", str(self.workspace / "lake" / self.case.path))
            location = Location(self.case.format, uri=uri, options=options)
        else:
            table = "t_" + hashlib.md5(str(self.workspace).encode()).hexdigest()[:12]
            schema = "close" if self.case.format == "iceberg" else None
            location = Location(self.case.format, table=table, schema=schema, datasource=self.datasource())
        target = target_at(
            location,
            mode="replace",
            columns=columns or columns_of(self.case),
            run_id=str(uuid.uuid4()),
            operation_seq=1,
            owner=SliceOwner("project", "output"),
            workspace=self.workspace,
        )
        return replace(target, **changes)

    def datasource(self) -> DataSource:
        match self.case.format:
            case "postgresql":
                assert self.postgresql is not None
                return self.postgresql
            case "iceberg":
                return iceberg_source("lake")
            case "sqlite":
                return SqliteSource(id="s", name="s", type="sqlite", options=SqliteOptions(path="data.db"))
            case "spark_catalog":
                catalog = SparkCatalogOptions.model_validate({"catalog": self.case.catalog, "schema": "books"})
                return SparkCatalogSource(id="c", name="c", type="spark_catalog", options=catalog)
            case _:
                # Derby on a disk waits for it at every commit, and a second for each new database.
                url = f"jdbc:derby:memory:{self.workspace}/derby;create=true"
                return JdbcSource(id="j", name="j", type="jdbc", options=JdbcOptions(url=url, driver=DERBY))


# Only where their libraries are, so that the others are not full of skipped tests; `test_tables_by_name` says it.
_CATALOGS = (
    Case("catalog-delta", "spark_catalog", catalog=DELTA),
    Case("catalog-iceberg", "spark_catalog", catalog=ICEBERG),
)
CASES = (
    Case("delta", "delta", "table"),
    Case("iceberg", "iceberg"),
    Case("parquet-folder", "parquet", "table"),
    Case("parquet-file", "parquet", "table.parquet", is_one_file=True),
    Case("csv-folder", "csv", "table"),
    Case("csv-file", "csv", "table.csv", is_one_file=True),
    Case("json-folder", "json", "table"),
    Case("json-file", "json", "table.json", is_one_file=True),
    Case("xlsx-file", "xlsx", "table.xlsx", is_one_file=True, options={"long_numbers": "text"}),
    Case("postgresql", "postgresql"),
    Case("sqlite", "sqlite", has_nan=False),
    Case("jdbc", "jdbc", max_digits=31, has_nan=False, has_lost_days=True),
    *(_CATALOGS if catalog_jars() else ()),
)
TABLES = tuple(case for case in CASES if not case.is_one_file)
_REPEATED = ("parquet-file", "csv-folder", "json-folder", "json-file")


def iceberg_source(warehouse: str) -> IcebergSource:
    """A catalog in a file, with its tables beside it."""
    options = IcebergOptions(catalog="sql", warehouse=warehouse, namespace="close")
    return IcebergSource(id="i", name="i", type="iceberg", options=options)


def parameters(cases: Iterable[Case], repeated: Container[str] = ()) -> list[ParameterSet]:
    """Cases for tests of modes and commits: `make faults` also has those that take the same steps as another one."""
    return [
        pytest.param(
            case, marks=pytest.mark.slow if case.name in _REPEATED or case.name in repeated else (), id=case.name
        )
        for case in cases
    ]


def columns_of(case: Case) -> tuple[OutputColumn, ...]:
    wide = DecimalType(case.max_digits, 10)
    types: dict[str, ColumnType] = {
        "text": STRING,
        "whole": INTEGER,
        "wide": wide,
        "money": DecimalType(18, 2),
        "ratio": FLOAT,
        "flag": BOOLEAN,
        "day": DATE,
        "moment": TIMESTAMP,
    }
    return tuple(OutputColumn(name, type_) for name, type_ in types.items())


def hard_rows(case: Case) -> list[dict[str, Any]]:
    """Every type with NULL and its extremes, and text that breaks careless formats."""
    nines = "9" * (case.max_digits - 10) + "." + "9" * 10
    most, least = Decimal(nines), Decimal(f"-{nines}")
    utc = dt.UTC
    rows = [
        (
            "plain",
            1,
            Decimal("1.5"),
            Decimal("1.25"),
            1.5,
            True,
            dt.date(2026, 1, 31),
            dt.datetime(2026, 1, 31, 12, tzinfo=utc),
        ),
        (None,) * 8,
        ("", -(2**63), least, Decimal("-0.01"), -1e300, False, dt.date(1, 1, 1), dt.datetime(1, 1, 1, tzinfo=utc)),
        (
            'a "quote", a\nnewline\r\n and a \\',
            2**63 - 1,
            most,
            Decimal("9999999999999999.99"),
            math.inf if case.has_nan else 0.1,
            True,
            dt.date(9999, 12, 31),
            dt.datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=utc),
        ),
        (
            " é😀\u2028 ",
            0,
            Decimal("0.0000000001"),
            Decimal(0),
            -0.1,
            None,
            dt.date(1969, 12, 31),
            dt.datetime(1969, 12, 31, 23, 59, 59, 1, tzinfo=utc),
        ),
        (
            " é😀\u2028 ",
            0,
            Decimal("0.0000000001"),
            Decimal(0),
            -0.1,
            None,
            dt.date(1969, 12, 31),
            dt.datetime(1969, 12, 31, 23, 59, 59, 1, tzinfo=utc),
        ),
        (
            "=1+1",
            7,
            None,
            None,
            math.nan if case.has_nan else None,
            False,
            dt.date(1582, 10, 4 if case.has_lost_days else 10),
            dt.datetime(1900, 1, 1, tzinfo=utc),
        ),
    ]
    if case.format == "xlsx":
        rows = [_in_a_sheet(row) for row in rows]
    names = [column.name for column in columns_of(case)]
    return [dict(zip(names, row, strict=True)) for row in rows]


def _in_a_sheet(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Sheets have neither NaN nor dates before 1900, and times to the millisecond."""

    def fitted(value: Any) -> Any:
        if isinstance(value, float) and not math.isfinite(value):
            return None
        if isinstance(value, dt.datetime):
            whole = value.replace(microsecond=value.microsecond // 1000 * 1000)
            return whole if value.year >= 1900 else None
        return None if isinstance(value, dt.date) and value.year < 1900 else value

    return tuple(map(fitted, row))


def frame(
    spark: SparkSession, columns: tuple[OutputColumn, ...], rows: list[dict[str, Any]], parts: int = 2
) -> DataFrame:
    schema = pa.schema([(column.name, arrow_type(column.type)) for column in columns])
    df = spark.createDataFrame(pa.Table.from_pylist(rows, schema))
    typed = df.select(*(df[column.name].cast(spark_data_type(column.type)) for column in columns))
    return typed.repartition(parts)


def version_of(columns: tuple[OutputColumn, ...], **changes: Any) -> DatasetVersion:
    defined = tuple(ColumnDef(name=column.name, type=column.type) for column in columns)
    table = MainTable(name="t", columns=defined, temporal_mode=changes.pop("temporal_mode", None))
    return DatasetVersion(Dataset(id="d", name="d", main_table=table, **changes), 1)


def write(df: DataFrame, target: Target) -> Commit:
    writer = writer_for(target.format)
    writer.check(target)
    return writer.commit(writer.stage(df, target), target)


def read_target(
    spark: SparkSession, target: Target, columns: tuple[OutputColumn, ...] | None = None, **changes: Any
) -> ReadSource:
    periods = changes.pop("periods", ())
    version = version_of(columns or target.columns, **changes)
    area = LandingArea(str(target.workspace / "landed"), str(uuid.uuid4()))
    return read_source(spark, Resolution((target.location,), periods), version, area, workspace=target.workspace)


def rows_of(source: ReadSource, *names: str) -> list[dict[str, Any]]:
    return sorted_rows(source.frame.rows.identified.select(*names).toArrow().to_pylist())


def sorted_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Comparable: NaN equals NaN, and times compare in UTC."""
    return sorted(({name: _plain(value) for name, value in row.items()} for row in rows), key=repr)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None)
    return Fraction(value) if isinstance(value, Decimal) else value
