"""Datasets and views: the versioned schema and location of a table, and the window through which a project reads it."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import BeforeValidator, Discriminator, Field, PlainSerializer, Tag, WithJsonSchema, model_validator

from daybook.errors.error import closest_match, did_you_mean
from daybook.model.declaration import (
    MAX_STORED_INTEGER,
    PERIOD_QUALIFIER,
    Declaration,
    Id,
    NamedDeclaration,
    NonEmptyText,
    Violation,
    case_violations,
    find_name_problem,
    find_repeated,
    raise_violations,
    tag_by_shape,
    validated_by,
    violation,
)
from daybook.model.formats import FileFormat, options_schema
from daybook.model.measures import ControlTotals, MeasureColumns, find_measure_problems
from daybook.model.types import RESERVED_COLUMNS, TYPE_NAMES, ColumnType, parse_type

# More periods than any close looks back on; a typing error must not list files for hours.
MAX_WINDOW_PERIODS = 1_000


class DaysAfterEnd(Declaration):
    """A day counted from the end of the period."""

    after_end: int = Field(ge=0, le=366, description="That many days after the period's last day.")


def _tag_by_key(value: Any) -> str | None:
    """A text is a name; a mapping is known by its only key."""
    if isinstance(value, str):
        return "<named>"
    key = next(iter(value), None) if isinstance(value, dict) else next(iter(type(value).model_fields), None)
    return f"<{str(key).replace('_', '')}>"


def _require_form(value: Any, names: tuple[str, ...], keys: tuple[str, ...], code: str) -> Any:
    """One of some names, or a mapping with one of some keys."""
    if isinstance(value, str) and value not in names:
        near = closest_match(value, (*names, *keys))
        raise_violations([violation(code, hint=f"did you mean {near}?" if near else None, value=value)])
    if isinstance(value, dict) and (len(value) != 1 or next(iter(value)) not in keys):
        raise_violations([violation(code, value=", ".join(map(str, value)) or "an empty mapping")])
    if not isinstance(value, str | dict | Declaration):
        raise_violations([violation(code, value=value)])
    return value


_AsOfName: TypeAlias = Literal["start", "end"]


def _require_as_of_form(value: Any) -> Any:
    return _require_form(value, get_args(_AsOfName), ("after_end",), "MODEL_082")


# The day at which bitemporal rows must be valid, seen from a period.
AsOfRule: TypeAlias = Annotated[
    Annotated[_AsOfName, Tag("<named>")] | Annotated[DaysAfterEnd, Tag("<afterend>")],
    Discriminator(_tag_by_key),
    BeforeValidator(_require_as_of_form, json_schema_input_type=_AsOfName | DaysAfterEnd),
]


def _check_offset(offset: int) -> Iterator[Violation]:
    if offset == 0:
        yield violation("MODEL_081")


class OffsetWindow(Declaration):
    """One period, counted from the run's."""

    offset: Annotated[int, validated_by(_check_offset)] = Field(
        ge=-MAX_WINDOW_PERIODS, le=MAX_WINDOW_PERIODS, description="Periods before (negative) or after the run's."
    )


class ToDateWindow(Declaration):
    """From the first period of a coarser one up to the run's."""

    to_date: NonEmptyText = Field(description="A calendar level, such as year or quarter.")


class LastWindow(Declaration):
    """The last periods, the run's included."""

    last: int = Field(ge=1, le=MAX_WINDOW_PERIODS, description="How many periods, including the run's period.")


class FirstPeriod(Declaration):
    """Where a window over all periods begins."""

    first: NonEmptyText = Field(alias="from", description="The identifier of the first period.")


class AllWindow(Declaration):
    """Every period from a first one up to the run's."""

    all: FirstPeriod = Field(description="The first period, for data that has a location for each period.")


NamedWindow: TypeAlias = Literal["previous", "same_last_year", "all"]


def _require_window_form(value: Any) -> Any:
    return _require_form(value, get_args(NamedWindow), ("offset", "to_date", "last", "all"), "MODEL_080")


Window: TypeAlias = Annotated[
    Annotated[NamedWindow, Tag("<named>")]
    | Annotated[OffsetWindow, Tag("<offset>")]
    | Annotated[ToDateWindow, Tag("<todate>")]
    | Annotated[LastWindow, Tag("<last>")]
    | Annotated[AllWindow, Tag("<all>")],
    Discriminator(_tag_by_key),
    BeforeValidator(
        _require_window_form, json_schema_input_type=NamedWindow | OffsetWindow | ToDateWindow | LastWindow | AllWindow
    ),
]

MissingPeriod: TypeAlias = Literal["error", "empty"]
RowPeriod: TypeAlias = Literal["source", "run"]


