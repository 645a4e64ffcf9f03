"""The examples of the page on time are definitions that load and pass every check."""

import re
from pathlib import Path

import pytest

from daybook.definitions.loading.definition_texts import load_text
from daybook.model.calendar import Calendar
from daybook.model.datasource import Resolver
from daybook.resolve.calendars.calendar_checks import calendar_errors
from daybook.resolve.definition_checks import resolver_errors

PAGE = Path(__file__).parents[3] / "docs" / "concepts" / "time.md"
EXAMPLES = [
    block
    for block in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    if block.startswith(("calendar:", "resolver:"))
]


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 4


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_sound(example: str) -> None:
    (definition,) = load_text(example, "time.md")
    match definition.model:
        case Calendar() as calendar:
            assert calendar_errors(calendar, definition.source) == ()
        case Resolver() as resolver:
            assert list(resolver_errors(resolver, definition.source, levels=("month",))) == []
        case other:
            pytest.fail(f"an example of {type(other).__name__} is not checked")
