"""A workspace per test, run with the shared session."""

import os
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.workspaces import Folder

# Tasks of the PostgreSQL writer run in Python workers, which need the packages of this interpreter.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path) -> Folder:
    return Folder.new(tmp_path / "w", lambda: spark)