class ViewOf(Declaration):
    """Which dataset a view reads, and which of its periods."""

    of: Id = Field(description="The id of the dataset whose table is read.")
    dataset_version: int | None = Field(
        default=None, ge=1, le=MAX_STORED_INTEGER, description="Pins a version of it; by default the latest is read."
    )
    window: Window = Field(description="The periods to read, relative to the run's period.")
    missing: MissingPeriod = Field(
        default="error", description="What a period without data means: an error, or no rows."
    )
    period: RowPeriod = Field(
        default="source", description="The period of the rows: that of their source, or that of the run."
    )
    as_of: AsOfRule | None = Field(
        default=None, description="For a bitemporal table: the day on which rows must be valid."
    )


class View(NamedDeclaration):
    """A dataset without a table of its own."""

    view: ViewOf = Field(description="What is read, and through which window.")


def ends_before_run(window: Window) -> bool:
    """Whether a window never reads the run's period or a later one."""
    match window:
        case "previous" | "same_last_year":
            return True
        case OffsetWindow(offset=offset):
            return offset < 0
        case _:
            return False


def is_single_period(window: Window) -> bool:
    return window in ("previous", "same_last_year") or isinstance(window, OffsetWindow)


# What other systems call our types.
_FOREIGN_TYPE_NAMES = {
    **dict.fromkeys(("str", "text", "varchar", "char", "uuid"), "string"),
    **dict.fromkeys(("int", "int64", "long", "bigint", "smallint"), "integer"),
    **dict.fromkeys(("numeric", "number", "money"), "decimal"),
    **dict.fromkeys(("double", "real", "float64"), "float"),
    **dict.fromkeys(("datetime", "timestamptz", "time"), "timestamp"),
    "bool": "boolean",
}


