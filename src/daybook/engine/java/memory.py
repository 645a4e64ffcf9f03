"""How much memory a Java process may take when it starts, beside the others on the machine."""

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from daybook.engine.java.launch import GATEWAY_CLASS
from daybook.errors import DaybookError

_MEGABYTE = 1 << 20
# Spark refuses to start with less than 450 MB.
LEAST_HEAP_MEGABYTES = 512
# Classes, compiled code, threads and buffers of an engine that computes little.
_OUTSIDE_MEGABYTES = 400
_LEAST_AVAILABLE_MEGABYTES = 700
_UNITS: Mapping[str, int] = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
# Limit, use, and the name of the part of the use that the system gives back by itself, for both versions of cgroups.
_GROUP_FILES = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat", "inactive_file"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        "/sys/fs/cgroup/memory/memory.stat",
        "total_inactive_file",
    ),
)


def fit_heap(launch_conf: Mapping[str, str], *, is_chosen: bool) -> dict[str, str]:
    """The settings with a heap for which there is memory now; a heap that the user has chosen stays.

    RUN_921 where there is too little, since the system would end one of the processes later.
    """
    conf = dict(launch_conf)
    heap = conf.get("spark.driver.memory")
    available = available_bytes()
    if is_chosen or heap is None or available is None:
        return conf
    megabytes = int(heap.removesuffix("m"))
    conf["spark.driver.memory"] = f"{heap_megabytes(megabytes, available, unclaimed_bytes())}m"
    return conf


def heap_megabytes(most: int, available: int, unclaimed: int) -> int:
    """The heap in MB: `most`, or what is left of the available memory.

    Others rarely take all they may at the same moment, so half of what they have not claimed yet counts.
    """
    if available < _LEAST_AVAILABLE_MEGABYTES * _MEGABYTE:
        raise DaybookError("RUN_921", available=available // _MEGABYTE, least=_LEAST_AVAILABLE_MEGABYTES)
    left = (available - unclaimed // 2) // _MEGABYTE - _OUTSIDE_MEGABYTES
    return max(LEAST_HEAP_MEGABYTES, min(most, left))


def available_bytes() -> int | None:
    """The memory that processes can still take, on the machine or in its container; None where the system hides it."""
    amounts = [amount for amount in (_machine_available(), *map(_group_available, _GROUP_FILES)) if amount is not None]
    return min(amounts, default=None)


def unclaimed_bytes() -> int:
    """How much the Java processes of Daybook on this machine may still take."""
    return sum(max(0, limit - resident) for limit, resident in java_engines())


def _machine_available() -> int | None:
    with contextlib.suppress(OSError):
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        if (line := re.search(r"^MemAvailable:\s+(\d+) kB$", text, flags=re.MULTILINE)) is not None:
            return int(line[1]) << 10
    return None


def _group_available(files: tuple[str, str, str, str]) -> int | None:
    limit_file, use_file, parts_file, name = files
    try:
        limit, use = (Path(file).read_text(encoding="ascii").strip() for file in (limit_file, use_file))
        parts = dict(line.split() for line in Path(parts_file).read_text(encoding="ascii").splitlines())
    except (OSError, ValueError):
        return None
    return max(0, int(limit) - int(use) + int(parts.get(name, 0))) if limit.isdigit() else None


def java_engines() -> Iterator[tuple[int, int]]:
    """The limit of the heap and the resident memory of each Java process that a Daybook has started."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            if (folder / "comm").read_text(encoding="ascii", errors="replace").strip() != "java":
                continue
            words = (folder / "cmdline").read_text(encoding="utf-8", errors="replace").split("\0")
            limits = [match for word in words if (match := re.fullmatch(r"-Xmx(\d+)([kmgKMG]?)", word))]
            if GATEWAY_CLASS in words and limits:
                pages = int((folder / "statm").read_text(encoding="ascii").split()[1])
                number, unit = limits[-1].groups()
                yield int(number) * _UNITS[unit.lower()], pages * os.sysconf("SC_PAGE_SIZE")
