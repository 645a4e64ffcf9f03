"""Pages of the rows that a run committed to a table of a catalog: the session filters, sorts and sums."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from daybook.errors import DaybookError
from daybook.expression import quote_identifier, quote_literal
from daybook.expression import spark_type as sql_type
from daybook.io.column_types import arrow_type
from daybook.io.formats.spark_catalog.table import (
    CatalogTable,
    TableName,
    active_session,
    as_named,
    failure_reason,
    find_table,
    session_errors,
    version_token,
    versioned_frame,
)
from daybook.io.row_page import MOST_SORTED_ROWS, PageRequest, RowPage, Total
from daybook.io.state_tables import stream_batches
from daybook.io.stored_rows import RowOrder, TypedCondition
from daybook.io.target import OutputColumn, TableTarget
from daybook.io.writer import Commit
from daybook.model.definition import TableVersion
from daybook.model.types import RUN_PERIOD_COLUMN, STRING, ColumnType, FloatType, IntegerType

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_ROW_ID = "_row_id"
_ROWS = "__daybook_rows"
_MISSING_FILE = ("FileNotFoundException", "FILE_NOT_EXIST", "NotFoundException", "does not exist")
_TEXT_FUNCTIONS = {"contains": "CONTAINS", "starts_with": "STARTSWITH"}


def committed_frame(target: TableTarget, commit: Commit) -> "DataFrame":
    """What a commit wrote: the copy of what was sealed, else its version; RUN_084 where that is gone."""
    kept = kept_frame(target, commit.version) if commit.version is not None else None
    return kept if kept is not None else _frame_of_version(target, commit)


def _frame_of_version(target: TableTarget, commit: Commit) -> "DataFrame":
    from pyspark.sql import functions as F

    spark, version = active_session(), commit.version
    table = find_table(spark, TableName.of(target.location))
    if table is None or table.provider is None or version is None:
        raise _gone(target, "the table no longer exists")
    columns = [F.col(quote_identifier(c.name)).cast(sql_type(c.type)).alias(c.name) for c in target.columns]

    def rows_at(token: str) -> "DataFrame":
        df = as_named(versioned_frame(spark, table.name, token), table.provider)
        if target.run_period is not None:
            df = df.where(F.col(RUN_PERIOD_COLUMN) == F.lit(target.run_period))
        return df.select(*columns)

    try:
        df = rows_at(version_token(version))
        if target.mode == "append" and (before := _version_before(spark, table, version_token(version))) is not None:
            # An append keeps what was there, and neither provider names the rows of one commit.
            df = df.exceptAll(rows_at(before))
        # Spark asks the table for the version when it looks at the columns.
        df.schema  # noqa: B018
    except session_errors() as failure:
        raise _gone(target, failure_reason(failure)) from failure
    return df


def keep_rows(target: TableTarget, commit: Commit) -> None:
    """A copy of what a commit wrote in the state of the workspace: nothing else holds versions of Delta tables."""
    tables, version = target.storage.tables, commit.version
    if tables is None or version is None or not _may_be_vacuumed(version):
        return
    try:
        tables.write(_frame_of_version(target, commit), kept_path(target))
    except session_errors() as failure:
        raise DaybookError("IO_026", location=target.label, reason=failure_reason(failure)) from failure


def _may_be_vacuumed(version: TableVersion) -> bool:
    return version.token.startswith("delta:")


def kept_path(target: TableTarget) -> str:
    return f"sealed/{target.run_id}/{target.operation_seq}"


def kept_frame(target: TableTarget, version: TableVersion) -> "DataFrame | None":
    """The copy of rows that were sealed, which the platform of the table may have vacuumed."""
    tables = target.storage.tables
    if (
        tables is None
        or not _may_be_vacuumed(version)
        or find_table(active_session(), tables.table(kept_path(target))) is None
    ):
        return None
    return tables.read(kept_path(target), [column.name for column in target.columns])


def _version_before(spark: "SparkSession", table: CatalogTable, token: str) -> str | None:
    if table.provider == "delta":
        return str(int(token) - 1) if int(token) else None
    snapshots = spark.table(table.name.metadata("snapshots"))
    row = snapshots.where(f"snapshot_id = {int(token)}").selectExpr("CAST(parent_id AS STRING)").first()
    return str(row[0]) if row is not None and row[0] is not None else None


def committed_page(target: TableTarget, commit: Commit, request: PageRequest) -> RowPage:
    """A page; the rows of others stay where they are."""
    end = request.offset + request.limit
    if request.order and end > MOST_SORTED_ROWS:
        raise DaybookError("RUN_083", bound=MOST_SORTED_ROWS)
    types = {column.name: column.type for column in target.columns}
    df = _filtered(committed_frame(target, commit), request, types)
    with _missing_files(target):
        count, totals = _count_and_totals(df, request, types)
    schema = pa.schema([(column.name, arrow_type(column.type)) for column in target.columns])
    if not request.limit or request.offset >= count:
        return RowPage(schema.empty_table(), count, totals)
    page = df.orderBy(*_order(target.columns, request.order)).offset(request.offset).limit(request.limit)
    with _missing_files(target):
        return RowPage(page.toArrow().select(schema.names).cast(schema), count, totals)


def committed_batches(target: TableTarget, commit: Commit, request: PageRequest) -> Iterator[pa.RecordBatch]:
    """All rows that fulfil the conditions, as they come or in an order."""
    types = {column.name: column.type for column in target.columns}
    df = _filtered(committed_frame(target, commit), request, types)
    if request.order:
        with _missing_files(target):
            has_too_many = df.limit(MOST_SORTED_ROWS + 1).count() > MOST_SORTED_ROWS
        if has_too_many:
            raise DaybookError("RUN_083", bound=MOST_SORTED_ROWS)
        df = df.orderBy(*_order(target.columns, request.order))
    schema = pa.schema([(column.name, arrow_type(column.type)) for column in target.columns])
    return (batch.select(schema.names).cast(schema) for batch in stream_batches(df))


def _filtered(df: "DataFrame", request: PageRequest, types: Mapping[str, ColumnType]) -> "DataFrame":
    for condition in request.conditions:
        df = df.where(_condition_sql(condition, types[condition.column]))
    return df


def _condition_sql(condition: TypedCondition, type_: ColumnType) -> str:
    name = quote_identifier(condition.column)
    if condition.comparison == "is_null":
        return f"{name} IS NULL"
    if condition.comparison == "is_not_null" or (condition.scalar is None and condition.is_always):
        return f"{name} IS NOT NULL"
    if condition.scalar is None:
        return "FALSE"
    value = condition.scalar.as_py()
    if (function := _TEXT_FUNCTIONS.get(condition.comparison)) is not None:
        return f"{function}(LOWER({name}), LOWER({quote_literal(value, STRING)}))"
    comparison = "<>" if condition.comparison == "!=" else condition.comparison
    return f"{name} {comparison} {quote_literal(value, type_)}"


def _count_and_totals(
    df: "DataFrame", request: PageRequest, types: Mapping[str, ColumnType]
) -> tuple[int, dict[str, Total | None]]:
    from pyspark.sql import functions as F

    sums = [F.expr(f"{_sum_sql(name, types[name])} AS {quote_identifier(name)}") for name in request.totals]
    row = df.agg(F.expr(f"COUNT(1) AS {_ROWS}"), *sums).first()
    assert row is not None
    values = row.asDict()
    totals = {name: _total(values[name], types[name]) for name in request.totals}
    return int(values[_ROWS]), totals


def _sum_sql(column: str, type_: ColumnType) -> str:
    """Exact for numbers that are: of integers in a type that holds the sum of all of them."""
    name = quote_identifier(column)
    return f"SUM(CAST({name} AS DECIMAL(38,0)))" if isinstance(type_, IntegerType) else f"SUM({name})"


def _total(value: Total | None, type_: ColumnType) -> Total | None:
    return int(value) if value is not None and isinstance(type_, IntegerType) else value


def _order(columns: tuple[OutputColumn, ...], order: tuple[RowOrder, ...]) -> "list[Column]":
    """NULL and NaN come last; equal rows by the others of their columns, so that pages do not overlap."""
    from pyspark.sql import functions as F

    names = {column.name: column.type for column in columns}
    first = [row_order.column for row_order in order]
    rest = [_ROW_ID] if _ROW_ID in names else list(names)
    parts: list[Column] = []
    for name, is_descending in (
        *((row_order.column, row_order.is_descending) for row_order in order),
        *((name, False) for name in rest if name not in first),
    ):
        column = F.col(quote_identifier(name))
        if isinstance(names[name], FloatType):
            parts.append(F.coalesce(F.isnan(column), F.lit(False)).asc())
        parts.append(column.desc_nulls_last() if is_descending else column.asc_nulls_last())
    return parts


@contextmanager
def _missing_files(target: TableTarget) -> Iterator[None]:
    """RUN_084 for files that were vacuumed: a log knows a version for longer than its files are there."""
    try:
        yield
    except session_errors() as failure:
        if any(sign in str(failure) for sign in _MISSING_FILE):
            raise _gone(target, "its files have been removed") from failure
        raise


def _gone(target: TableTarget, reason: str) -> DaybookError:
    return DaybookError("RUN_084", run_id=target.run_id, location=target.label, reason=reason)
