"""Messages and SQL, read by people: input and expectation as plain text."""

import pytest

from daybook.errors import DaybookError, render
from tests.golden.expression.fixtures import Fixture, load
from tests.unit.expression.world import CONSTANTS


@pytest.mark.parametrize("fixture", load("errors"), ids=lambda fixture: fixture.text[:40])
def test_error(fixture: Fixture) -> None:
    with pytest.raises(DaybookError) as refusal:
        fixture.compile()
    assert render(refusal.value) == fixture.expected


@pytest.mark.parametrize("fixture", load("sql"), ids=lambda fixture: fixture.text[:40])
def test_sql(fixture: Fixture) -> None:
    compiled = fixture.compile()
    assert f"{compiled.type}\n{compiled.sql(CONSTANTS)}" == fixture.expected
