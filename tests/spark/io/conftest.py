"""A real PostgreSQL for the tests of reading and writing, started when a test asks for it."""

import os
import sys
from pathlib import Path

import pytest

from daybook.model.datasource import PostgresqlOptions, PostgresqlSource
from tests.postgres import PostgresServer
from tests.spark.io.cases import Case, Place

# Tasks of the PostgreSQL writer run in Python workers, which need the packages of this interpreter.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


@pytest.fixture(scope="session")
def postgresql(postgres_server: PostgresServer) -> PostgresqlSource:
    options = PostgresqlOptions(host=str(postgres_server.folder), database="postgres", user="postgres")
    return PostgresqlSource(id="pg", name="PostgreSQL", type="postgresql", options=options)


@pytest.fixture
def place(request: pytest.FixtureRequest, case: Case, tmp_path: Path, is_connect: bool) -> Place:
    """Where a case writes in this test."""
    if case.format == "jdbc" and is_connect:
        pytest.skip("JDBC commits need a classic session")
    if case.format == "spark_catalog":
        spark = request.getfixturevalue("spark")
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS `{case.catalog}`.books").collect()
    source = request.getfixturevalue("postgresql") if case.format == "postgresql" else None
    return Place(case, tmp_path, source)
