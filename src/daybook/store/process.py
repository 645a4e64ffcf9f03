"""The process that holds a lease, and whether it still runs."""

import getpass
import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A process that cannot be mistaken for another: a pid is reused, its start time is not.

    `host_id` is the same for processes that can see each other's pids: one boot of one machine, one
    pid namespace.
    """

    host: str
    host_id: str
    pid: int
    started: str


def current_process() -> ProcessIdentity:
    pid = os.getpid()
    return ProcessIdentity(platform.node(), _host_id(), pid, start_time(pid) or "")


def current_user() -> str:
    """The name of the user of this process; `unknown` where the system has none."""
    try:
        # Variables of the environment may be no UTF-8.
        return getpass.getuser().encode("utf-8", "replace").decode()
    except (KeyError, OSError):
        return "unknown"


def is_surely_dead(process: ProcessIdentity) -> bool:
    """True only when this machine would see the process and does not; from elsewhere nothing can be said."""
    if process.host_id != _host_id() or _is_hidden(process.pid):
        return False
    return start_time(process.pid) != process.started


def is_surely_running(process: ProcessIdentity) -> bool:
    """True only when this machine sees the process; one that was stopped counts as well."""
    return process.host_id == _host_id() and start_time(process.pid) == process.started


def start_time(pid: int) -> str | None:
    """When a process started, in the system's own words; None when there is none."""
    if Path("/proc/self/stat").exists():
        return _proc_start_time(pid)
    process = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)],
        capture_output=True,
        text=True,
        check=False,
        timeout=10,
        # The time is written in the words of the locale otherwise.
        env={**os.environ, "LC_ALL": "C", "TZ": "UTC"},
    )
    answer = process.stdout.strip()
    state, _, started = answer.partition(" ")
    return None if not answer or state.startswith("Z") else started.strip()


def _proc_start_time(pid: int) -> str | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command name may hold spaces and parentheses; the fields after its last one are fixed.
    fields = stat.rpartition(")")[2].split()
    state, started = fields[0], fields[19]
    return None if state in "ZX" else started


def _is_hidden(pid: int) -> bool:
    """Some systems show users only their own processes; such a process exists but is not visible."""
    if Path(f"/proc/{pid}").exists() or not Path("/proc/self").exists():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    # It can be signalled: it has just begun, or is another of ours that /proc will show.
    return not Path(f"/proc/{pid}").exists()


def _host_id() -> str:
    boot = _read_text("/proc/sys/kernel/random/boot_id") or _boot_time()
    try:
        namespace = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        namespace = ""
    return f"{platform.node()}/{boot}/{namespace}"


def _boot_time() -> str:
    if platform.system() != "Darwin":
        return ""
    process = subprocess.run(["sysctl", "-n", "kern.boottime"], capture_output=True, text=True, check=False, timeout=10)
    return process.stdout.strip()


def _read_text(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except OSError:
        return None
