"""Our types and Spark's are the same, for every combination of operand types."""

import datetime
import itertools

import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from daybook.errors import DaybookError
from daybook.expression import Constants, Grouping, Scope, compile_expression, spark_type
from daybook.io.column_types import spark_data_type
from daybook.model.types import INTEGER, DecimalType
from tests.spark.expression.world import CONSTANTS, compiled, frame

_NUMBERS = ["n", "x", "d18_2", "d10_0", "d5_5", "d38_10", "d38_0", "d38_2", "d38_38", "d20_4"]
_LITERALS = ["0", "7", "-12", "1000", "0.5", "0.05", "3.14", "-0.0", "100.00", "12345678901234567890", "NULL"]
_PAIRS = list(itertools.product(_NUMBERS, [*_NUMBERS, *_LITERALS])) + list(itertools.product(_LITERALS, _NUMBERS))

ARITHMETIC = [f"{left} {operator} {right}" for operator in "+-*/%" for left, right in _PAIRS]
LITERALS = [f"{left} {operator} {right}" for operator in "+-*/%" for left in _LITERALS for right in _LITERALS]
CHOICES = [
    form.format(left, right)
    for form in (
        "IF(b, {}, {})",
        "COALESCE({}, {})",
        "MIN({}, {})",
        "MAX({}, {})",
        "NULLIF({}, {})",
        "CASE WHEN b THEN {} ELSE {} END",
    )
    for left, right in _PAIRS
]
PREDICATES = [
    form.format(left, right)
    for form in ("{} = {}", "{} < {}", "{} IN ({}, NULL)", "{} BETWEEN {} AND 5", "{} NOT IN (1, {})")
    for left, right in _PAIRS
]
NESTED = [
    "(n + 1) * d18_2",
    "d18_2 / n / m",
    "ROUND(d18_2 / n, 2) * d18_2",
    "-(n) + 1",
    "-d18_2 * 2",
    "-(d18_2 * d18_2)",
    "ABS(d18_2 * d18_2)",
    "-d38_38",
    "ABS(d38_10)",
    "ABS(d18_2 - 1) % 3",
    "CASE WHEN b THEN NULL WHEN n > 1 THEN 1 END",
    "IF(b, NULL, NULL)",
    "COALESCE(NULL, 1, 2.50, d18_2)",
    "d18_2 + d18_2 + d18_2 + d18_2",
    "d38_10 * d38_10",
    "IF(b, d38_0, d38_38) + 1",
    "n / (m / (n + 1))",
    "CASE WHEN d38_0 > d38_38 THEN 1 ELSE 0.5 END",
]
FUNCTIONS = [
    *(f"{name}({number})" for name in ("ABS", "ROUND", "FLOOR", "CEIL", "SIGN") for number in [*_NUMBERS, *_LITERALS]),
    *(f"ROUND({number}, {places})" for number in _NUMBERS for places in (-37, -3, 0, 1, 2, 12, 38)),
    *(f"{name}({number}, 2)" for name in ("MOD", "POWER") for number in _NUMBERS),
    "CONCAT(s, t)", "UPPER(s)", "LOWER(s)", "TRIM(s)", "LEFT(s, 2)", "LEFT(s, n)", "RIGHT(s, 2)", "RIGHT(s, n)",
    "RIGHT(s, 0)",
    "SUBSTRING(s, 2)", "SUBSTRING(s, n, 2)", "LEN(s)", "CONTAINS(s, t)", "STARTS_WITH(s, t)", "ENDS_WITH(s, t)",
    "REPLACE(s, t, 'x')", "LPAD(s, 9)", "RPAD(s, 9, t)", "s LIKE t", "s LIKE '%a'", "s NOT LIKE NULL",
    "DATE('2026-01-31')", "DATE(ts)", "DATE(d)", "DATE(n, m, 3)", "TIMESTAMP('2026-01-31T00:00:00Z')",
    "TIMESTAMP(d)", "TODAY()", "NOW()",
    "YEAR(d)", "QUARTER(ts)", "MONTH(d)", "DAY(d)", "DATEDIFF(d, e)", "DATEADD(d, 3)", "DATEADD(d, n)",
    "ADD_MONTHS(d, n)",
    "EOMONTH(d)", "EOMONTH(d, n)", "EOMONTH(NULL)", "TO_STRING(n)", "TO_STRING(d18_2)", "TO_STRING(x)",
    "TO_STRING(b)", "TO_STRING(s)",
    "TO_STRING(ts, 'yyyy-MM-dd HH:mm:ss')", "TO_NUMBER(s)", "TO_NUMBER(s, 0)", "TO_NUMBER(s, 37)", "TO_DATE(s)",
    "TO_DATE(s, 'dd.MM.yyyy')",
    "NULLIF(s, t)", "ISNULL(s)", "AND(b, NULL)", "OR(b, b, b)", "NOT b", "b = TRUE", "s IS NOT NULL",
    "COALESCE(d, TODAY())",
    "period.identifier", "period.start_date", "period.end_date", "period.level", "MIN(s, t)", "MAX(d, e)",
    "MAX(ts, NOW())",
]  # fmt: skip
AGGREGATES = [
    *(f"{name}({number})" for name in ("SUM", "AVG", "COUNT", "MIN_AGG", "MAX_AGG") for number in _NUMBERS),
    *(f"{name}({number})" for name in ("SUM", "AVG") for number in ("1", "2.50", "NULL", "n * 2")),
    "COUNT(*)", "COUNT_ALL()", "COUNT_ALL(s)", "MIN_AGG(s)", "MAX_AGG(d)", "MIN_AGG(ts)", "SUM(d18_2) / COUNT(*)",
    "ROUND(AVG(n), 1)",
    "IF(COUNT(*) > 3, SUM(n), 0)",
]  # fmt: skip


