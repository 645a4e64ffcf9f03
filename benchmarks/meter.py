"""Wall time and processor time of an action, so that a busy machine can still be measured on."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import psutil

# A server's process that ends counts for its parent only once it has been waited for.
_SETTLING = 0.3


@dataclass(frozen=True, slots=True)
class Reading:
    wall: float
    processor: float


def _processor_seconds(roots: Iterable[psutil.Process]) -> float:
    """Of all processes below the roots, those that have ended included."""
    total = 0.0
    for root in roots:
        for process in (root, *root.children(recursive=True)):
            try:
                times = process.cpu_times()
            except psutil.NoSuchProcess:
                continue
            total += times.user + times.system + times.children_user + times.children_system
    return total


def measure(action: Callable[[], object], *others: int) -> Reading:
    """`others` are processes that work for the action without being children, such as a database server."""
    roots = [psutil.Process(), *(psutil.Process(process) for process in others)]
    processor = _processor_seconds(roots)
    wall = time.perf_counter()
    action()
    wall = time.perf_counter() - wall
    if others:
        time.sleep(_SETTLING)
    return Reading(wall, _processor_seconds(roots) - processor)
