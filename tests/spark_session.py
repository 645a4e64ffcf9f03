"""One Spark session for every test process, classic or through Connect.

A second one would take the place of the first. What it needs is imported late: most tests know nothing of Spark.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from daybook.model.settings import EngineSettings

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
    return bool(request.config.getoption("--connect") or os.environ.get("DAYBOOK_TEST_CONNECT"))


def classic_settings(config: pytest.Config, *, threads: int, memory: str) -> "EngineSettings":
    """The settings of a Java process for tests."""
    from daybook.model.settings import EngineSettings
    from tests.catalogs import catalog_conf
    from tests.object_store import hadoop_jars
    from tests.postgres import jdbc_driver

    # Joins of small tables keep whole pages until Java collects its garbage: large ones fill the heap in no time.
    conf = {**_SHUFFLE, **_QUICK, **catalog_conf(), "spark.driver.memory": memory, "spark.buffer.pageSize": "64k"}
    drivers = () if (driver := jdbc_driver()) is None else (str(driver),)
    if jars := (*drivers, *hadoop_jars()):
        conf["spark.jars"] = ",".join(jars)
    master = config.getoption("--master") or os.environ.get("DAYBOOK_TEST_MASTER") or f"local[{threads}]"
    return EngineSettings(master=master, conf=conf)


def shared_settings(config: pytest.Config) -> "EngineSettings":
    """The settings of the Java process that all workers share."""
    return classic_settings(config, threads=4, memory="3g")


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest, is_connect: bool) -> "Iterator[SparkSession]":
    """A session whose results are the product's, and that spends little on each query; two threads by default."""
    from daybook.engine.java.session import start_session, stop_session
    from daybook.model.settings import EngineSettings
    from tests.shared_java import join_shared_java, shared_address
    from tests.spark.local_files import leave_modes_to_umask

    if (address := shared_address(request.config)) is not None:
        with address.lock():
            session = join_shared_java(address, shared_settings(request.config))
            leave_modes_to_umask(session)
        yield session
        return
    settings = classic_settings(request.config, threads=2, memory="1g")
    if is_connect:
        conf = {key: value for key, value in settings.conf.items() if key != "spark.jars"}
        remote = EngineSettings(remote=settings.master, conf=conf)
        session = start_session(remote, app_name="daybook-tests", workload="short")
    else:
        # Java's second compiler costs ten thousand small queries more than it gives them.
        session = start_session(settings, app_name="daybook-tests", workload="short")
        leave_modes_to_umask(session)
    yield session
    stop_session(session)


@dataclass(frozen=True, slots=True)
class GivenSession:
    """The session of the tests as that of a command, which starts no Java process."""

    spark: "SparkSession"

    def __call__(self) -> "SparkSession":
        return self.spark

    def begin_java(self, root: Path) -> None:
        """It runs."""


@contextmanager
def as_users_run_it(spark: "SparkSession") -> Iterator[None]:
    """Generated code and adaptive execution for a while."""
    from daybook.engine.java.session_conf import temporary_settings

    with temporary_settings(spark, _PRODUCT):
        yield


@pytest.fixture(scope="module")
def product_settings(spark: "SparkSession") -> "Iterator[None]":
    """Generated code and adaptive execution for the tests of a module."""
    with as_users_run_it(spark):
        yield
