"""One session and one PostgreSQL server for all faults, the same as the Spark tests use."""

import os

import pytest

from tests.spark.conftest import is_connect, spark
from tests.spark.io.conftest import postgresql

__all__ = ["is_connect", "postgresql", "spark"]


@pytest.fixture(scope="session")
def is_long() -> bool:
    """The long campaign: DAYBOOK_FAULTS=long."""
    return os.environ.get("DAYBOOK_FAULTS") == "long"
