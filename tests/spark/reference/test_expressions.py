"""Random expressions: Spark's values and the reference's are the same."""

from random import Random

import pytest
from _pytest.mark import ParameterSet
from pyspark.sql import DataFrame, SparkSession

from daybook.expression import Scope
from daybook.recompute.tree import Arithmetic, Column, Literal, Negation
from tests.reference import samples
from tests.reference.generate import ExpressionGenerator
from tests.spark.reference.comparing import (
    Case,
    Rows,
    accepted_failures,
    disagreements,
    evaluated,
    numbered_frame,
)

BATCHES, EXPRESSIONS_PER_BATCH, FAILURES_PER_BATCH = 25, 80, 2
# Further ones are of the same kinds; `make faults` compares them all.
ALWAYS = 4
SCOPE = Scope(
    columns=samples.COLUMNS,
    qualifiers={samples.MAIN: samples.COLUMNS, samples.ALIAS: samples.ALIAS_COLUMNS},
    aliases=frozenset({samples.ALIAS}),
)


def seeds(count: int, always: int) -> list[ParameterSet]:
    return [pytest.param(seed, marks=pytest.mark.slow if seed >= always else ()) for seed in range(count)]


def sample_frame(spark: SparkSession, rows: Rows, seed: int) -> DataFrame:
    df = numbered_frame(spark, rows, samples.all_types())
    # Spark evaluates a projection of local rows without generating code; behind an exchange it generates code.
    return df if seed % 4 == 0 else df.repartition(1)


def cases_of(seed: int, rows: Rows) -> list[Case]:
    random = Random(seed)
    generator = ExpressionGenerator(random, samples.references(random))
    return [evaluated(generator.any(random.choice((1, 2, 2, 3))), SCOPE, rows) for _ in range(EXPRESSIONS_PER_BATCH)]


def is_plain_arithmetic(case: Case) -> bool:
    """Whether nothing in the expression could spare Spark the evaluation of a part."""
    return all(isinstance(node, Arithmetic | Column | Literal | Negation) for node in case.expression.walk())


@pytest.mark.parametrize("seed", seeds(BATCHES, ALWAYS))
def test_random_expressions(spark: SparkSession, seed: int) -> None:
    rows = samples.rows(Random(seed))
    found = disagreements(sample_frame(spark, rows, seed), cases_of(seed, rows))
    assert not found, "\n".join(found)


@pytest.mark.parametrize("seed", seeds(10, 2))
def test_random_failures(spark: SparkSession, seed: int) -> None:
    rows = samples.rows(Random(seed))
    random = Random(seed)
    generator = ExpressionGenerator(random, samples.references(random))
    cases = [evaluated(generator.number(2), SCOPE, rows) for _ in range(200)]
    failing = [case for case in cases if case.failing and is_plain_arithmetic(case)][:FAILURES_PER_BATCH]
    assert failing
    df = sample_frame(spark, rows, seed)
    found = [line for case in failing for line in accepted_failures(df, case, limit=2)]
    assert not found, "\n".join(found)
