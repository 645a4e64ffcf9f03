"""Results of use cases as JSON, for `--json`, the API and other programs; the results themselves say how they look."""

import datetime
import json
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from decimal import Decimal
from functools import cache
from pathlib import PurePath
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from daybook.errors.render import escape_json
from daybook.model.json_fields import MERGED, MergedFields
from daybook.model.types import value_text


def as_json(value: Any) -> Any:
    """Only what JSON has: objects for results, times as ISO 8601, exact numbers as text."""
    match value:
        case datetime.date():
            return value.isoformat()
        case Decimal():
            return value_text(value)
        case PurePath():
            return value.as_posix()
        case Mapping():
            shown: dict[Any, Any] = {}
            for key, item in value.items():
                shown |= as_json(item.fields) if isinstance(item, MergedFields) else {key: as_json(item)}
            return shown
        case list() | tuple():
            return [as_json(item) for item in value]
        case _ if is_dataclass(value):
            kind: Any = type(value)
            return as_json(_adapter(kind).dump_python(value, by_alias=True, warnings="error"))
        case _:
            return value


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def json_text(value: Any) -> str:
    """A result as indented JSON text that steers no terminal."""
    return escape_json(json.dumps(as_json(value), indent=2, ensure_ascii=False))


def json_line(value: Any) -> str:
    """A result as JSON on one line."""
    return escape_json(json.dumps(as_json(value), ensure_ascii=False))


class _ResultSchema(GenerateJsonSchema):
    """Every key that is always written is required, and results have no others."""

    def field_is_required(self, field: Any, total: bool) -> bool:
        return field.get("serialization_exclude_if") is None

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        described = super().dataclass_schema(schema)
        properties: dict[str, Any] = {}
        required: list[str] = []
        for name, field in described.get("properties", {}).items():
            is_merged = field.get(MERGED, False)
            properties |= field["properties"] if is_merged else {name: field}
            required += field["required"] if is_merged else [name] * (name in described.get("required", ()))
        return {**described, "properties": properties, "required": required, "additionalProperties": False}


def json_schemas(results: Iterable[Any], ref_template: str) -> tuple[dict[Any, dict[str, Any]], dict[str, Any]]:
    """The schema of each type of results, and the definitions that they refer to."""
    described, definitions = TypeAdapter.json_schemas(
        [(result, "serialization", TypeAdapter(result)) for result in results],
        ref_template=ref_template,
        schema_generator=_ResultSchema,
    )
    schemas = {result: schema for (result, _), schema in described.items()}
    return schemas, definitions.get("$defs", {})
