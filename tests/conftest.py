"""What all tests share: markers by folder and how hypothesis behaves."""

import gc
import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.chromium import chromium, page
from tests.postgres import PostgresServer, running_server
from tests.spark_session import is_connect, product_settings, shared_settings, spark

__all__ = ["chromium", "is_connect", "page", "product_settings", "spark"]

_MARKERS_BY_FOLDER = {
    "spark": ("spark",),
    "scenarios": ("spark",),
    "e2e": ("spark",),
    "faults": ("faults", "spark"),
    "cluster": ("cluster", "spark"),
    "browser": ("browser",),
}
# `make test` does not look for tests with a session there.
_WITHOUT_JAVA = ("unit", "golden")
# Single tests take longest here: every worker begins with some of them, so that none is left alone with one at the end.
_LONGEST = (
    "browser/",
    "e2e/",
    "faults/",
    "spark/demo/",
    "spark/engine/test_lifecycle",
    "spark/engine/test_locale",
    "spark/engine/test_warm_engine",
    "spark/scenarios/",
    "spark/web/",
    "unit/cli/",
)

# What collection makes lives as long as the process: thousands of tests, all modules. Nobody looks for garbage in it.
gc.disable()

# An archive that exists is used; no test leaves a process behind that makes one.
os.environ.setdefault("DAYBOOK_CLASS_ARCHIVE", "use")

# `nohup` and background jobs of scripts ignore signals, and programs inherit that, but never a handler.
for _number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else lambda *_: None)

# Shared machines stall: how long an example takes says nothing about the code.
settings.register_profile("house", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
# Far more examples, and others each time.
settings.register_profile("long", settings.get_profile("house"), max_examples=2000, derandomize=False)
settings.load_profile("long" if os.environ.get("DAYBOOK_FAULTS") == "long" else "house")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--connect", action="store_true", help="run the Spark tests through a local Spark Connect server")
    parser.addoption("--share-java", action="store_true", help="let all workers use one Java process")
    parser.addoption("--master", help="run the Spark tests at this master instead of two local threads")
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run modules and the tests in them in random order")
    parser.addoption("--skipped-to", metavar="FILE", help="append a line for every skipped test to this file")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folder = _path_below_tests(item).partition("/")[0]
        for marker in _MARKERS_BY_FOLDER.get(folder, ()):
            item.add_marker(marker)
        if folder in _WITHOUT_JAVA and item.get_closest_marker("spark"):
            raise pytest.UsageError(f"{item.nodeid} needs Java and belongs below tests/spark")


class _LongestFirst:
    """Orders what other plugins leave; xdist gives every worker one piece of the list, all of one length."""

    def __init__(self, workers: int) -> None:
        self._workers = workers

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        modules: dict[str, list[pytest.Item]] = {}
        others: list[pytest.Item] = []
        for item in items:
            path = _path_below_tests(item)
            (modules.setdefault(path, []) if path.startswith(_LONGEST) else others).append(item)
        pieces: list[list[pytest.Item]] = [[] for _ in range(self._workers)]
        for module in modules.values():
            # Tests of a module share what it makes.
            min(pieces, key=len).extend(module)
        ordered: list[pytest.Item] = []
        for number, piece in enumerate(pieces):
            length = (len(items) - len(ordered)) // (self._workers - number)
            rest = max(0, length - len(piece))
            ordered += [*piece, *others[:rest]]
            del others[:rest]
        items[:] = [*ordered, *others]


class _Shuffled:
    """Orders what other plugins leave: tests of a module stay together, since they share what it makes."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        chance = random.Random(self._seed)
        modules: dict[str, list[pytest.Item]] = {}
        for item in items:
            modules.setdefault(_path_below_tests(item), []).append(item)
        shuffled = list(modules.values())
        chance.shuffle(shuffled)
        for module in shuffled:
            chance.shuffle(module)
        items[:] = [item for module in shuffled for item in module]


def pytest_configure(config: pytest.Config) -> None:
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    seed = config.getoption("--shuffle")
    config.pluginmanager.register(_LongestFirst(workers) if seed is None else _Shuffled(seed))
    if config.getoption("--share-java") and not hasattr(config, "workerinput"):
        from tests.shared_java import SharedJava

        config.pluginmanager.register(SharedJava(shared_settings(config)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    file = config.getoption("--skipped-to")
    if file is None:
        return
    # A report of a skipped test has its file, line and reason.
    reasons = [report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.getreports("skipped")]
    with Path(file).open("a") as lines:
        lines.writelines(f"{reason}\n" for reason in reasons)


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def _path_below_tests(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0].removeprefix("tests/")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One real PostgreSQL server per test process; tests that use it carry the marker `postgres`."""
    with running_server() as server:
        yield server


@pytest.fixture(scope="session", autouse=True)
def copied_stores() -> Iterator[None]:
    """New stores get the tables that Alembic made once, and all share what SQLAlchemy compiled."""
    from tests.new_stores import copy_schema, made_by, shared_statements

    with made_by(copy_schema), shared_statements():
        yield


@pytest.fixture(scope="module")
def stores_by_alembic() -> Iterator[None]:
    """For tests of what Alembic makes."""
    from tests.new_stores import BY_ALEMBIC, made_by

    with made_by(BY_ALEMBIC):
        yield
