"""The function table: complete, without doubles, each function described by an example that compiles."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal

import pytest

from daybook.expression import Grouping, Scope, compile_expression
from daybook.expression.functions import logic
from daybook.expression.functions.function import Function
from daybook.expression.functions.function_table import FUNCTION_FAMILIES, FUNCTIONS, functions_by_name
from daybook.model.types import (
    INTEGER,
    BooleanType,
    ColumnType,
    DateType,
    DecimalType,
    FloatType,
    IntegerType,
    StringType,
    TimestampType,
    Value,
)
from tests.unit.expression.world import CONSTANTS

# What the language promises; a function that is missing here or in the table is noticed.
PROMISED = {
    *("IF", "AND", "OR", "NOT", "ISNULL", "COALESCE", "NULLIF"),
    *("ABS", "ROUND", "FLOOR", "CEIL", "MOD", "MIN", "MAX", "POWER", "SIGN"),
    *("CONCAT", "UPPER", "LOWER", "TRIM", "LEFT", "RIGHT", "SUBSTRING", "LEN", "CONTAINS", "STARTS_WITH", "ENDS_WITH"),
    *("REPLACE", "LPAD", "RPAD"),
    *("DATE", "TIMESTAMP", "TODAY", "NOW", "YEAR", "QUARTER", "MONTH", "DAY"),
    *("DATEDIFF", "DATEADD", "ADD_MONTHS", "EOMONTH"),
    *("TO_STRING", "TO_NUMBER", "TO_DATE"),
    *("SUM", "COUNT", "COUNT_ALL", "AVG", "MIN_AGG", "MAX_AGG"),
    *("ROW_NUMBER", "RANK", "PREVIOUS", "NEXT", "ALLOCATE"),
}


def test_the_table_has_what_the_language_promises_and_nothing_else() -> None:
    assert set(FUNCTIONS) == PROMISED


def test_a_name_declared_twice_fails() -> None:
    with pytest.raises(ValueError, match="IF is declared twice"):
        functions_by_name({**FUNCTION_FAMILIES, "more": (replace(logic.FUNCTIONS[0], sentence="Another."),)})


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=lambda function: function.name)
def test_an_example_compiles_to_the_type_of_its_value(function: Function) -> None:
    grouping = Grouping(()) if function.is_aggregate else None
    scope = Scope({"x": INTEGER}, {})
    compiled = compile_expression(function.example.text, scope, grouping=grouping, allow_windows=function.is_window)
    assert function.name in function.example.text
    assert compiled.sql(CONSTANTS)
    if function.example.value is not None:
        assert isinstance(compiled.type, _type_of(function.example.value))


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=lambda function: function.name)
def test_a_sentence_is_a_sentence(function: Function) -> None:
    assert function.sentence.endswith(".")
    assert function.sentence[0].isupper() or function.sentence[0] in "-1"
    assert function.result or not isinstance(function.returns, Callable)  # type: ignore[arg-type]


def _type_of(value: Value) -> type[ColumnType]:
    kinds: list[tuple[type, type[ColumnType]]] = [
        (bool, BooleanType),
        (int, IntegerType),
        (Decimal, DecimalType),
        (float, FloatType),
        (str, StringType),
        (datetime, TimestampType),
        (date, DateType),
    ]
    return next(kind for python, kind in kinds if isinstance(value, python))
