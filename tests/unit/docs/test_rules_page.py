"""docs/reference/rules.md names every rule, with a code that exists and a test that mentions it."""

import re
from pathlib import Path

import pytest

from daybook.errors import CODES

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/reference/rules.md").read_text(encoding="utf-8")
ROW = re.compile(r"\| (?P<rule>[^|]*) ?\| (?P<text>[^|]+) \| `(?P<code>[A-Z]+_\d{3})` \| (?P<test>[^|]+) \|")
ROWS = [(match["rule"].strip(), match["code"], match["test"]) for match in ROW.finditer(PAGE)]


@pytest.mark.parametrize(("rule", "code", "test"), ROWS)
def test_a_row_is_true(rule: str, code: str, test: str) -> None:
    assert code in CODES
    if not test.startswith("by construction: "):
        path = ROOT / test.strip("`")
        assert code in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("test", sorted(set(re.findall(r"`(tests/[^`]+)`", PAGE))))
def test_a_named_test_exists(test: str) -> None:
    assert (ROOT / test).exists()


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        *((f"VR-00{number}", f"UPDATE_00{number}") for number in range(1, 9)),
        *((f"V-00{number}", f"OUTPUT_00{number}") for number in range(1, 8)),
        *((f"{number}", f"AGGREGATE_00{number}") for number in range(1, 8)),
    ],
)
def test_numbers_are_those_of_the_seeds(rule: str, code: str) -> None:
    assert (rule, code) in [(row[0], row[1]) for row in ROWS]


def test_every_structural_code_of_operations_has_a_row() -> None:
    families = ("PROJECT", "UPDATE", "AGGREGATE", "APPEND", "DELETE", "OUTPUT")
    structural = {
        code
        for code, entry in CODES.items()
        if code.split("_")[0] in families and int(code.split("_")[1]) < 20 and not entry.replaced_by
    }
    # PROJECT_011 is about names of selectors: no rule of the seeds.
    assert structural - {row[1] for row in ROWS} <= {"PROJECT_011"}
