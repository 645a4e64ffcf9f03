"""What the machine gives: cores and memory, also inside a container."""

import os
from pathlib import Path

GIGABYTE = 1 << 30
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def usable_cores() -> int:
    """The cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def memory_bytes() -> int:
    """The machine's memory, or the container's limit where that is smaller."""
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        physical = 4 * GIGABYTE
    limits = [limit for path in _LIMITS if (limit := _limit(Path(path))) is not None]
    return min([physical, *limits])


def driver_memory_megabytes(memory: int) -> int:
    """Half of the machine, between 1 GB and the 31 GB up to which object pointers stay short."""
    return max(1024, min(31 * 1024, memory // 2 // (1 << 20)))


def _limit(path: Path) -> int | None:
    try:
        text = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return int(text) if text.isdigit() else None
