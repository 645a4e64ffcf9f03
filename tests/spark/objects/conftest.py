"""One S3 server for all tests here, and a workspace whose data, tables and state are in a bucket of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.object_proxy import ObjectProxy, running_proxy
from tests.object_store import KEY, KEY_VARIABLE, Bucket, ObjectStore, hadoop_jars, running_object_store, server_program
from tests.spark.objects.folder import ObjectFolder


@pytest.fixture(scope="session")
def object_store() -> Iterator[ObjectStore]:
    if server_program() is None:
        pytest.skip("SeaweedFS is not here")
    with running_object_store() as store:
        yield store


@pytest.fixture
def bucket(object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    return object_store.new_bucket()


@pytest.fixture
def proxy(object_store: ObjectStore) -> Iterator[ObjectProxy]:
    with running_proxy(object_store.endpoint) as running:
        yield running


@pytest.fixture
def folder(bucket: Bucket, tmp_path: Path, spark: SparkSession) -> ObjectFolder:
    if not hadoop_jars():
        pytest.skip("Hadoop's S3 client is not here")
    return ObjectFolder.on(bucket, tmp_path / "w", lambda: spark)
