"""Telling a living process from a dead one, and from a later one with its number."""

import subprocess
import sys
from dataclasses import replace

from daybook.store.process import ProcessIdentity, current_process, is_surely_dead, start_time


def sleeper() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])


def identity(process: subprocess.Popen[bytes]) -> ProcessIdentity:
    return replace(current_process(), pid=process.pid, started=start_time(process.pid) or "")


def test_this_process_lives() -> None:
    assert not is_surely_dead(current_process())


def test_a_killed_process_is_dead() -> None:
    process = sleeper()
    known = identity(process)
    try:
        assert not is_surely_dead(known)
    finally:
        process.kill()
    # Not even reaped yet: a zombie holds nothing.
    process.poll()
    process.wait()
    assert is_surely_dead(known)


def test_a_zombie_is_dead() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    known = identity(process)
    assert process.stdout is None
    while start_time(process.pid) is not None:
        pass
    assert is_surely_dead(known)
    process.wait()


def test_a_reused_number_is_another_process() -> None:
    assert is_surely_dead(replace(current_process(), started="1"))


def test_nothing_is_said_of_other_machines() -> None:
    assert not is_surely_dead(replace(current_process(), host_id="elsewhere", pid=2**22 + 1))
