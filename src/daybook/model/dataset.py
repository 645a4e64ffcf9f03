"""Datasets: the versioned schema of a main table and where it may be found."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

from daybook.model.base import Declaration, Id, Text
from daybook.model.types import ColumnType, parse_type


def _as_type(value: Any) -> ColumnType:
    return parse_type(value) if isinstance(value, str) else value


TypeField = Annotated[
    ColumnType,
    BeforeValidator(_as_type),
    PlainSerializer(str),
    WithJsonSchema({"type": "string", "pattern": r"^(string|integer|decimal(\(\d+,\s*\d+\))?|float|boolean|date|timestamp)$"}),
]

TemporalMode = Literal["period", "bitemporal", "snapshot"]
FileFormat = Literal["delta", "parquet", "csv", "json"]


class ColumnDef(Declaration):
    name: Text
    type: TypeField
    nullable: bool = True
    description: str | None = None


class PathLocation(Declaration):
    """A file or folder named where it is used."""

    path: Text
    format: FileFormat | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    data_level: str | None = None


class TableLocation(Declaration):
    """A table of a data source."""

    datasource_id: Id
    table: Text
    schema_name: str | None = Field(default=None, alias="schema")
    data_level: str | None = None


class MainTable(Declaration):
    name: Text
    temporal_mode: TemporalMode | None = None
    columns: tuple[ColumnDef, ...] = Field(min_length=1)
    location: PathLocation | TableLocation | None = None


class Dataset(Declaration):
    id: Id
    name: Text
    description: str | None = None
    natural_key_columns: tuple[Text, ...] = ()
    resolver_id: Id | None = None
    main_table: MainTable


class DatasetRef(Declaration):
    dataset_id: Id
    dataset_version: int | None = Field(default=None, ge=1)
