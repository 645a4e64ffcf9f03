"""One PostgreSQL server for all faults."""

import os

import pytest

from tests.spark.io.conftest import postgresql

__all__ = ["postgresql"]


@pytest.fixture(scope="session")
def is_long() -> bool:
    """The long campaign: DAYBOOK_FAULTS=long."""
    return os.environ.get("DAYBOOK_FAULTS") == "long"