def _parse_type_field(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return parse_type(value)
    except ValueError:
        if value.startswith("decimal("):
            raise_violations([violation("MODEL_041", type=value)])
        meant = _FOREIGN_TYPE_NAMES.get(value.casefold()) or closest_match(value, TYPE_NAMES)
        raise_violations([violation("MODEL_040", hint=f"did you mean {meant}?" if meant else None, type=value)])


TypeField = Annotated[
    ColumnType,
    BeforeValidator(_parse_type_field),
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


def _check_column_name(name: str) -> Iterator[Violation]:
    if reason := find_name_problem(name):
        yield violation("MODEL_045", name=name, reason=reason)
    elif name in RESERVED_COLUMNS:
        yield violation("MODEL_044", name=name)


def check_main_table_name(name: str) -> Iterator[Violation]:
    """What keeps expressions from calling a table by this name."""
    if reason := find_name_problem(name):
        yield violation("MODEL_048", name=name, reason=reason)
    elif name.casefold() == PERIOD_QUALIFIER:
        yield violation("MODEL_048", name=name, reason="expressions use this name for the period of the run")


class ColumnDef(Declaration):
    """A column of a main table."""

    name: Annotated[NonEmptyText, validated_by(_check_column_name)] = Field(
        description="Case-sensitive name of the column."
    )
    type: TypeField
    nullable: bool = Field(default=True, description="Whether NULL may be loaded; checked when data is read.")
    description: str | None = Field(default=None, description="A description.")


def _check_distinct_columns(columns: tuple[ColumnDef, ...]) -> Iterator[Violation]:
    names = [column.name for column in columns]
    for index, name in find_repeated(names):
        yield violation("MODEL_042", index, "name", name=name)
    yield from case_violations(names, "name")


class PathLocation(Declaration):
    """A file or folder named where it is used."""

    path: NonEmptyText = Field(
        description="A path relative to the workspace, an absolute one, or a URI; templates are allowed."
    )
    format: FileFormat | None = Field(
        default=None, description="The format; by default taken from the extension of the path."
    )
    options: dict[str, Any] = Field(
        default_factory=dict, json_schema_extra=options_schema, description="Options of the format."
    )
    data_level: str | None = Field(default=None, description="The calendar level of one file.")


class TableLocation(Declaration):
    """A table of a data source."""

    datasource_id: Id = Field(description="The id of a data source.")
    table: NonEmptyText = Field(description="The table's name, or the folder below the data source.")
    schema_name: str | None = Field(default=None, alias="schema", description="The database schema.")
    data_level: str | None = Field(default=None, description="The calendar level of one table.")


def path_from_text(value: Any) -> Any:
    """A bare path string is read as `{path: ...}`."""
    return {"path": value} if isinstance(value, str) else value


def find_location_problem(value: Any, *, inline: str) -> str | None:
    """Why a value is not exactly one of a table of a data source and an inline form, whose key is `inline`."""
    match value:
        case dict():
            pass
        case None | "":
            return "it is empty"
        case list() | tuple():
            return "it is a list"
        case _:
            return f"it is {value}"
    has_inline, has_source, has_table = (value.get(key) is not None for key in (inline, "datasource_id", "table"))
    if has_inline:
        return f"both a table and a {inline} are given" if has_source or has_table else None
    if not has_source and not has_table:
        return f"a table or a {inline} is missing"
    if not has_source:
        return "a table needs the datasource_id it belongs to"
    return "a datasource_id needs a table" if not has_table or value["table"] == "" else None


def _require_one_form(value: Any) -> Any:
    value = path_from_text(value)
    if value is None or isinstance(value, Declaration):
        return value
    if reason := find_location_problem(value, inline="path"):
        raise_violations([violation("MODEL_050", reason=reason)])
    return value


DeclaredLocation: TypeAlias = Annotated[
    Annotated[PathLocation, Tag("<path>")] | Annotated[TableLocation, Tag("<table>")],
    tag_by_shape({"path": "<path>", "datasource_id": "<table>", "table": "<table>"}),
    BeforeValidator(_require_one_form, json_schema_input_type=str | PathLocation | TableLocation),
]


class MainTable(Declaration):
    """The table a dataset is about."""

    name: Annotated[NonEmptyText, validated_by(check_main_table_name)] = Field(
        description="The qualifier in expressions: orders.amount."
    )
    temporal_mode: TemporalMode | None = Field(
        default=None, description="How rows are selected by time: by _period, by validity, or not at all."
    )
    columns: Annotated[tuple[ColumnDef, ...], validated_by(_check_distinct_columns)] = Field(
        min_length=1, description="The columns, without system columns."
    )
    location: DeclaredLocation | None = Field(default=None, description="Where the data is, instead of a resolver.")
    as_of: AsOfRule | None = Field(
        default=None,
        description="For a bitemporal table: the day on which rows must be valid.",
    )


class FreshnessRule(Declaration):
    """How changes of a database table are detected: by the largest value of a column and the number of rows."""

    column: NonEmptyText = Field(description="A column whose value increases with every change, such as updated_at.")


_ACCEPTABLE = ("IO_007",)


def _check_accepted(codes: Sequence[str]) -> Iterator[Violation]:
    for index, code in enumerate(codes):
        if code not in _ACCEPTABLE:
            yield violation("MODEL_096", index, hint=did_you_mean(code, _ACCEPTABLE), warning=code)


class Dataset(NamedDeclaration):
    """A dataset with a table."""

    natural_key_columns: tuple[NonEmptyText, ...] = Field(
        default=(), description="Columns that together identify a row."
    )
    on_duplicate_key: Literal["error", "warn", "allow"] | None = Field(
        default=None,
        description=(
            "What to do about rows that repeat a natural key. By default `warn` for landed "
            "data (CSV, JSON, databases) and `allow` for Parquet and Delta, where the check needs an "
            "additional pass over the data."
        ),
    )
    resolver_id: Id | None = Field(default=None, description="The resolver that finds the data.")
    freshness: FreshnessRule | None = Field(
        default=None,
        description="For tables of databases: how `daybook build` and `daybook status --ask` detect changes.",
    )
    accept: Annotated[tuple[NonEmptyText, ...], validated_by(_check_accepted)] = Field(
        default=(),
        description="Codes of warnings about reading this dataset that are accepted: they are counted, but not shown. "
        "`IO_007`: its files have columns that are not declared.",
    )
    measures: MeasureColumns = Field(
        default=(), description="Columns whose totals are followed in every project that reads or appends the rows."
    )
    control: ControlTotals | None = Field(
        default=None, description="What the sender says was sent. A run that reads something else fails."
    )
    main_table: MainTable = Field(description="The table: its name, its columns, where its rows are.")

    @model_validator(mode="after")
    def _check(self) -> "Dataset":
        raise_violations(self._findings())
        return self

    def _findings(self) -> Iterator[Violation]:
        names = {column.name for column in self.main_table.columns}
        for index, column in find_repeated(self.natural_key_columns):
            yield violation("MODEL_046", "natural_key_columns", index, column=column)
        for index, column in enumerate(self.natural_key_columns):
            if column not in names:
                yield violation("MODEL_047", "natural_key_columns", index, column=column)
        if self.on_duplicate_key is not None and not self.natural_key_columns:
            yield violation("MODEL_086", "on_duplicate_key")
        if self.resolver_id is not None and self.main_table.location is not None:
            yield violation("MODEL_049", "resolver_id")
        types = {column.name: column.type for column in self.main_table.columns}
        is_timeless = self.main_table.temporal_mode in (None, "snapshot")
        yield from find_measure_problems(self.measures, self.control, types, is_timeless=is_timeless)


class DatasetRef(Declaration):
    """A dataset, at its latest version or at one of them."""

    dataset_id: Id = Field(description="The id of a dataset.")
    dataset_version: int | None = Field(
        default=None,
        ge=1,
        le=MAX_STORED_INTEGER,
        description="Pins a version; by default the latest active one is read.",
    )
