"""One Spark session for the whole test run, classic or through Connect.

A second one would take the place of the first. What it needs is imported late: most tests know nothing of Spark.
"""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def is_connect(request: pytest.FixtureRequest) -> bool:
    is_told = request.config.getoption("--connect") or request.config.getoption("--sail")
    return bool(is_told or os.environ.get("DAYBOOK_TEST_CONNECT"))


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest, is_connect: bool) -> "Iterator[SparkSession]":
    """A session with the product's own settings and few shuffle partitions; two threads unless told otherwise."""
    from daybook.engine.java.connect import open_sail_session
    from daybook.engine.java.session import start_session, stop_session
    from daybook.engine.java.session_conf import remote_conf
    from daybook.model.settings import EngineSettings
    from tests.postgres import jdbc_driver
    from tests.spark.local_files import leave_modes_to_umask

    # Joins of small tables keep whole pages until Java collects its garbage: large ones fill the heap in no time.
    conf: dict[str, str | int] = {
        "spark.sql.shuffle.partitions": 3,
        "spark.driver.memory": "1g",
        "spark.buffer.pageSize": "64k",
    }
    if not is_connect and (driver := jdbc_driver()) is not None:
        conf["spark.jars"] = str(driver)
    master = request.config.getoption("--master") or os.environ.get("DAYBOOK_TEST_MASTER") or "local[2]"
    settings = EngineSettings(remote=master, conf=conf) if is_connect else EngineSettings(master=master, conf=conf)
    if request.config.getoption("--sail"):
        # Without the question whether Sail can do it: that is what the tests tell.
        session = open_sail_session(
            remote_conf(EngineSettings(conf={"spark.sql.shuffle.partitions": 3})), "daybook-tests"
        )
    else:
        # Ten thousand small queries are a long run for Java.
        session = start_session(settings, app_name="daybook-tests", workload="long")
        if not is_connect:
            leave_modes_to_umask(session)
    yield session
    stop_session(session)
