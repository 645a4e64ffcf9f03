"""How fields of results stand in JSON.

Results are frozen dataclasses; pydantic writes them as JSON and describes them in OpenAPI. Fields stand under their
names unless these annotations say otherwise.
"""

import datetime
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, TypeVar, cast

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, SerializerFunctionWrapHandler
from pydantic.fields import FieldInfo
from pydantic_core import core_schema

from daybook.errors import DaybookError, Notice
from daybook.errors.render import Finding, findings_of
from daybook.model.calendar import Period
from daybook.model.types import Value, value_text

_Field = TypeVar("_Field")
MERGED = "x-merged"


@dataclass(frozen=True, slots=True)
class ShownAs:
    """In JSON, the value is what the function makes of it; `type` is the type of that."""

    function: Callable[[Any], Any]
    type: Any

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        serialization = core_schema.plain_serializer_function_ser_schema(
            self.function, return_schema=handler.generate_schema(self.type)
        )
        return core_schema.any_schema(serialization=serialization)


class MergedFields:
    """Fields of a value that stand among those of the value around it; no dataclass, as pydantic would open it."""

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.fields = fields


def _merge(value: Any, handler: SerializerFunctionWrapHandler) -> MergedFields:
    return MergedFields({} if value is None else handler(value))


class _Merge:
    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        serialization = core_schema.wrap_serializer_function_ser_schema(_merge, schema=handler(source))
        return core_schema.any_schema(serialization=serialization)

    def __get_pydantic_json_schema__(self, schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        described = handler(schema["serialization"]["schema"])
        is_optional = "anyOf" in described
        fields = handler.resolve_ref_schema(described["anyOf"][0] if is_optional else described)
        return {**fields, MERGED: True, "required": [] if is_optional else fields.get("required", [])}


def _unchanged(value: Any) -> Any:
    return value


class _Described:
    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        schema: Any = handler(source)
        schema["serialization"] = core_schema.plain_serializer_function_ser_schema(_unchanged)
        return cast(core_schema.CoreSchema, schema)


class _Anything:
    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.any_schema()


def named(name: str) -> FieldInfo:
    """The key of a field in JSON."""
    field: FieldInfo = Field(serialization_alias=name)
    return field


def _is_empty(value: Any) -> bool:
    return not value


def is_none(value: Any) -> bool:
    return value is None


# Is in JSON as it is; the type only describes it.
DescribedAs = Annotated[_Field, _Described()]
# Not in JSON.
Hidden = Annotated[_Field, _Anything(), Field(exclude=True)]
# The fields of the value stand in the place of the field; none if it is None.
Merged = Annotated[_Field, _Merge()]
# The key is missing where the value is empty, or None.
UnlessEmpty = Annotated[_Field, Field(exclude_if=_is_empty)]
UnlessNone = Annotated[_Field, Field(exclude_if=is_none)]


def _texts_of_numbers(values: Mapping[str, Value] | None) -> dict[str, Any] | None:
    return None if values is None else {name: number_text(value) for name, value in values.items()}


def number_text(value: Any) -> Any:
    """A number as exact text; every other value as it is."""
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return value_text(value) if is_number else value


def _exact(value: Any) -> Any:
    return value_text(value) if isinstance(value, Decimal | datetime.date) else value


def exact_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Decimals and times as texts."""
    return {name: _exact(value) for name, value in row.items()}


def _exact_rows(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [exact_row(row) for row in rows]


def as_objects(*names: str) -> ShownAs:
    """Tuples as objects with these keys."""

    def show(pairs: Iterable[tuple[Any, ...]]) -> list[dict[str, Any]]:
        return [dict(zip(names, pair, strict=True)) for pair in pairs]

    return ShownAs(show, list[dict[str, Any]])


# A number as exact text, so that no reader of JSON rounds it.
ExactNumber = Annotated[int | Decimal | float, ShownAs(value_text, str)]
OptionalExactNumber = Annotated[int | Decimal | float | None, ShownAs(number_text, str | None)]
OptionalExactAmount = Annotated[Decimal | int | None, ShownAs(number_text, str | None)]
# Values by column, numbers among them as exact texts.
ExactValues = Annotated[Mapping[str, Value], ShownAs(_texts_of_numbers, dict[str, Any])]
OptionalExactValues = Annotated[Mapping[str, Value] | None, ShownAs(_texts_of_numbers, dict[str, Any] | None)]

# Rows by column, with decimals and times as texts.
ExactRow = Annotated[Mapping[str, Any], ShownAs(exact_row, dict[str, Any])]
ExactRows = Annotated[tuple[Mapping[str, Any], ...], ShownAs(_exact_rows, list[dict[str, Any]])]


def _identifier(period: Period) -> str:
    return period.identifier


PeriodByName = Annotated[Period, ShownAs(_identifier, str)]


@dataclass(frozen=True, slots=True)
class ShownNotice:
    code: str
    message: str
    file: str | None
    line: int | None
    column: int | None
    hint: str | None


def _show_notices(notices: tuple[Notice, ...]) -> list[ShownNotice]:
    return [
        ShownNotice(
            notice.code,
            notice.message,
            notice.span.file if notice.span else None,
            notice.span.line if notice.span else None,
            notice.span.column if notice.span else None,
            notice.hint,
        )
        for notice in notices
    ]


def _messages(notices: tuple[Notice, ...]) -> list[str]:
    return [notice.message for notice in notices]


Notices = Annotated[tuple[Notice, ...], ShownAs(_show_notices, list[ShownNotice])]
NoticeMessages = Annotated[tuple[Notice, ...], ShownAs(_messages, list[str])]


def _findings_of_one(error: DaybookError) -> list[Finding]:
    return findings_of([error])


OneError = Annotated[DaybookError, ShownAs(_findings_of_one, list[Finding])]
Errors = Annotated[tuple[DaybookError, ...], ShownAs(findings_of, list[Finding])]
