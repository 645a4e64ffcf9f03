"""Spark can still read through our SQL: simple conditions reach the files, constants are folded."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.expression.world import frame, sql

PUSHED = {
    "s = 'EMEA'": "EqualTo(s,EMEA)",
    "n > 5": "GreaterThan(n,5)",
    "d18_2 >= 100": "GreaterThanOrEqual(d18_2,100.00)",
    "d18_2 < 0.5": "LessThan(d18_2,0.50)",
    "d = DATE('2026-01-31')": "EqualTo(d,2026-01-31)",
    "d BETWEEN period.start_date AND period.end_date": "GreaterThanOrEqual(d,2026-01-01)",
    "s IN ('a', 'b')": "In(s, [a,b])",
    "STARTS_WITH(s, 'EM')": "StringStartsWith(s,EM)",
    "s LIKE 'EM%'": "StringStartsWith(s,EM)",
    "s IS NOT NULL AND b": "IsNotNull(s)",
    "NOT ISNULL(s)": "IsNotNull(s)",
    "n = 1 OR n = 2": "Or(EqualTo(n,1),EqualTo(n,2))",
    "n = 2 + 3": "EqualTo(n,5)",
}


@pytest.mark.parametrize(("text", "pushed"), PUSHED.items())
def test_simple_conditions_reach_the_files(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
    text: str,
    pushed: str,
) -> None:
    folder: Path = tmp_path_factory.getbasetemp() / "expression-plans"
    if not folder.exists():
        frame(spark).coalesce(1).write.parquet(str(folder))
    capsys.readouterr()
    spark.read.parquet(str(folder)).where(sql(text)).explain()
    line = next(line for line in capsys.readouterr().out.splitlines() if "PushedFilters" in line)
    assert pushed in line.split("PushedFilters:")[1]
