"""The published JSON Schemas: current, true to the loader on everything that needs no second field."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from daybook.definitions.loading import compose_documents
from daybook.model.serialization import json_schemas, schema_text
from daybook.model.source_map import DocumentNode, MappingNode, plain_value
from tests.golden.loader_cases import Case, cases

PUBLISHED = Path(__file__).parents[3] / "schemas"

# Codes for what one field alone gets wrong; everything else compares fields, names or files.
OF_ONE_FIELD = {
    "MODEL_020",
    "MODEL_021",
    "MODEL_022",
    "MODEL_023",
    "MODEL_024",
    "MODEL_025",
    "MODEL_026",
    "MODEL_027",
    "MODEL_029",
    "MODEL_040",
    "MODEL_052",
    "UPDATE_001",
    "UPDATE_002",
    "AGGREGATE_001",
    "AGGREGATE_002",
    "APPEND_010",
    "OUTPUT_003",
    "OUTPUT_010",
    "DELETE_001",
    "PROJECT_001",
    "PROJECT_007",
    "PROJECT_010",
    "PROJECT_012",
}
KINDS = ("dataset", "datasource", "resolver", "calendar", "project")


@cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    schema = json_schemas()[name]
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def documents(case: Case) -> list[MappingNode]:
    """The documents of a case that have a kind."""
    found = compose_documents(case.text, case.file).documents
    return [node for node in found if isinstance(node, MappingNode) and len(node.entries) == 1 and kind(node)]


def kind(node: DocumentNode) -> str | None:
    return next((key for key in KINDS if isinstance(node, MappingNode) and key in node.entries), None)


def as_json(node: DocumentNode) -> Any:
    """The document as an editor sees it: numbers where text is meant are the loader's kindness alone."""
    return json.loads(json.dumps(plain_value(node), default=float))


def has_number_for_text(case: Case) -> bool:
    return "identifier: 2026," in case.text


CASES = list(cases())
GOOD = [case for case in CASES if not case.expected and documents(case) and not has_number_for_text(case)]
BAD = [
    case
    for case in CASES
    if case.expected and {code for code, _, _ in case.expected} <= OF_ONE_FIELD and len(documents(case)) == 1
]


@pytest.mark.parametrize("case", GOOD, ids=lambda case: case.title)
def test_good_definitions_are_accepted(case: Case) -> None:
    for document in documents(case):
        for name in (f"{kind(document)}.schema.json", "definition.schema.json"):
            assert [error.message for error in validator(name).iter_errors(as_json(document))] == []


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.title)
def test_bad_definitions_are_refused(case: Case) -> None:
    (document,) = documents(case)
    assert not validator(f"{kind(document)}.schema.json").is_valid(as_json(document))
    assert not validator("definition.schema.json").is_valid(as_json(document))


def test_there_are_cases_of_both_sorts() -> None:
    assert len(GOOD) >= 8
    assert len(BAD) >= 20
    assert {code for case in BAD for code, _, _ in case.expected} >= {"UPDATE_001", "OUTPUT_003", "MODEL_020"}


@pytest.mark.parametrize(
    ("settings", "is_valid"),
    [
        ({"name": "a"}, True),
        ({"name": "a", "store": "sqlite:///x.db", "engine": {"master": "local[*]", "conf": {"a": 1}}}, True),
        ({"name": "a", "retention": {"runs": "90d", "versions": 24}, "sandbox": "sandbox"}, True),
        ({}, False),
        ({"name": "a", "retention": {"runs": "90"}}, False),
        ({"name": "a", "unknown": 1}, False),
    ],
)
def test_the_settings_of_a_workspace(settings: dict[str, Any], is_valid: bool) -> None:
    assert validator("workspace.schema.json").is_valid(settings) is is_valid


def test_what_is_published_is_current() -> None:
    published = {path.name: path.read_text(encoding="utf-8") for path in PUBLISHED.glob("*.json")}
    current = {name: schema_text(schema) for name, schema in json_schemas().items()}
    assert published == current, "run `daybook schema` and commit the result"


def test_every_field_of_an_operation_says_what_it_is() -> None:
    defined = json_schemas()["project.schema.json"]["$defs"]
    for name in ("UpdateOperation", "OutputArguments", "RuntimeJoin", "Assignment", "Aggregation"):
        properties = defined[name]["properties"]
        silent = [key for key, value in properties.items() if "description" not in value and "$ref" not in value]
        assert set(silent) <= {"type", "description", "joins", "assignments"}, name
