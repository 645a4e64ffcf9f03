"""Results as JSON: only what JSON has, times as ISO 8601, exact numbers as text."""

import datetime
import json
from decimal import Decimal
from pathlib import Path

import pytest

from daybook.workspace.result_json import as_json, json_text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (datetime.datetime(2026, 1, 31, 18, 0, 5, tzinfo=datetime.UTC), "2026-01-31T18:00:05+00:00"),
        (datetime.date(2026, 1, 31), "2026-01-31"),
        (Decimal("1E+2"), "100"),
        (Decimal("0.10"), "0.10"),
        (Path("a/b"), "a/b"),
        (("x", {"at": datetime.date(2026, 2, 1)}), ["x", {"at": "2026-02-01"}]),
        (None, None),
        (True, True),
        (7, 7),
    ],
)
def test_values(value: object, expected: object) -> None:
    assert as_json(value) == expected
    assert json.loads(json_text(value)) == expected
