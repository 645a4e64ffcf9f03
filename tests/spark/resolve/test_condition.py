"""A rule's condition means to Daybook what the same expression means to Spark."""

import datetime

from pyspark.sql import SparkSession

from daybook.expression.typed_tree import Constants
from daybook.resolve.calendars.calendar import GREGORIAN
from daybook.resolve.calendars.periods import period_of
from daybook.resolve.rule_conditions import compile_condition, evaluate_condition
from tests.unit.resolve.conditions import CONDITIONS


def test_spark_agrees_on_every_condition(spark: SparkSession) -> None:
    period = period_of("2026-02", GREGORIAN)
    constants = Constants(datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC), period)
    conditions = [when for when, _ in CONDITIONS]
    columns = ", ".join(compile_condition(when).sql(constants) for when in conditions)
    (row,) = spark.sql(f"SELECT {columns} FROM VALUES ('orders') AS facts(name)").collect()
    given = dict(zip(conditions, row, strict=True))
    assert given == {when: evaluate_condition(when, period, "orders") for when in conditions}
