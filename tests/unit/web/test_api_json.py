"""Every answer of the API and its description: the files in `tests/golden/api` have them, byte for byte."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.page import RUN, client, page_folder, record_run
from tests.printed_json import Stable, check_golden
from tests.written_runs import write_run


def test_every_answer_is_its_json(tmp_path: Path) -> None:
    folder = page_folder(tmp_path)
    record_run(folder)
    written = write_run(folder, {2: pa.table({"order_id": ["O-1", None], "region": ["EMEA", None]})}, "2026-02")
    program = client(folder, allows_actions=True)
    stable = Stable(folder.root)
    addresses = {
        "status": "status?period=2026-01..2026-02",
        "graph": "graph",
        "graph-of-period": "graph?period=2026-01",
        "build-plan": "build-plan?period=2026-01..2026-02",
        "runs": "runs?limit=1",
        "run": f"runs/{RUN}",
        "outputs": f"runs/{written}/outputs",
        "rows": f'runs/{written}/outputs/2/rows?where=["region","is_null"]&sort=-order_id&sort=region',
        "definitions": "definitions",
        "definition-project": "definitions/project/p",
        "definition-dataset": "definitions/dataset/orders",
        "definition-registered": "definitions/dataset/booked",
        "difference": "definitions/project/p/difference?before=1&after=1",
        "periods": "periods?year=2026&level=quarter",
        "period": "periods/2026-01",
        "lineage": "lineage?project=p&column=amount",
        "error-code": "errors/RUN_001",
        "not-there": "runs/nothing",
        "wrong": "runs?limit=x",
    }
    answers = {name: program.get(f"/api/v1/{address}").text for name, address in addresses.items()}
    done = program.post("/api/v1/periods/2026-01/lock", json={"reason": "signed off"})
    answers |= {"lock": done.text, "actions": program.get("/api/v1/actions").text}
    check_golden("api", {name: stable.text(text) for name, text in answers.items()})


def test_the_description_names_every_field_with_its_type(tmp_path: Path) -> None:
    """Names of components do not count: what another component describes is written in its place."""
    description = client(page_folder(tmp_path), allows_actions=True).get("/api/v1/openapi.json").json()
    schemas = description["components"]["schemas"]
    described: dict[str, Any] = {}
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            parts = {"body": operation.get("requestBody", {"content": {}}), **operation["responses"]}
            described[f"{method} {path}"] = {
                "parameters": {
                    f"{each['name']}{'' if each['required'] else '?'}": _type(each["schema"], schemas)
                    for each in operation.get("parameters", ())
                },
                **{
                    name: {kind: _type(content["schema"], schemas) for kind, content in part.get("content", {}).items()}
                    for name, part in parts.items()
                },
            }
    check_golden("openapi", {"answers": json.dumps(described, indent=1, ensure_ascii=False) + "\n"})


def _type(schema: dict[str, Any], schemas: dict[str, Any]) -> str:
    """A type in one line: `{a: string, b?: integer | null}`, where `?` is a key that may be missing."""
    match schema:
        case {"$ref": str(reference)}:
            return _type(schemas[reference.rpartition("/")[2]], schemas)
        case {"anyOf": list(types)}:
            return " | ".join(_type(each, schemas) for each in types)
        case {"enum": list(values)}:
            return " | ".join(json.dumps(value) for value in values)
        case {"const": value}:
            return json.dumps(value)
        case {"type": "array", "items": dict(items)}:
            return f"[{_type(items, schemas)}]"
        case {"properties": dict(properties)}:
            required = schema.get("required", ())
            fields = [
                f"{name}{'' if name in required else '?'}: {_type(each, schemas)}" for name, each in properties.items()
            ]
            more = [] if schema.get("additionalProperties") is False else ["..."]
            return f"{{{', '.join([*fields, *more])}}}"
        case {"type": "object", "additionalProperties": dict(values)}:
            return f"{{*: {_type(values, schemas)}}}"
        case {"type": "object"}:
            return "{*: any}"
        case {"type": str(name)}:
            return name
        case _:
            return "any"
