"""One Spark session for the whole test run, classic or through Connect.

A second one would take the place of the first. What it needs is imported late: most tests know nothing of Spark.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Queries of tests are many and tiny: compiling code for one takes longer than running it without, and rows are the
# same either way. The fixture `product_settings` proves that where it matters.
_QUICK: dict[str, str | int | bool] = {
    "spark.sql.adaptive.enabled": False,
    "spark.sql.codegen.wholeStage": False,
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
_PRODUCT = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
}
_SHUFFLE = {"spark.sql.shuffle.partitions": 2}


@pytest.fixture(scope="session")
def is_connect(request: pytest.FixtureRequest) -> bool:
    is_told = request.config.getoption("--connect") or request.config.getoption("--sail")
    return bool(is_told or os.environ.get("DAYBOOK_TEST_CONNECT"))


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest, is_connect: bool) -> "Iterator[SparkSession]":
    """A session whose results are the product's, and that spends little on each query; two threads by default."""
    from daybook.engine.java.connect import open_sail_session
    from daybook.engine.java.session import start_session, stop_session
    from daybook.engine.java.session_conf import remote_conf
    from daybook.model.settings import EngineSettings
    from tests.postgres import jdbc_driver
    from tests.spark.local_files import leave_modes_to_umask

    # Joins of small tables keep whole pages until Java collects its garbage: large ones fill the heap in no time.
    conf: dict[str, str | int | bool] = {
        **_SHUFFLE,
        **_QUICK,
        "spark.driver.memory": "1g",
        "spark.buffer.pageSize": "64k",
    }
    if not is_connect and (driver := jdbc_driver()) is not None:
        conf["spark.jars"] = str(driver)
    master = request.config.getoption("--master") or os.environ.get("DAYBOOK_TEST_MASTER") or "local[2]"
    settings = EngineSettings(remote=master, conf=conf) if is_connect else EngineSettings(master=master, conf=conf)
    if request.config.getoption("--sail"):
        # Without the question whether Sail can do it: that is what the tests tell.
        session = open_sail_session(remote_conf(EngineSettings(conf=_SHUFFLE)), "daybook-tests")
    else:
        # Java's second compiler costs ten thousand small queries more than it gives them.
        session = start_session(settings, app_name="daybook-tests", workload="short")
        if not is_connect:
            leave_modes_to_umask(session)
    yield session
    stop_session(session)


@contextmanager
def as_users_run_it(request: pytest.FixtureRequest, spark: "SparkSession") -> Iterator[None]:
    """Generated code and adaptive execution for a while."""
    from daybook.engine.java.session_conf import temporary_settings

    with temporary_settings(spark, {} if request.config.getoption("--sail") else _PRODUCT):
        yield


@pytest.fixture(scope="module")
def product_settings(request: pytest.FixtureRequest, spark: "SparkSession") -> "Iterator[None]":
    """Generated code and adaptive execution for the tests of a module."""
    with as_users_run_it(request, spark):
        yield
