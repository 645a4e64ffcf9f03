"""The notebook of the examples on the session of the tests, also on that of a Connect server (`make test-connect`)."""

from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.notebook import EXAMPLES, run_notebook


def test_the_notebook_runs_on_the_session_that_it_is_given(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAYBOOK_WORKSPACE", str(tmp_path))
    names = run_notebook(EXAMPLES / "close.ipynb", {"spark": spark})
    assert names["spark"] is spark
    rows = {row["region"]: row["sales"] for row in names["second"].output().select("region", "sales").collect()}
    assert rows == {"North": Decimal("155.00"), "South": Decimal("90.25"), "unknown": Decimal("9.99")}
    # 5.00 more in the North, and an order of 20.00 in the South.
    assert names["why"].result.after - names["why"].result.before == Decimal("25.00")
