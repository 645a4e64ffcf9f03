"""A Spark session for many very small queries, without settings that only help with large data."""

import contextlib
import threading
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from daybook.engine.java.session import separate_session
from daybook.runs.environment import SessionProvider

# Compiling code for a query takes longer than computing a few rows without it; rows are the same either way.
_QUICK_SETTINGS: Mapping[str, str] = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


class MemoryStaging:
    """Keeps intermediate results in memory: a scenario has a few rows, and writing files takes longer than they do."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def keep(self, df: DataFrame, label: str) -> DataFrame:
        return self._spark.createDataFrame(df.toArrow(), df.schema)


class QuickSession:
    """A session beside that of a provider, made once; `begin` lets it start while other things are prepared."""

    def __init__(self, provider: SessionProvider) -> None:
        self._provider = provider
        self._lock = threading.Lock()
        self._session: SparkSession | None = None

    def begin(self) -> None:
        threading.Thread(target=self._start, name="daybook-quick-session", daemon=True).start()

    def _start(self) -> None:
        # Whoever asks for the session gets the reason why there is none.
        with contextlib.suppress(Exception):
            self()

    def __call__(self) -> SparkSession:
        with self._lock:
            if self._session is None:
                session = separate_session(self._provider())
                for key, value in _QUICK_SETTINGS.items():
                    # A server may keep a setting to itself.
                    with contextlib.suppress(Exception):
                        session.conf.set(key, value)
                self._session = session
            return self._session
