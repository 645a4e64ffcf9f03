"""The same places as the tests of reading and writing."""

from tests.spark.io.conftest import place

__all__ = ["place"]
