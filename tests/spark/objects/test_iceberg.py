"""Iceberg tables of a REST catalog whose files are on an object store."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyspark.sql import SparkSession

from daybook.model.settings import RetentionSettings
from daybook.runs.garbage import collect_garbage
from daybook.runs.run_result import RunFailedError
from tests.object_proxy import Action, ObjectProxy, running_proxy
from tests.object_store import KEY, Bucket, ObjectStore
from tests.spark.objects.folder import ObjectFolder
from tests.workspaces import assign, to_table


@pytest.fixture
def table_bucket(object_store: ObjectStore, bucket: Bucket) -> Bucket:
    return object_store.new_table_bucket()


@pytest.fixture
def folder(
    object_store: ObjectStore, bucket: Bucket, table_bucket: Bucket, tmp_path: Path, spark: SparkSession
) -> ObjectFolder:
    storage = {reached.uri: reached.settings for reached in (bucket, table_bucket)}
    folder = ObjectFolder.on(bucket, tmp_path / "w", lambda: spark, storage=storage)
    lake = object_store.iceberg_source(table_bucket, f"{bucket.uri}/lake")
    folder.define("datasource", {"id": "lake", **lake})
    return folder


@pytest.fixture
def catalog(object_store: ObjectStore, table_bucket: Bucket) -> Iterator[RestCatalog]:
    """As somebody else opens it."""
    # Both buckets have one key.
    options = table_bucket.storage.iceberg_options(table_bucket.uri)
    catalog = RestCatalog(
        "other",
        uri=object_store.catalog,
        warehouse=table_bucket.uri,
        credential=KEY,
        **{"oauth2-server-uri": f"{object_store.catalog}/v1/oauth/tokens"},
        **{"py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO", **options},
    )
    yield catalog
    catalog.close()


def rows(catalog: RestCatalog, name: str = "result") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = catalog.load_table(("close", name)).scan().to_arrow().to_pylist()
    return found


def test_a_close_in_iceberg_on_an_object_store(folder: ObjectFolder, catalog: RestCatalog) -> None:
    folder.project(assign("amount", "amount * 2"), to_table(register_as_dataset="booked"))
    folder.project(to_table("copy"), id_="copy", input={"dataset_id": "booked"})
    first = folder.run("2026-01")
    folder.run("2026-02")
    assert {row["_run_period"] for row in rows(catalog)} == {"2026-01", "2026-02"}
    amounts = {row["order_id"]: row["amount"] for row in rows(catalog) if row["_run_period"] == "2026-01"}
    assert amounts == {"O-1": Decimal("200.00"), "O-2": Decimal("100.00"), "O-3": Decimal("0.00")}
    copied = folder.run("2026-01", "copy")
    assert {row["order_id"] for row in rows(catalog, "copy")} == set(amounts)
    folder.run("2026-01")
    assert folder.replay(first.run_id).is_same
    assert folder.replay(copied.run_id).is_same
    tags = [name for name in catalog.load_table("close.result").refs() if name.startswith("daybook-")]
    assert sorted(name.rpartition("-")[2] for name in tags) == ["v1", "v2", "v3"]
    with folder.around() as environment:
        collect_garbage(environment, RetentionSettings(runs="90d", versions=1))
    tags = [name for name in catalog.load_table("close.result").refs() if name.startswith("daybook-")]
    assert len(tags) < 3
    assert len(catalog.load_table("close.result").snapshots()) == 3


@pytest.fixture
def catalog_proxy(folder: ObjectFolder, object_store: ObjectStore, table_bucket: Bucket) -> Iterator[ObjectProxy]:
    """Stands before the catalog once the first run has made the table."""
    folder.run("2026-01")
    with running_proxy(object_store.catalog) as running:
        lake = object_store.iceberg_source(table_bucket, f"{folder.bucket.uri}/lake")
        lake["options"]["uri"] = running.endpoint
        folder.define("datasource", {"id": "lake", **lake})
        yield running


@pytest.mark.parametrize(
    "action", ["drop the answer", *(pytest.param(action, marks=pytest.mark.slow) for action in ("reset", "500", "503"))]
)
def test_a_commit_that_the_catalog_disturbs_is_made_once(
    action: Action, folder: ObjectFolder, catalog: RestCatalog, catalog_proxy: ObjectProxy
) -> None:
    fault = catalog_proxy.meet(action, "POST", "/tables/result")
    folder.run("2026-01")
    assert fault.happened == 1
    table = catalog.load_table("close.result")
    runs = [snapshot.summary["daybook.run"] for snapshot in table.snapshots() if snapshot.summary is not None]
    assert len(runs) == len(set(runs)) == 2
    assert sorted(row["order_id"] for row in rows(catalog)) == ["O-1", "O-2", "O-3"]


def test_a_catalog_that_does_not_answer_has_a_code_and_its_retry_commits_once(
    folder: ObjectFolder, catalog: RestCatalog, catalog_proxy: ObjectProxy
) -> None:
    catalog_proxy.meet("503", "POST", "/tables/result", times=10_000)
    with pytest.raises(RunFailedError) as failed:
        folder.run("2026-01")
    assert [cause.code for cause in failed.value.error.causes] == ["IO_026"]
    assert KEY.partition(":")[2] not in str(failed.value)
    catalog_proxy.faults = []
    folder.retry(folder.last_run().id)
    assert len(catalog.load_table("close.result").snapshots()) == 2
    assert sorted(row["order_id"] for row in rows(catalog)) == ["O-1", "O-2", "O-3"]
