"""The report of a real run with its differences to the run before, and the numbers that it wrote, without Spark."""

import re
from decimal import Decimal

from pyspark.sql import SparkSession

import daybook
from tests.workspaces import ORDERS, Folder, to_path, to_table

TOTALS = {
    "type": "aggregate",
    "name": "By region",
    "arguments": {"group_by": ["region"], "aggregations": [{"column": "total", "expression": "SUM(amount)"}]},
}


def test_a_rerun_shows_what_changed(folder: Folder, spark: SparkSession) -> None:
    folder.project(
        TOTALS, to_table(), to_path("out/{{identifier}}.csv", columns=["region", "total"], order_by=["region"])
    )
    before = folder.run().run_id
    late = {"order_id": "O-9", "region": "EMEA", "amount": "25.50", "_period": "2026-01"}
    folder.write_csv("data/orders.csv", [*ORDERS, late])
    after = folder.run().run_id
    workspace = daybook.Workspace(folder.root, spark=spark)
    written = workspace.report("p@2026-01", folder.root / "report.html")
    assert (written.run_id, written.compared_with) == (after, before)
    text = re.sub(r"<[^>]*>|\s", " ", written.path.read_text(encoding="utf-8").partition("<body")[2])
    words = re.sub(r" +", " ", text)
    # 100 + 50 of EMEA and 0 of APAC before, 25.50 more after.
    assert "total 150.00 175.50 25.50" in words
    assert "0 rows added, 0 removed, 1 changed, 1 the same; matched by region" in words
    assert "EMEA total 150.00 175.50" in words
    # Loaded rows and totals are summed up apart.
    assert "loaded rows, 4 rows" in words
    assert "By region, 2 rows" in words


def test_the_numbers_are_what_spark_wrote(folder: Folder, spark: SparkSession) -> None:
    folder.datasource("files", "parquet", path="files")
    folder.datasource("books", "sqlite", path="books.db")
    folder.datasource("texts", "json", path="texts")
    folder.project(
        to_table(),
        to_table(datasource="files"),
        to_table(datasource="books"),
        to_table(datasource="texts"),
        to_path("out/x.csv"),
        to_path("out/x.xlsx", system_columns=False),
    )
    run = folder.run()
    workspace = daybook.Workspace(folder.root)
    found = [workspace.numbers(run.run_id, str(seq), sort=["order_id"]) for seq in range(1, 7)]
    assert [page.totals for page in found] == [{"amount": Decimal("150.00")}] * 6
    first = found[0]
    names = [column.name for column in first.columns]
    own = [names.index(name) for name in ("order_id", "region", "amount")]
    assert [tuple(row[number] for number in own) for row in first.rows] == [
        ("O-1", "EMEA", Decimal("100.00")),
        ("O-2", "EMEA", Decimal("50.00")),
        ("O-3", "APAC", Decimal("0.00")),
    ]
    assert all(page.rows == first.rows for page in found[:5])
    assert [row[:3] for row in found[5].rows] == [tuple(row[number] for number in own) for row in first.rows]
