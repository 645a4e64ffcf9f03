"""The shared session, a PostgreSQL server, and workspaces that write every format."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from daybook.model.datasource import PostgresqlSource
from tests.faults.runs.every_format import FORMATS, OLD, prepare, write_orders
from tests.spark.conftest import is_connect, spark
from tests.spark.io.conftest import postgresql
from tests.workspaces import Folder

__all__ = ["is_connect", "postgresql", "spark"]

NewWorkspace = Callable[..., Folder]


@pytest.fixture(scope="session")
def is_long() -> bool:
    """The long campaign: DAYBOOK_FAULTS=long."""
    return os.environ.get("DAYBOOK_FAULTS") == "long"


@pytest.fixture
def workspace(spark: SparkSession, postgresql: PostgresqlSource, tmp_path: Path) -> NewWorkspace:
    """Makes a workspace where the old rows have been written in all of the formats."""

    def make(formats: tuple[str, ...] = FORMATS, name: str = "w") -> Folder:
        conf = {"spark.sql.shuffle.partitions": 2, "spark.driver.memory": "1g"}
        folder = Folder.new(tmp_path / name, lambda: spark, engine={"master": "local[2]", "conf": conf})
        prepare(folder, postgresql, formats)
        write_orders(folder, "old", OLD)
        folder.run()
        return folder

    return make
