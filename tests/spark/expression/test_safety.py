"""What an attacker's text does on Spark: nothing."""

import random
import sys

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from daybook.expression import Constants, Scope, compile_expression
from daybook.model.types import STRING, DecimalType
from tests.spark.expression.world import CONSTANTS, frame, sql, values
from tests.unit.expression.attacks import TEXTS

pytestmark = pytest.mark.usefixtures("product_settings")


def _written(text: str, quote: str = '"') -> str:
    return f"{quote}{text.replace(quote, quote * 2)}{quote}"


@pytest.mark.parametrize("quote", ['"', "'"])
def test_texts_come_back_unharmed(spark: SparkSession, quote: str) -> None:
    assert values(spark, [_written(text, quote) for text in TEXTS]) == list(TEXTS)


def test_every_kind_of_character_comes_back_unharmed(spark: SparkSession) -> None:
    generator = random.Random(3)
    codes = [*range(0xD800), *range(0xE000, 0xE100), *range(0xFE00, 0x10000)]
    codes += [generator.randrange(0x10000, sys.maxunicode + 1) for _ in range(5_000)]
    blocks = ["".join(map(chr, codes[start : start + 4_000])) for start in range(0, len(codes), 4_000)]
    assert values(spark, [_written(block) for block in blocks]) == blocks


def test_texts_survive_a_session_that_substitutes_variables(spark: SparkSession) -> None:
    spark.conf.set("spark.sql.variable.substitute", "true")
    try:
        assert values(spark, [_written(text) for text in TEXTS]) == list(TEXTS)
    finally:
        spark.conf.set("spark.sql.variable.substitute", "false")


def test_texts_are_what_functions_get(spark: SparkSession) -> None:
    texts = [text for text in TEXTS if text]
    expressions = [f"LEN({_written(text)}) = {len(text)}" for text in texts]
    expressions += [f"CONTAINS(CONCAT('<', {_written(text)}, '>'), {_written(text)})" for text in texts]
    expressions += [f"REPLACE(CONCAT('<', {_written(text)}, '>'), {_written(text)}, '') = '<>'" for text in texts]
    assert values(spark, expressions) == [True] * len(expressions)


@pytest.mark.parametrize(
    "name", ["a b", "a`b", "`", "a;b", "1a", "select", "a--b", "/*", "ä", "😀", "${env:HOME}", "a'b", '"']
)
def test_any_name_is_one_column(spark: SparkSession, name: str) -> None:
    df = spark.createDataFrame([("x", 1)], ["other", "n"]).withColumnRenamed("other", name)
    text = f"`{name.replace('`', '``')}`"
    compiled = compile_expression(text, Scope({name: STRING}, {}))
    assert df.select(F.expr(compiled.sql(CONSTANTS)).alias("v")).collect()[0].v == "x"


def test_a_column_of_a_join_is_one_name(spark: SparkSession) -> None:
    scope = Scope({}, {"customers": {"tier": STRING}}, frozenset({"customers"}))
    df = spark.createDataFrame([("gold",)], ["tier"]).withColumnRenamed("tier", "customers.tier")
    compiled = compile_expression("UPPER(customers.tier)", scope)
    assert df.select(F.expr(compiled.sql(CONSTANTS)).alias("v")).collect()[0].v == "GOLD"


def test_the_largest_allowed_expressions_run(spark: SparkSession) -> None:
    """At the limits neither Spark's parser nor its optimiser gives up, in projections and in filters."""
    nested_division = "n"
    for _ in range(30):
        nested_division = f"1.0 / ({nested_division} + x)"
    largest = {
        " + ".join(["n"] * 249): 7 * 249,
        " * ".join(["1"] * 249): 1,
        " OR ".join(["n = 1"] * 660): False,
        f"n IN ({', '.join(map(str, range(1_990)))})": True,
        "(" * 60 + "n" + " + 1)" * 60: 67,
        "ABS(" * 62 + "n" + ")" * 62: 7,
        "IF(n > 100, 1, " * 60 + "n" + ")" * 60: 7,
        "RIGHT(CONCAT(" * 30 + "s" + ", 'x'), 3)" * 30: "xxx",
        "MAX(1, MIN(9, " * 5 + "n" + "))" * 5: 7,
        "CASE " + " ".join(f"WHEN n = {value} THEN {value}" for value in range(390)) + " END": 7,
    }
    assert values(spark, list(largest)) == list(largest.values())
    df = frame(spark)
    assert df.where(f"{sql(nested_division)} > 0D").count() == 1
    assert df.where(sql("IF(n + 1 BETWEEN 0 AND 9, 1, 2) = 1")).count() == 1


def test_a_literal_never_becomes_a_constant_of_the_session(spark: SparkSession) -> None:
    """The session's time zone and clock have no part in NOW() and TODAY()."""
    compiled = compile_expression("CONCAT(TO_STRING(NOW()), ' ', TO_STRING(TODAY()))", Scope({}, {}))
    first = spark.range(1).select(F.expr(compiled.sql(CONSTANTS)).alias("v")).collect()[0].v
    assert first == "2026-01-31 12:30:00 2026-01-31"
    assert isinstance(CONSTANTS, Constants)


def test_numbers_at_the_limit_come_back_unharmed(spark: SparkSession) -> None:
    numbers = [
        "9" * 38,
        "-" + "9" * 38,
        "0." + "9" * 38,
        "-0." + "9" * 38,
        "1." + "0" * 37,
        "9223372036854775807",
        "-9223372036854775808",
    ]
    assert [str(value) for value in values(spark, numbers)] == numbers
    assert DecimalType(38, 38) == compile_expression(numbers[2], Scope({}, {})).type
