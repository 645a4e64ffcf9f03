"""Plain text fixtures: an input, a line of dashes, what is expected; blocks are parted by a line of equals signs.

A first line `@group a, b`, `@strict a`, `@boolean` or `@windows` says how the input is compiled.
"""

from dataclasses import dataclass
from pathlib import Path

from daybook.expression import CompiledExpression, Grouping, NamedExpressions, compile_expression
from tests.unit.expression.world import SCOPE

SELECTORS = NamedExpressions(
    {
        "active": 'status = "active" OR quantity > 1',
        "big_and_active": "{{active}} AND amount > 100",
        "broken": "amout > 1",
        "circle": "is_open AND {{other_half}}",
        "other_half": "NOT {{circle}}",
        "number": "amount + 1",
    }
)


@dataclass(frozen=True, slots=True)
class Fixture:
    how: str
    text: str
    expected: str

    def compile(self) -> CompiledExpression:
        kind, _, columns = self.how.partition(" ")
        grouping = Grouping(tuple(columns.split(", ")), strict=kind == "@strict") if columns else None
        if kind == "@boolean":
            return compile_expression(self.text, SCOPE, names=SELECTORS, expect="boolean")
        is_assigned = kind == "@windows"
        return compile_expression(self.text, SCOPE, names=SELECTORS, grouping=grouping, allow_windows=is_assigned)


def load(name: str) -> list[Fixture]:
    """The fixtures of one file, in order."""
    text = (Path(__file__).parent / f"{name}.txt").read_text(encoding="utf-8")
    return [_fixture(block) for block in text.removesuffix("\n").split("\n====\n")]


def _fixture(block: str) -> Fixture:
    given, _, expected = block.partition("\n----\n")
    how, text = given.split("\n", 1) if given.startswith("@") else ("", given)
    return Fixture(how, text, expected)
