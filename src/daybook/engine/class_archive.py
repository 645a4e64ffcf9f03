"""The class-data archive: Spark's classes as Java left them after loading, mapped instead of loaded again.

It is made once per Spark and Java in the user's cache folder, by a process of its own, and is never in the way: no
cache, a cache that cannot be written or an archive that does not fit all mean a slower start and nothing else.
"""

import contextlib
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from daybook.engine.java import Java
from daybook.engine.launch import spark_jars, virtual_machine_flags

# Raised when the training or the flags change, so that older archives are made anew.
_LAYOUT = 1
_RETRY_SECONDS = 24 * 3600
SWITCH = "DAYBOOK_CLASS_ARCHIVE"


def archive_path(java: Java, spark_home: Path, environment: Mapping[str, str]) -> Path | None:
    """Where the archive for this Java and this Spark belongs; None when the user or the system has no use for one."""
    if environment.get(SWITCH) == "off" or os.name != "posix":
        return None
    cache = cache_folder(environment)
    if cache is None:
        return None
    return cache / "class-data" / f"{_key(java, spark_home)}.jsa"


def ready_archive(path: Path | None) -> Path | None:
    """The archive if it is there, marked as used so that pruning spares it."""
    if path is None or not path.is_file():
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return path


def build_in_background(path: Path, java: Java, environment: Mapping[str, str]) -> None:
    """Let a process of low priority make the archive, unless one does already or failed within a day."""
    if environment.get(SWITCH) == "use" or _failed_lately(path):
        return
    command = [sys.executable, "-m", "daybook.engine.build_archive", str(path), str(java.executable), java.origin]
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        subprocess.Popen(
            command,
            env={**environment, SWITCH: "off"},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )


def failure_mark(path: Path) -> Path:
    return path.with_suffix(".failed")


def cache_folder(environment: Mapping[str, str]) -> Path | None:
    """The user's cache folder for Daybook, by the conventions of the system."""
    if chosen := environment.get("DAYBOOK_CACHE"):
        return Path(chosen)
    if (base := environment.get("XDG_CACHE_HOME")) and Path(base).is_absolute():
        return Path(base) / "daybook"
    home = environment.get("HOME")
    if not home:
        return None
    return Path(home, "Library", "Caches", "daybook") if sys.platform == "darwin" else Path(home, ".cache", "daybook")


def _key(java: Java, spark_home: Path) -> str:
    """Changes with everything the virtual machine compares before it uses an archive."""
    parts = [str(_LAYOUT), str(java.executable), java.build, *virtual_machine_flags("long")]
    for jar in spark_jars(spark_home):
        status = jar.stat()
        parts.append(f"{jar} {status.st_size} {int(status.st_mtime)}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24]


def _failed_lately(path: Path) -> bool:
    try:
        return time.time() - failure_mark(path).stat().st_mtime < _RETRY_SECONDS
    except OSError:
        return False
