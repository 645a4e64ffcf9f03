"""The types of values that columns of the store have beside those of SQLAlchemy."""

import datetime
import json
from typing import Any

from sqlalchemy import (
    DateTime,
    String,
    Text,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine

from daybook.model.definition import TableVersion
from daybook.model.serialization import stored_json


class UtcTimestamp(TypeDecorator[datetime.datetime]):
    """An aware UTC time: `timestamptz` on PostgreSQL, sortable text on SQLite."""

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[datetime.datetime] | TypeEngine[str]:
        if dialect.name == "sqlite":
            return dialect.type_descriptor(String(32))
        return dialect.type_descriptor(DateTime(timezone=True))

    def process_bind_param(self, value: datetime.datetime | None, dialect: Dialect) -> object:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("times in the store carry a time zone")
        utc = value.astimezone(datetime.UTC)
        return utc.isoformat(timespec="microseconds") if dialect.name == "sqlite" else utc

    def process_result_value(self, value: object, dialect: Dialect) -> datetime.datetime | None:
        match value:
            case None:
                return None
            case datetime.datetime():
                return value.astimezone(datetime.UTC)
            case str():
                return datetime.datetime.fromisoformat(value)
            case _:
                raise TypeError(f"not a time: {value!r}")


class JsonText(TypeDecorator[Any]):
    """A value as JSON text; None is NULL."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else stored_json(value)


class TableVersionText(TypeDecorator[TableVersion]):
    """A version of a table as `format:token`."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: TableVersion | None, dialect: Dialect) -> str | None:
        return None if value is None else f"{value.format}:{value.token}"

    def process_result_value(self, value: str | None, dialect: Dialect) -> TableVersion | None:
        if value is None:
            return None
        format_, _, token = value.partition(":")
        return TableVersion(format_, token)
