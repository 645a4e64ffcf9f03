"""Rows of tables as records, and records as rows, by the names of their fields."""

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar

from sqlalchemy import (
    Column,
    Row,
    Table,
)

RecordT = TypeVar("RecordT")


def to_record(kind: type[RecordT], table: Table, row: Row[Any], **computed: Any) -> RecordT:
    """A row as a record; `computed` are the fields that no column has."""
    values = row._mapping
    columns = _columns_of(kind, table)  # type: ignore[arg-type]
    return kind(**{name: values[column] for name, column in columns.items() if name not in computed}, **computed)


@cache
def _columns_of(kind: type, table: Table) -> dict[str, Column[Any]]:
    """The column of every field that has one."""
    return {field.name: table.c[field.name] for field in fields(kind) if field.name in table.c}


def to_row(table: Table, record: Any, **computed: Any) -> dict[str, Any]:
    """A record as a row; `computed` are the columns that no field has."""
    values = {field.name: getattr(record, field.name) for field in fields(record) if field.name in table.c}
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in values.items()} | computed
