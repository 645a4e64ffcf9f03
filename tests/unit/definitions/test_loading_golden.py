"""Every text of tests/golden/loader gives exactly the findings marked in it, at the marked places."""

import pytest
import yaml

from daybook.definitions.loading import documents, load_text
from daybook.definitions.loading.definition_texts import read_definitions
from daybook.errors import DaybookError, flatten, render
from tests.golden.loader_cases import Case, cases

CASES = list(cases())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_findings_stand_where_they_are_marked(case: Case) -> None:
    found: list[tuple[str, int, int]] = []
    try:
        load_text(case.text, case.file)
    except DaybookError as error:
        for single in flatten(error):
            assert single.span is not None, single
            assert single.span.file == case.file
            found.append((single.code, single.span.line, single.span.column))
    assert sorted(found, key=lambda one: (one[1:], one)) == sorted(case.expected, key=lambda one: (one[1:], one))


@pytest.mark.parametrize("case", [case for case in CASES if "hunter2" in case.text], ids=lambda case: case.title)
def test_secrets_are_not_printed(case: Case) -> None:
    with pytest.raises(DaybookError) as caught:
        load_text(case.text, case.file)
    assert "hunter2" not in render(caught.value)
    assert "hunter2" not in repr([single.parameters for single in flatten(caught.value)])
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_the_parser_without_libyaml_agrees(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    definitions, errors = read_definitions(case.text, case.file)
    monkeypatch.setattr(documents, "_LOADER", yaml.SafeLoader)
    again, same_errors = read_definitions(case.text, case.file)
    assert [one.model for one in again] == [one.model for one in definitions]
    assert [(one.code, str(one.span)) for one in same_errors] == [(one.code, str(one.span)) for one in errors]
