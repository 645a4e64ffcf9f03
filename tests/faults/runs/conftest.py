"""Workspaces that write every format."""

from collections.abc import Callable, Iterator

import psycopg
import pytest
from pyspark.sql import SparkSession

from daybook.model.datasource import PostgresqlSource
from tests.faults.runs.every_format import FORMATS, OLD, prepare, write_orders
from tests.workspaces import Folder

NewWorkspace = Callable[..., Folder]


@pytest.fixture(scope="module")
def workspace(
    spark: SparkSession, postgresql: PostgresqlSource, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[NewWorkspace]:
    """Makes a workspace where the old rows have been written in all of the formats."""
    schemas: list[str] = []

    def make(formats: tuple[str, ...] = FORMATS) -> Folder:
        conf = {"spark.sql.shuffle.partitions": 2, "spark.driver.memory": "1g"}
        folder = Folder.new(
            tmp_path_factory.mktemp("faults") / "w", lambda: spark, engine={"master": "local[2]", "conf": conf}
        )
        schemas.append(prepare(folder, postgresql, formats))
        write_orders(folder, "old", OLD)
        folder.run()
        return folder

    yield make
    # A run that died leaves what it staged, which other tests would find in the same database.
    with psycopg.connect(host=postgresql.options.host, dbname="postgres", user="postgres") as connection:
        for schema in schemas:
            connection.execute(f'drop schema "{schema}" cascade'.encode())
