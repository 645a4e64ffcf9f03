"""Every answer of the API and its description: the files in `tests/golden/api` have them, byte for byte."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.page import RUN, client, page_folder, record_run
from tests.printed_json import Stable, check_golden
from tests.written_runs import write_run

_SHOWN_BY_TOOLS = ("title", "description", "format", "default")


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
    """Names of components do not count, nor what only tools show; what is named by another is written in its place."""
    description = client(page_folder(tmp_path), allows_actions=True).get("/api/v1/openapi.json").json()
    schemas = description["components"]["schemas"]
    paths = {
        f"{method} {path}": _plain(operation, schemas)
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    }
    check_golden("openapi", {"paths": json.dumps(paths, indent=1, ensure_ascii=False) + "\n"})


def _plain(value: Any, schemas: dict[str, Any]) -> Any:
    match value:
        case {"$ref": str(reference)}:
            return _plain(schemas[reference.rpartition("/")[2]], schemas)
        case {"properties": dict(properties)}:
            fields = {name: _plain(schema, schemas) for name, schema in properties.items()}
            rest = {name: item for name, item in value.items() if name not in ("properties", *_SHOWN_BY_TOOLS)}
            return {**rest, "properties": fields, "required": sorted(value.get("required", ()))}
        case dict():
            return {name: _plain(item, schemas) for name, item in value.items() if name not in _SHOWN_BY_TOOLS}
        case list():
            return [_plain(item, schemas) for item in value]
        case _:
            return value
