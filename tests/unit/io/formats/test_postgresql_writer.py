"""Runs side by side make the writer of PostgreSQL known to their sessions without disturbing each other."""

import threading
import time
from types import SimpleNamespace
from typing import Any, cast

from pyspark.sql import SparkSession

from daybook.io.formats.postgresql.format import register_copy_source


def test_sessions_of_several_threads_register_it() -> None:
    registered: list[object] = []
    failures: list[Exception] = []

    def register(source: object) -> None:
        time.sleep(0.05)
        registered.append(source)

    session = cast(SparkSession, SimpleNamespace(dataSource=SimpleNamespace(register=register)))

    def run(*_: Any) -> None:
        try:
            register_copy_source(session)
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert failures == []
    assert len(registered) == 4
