"""Models as canonical JSON with digests for the store, as YAML for people, and as JSON Schemas for editors."""

import hashlib
import json
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import BaseModel, TypeAdapter
from pydantic_core import from_json

from daybook.errors import DaybookError
from daybook.model.calendar import Calendar
from daybook.model.dataset import Dataset, View
from daybook.model.datasource import DataSource, Resolver
from daybook.model.definition import DEFINITION_KINDS, FOR_EACH_KINDS, MODEL_ADAPTERS, DefinitionKind
from daybook.model.project import Project
from daybook.model.settings import WorkspaceSettings

# Words that YAML 1.1 or 1.2 reads as something else, and texts that need no quotes otherwise.
_AMBIGUOUS_WORDS = frozenset({"", "~", "null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_PLAIN_SCALAR = re.compile(r"[A-Za-z_][A-Za-z0-9_ ./()-]*(?<! )")


def to_canonical(model: BaseModel) -> dict[str, Any]:
    """The model as JSON-able values under the keys users write; what was left out stays out."""
    return {key: _to_jsonable(value) for key, value in model.model_dump(by_alias=True, exclude_defaults=True).items()}


def from_canonical(kind: DefinitionKind, data: dict[str, Any]) -> Any:
    """The model that `canonical` was made of."""
    return MODEL_ADAPTERS[kind].validate_python(frozen(data))


def to_yaml(kind: DefinitionKind, model: BaseModel) -> str:
    """A document that loads again as the same definition."""
    return "\n".join(_yaml_lines({kind: to_canonical(model)}, 0)) + "\n"


def _to_jsonable(value: Any) -> Any:
    match value:
        case dict():
            return {str(key): _to_jsonable(item) for key, item in value.items()}
        case list() | tuple():
            return [_to_jsonable(item) for item in value]
        case None | bool() | int() | str():
            return value
        case Decimal():
            return format(value, "f")
        case _:
            return str(value)


def frozen(value: Any) -> Any:
    """Lists as the tuples that declarations are strict about."""
    match value:
        case dict():
            return {key: frozen(item) for key, item in value.items()}
        case list() | tuple():
            return tuple(frozen(item) for item in value)
        case _:
            return value


def _yaml_lines(value: Any, depth: int) -> list[str]:
    """A non-empty collection in block style."""
    indent = "  " * depth
    lines: list[str] = []
    items = value.items() if isinstance(value, dict) else ((None, item) for item in value)
    for key, item in items:
        lead = f"{indent}{_yaml_key(key)}:" if key is not None else f"{indent}-"
        if not isinstance(item, dict | list) or not item:
            lines.append(f"{lead} {_yaml_scalar(item)}")
        elif key is None:
            first, *rest = _yaml_lines(item, depth + 1)
            lines += [f"{lead} {first.lstrip()}", *rest]
        else:
            lines += [lead, *_yaml_lines(item, depth + 1)]
    return lines


def _yaml_key(key: str) -> str:
    """`on` has no quotes, as is usual; YAML 1.2 reads it as text."""
    return key if key == "on" else _yaml_scalar(key)


def _yaml_scalar(value: Any) -> str:
    if isinstance(value, str) and value.lower() not in _AMBIGUOUS_WORDS and _PLAIN_SCALAR.fullmatch(value):
        return value
    return json.dumps(value, ensure_ascii=False)


JSON_SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema"

_SCHEMA_DESCRIPTIONS: dict[DefinitionKind, str] = {
    "dataset": "A dataset: the schema of a main table and its location.",
    "datasource": "A data source: a named connection to a folder of files or to a database.",
    "resolver": "A resolver: rules that map a table and a period to locations.",
    "calendar": "A calendar: how time is divided into periods.",
    "project": "A project: an input dataset, named selectors and expressions, parameters and ordered operations.",
}


def json_schemas() -> dict[str, dict[str, Any]]:
    """Every schema by its file name: one a kind, one for any definition, one for `daybook.yaml`."""
    bodies, shared = TypeAdapter.json_schemas([(kind, "validation", MODEL_ADAPTERS[kind]) for kind in DEFINITION_KINDS])
    made_for_many = [bodies[kind, "validation"] for kind in DEFINITION_KINDS if kind in FOR_EACH_KINDS]
    definitions = shared.get("$defs", {})
    definitions |= _with_for_each(_reachable_definitions(made_for_many, definitions))
    documents = {kind: _document_schema(kind, bodies[kind, "validation"]) for kind in DEFINITION_KINDS}
    schemas = {
        f"{kind}.schema.json": {
            "$schema": JSON_SCHEMA_DIALECT,
            **document,
            "$defs": _reachable_definitions(document, definitions),
        }
        for kind, document in documents.items()
    }
    schemas["definition.schema.json"] = {
        "$schema": JSON_SCHEMA_DIALECT,
        "title": "Daybook definition",
        "description": "A document with one definition.",
        "oneOf": list(documents.values()),
        "$defs": _reachable_definitions(list(documents.values()), definitions),
    }
    workspace = TypeAdapter(WorkspaceSettings).json_schema()
    description = "daybook.yaml: the settings of a workspace."
    schemas["workspace.schema.json"] = {"$schema": JSON_SCHEMA_DIALECT, **workspace, "description": description}
    return schemas


# What a definition for many has beside its keys.
_FOR_EACH_MODELS = ("Project", "Dataset", "View", "Resolver")
_FOR_EACH_VALUE = {"type": ["string", "number"]}
_FOR_EACH_SCHEMA = {
    "description": "The elements that the definition is made for: a list of mappings with the same names, or one name "
    "with a list. ${name} stands for a value.",
    "oneOf": [
        {
            "type": "array",
            "minItems": 1,
            "items": {"type": "object", "minProperties": 1, "additionalProperties": _FOR_EACH_VALUE},
        },
        {
            "type": "object",
            "minProperties": 1,
            "maxProperties": 1,
            "additionalProperties": {"type": "array", "minItems": 1, "items": _FOR_EACH_VALUE},
        },
    ],
}


def _with_for_each(definitions: dict[str, Any]) -> dict[str, Any]:
    """The schemas with `for_each`, and with patterns that accept a text with ${name}."""
    accepting: dict[str, Any] = {name: _accepting_names(schema) for name, schema in definitions.items()}
    for name in _FOR_EACH_MODELS:
        properties = {"for_each": _FOR_EACH_SCHEMA, **accepting[name]["properties"]}
        accepting[name] = {**accepting[name], "properties": properties}
    return accepting


def _accepting_names(schema: Any) -> Any:
    match schema:
        case {"pattern": str(pattern), **rest}:
            return {"pattern": rf"{pattern}|\$\{{\w+\}}", **_accepting_names(rest)}
        case dict():
            return {key: _accepting_names(value) for key, value in schema.items()}
        case list():
            return [_accepting_names(item) for item in schema]
        case _:
            return schema


def write_schemas(folder: Path) -> list[Path]:
    """Writes them all, the same bytes every time."""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for name, schema in json_schemas().items():
        path = folder / name
        path.write_text(schema_text(schema), encoding="utf-8")
        written.append(path)
    return written


def schema_text(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _document_schema(kind: DefinitionKind, body: Any) -> dict[str, Any]:
    return {
        "title": f"Daybook {kind}",
        "description": _SCHEMA_DESCRIPTIONS[kind],
        "type": "object",
        "properties": {kind: body},
        "required": [kind],
        "additionalProperties": False,
    }


def _reachable_definitions(schema: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """The definitions a schema reaches."""
    needed: dict[str, Any] = {}
    waiting = [schema]
    while waiting:
        match waiting.pop():
            case {"$ref": str(reference), **rest}:
                name = reference.rpartition("/")[2]
                if name not in needed:
                    needed[name] = definitions[name]
                    waiting.append(definitions[name])
                waiting.append(rest)
            case dict() as mapping:
                waiting += mapping.values()
            case list() as items:
                waiting += items
            case _:
                pass
    return dict(sorted(needed.items()))


DefinitionModel: TypeAlias = Dataset | View | DataSource | Resolver | Calendar | Project


def stored_json(text: str) -> Any:
    """The value of a JSON text in the store; STORE_041 when it is not what was written."""
    # A close reads thousands of them, and this takes half the time of `json.loads`, which takes a little more.
    with suppress(ValueError):
        return from_json(text)
    try:
        return json.loads(text)
    except ValueError as damage:
        reason = f"a stored text is not valid JSON ({damage})"
        raise DaybookError("STORE_041", place="the address in daybook.yaml", reason=reason) from damage


@dataclass(frozen=True, slots=True)
class DefinitionText:
    """`structure_digest` leaves out what is only said about a definition: names, descriptions, accepted warnings."""

    body: str
    text_digest: str
    structure_digest: str


def encode_filled(kind: DefinitionKind, written: DefinitionModel, filled: DefinitionModel) -> DefinitionText:
    """The text of what is stored, under the digests of what the file says."""
    return replace(encode_definition(kind, written), body=encode_definition(kind, filled).body)


def encode_definition(kind: DefinitionKind, model: DefinitionModel) -> DefinitionText:
    content = to_canonical(model)
    body = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return DefinitionText(body, _digest(content), _digest(structural_content(kind, content)))


@lru_cache(maxsize=4096)
def decode_definition(kind: DefinitionKind, body: str) -> Any:
    """A model is immutable, so that of a text is made once."""
    return from_canonical(kind, stored_json(body))


def structural_content(kind: DefinitionKind, content: dict[str, Any]) -> dict[str, Any]:
    """What makes a version when it changes."""
    bare: dict[str, Any] = _without_descriptions({key: value for key, value in content.items() if key != "name"})
    if kind == "dataset":
        # How changes are detected and which warnings are shown does not change what is read.
        bare.pop("freshness", None)
        bare.pop("accept", None)
    if kind == "project":
        bare["operations"] = [
            {key: value for key, value in operation.items() if key not in ("name", "accept")}
            for operation in bare["operations"]
        ]
        if "parameters" in bare:
            bare["parameters"] = {
                name: _without_descriptions(parameter) for name, parameter in bare["parameters"].items()
            }
    return bare


# Free-form maps of the user, in which `description` is a value like any other.
_FREE_FORM_FIELDS = frozenset(
    {"options", "selectors", "expressions", "parameters", "params", "headers", "resolver_overrides"}
)


def _without_descriptions(value: Any) -> Any:
    match value:
        case dict():
            return {
                key: item if key in _FREE_FORM_FIELDS or _is_column_map(key, item) else _without_descriptions(item)
                for key, item in value.items()
                if key != "description"
            }
        case list():
            return [_without_descriptions(item) for item in value]
        case _:
            return value


def _is_column_map(key: str, value: Any) -> bool:
    """Whether the keys are names of columns, of which one may be called `description`."""
    return key == "columns" and isinstance(value, dict)


def _digest(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
