"""The plan of a diff: each side read once, one shuffle, and no row leaves Spark but those shown."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from daybook.compare.compared_output import SliceRows
from daybook.compare.diff import ComparedColumn, compare_rows, plan_comparison
from daybook.errors import DaybookError
from daybook.model.types import STRING, DecimalType

AMOUNT = DecimalType(18, 2)
KEY = [ComparedColumn("line", STRING)]
VALUES = [ComparedColumn("account", STRING), ComparedColumn("amount", AMOUNT)]


def rows(df: DataFrame) -> SliceRows:
    def failed(error: PySparkException) -> DaybookError:
        raise error

    return SliceRows(df, {"line": STRING, "account": STRING, "amount": AMOUNT}, False, lambda: None, failed)


@pytest.fixture
def sides(spark: SparkSession, tmp_path: Path) -> tuple[SliceRows, SliceRows]:
    """A thousand lines; in B every amount is one cent more, one line is gone and one is new."""
    found = []
    for name, start, cents in (("a", 0, 0), ("b", 1, 1)):
        numbers = spark.range(start, start + 1000)
        lines = numbers.selectExpr(
            "CONCAT('J-', id) AS line", "'4000' AS account", f"CAST(id + {cents}/100 AS DECIMAL(18,2)) AS amount"
        )
        path = str(tmp_path / name)
        lines.write.parquet(path)
        found.append(rows(spark.read.parquet(path)))
    return found[0], found[1]


def lines_with(plan: str, *words: str) -> list[str]:
    return [line for line in plan.splitlines() if any(word in line for word in words)]


def test_each_side_is_scanned_once_and_both_pass_one_shuffle(
    sides: tuple[SliceRows, SliceRows], capsys: pytest.CaptureFixture[str]
) -> None:
    _, shown = plan_comparison(*sides, KEY, VALUES, Decimal("0.001"), 10)

    shown.explain()
    plan = capsys.readouterr().out

    assert len(lines_with(plan, "FileScan")) == 2
    assert len(lines_with(plan, "Exchange")) == 1
    assert lines_with(plan, "Join", "CartesianProduct", "BroadcastNestedLoop") == []
    # The rows that are shown are chosen where they are; no others are collected, and what is sorted stays in its task.
    assert lines_with(plan, "TakeOrderedAndProject(limit=10")
    assert lines_with(plan, "CollectLimit", "], true, 0") == []


def test_as_many_rows_as_are_shown_are_collected(
    sides: tuple[SliceRows, SliceRows], monkeypatch: pytest.MonkeyPatch
) -> None:
    collected: list[int] = []
    to_arrow = type(sides[0].df).toArrow

    def counted(df: DataFrame) -> pa.Table:
        table = to_arrow(df)
        collected.append(table.num_rows)
        return table

    monkeypatch.setattr(type(sides[0].df), "toArrow", counted)
    found = compare_rows(*sides, KEY, VALUES, limit=5)

    assert collected == [5]
    assert (found.counts.added, found.counts.removed, found.counts.changed, found.counts.same) == (1, 1, 999, 0)
    # 1 to 1000 with a cent each, less 0 to 999.
    assert str(found.totals[0].difference) == "1010.00"


def test_a_failure_is_named_by_the_side_that_knows_its_operation(
    sides: tuple[SliceRows, SliceRows],
) -> None:
    failing = sides[1].df.withColumn("amount", F.expr("CAST(CONCAT(account, 'x') AS DECIMAL(18, 2))"))
    left = replace(sides[0], translate=lambda _: DaybookError("PROJECT_034", reason="r", condition="c"))
    named = DaybookError("OUTPUT_006", operation_seq=7, target="t")
    right = replace(sides[1], df=failing, translate=lambda _: named)
    with pytest.raises(DaybookError) as caught:
        compare_rows(left, right, KEY, VALUES)
    assert caught.value is named


def test_where_all_columns_are_the_key_a_row_is_there_or_not(spark: SparkSession) -> None:
    """One of three equal rows is gone, and another row is new: nothing has changed in between."""
    before = [("J-1", "4000", Decimal("1.50"))] * 3 + [("J-2", "4000", Decimal("2.00"))]
    after = [("J-1", "4000", Decimal("1.50"))] * 2 + [("J-2", "4000", Decimal("2.25"))]
    schema = "line STRING, account STRING, amount DECIMAL(18,2)"
    sides = [rows(spark.createDataFrame(side, schema)) for side in (before, after)]
    total = replace(VALUES[1], is_compared=False)

    compared = compare_rows(sides[0], sides[1], [*KEY, *VALUES], [total])

    counts = compared.counts
    assert (counts.added, counts.removed, counts.changed, counts.same) == (1, 2, 0, 2)
    assert [(each.before, each.after) for each in compared.totals] == [(Decimal("6.50"), Decimal("5.25"))]
