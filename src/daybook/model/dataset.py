"""Datasets: the versioned schema of a main table and where it may be found."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Field, PlainSerializer, Tag, WithJsonSchema, model_validator

from daybook.model.base import MAX_NUMBER, Declaration, Id, Named, Text
from daybook.model.column_names import PERIOD, case_findings, name_problem
from daybook.model.findings import Finding, checked_by, finding, refuse, repeated
from daybook.model.formats import FileFormat, options_schema
from daybook.model.suggestion import nearest
from daybook.model.system_columns import RESERVED
from daybook.model.tags import by_shape
from daybook.model.types import TYPE_NAMES, ColumnType, parse_type

# What other systems call our types.
_ELSEWHERE = {
    **dict.fromkeys(("str", "text", "varchar", "char", "uuid"), "string"),
    **dict.fromkeys(("int", "int64", "long", "bigint", "smallint"), "integer"),
    **dict.fromkeys(("numeric", "number", "money"), "decimal"),
    **dict.fromkeys(("double", "real", "float64"), "float"),
    **dict.fromkeys(("datetime", "timestamptz", "time"), "timestamp"),
    "bool": "boolean",
}


def _as_type(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return parse_type(value)
    except ValueError:
        if value.startswith("decimal("):
            refuse([finding("MODEL_041", type=value)])
        meant = _ELSEWHERE.get(value.casefold()) or nearest(value, TYPE_NAMES)
        refuse([finding("MODEL_040", hint=f"did you mean {meant}?" if meant else None, type=value)])


TypeField = Annotated[
    ColumnType,
    BeforeValidator(_as_type),
    PlainSerializer(str),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": r"^(string|integer|decimal(\(\s*\d{1,2}\s*,\s*\d{1,2}\s*\))?|float|boolean|date|timestamp)$",
            "description": "string, integer (64 bit), decimal, decimal(p,s), float, boolean, date or timestamp.",
            "examples": ["string", "integer", "decimal(18,2)", "boolean", "date", "timestamp"],
        }
    ),
]

TemporalMode = Literal["period", "bitemporal", "snapshot"]


def _is_column_name(name: str) -> Iterator[Finding]:
    if reason := name_problem(name):
        yield finding("MODEL_045", name=name, reason=reason)
    elif name in RESERVED:
        yield finding("MODEL_044", name=name)


def is_table_name(name: str) -> Iterator[Finding]:
    """What keeps expressions from calling a table by this name."""
    if reason := name_problem(name):
        yield finding("MODEL_048", name=name, reason=reason)
    elif name.casefold() == PERIOD:
        yield finding("MODEL_048", name=name, reason="expressions find the run's period under this name")


class ColumnDef(Declaration):
    """A column of a main table."""

    name: Annotated[Text, checked_by(_is_column_name)] = Field(description="Case-sensitive name of the column.")
    type: TypeField
    nullable: bool = Field(default=True, description="Whether NULL may be loaded; checked when data is read.")
    description: str | None = Field(default=None, description="A note for people.")


def _has_distinct_columns(columns: tuple[ColumnDef, ...]) -> Iterator[Finding]:
    names = [column.name for column in columns]
    for index, name in repeated(names):
        yield finding("MODEL_042", index, "name", name=name)
    yield from case_findings(names, "name")


class PathLocation(Declaration):
    """A file or folder named where it is used."""

    path: Text = Field(
        description="A path relative to the workspace, an absolute one, or a URI; templates are allowed."
    )
    format: FileFormat | None = Field(default=None, description="Read off the path's extension when left out.")
    options: dict[str, Any] = Field(
        default_factory=dict, json_schema_extra=options_schema, description="Options of the format."
    )
    data_level: str | None = Field(default=None, description="The calendar level one file holds.")


class TableLocation(Declaration):
    """A table of a data source."""

    datasource_id: Id = Field(description="The id of a data source.")
    table: Text = Field(description="The table's name, or the folder below the data source.")
    schema_name: str | None = Field(default=None, alias="schema", description="The database schema.")
    data_level: str | None = Field(default=None, description="The calendar level one table holds.")


def path_of_text(value: Any) -> Any:
    """A bare path string is read as `{path: ...}`."""
    return {"path": value} if isinstance(value, str) else value


def _one_form(value: Any) -> Any:
    value = path_of_text(value)
    if isinstance(value, dict):
        has_path, has_table = "path" in value, "datasource_id" in value or "table" in value
        if has_path and has_table:
            refuse([finding("MODEL_050", reason="a path and a table are given at once")])
        if not has_path and not has_table:
            refuse([finding("MODEL_050", reason="neither a path nor a table is given")])
    return value


Location: TypeAlias = Annotated[
    Annotated[PathLocation, Tag("<path>")] | Annotated[TableLocation, Tag("<table>")],
    by_shape({"path": "<path>", "datasource_id": "<table>", "table": "<table>"}),
    BeforeValidator(_one_form, json_schema_input_type=str | PathLocation | TableLocation),
]


class MainTable(Declaration):
    """The table a dataset is about."""

    name: Annotated[Text, checked_by(is_table_name)] = Field(description="The qualifier in expressions: orders.amount.")
    temporal_mode: TemporalMode | None = Field(
        default=None, description="How rows are picked by time: by _period, by validity, or not at all."
    )
    columns: Annotated[tuple[ColumnDef, ...], checked_by(_has_distinct_columns)] = Field(
        min_length=1, description="The columns, system columns left out."
    )
    location: Location | None = Field(default=None, description="Where the data is, instead of a resolver.")


class Dataset(Named):
    natural_key_columns: tuple[Text, ...] = Field(default=(), description="Columns that together identify a row.")
    resolver_id: Id | None = Field(default=None, description="The resolver that finds the data.")
    main_table: MainTable = Field(description="The table: its name, its columns, where its rows are.")

    @model_validator(mode="after")
    def _check(self) -> "Dataset":
        refuse(self._findings())
        return self

    def _findings(self) -> Iterator[Finding]:
        names = {column.name for column in self.main_table.columns}
        for index, column in repeated(self.natural_key_columns):
            yield finding("MODEL_046", "natural_key_columns", index, column=column)
        for index, column in enumerate(self.natural_key_columns):
            if column not in names:
                yield finding("MODEL_047", "natural_key_columns", index, column=column)
        if self.resolver_id is not None and self.main_table.location is not None:
            yield finding("MODEL_049", "resolver_id")


class DatasetRef(Declaration):
    """A dataset, at its latest version or at one of them."""

    dataset_id: Id = Field(description="The id of a dataset.")
    dataset_version: int | None = Field(
        default=None, ge=1, le=MAX_NUMBER, description="Pins a version; left out, the latest active one is read."
    )
