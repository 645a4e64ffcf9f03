"""The same session, server and places as the tests of reading and writing."""

import os

import pytest

from tests.spark.conftest import is_connect, spark
from tests.spark.io.conftest import place, postgresql

__all__ = ["is_connect", "place", "postgresql", "spark"]


@pytest.fixture(scope="session")
def is_long() -> bool:
    """The long campaign: DAYBOOK_FAULTS=long."""
    return os.environ.get("DAYBOOK_FAULTS") == "long"
