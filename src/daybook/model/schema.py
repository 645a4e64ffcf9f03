"""JSON Schemas of everything users write, made from the models, for editors to complete and check with."""

import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from daybook.model.definition import ADAPTERS, KINDS, Kind
from daybook.model.workspace_file import WorkspaceFile

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_TITLES: dict[Kind, str] = {
    "dataset": "A dataset: the schema of a main table and where it may be found.",
    "datasource": "A data source: a named connection to a folder of files or to a database.",
    "resolver": "A resolver: rules that turn a table and a period into places.",
    "calendar": "A calendar: how time is cut into periods.",
    "project": "A project: an input dataset, named selectors and ordered operations.",
}


def schemas() -> dict[str, dict[str, Any]]:
    """Every schema by its file name: one a kind, one for any definition, one for `daybook.yaml`."""
    bodies, shared = TypeAdapter.json_schemas([(kind, "validation", ADAPTERS[kind]) for kind in KINDS])
    definitions = shared.get("$defs", {})
    documents = {kind: _document(kind, bodies[kind, "validation"]) for kind in KINDS}
    found = {
        f"{kind}.schema.json": {"$schema": DIALECT, **document, "$defs": _needed(document, definitions)}
        for kind, document in documents.items()
    }
    found["definition.schema.json"] = {
        "$schema": DIALECT,
        "title": "Daybook definition",
        "description": "A document with one definition.",
        "oneOf": list(documents.values()),
        "$defs": dict(sorted(definitions.items())),
    }
    workspace = TypeAdapter(WorkspaceFile).json_schema()
    description = "daybook.yaml: the settings of a workspace."
    found["workspace.schema.json"] = {"$schema": DIALECT, **workspace, "description": description}
    return found


def write_schemas(folder: Path) -> list[Path]:
    """Writes them all, the same bytes every time."""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for name, schema in schemas().items():
        path = folder / name
        path.write_text(as_text(schema), encoding="utf-8")
        written.append(path)
    return written


def as_text(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _document(kind: Kind, body: Any) -> dict[str, Any]:
    return {
        "title": f"Daybook {kind}",
        "description": _TITLES[kind],
        "type": "object",
        "properties": {kind: body},
        "required": [kind],
        "additionalProperties": False,
    }


def _needed(schema: Any, definitions: dict[str, Any]) -> dict[str, Any]:
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
