"""The examples of the function reference and the types of expressions, by the second engine."""

import datetime
import math
from collections.abc import Hashable

import pytest

from daybook.expression.functions.function_table import FUNCTIONS
from daybook.model.types import BOOLEAN, FLOAT, INTEGER, NULL, STRING, TIMESTAMP, ColumnType, DecimalType
from daybook.recompute.aggregates import Aggregate
from daybook.recompute.functions import FUNCTIONS as COMPUTED
from daybook.recompute.functions import LENIENT_FUNCTIONS, float_text
from daybook.recompute.parse import AGGREGATES, WINDOW_FUNCTIONS, Names, parse
from daybook.recompute.tree import Literal
from daybook.recompute.windows import Window, window_values

NOW = datetime.datetime(2026, 1, 31, 12, 30, tzinfo=datetime.UTC)
CONSTANTS = {"NOW": Literal(NOW, TIMESTAMP, "NOW()"), "TODAY": Literal(NOW.date(), TIMESTAMP, "TODAY()")}


def test_every_function_is_computed() -> None:
    assert {*COMPUTED, *LENIENT_FUNCTIONS, *AGGREGATES, *WINDOW_FUNCTIONS, *CONSTANTS} >= {*FUNCTIONS}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_example(name: str) -> None:
    """On the rows of the example, where it has some, as a group or as a window."""
    example = FUNCTIONS[name].example
    node = parse(example.text, Names({"x": INTEGER}, constants=CONSTANTS))
    rows = [(value,) for value in example.rows]
    windows = [part for part in node.walk() if isinstance(part, Window)]
    if windows:
        # The value is that of the first row; rows are told apart by where they stand.
        numbered = [(*row, place) for place, row in enumerate(rows)]
        assert window_values(windows[0], numbered, {"x": 0}, [1])[0] == example.value
        return
    aggregates = [part for part in node.walk() if isinstance(part, Aggregate)]
    layout: dict[Hashable, int] = {part: place for place, part in enumerate(aggregates)}
    summary = tuple(part.of_group({"x": 0})(rows) for part in aggregates)
    assert node.function(layout)(summary) == example.value


COLUMNS: dict[str, ColumnType] = {"n": INTEGER, "d": DecimalType(12, 2), "f": FLOAT, "s": STRING}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NULLIF(0, d)", DecimalType(1, 0)),
        ("NULLIF(-250, d)", DecimalType(3, 0)),
        ("NULLIF(0, f)", FLOAT),
        ("NULLIF(n, d)", INTEGER),
        ("NULLIF(-n, f)", INTEGER),
        ("NULLIF(NULL, d)", DecimalType(12, 2)),
        ("NULL + d", DecimalType(13, 2)),
        ("-NULL", INTEGER),
        ("NULL", NULL),
        ("d + 1", DecimalType(13, 2)),
        ("n / n", DecimalType(38, 19)),
        ("1 / d", DecimalType(16, 13)),
        # A parameter may have any value, whatever it is in this run.
        ("param.times / d", DecimalType(35, 13)),
        ("-param.times", INTEGER),
        ("9223372036854775808", DecimalType(19, 0)),
        ("d = NULL", BOOLEAN),
    ],
)
def test_types(text: str, expected: ColumnType) -> None:
    times = {"param.times": Literal(2, INTEGER, "param.times", is_written=False)}
    assert parse(text, Names(COLUMNS, constants=times)).type == expected


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2.5, "2.5"),
        (1e8, "1.0E8"),
        (1e7, "1.0E7"),
        (9999999.0, "9999999.0"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (-12345678.9, "-1.23456789E7"),
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (math.inf, "Infinity"),
        (math.nan, "NaN"),
    ],
)
def test_floats_are_written_as_java_does(value: float, text: str) -> None:
    assert float_text(value) == text
