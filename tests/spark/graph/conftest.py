"""A workspace per test, built with the shared session."""

from tests.spark.io.conftest import postgresql
from tests.spark.runs.conftest import folder

__all__ = ["folder", "postgresql"]
