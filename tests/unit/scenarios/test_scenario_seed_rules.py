"""Every rule of the specification has a scenario named after it, or a test where it takes more than rows."""

import re
import textwrap
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
NAMES = [
    line.removeprefix("name: ")
    for file in sorted((TESTS / "scenarios").rglob("*.yaml"))
    for line in file.read_text(encoding="utf-8").splitlines()
    if line.startswith("name: ")
]
RULES = (
    *(f"BR-{number:03}" for number in range(1, 16)),
    *(f"BR-008{letter}" for letter in "abc"),
    *(f"VR-{number:03}" for number in range(1, 9)),
    *(f"V-{number:03}" for number in range(1, 8)),
    *(f"AGGREGATE_{number:03}" for number in range(1, 8)),
    *(f"APPEND_{number:03}" for number in range(1, 9)),
)
# A scenario has neither a store nor places: these rules are about one or the other.
ELSEWHERE = {
    "BR-003": "unit/runs/lifecycle/test_activation.py",
    "APPEND_007": "unit/plan/test_plan_checks.py",
    "APPEND_008": "spark/runs/test_lifecycle.py",
    "V-006": "spark/runs/test_modes.py",
    "V-007": "spark/runs/test_registration.py",
}


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_is_tested_under_its_name(rule: str) -> None:
    named = re.compile(rf"(?<![\w-]){rule}(?!\w)")
    if rule in ELSEWHERE:
        assert named.search((TESTS / ELSEWHERE[rule]).read_text(encoding="utf-8"))
    else:
        assert any(named.search(name) for name in NAMES)


def test_the_annotated_example_is_a_scenario_word_for_word() -> None:
    example = (TESTS / "golden/seeds/operation-entity.operations.yaml").read_text(encoding="utf-8")
    scenario = (TESTS / "scenarios/project/annotated_example.yaml").read_text(encoding="utf-8")
    assert textwrap.indent(example, "    ") in scenario
