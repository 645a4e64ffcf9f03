"""The page of all files users write, from their schemas."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import TypeAdapter

from daybook.model.definition import DEFINITION_KINDS
from daybook.model.formats import FORMATS, FormatOption, file_formats
from daybook.model.serialization import json_schemas
from daybook.scenarios.scenario import DATASET_KEYS, REQUIRED_KEYS, SCENARIO_KEYS, ScenarioHeader
from tools.reference.markdown import page, table

Schema = Mapping[str, Any]
Row = tuple[str, str, str]

_HEAD = """# Files

A workspace is a folder with a `daybook.yaml`. Definitions are YAML 1.2 or JSON files below it, each document with one
top-level key: `dataset`, `datasource`, `resolver`, `calendar` or `project`. Hidden folders, folders whose name begins
with `_`, `tests/`, `schemas/`, the sandbox and the folders of data sources are skipped.

An unknown key, a key written twice, an alias or a custom tag is an error that names file, line and column.
Ids match `[A-Za-z0-9][A-Za-z0-9._-]{0,127}`. `daybook schema` writes JSON Schemas, with which editors complete and
check while you type.

| type of column | holds |
|---|---|
| `string` | text |
| `integer` | whole numbers of 64 bits |
| `decimal(p,s)` | exact numbers of p digits, s of them after the point; `decimal` alone is `decimal(38,10)` |
| `float` | binary floating point, not for money |
| `boolean` | true and false |
| `date` | days |
| `timestamp` | moments in UTC, to the microsecond |

Text in paths may contain `{{YYYY}}`, `{{MM}}`, `{{DD}}`, `{{QQ}}`, `{{identifier}}` and `{{table_name}}`.

**Bold** keys are required."""

_SCENARIO = """## Scenario

A test with input rows, a project, and expected rows. `daybook test` runs the files below `tests/scenarios`.
Numbers are read as decimals from their text.
"""

_GIVEN_DATASET = """### GivenDataset

A dataset of a scenario, with its rows.
"""

_SCENARIO_TYPES = {
    "datasets": "list of [GivenDataset](#givendataset)",
    "project": "[Project](#project)",
    "build": "list of text",
    "dataset": "[Dataset](#dataset)",
    "rows": "list of mapping",
    "file": "text",
}

# Second names of seq and arguments, where both stand.
_SECOND_NAMES = {"order": "seq", "parameters": "arguments"}

_FORMATS = """## Formats

