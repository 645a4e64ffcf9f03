"""Typing errors in a file are reported once, with the way out."""

import pytest

from daybook.definitions.loading.definition_texts import read_definitions

PROJECT = """\
project:
  id: p
  input: {dataset_id: d}
  operations:
    - name: Leave out
      type: delete
      selector: "{{gone}}"
    - type: aggregate
      arguments:
        group_by: [region]
        aggregations: [{column: n, expression: COUNT(*)}]
"""


def findings(old: str, new: str) -> list[tuple[str, str]]:
    assert PROJECT.count(old) == 1
    errors = read_definitions(PROJECT.replace(old, new), "p.yaml")[1]
    return [(error.code, error.hint or "") for error in errors]


@pytest.mark.parametrize(
    ("old", "new", "code", "words"),
    [
        ('"{{gone}}"', "{{gone}}", "MODEL_010", "quotes around {{NAME}}"),
        ("    - type: aggregate", "   - type: aggregate", "MODEL_004", "same column"),
        ("      arguments:", "      arguments", "MODEL_004", "colon may be missing"),
        ("name: Leave out", "name: Leave out: all", "MODEL_004", "needs quotes"),
        ('"{{gone}}"', '"{{gone}}', "MODEL_004", "not closed"),
        ("group_by: [region]", "group_by: [region", "MODEL_004", "closing bracket"),
        ("group_by: [region]", "group_by: region", "MODEL_022", "write [region]"),
        ("expression: COUNT(*)", "expression: NULL", "MODEL_024", 'write "NULL" in quotes'),
        ("expression: COUNT(*)", "expression: ~", "MODEL_024", 'write "~" in quotes'),
        ("input:", "inptu:", "MODEL_020", "did you mean input?"),
        ("group_by:", "groupby:", "MODEL_020", "did you mean group_by?"),
    ],
)
def test_a_slip(old: str, new: str, code: str, words: str) -> None:
    ((found, hint),) = findings(old, new)
    assert found == code
    assert words in hint
