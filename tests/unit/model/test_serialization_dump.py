"""What was loaded can be written and loaded again."""

import json

import pytest

from daybook.definitions.loading import load_text
from daybook.model.serialization import from_canonical, to_canonical, to_yaml
from tests.golden.loader_cases import Case, cases

GOOD = [case for case in cases() if not case.expected]


@pytest.mark.parametrize("case", GOOD, ids=lambda case: case.title)
def test_yaml_loads_again(case: Case) -> None:
    for definition in load_text(case.text, case.file):
        (again,) = load_text(to_yaml(definition.kind, definition.model), "again.yaml")
        assert again.model == definition.model


@pytest.mark.parametrize("case", GOOD, ids=lambda case: case.title)
def test_canonical_form_survives_json(case: Case) -> None:
    for definition in load_text(case.text, case.file):
        data = json.loads(json.dumps(to_canonical(definition.model)))
        assert data == to_canonical(definition.model)
        assert from_canonical(definition.kind, data) == definition.model


@pytest.mark.parametrize(
    "text",
    [
        "true",
        "on",
        "~",
        "",
        "12",
        "0o17",
        "1e3",
        "a: b",
        "# no",
        "'",
        '"',
        "a\nb",
        " a",
        "- x",
        "é",
        "😀",
        "{{A}}",
        "*",
    ],
)
def test_every_text_survives(text: str) -> None:
    body = {
        "project": {"name": "P", "description": text, "input": {"dataset_id": "d"}, "operations": [{"type": "delete"}]}
    }
    (definition,) = load_text(json.dumps(body), "p.json")
    (again,) = load_text(to_yaml("project", definition.model), "p.yaml")
    assert again.model.description == text
