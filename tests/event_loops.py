"""Event loops of their own: a test of the page in a browser leaves its loop running in the thread of the tests."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")


def in_another_thread(action: Callable[[], Result]) -> Result:
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(action).result()


def run_coroutine(coroutine: Coroutine[Any, Any, Result]) -> Result:
    return in_another_thread(lambda: asyncio.run(coroutine))