The `options` of a data source, of the inline location of a dataset and of an output. Options of a data source
apply to all its
tables. Without `format`, the format of an inline path is derived from its extension.
"""

_TITLES = {"workspace": "daybook.yaml", "datasource": "Data source"}


def files_page() -> str:
    return page(_lines())


def _lines() -> Iterator[str]:
    yield f"{_HEAD}\n"
    found = json_schemas()
    workspace = found["workspace.schema.json"]
    yield "## daybook.yaml\n"
    yield from _keys(workspace, workspace["$defs"])
    shown: set[str] = set()
    yield from _reached(workspace, workspace["$defs"], shown)
    for kind in DEFINITION_KINDS:
        schema = found[f"{kind}.schema.json"]
        yield f"## {_TITLES.get(kind, kind.capitalize())}\n"
        yield f"{schema['description']}\n"
        body = schema["properties"][kind]
        if "$ref" in body:
            model = schema["$defs"][_name(body)]
            yield from _keys(model, schema["$defs"])
            shown.add(_name(body))
            yield from _reached(model, schema["$defs"], shown)
        else:
            yield from _reached(body, schema["$defs"], shown)
    yield from _formats()
    scenario = TypeAdapter(ScenarioHeader).json_schema()
    yield _SCENARIO
    *frame, expect = _rows(scenario, scenario["$defs"])
    yield from _table([*frame, *_scenario_rows(SCENARIO_KEYS, required=set(REQUIRED_KEYS)), expect])
    yield _GIVEN_DATASET
    yield from _table(_scenario_rows(DATASET_KEYS, required={"dataset"}))
    yield from _reached(scenario, scenario["$defs"], shown)


def _formats() -> Iterator[str]:
    yield _FORMATS
    rows = []
    for format_ in file_formats():
        options = FORMATS[format_].options
        extensions = ", ".join(f"`.{extension}`" for extension in FORMATS[format_].extensions)
        rows.append((f"`{format_}`", extensions, "those below" if options else "none"))
    yield from table(("format", "extensions", "options"), rows)
    for format_ in file_formats():
        if options := FORMATS[format_].options:
            yield f"### Options of {format_}\n"
            described = ((f"`{option.name}`", option.kind, _default(option), option.meaning) for option in options)
            yield from table(("option", "takes", "default", "meaning"), described)


def _default(option: FormatOption) -> str:
    return "none" if option.default is None else f"`{json.dumps(option.default)}`"


def _reached(schema: Schema, definitions: Schema, shown: set[str]) -> Iterator[str]:
    """Everything a schema refers to, each once, what is nearer first."""
    waiting = list(_references(schema))
    while waiting:
        name = waiting.pop(0)
        if name in shown:
            continue
        shown.add(name)
        model = definitions[name]
        yield f"### {name}\n"
        yield f"{model['description']}\n"
        yield from _keys(model, definitions)
        waiting = [*_references(model), *waiting]


def _references(schema: Any) -> Iterator[str]:
    match schema:
        case {"$ref": str()}:
            yield _name(schema)
        case dict():
            for key, value in schema.items():
                if key not in ("$defs", "discriminator") and _SECOND_NAMES.get(key) not in schema:
                    yield from _references(value)
        case list():
            for value in schema:
                yield from _references(value)
        case _:
            pass


def _keys(model: Schema, definitions: Schema) -> Iterator[str]:
    yield from _table(_rows(model, definitions))


def _table(rows: Iterable[Row]) -> Iterator[str]:
    yield from table(("key", "type", "meaning"), rows)


def _rows(model: Schema, definitions: Schema) -> Iterator[Row]:
    required, properties = set(model.get("required", ())), model["properties"]
    for key, value in properties.items():
        if _SECOND_NAMES.get(key) not in properties:
            yield _key(key, required), _type(value), _meaning(key, value, definitions)


def _scenario_rows(keys: Mapping[str, str], required: set[str]) -> Iterator[Row]:
    for key, meaning in keys.items():
        yield _key(key, required), _SCENARIO_TYPES[key], meaning


def _key(key: str, required: set[str]) -> str:
    return f"**`{key}`**" if key in required else f"`{key}`"


def _meaning(key: str, value: Schema, definitions: Schema) -> str:
    text = _said(value, definitions)
    if "const" in value or (key == "type" and "enum" in value):
        text = "Says which of the forms this is."
    if key == "seq":
        text += " May be written `order`."
    if key == "arguments":
        text += " May be written `parameters`."
    if not text:
        raise LookupError(f"nobody says what {key} means")
    default = value.get("default")
    return (
        text if default in (None, [], {}, "") or isinstance(default, dict) else f"{text} Default: `{_text(default)}`."
    )


def _said(value: Schema, definitions: Schema) -> str:
    """What is said of a key, or of what it holds."""
    if "description" in value:
        return str(value["description"])
    for option in (value, *value.get("anyOf", ()), *value.get("oneOf", ())):
        if "$ref" in option:
            return str(definitions[_name(option)].get("description", ""))
    return ""


def _type(value: Schema) -> str:
    match value:
        case {"$ref": str()}:
            return f"[{_name(value)}](#{_name(value).lower()})"
        case {"const": constant}:
            return f"`{constant}`"
        case {"enum": list(options)}:
            return " or ".join(f"`{option}`" for option in options)
        case {"anyOf": list(options)} | {"oneOf": list(options)}:
            return " or ".join(dict.fromkeys(_type(option) for option in options if option.get("type") != "null"))
        case {"type": "array", "items": dict(items)}:
            return f"list of {_type(items)}"
        case {"type": "object", "additionalProperties": dict(items)}:
            return f"mapping to {_type(items)}"
        case {"type": "object", "additionalProperties": False}:
            return "[mapping](#formats)"
        case {"type": "object"}:
            return "mapping"
        case {"format": "daybook-expression"}:
            return "[expression](functions.md)"
        case {"format": "date"}:
            return "date"
        case {"type": str(name)}:
            return {"string": "text", "boolean": "true or false", "integer": "whole number"}.get(name, name)
        case _:
            return "any value"


def _name(reference: Schema) -> str:
    return str(reference["$ref"]).rpartition("/")[2]


def _text(default: object) -> str:
    return str(default).lower() if isinstance(default, bool) else str(default)
