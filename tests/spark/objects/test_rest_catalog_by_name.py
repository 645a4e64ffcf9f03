"""Tables by name, and the state, in an Iceberg REST catalog that Spark has, with their files on an object store."""

from pathlib import Path

import pytest
from botocore.session import Session
from pyspark.sql import SparkSession

from daybook.model.settings import RetentionSettings
from daybook.runs.garbage import collect_garbage
from tests.catalogs import MISSING, catalog_jars, s3_jars
from tests.object_store import KEY, ObjectStore
from tests.workspaces import Folder, to_table

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not catalog_jars(), reason=MISSING),
    pytest.mark.skipif(not s3_jars(), reason="Iceberg's S3 client is missing: tools/jars iceberg-aws"),
]
SCHEMAS = ("close", "state", "drafts")


@pytest.fixture
def catalog(object_store: ObjectStore, spark: SparkSession) -> str:
    """The name of a catalog that is registered with the session, as a platform does it."""
    id_, _, secret = KEY.partition(":")
    given = {"region_name": "us-east-1", "aws_access_key_id": id_, "aws_secret_access_key": secret}
    bucket = object_store.new_bucket()
    client = Session().create_client("s3tables", endpoint_url=object_store.endpoint, **given)
    client.create_table_bucket(name=f"names-{bucket.name}")
    name = "rest"
    settings = {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".type": "rest",
        ".uri": object_store.catalog,
        ".warehouse": f"s3://names-{bucket.name}",
        ".credential": KEY,
        ".oauth2-server-uri": f"{object_store.catalog}/v1/oauth/tokens",
        ".io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        ".s3.endpoint": object_store.endpoint,
        ".s3.path-style-access": "true",
        ".s3.access-key-id": id_,
        ".s3.secret-access-key": secret,
        ".client.region": "us-east-1",
    }
    for key, value in settings.items():
        spark.conf.set(f"spark.sql.catalog.{name}{key}", value)
    for schema in SCHEMAS:
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {name}.{schema}").collect()
    return name


def test_runs_write_slices_hold_versions_and_leave_nothing(spark: SparkSession, tmp_path: Path, catalog: str) -> None:
    state = {"datasource_id": "db", "schema": "state"}
    folder = Folder.new(tmp_path / "w", lambda: spark, state=state)
    folder.datasource("db", "spark_catalog", catalog=catalog, schema="close")
    folder.project(to_table("result", "db", register_as_dataset="booked"))
    folder.project(to_table("summary", "db"), id_="next", input_="booked")
    first = folder.run("2026-01")
    following = folder.run("2026-01", "next")
    folder.run("2026-02")
    counted = spark.table(f"{catalog}.close.result").groupBy("_run_period").count().collect()
    assert sorted((row[0], row[1]) for row in counted) == [("2026-01", 3), ("2026-02", 1)]
    tags = spark.sql(f"SELECT name FROM {catalog}.close.result.refs WHERE type = 'TAG'").collect()
    assert len(tags) == 2
    assert folder.replay(first.run_id).is_same
    assert folder.replay(following.run_id).is_same
    with folder.around() as around:
        collect_garbage(around, RetentionSettings(runs="0d", versions=1))
    assert len(spark.sql(f"SELECT name FROM {catalog}.close.result.refs WHERE type = 'TAG'").collect()) == 1
    names = sorted(row["tableName"] for row in spark.sql(f"SHOW TABLES IN {catalog}.close").collect())
    assert names == ["result", "summary"]
