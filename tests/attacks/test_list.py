"""The attack list of the documentation names tests that exist, and every test of attacks is in it."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_list_and_the_tests_agree() -> None:
    named = set(re.findall(r"`(tests/\S+\.py)`", (ROOT / "docs/security.md").read_text()))
    assert [name for name in sorted(named) if not (ROOT / name).is_file()] == []
    own = {f"tests/attacks/{file.name}" for file in (ROOT / "tests/attacks").glob("test_*.py")}
    assert own - named == {"tests/attacks/test_list.py"}
