"""The page about a close on an object store, followed with its files: in Delta, then in Iceberg."""

import re
from decimal import Decimal
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession

from daybook.io.formats.delta.table import read_rows
from daybook.runs.attempt.run_request import RunRequest
from daybook.workspace.execution import replay_run, run_project
from daybook.workspace.lifecycle import activate_project
from daybook.workspace.open_workspace import open_workspace
from tests.object_store import KEY, Bucket, hadoop_jars

PAGE = Path(__file__).parents[3] / "docs/howto/lake.md"
FEES = {"O-1": Decimal("37.50"), "O-2": Decimal("2.70"), "O-3": Decimal("63.02")}


def section() -> str:
    return PAGE.read_text(encoding="utf-8").partition("\n## Try it on this machine\n")[2].partition("\n## ")[0]


@pytest.mark.slow
def test_the_page_is_followed(
    bucket: Bucket, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not hadoop_jars():
        pytest.skip("Hadoop's S3 client is not here")
    monkeypatch.setenv("CLOSE_KEY", KEY)
    page = section().replace("http://localhost:8333", bucket.endpoint).replace("acme-close", bucket.name)
    delivered = re.search(r"printf '(.*?)'", page)
    assert delivered is not None
    bucket.put("incoming/sales-2026-01.csv", delivered[1].replace("\\n", "\n"))
    settings, delta, close, iceberg = re.findall(r'```yaml title="[^"]+"\n(.*?)```', page, flags=re.DOTALL)
    root = tmp_path / "w"
    (root / "definitions").mkdir(parents=True)
    (root / "daybook.yaml").write_text(settings)
    (root / "definitions/close.yaml").write_text(close)
    (root / "definitions/lake.yaml").write_text(delta)
    activate_project(open_workspace(root, session=lambda: spark), "close")

    def run() -> str:
        result = run_project(open_workspace(root, session=lambda: spark), RunRequest("close", "2026-01"))
        assert result.failure is None, result.failure
        return result.completed[0].run_id

    first = run()
    shown = re.search(r"(region,amount,fee\n.*?)```", page, flags=re.DOTALL)
    assert shown is not None
    assert bucket.read("out/sales-2026-01.csv").decode() == shown[1]
    table = read_rows(f"{bucket.uri}/lake/lines", storage=bucket.storage)
    assert {row["order_id"]: row["fee"] for row in table.to_pylist()} == FEES

    (root / "definitions/lake.yaml").write_text(iceberg)
    run()
    options = bucket.storage.iceberg_options(bucket.uri)
    catalog = SqlCatalog("default", uri=f"sqlite:///{root}/catalog.db", warehouse=f"{bucket.uri}/iceberg", **options)
    rows = catalog.load_table("close.lines").scan().to_arrow().to_pylist()
    catalog.close()
    assert {row["order_id"]: row["fee"] for row in rows} == FEES
    assert replay_run(open_workspace(root, session=lambda: spark), first).is_same
