"""A workspace per test, run with the shared session."""

import os
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.compare.journals import CLOSE, Ledger
from tests.workspaces import Folder

# Tasks of the PostgreSQL writer run in Python workers, which need the packages of this interpreter.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path) -> Folder:
    return Folder.new(tmp_path / "w", lambda: spark)


@pytest.fixture
def ledger(folder: Folder) -> Ledger:
    return Ledger(folder)


@pytest.fixture(scope="session")
def closed_folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Folder, str]:
    folder = Folder.new(tmp_path_factory.mktemp("closed") / "w", lambda: spark)
    return folder, Ledger(folder).run(*CLOSE)


@pytest.fixture
def closed(closed_folder: tuple[Folder, str]) -> tuple[Ledger, str]:
    """A run of the usual close that tests compare with runs of their own, in a workspace that they share."""
    folder, run_id = closed_folder
    return Ledger(folder), run_id


@pytest.fixture(scope="module")
def closed_group(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """A workspace for a close of several projects."""
    return Folder.new(tmp_path_factory.mktemp("group") / "w", lambda: spark)