def _assert_types_agree(spark: SparkSession, texts: list[str], grouping: Grouping | None = None) -> None:
    expected: list[tuple[str, str]] = []
    columns: list[str] = []
    for text in texts:
        try:
            expression = compiled(text, grouping)
        except DaybookError as error:
            assert error.code in {"EXPR_025", "EXPR_026"}, text  # noqa: PT017
            continue
        expected.append((text, spark_type(expression.type).lower()))
        columns.append(f"{expression.sql(CONSTANTS)} AS v{len(columns)}")
    df = frame(spark)
    schema = (df.groupBy("s").agg(*_parsed(columns)).drop("s") if grouping else df.selectExpr(*columns)).schema
    found = [(text, field.dataType.simpleString()) for (text, _), field in zip(expected, schema.fields, strict=True)]
    assert found == expected


def _parsed(columns: list[str]) -> list[Column]:
    return [F.expr(column) for column in columns]


@pytest.mark.parametrize(
    "texts",
    [
        *(ARITHMETIC[position::4] for position in range(4)),
        LITERALS,
        *(CHOICES[position::4] for position in range(4)),
        *(PREDICATES[position::4] for position in range(4)),
        NESTED,
        FUNCTIONS,
    ],
)
def test_spark_finds_the_type_we_found(spark: SparkSession, texts: list[str]) -> None:
    _assert_types_agree(spark, texts)


def test_spark_finds_the_type_we_found_for_aggregates(spark: SparkSession) -> None:
    _assert_types_agree(spark, AGGREGATES, Grouping(("s",)))


@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "%"])
def test_an_integer_parameter_beside_a_decimal_has_the_type_of_any_integer(spark: SparkSession, operator: str) -> None:
    scope = Scope(columns={"d": DecimalType(14, 4)}, qualifiers={}, parameters={"times": INTEGER})
    compiled = compile_expression(f"10 / ABS(param.times {operator} d)", scope)
    inner = compile_expression(f"param.times {operator} d", scope)
    constants = Constants(datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), None, {"times": 2})
    df = spark.sql("SELECT CAST(3 AS DECIMAL(14,4)) AS d").selectExpr(
        f"{compiled.sql(constants)} AS outer", f"{inner.sql(constants)} AS inner"
    )
    assert [field.dataType for field in df.schema] == [spark_data_type(compiled.type), spark_data_type(inner.type)]
