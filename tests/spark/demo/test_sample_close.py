"""The small close that warms up an engine is computed like any other."""

from decimal import Decimal
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from daybook.demo.sample_close import compute_month, create_sample_close, sample_months


def test_rounds_go_through_the_months_of_a_year() -> None:
    assert list(sample_months(0, 2)) == ["2026-01", "2026-02"]
    assert list(sample_months(11, 13)) == ["2026-12", "2026-01"]


def test_it_runs_and_its_number_is_explained_down_to_the_sales(spark: SparkSession, tmp_path: Path) -> None:
    workspace = create_sample_close(tmp_path / "sample", spark)
    found = compute_month(workspace, "2026-01")
    assert found.is_complete
    assert [level.gaps for level in found.levels] == [()] * len(found.levels)
    written = pq.read_table(tmp_path / "sample" / "out" / "sales_by_family", columns=["family", "target"]).to_pylist()
    # Four shops with a target of 100 each; services have none.
    targets = {"Garden": 400, "Paint": 400, "Tools": 400, "Service": 0}
    assert {row["family"]: row["target"] for row in written} == {name: Decimal(each) for name, each in targets.items()}
