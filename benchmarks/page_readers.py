"""Fifty readers of the page at once while a build runs: no error, and the build at most 1.1 times as slow.

Builds with and without readers take turns, and which comes first does, too. A reader opens a page, reads it for a while
and opens the next; pages are those of the close, its runs and their numbers, and answers of the API. The ratio that
counts is the median over the pairs. The processor time of the server says what its readers cost, also on a machine that
is not idle.

python -m benchmarks.page_readers [--readers 50] [--rounds 5] [--pause 3]
"""

import argparse
import itertools
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import psutil

import daybook
from benchmarks.figures import record
from benchmarks.meter import Reading

AIM = 1.1
PERIODS = "2026-01..2026-03"
_READY_SECONDS = 60
_DAYBOOK = (sys.executable, "-m", "daybook")


class Readers:
    """Threads that read pages until they are told to stop; what went wrong, and how long each page took."""

    def __init__(self, address: str, paths: list[str], count: int, pause: float) -> None:
        self.problems: list[str] = []
        self.seconds: list[float] = []
        self._address = address
        self._paths = paths
        self._pause = pause
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=self._read, args=(number,)) for number in range(count)]

    def __enter__(self) -> "Readers":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    def _read(self, number: int) -> None:
        chance = random.Random(number)
        # They do not all begin in the same moment.
        self._is_over.wait(chance.uniform(0, self._pause))
        while not self._is_over.is_set():
            path = chance.choice(self._paths)
            begin = time.perf_counter()
            try:
                with urllib.request.urlopen(f"{self._address}{path}", timeout=60) as answer:
                    answer.read()
            except (urllib.error.URLError, OSError) as failure:
                self.problems.append(f"{path}: {failure}")
            else:
                self.seconds.append(time.perf_counter() - begin)
            self._is_over.wait(chance.uniform(self._pause / 2, self._pause * 3 / 2))


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, psutil.Process]]:
    """The page of a workspace in a process of its own, and that process."""
    command = [*_DAYBOOK, "-w", str(folder), "serve", "--open", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip().rstrip("/")
        _wait_for(f"{address}/health")
        yield address, psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(timeout=30)


def _wait_for(address: str) -> None:
    for _ in range(_READY_SECONDS * 10):
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(address)


def build(folder: Path, periods: str) -> Reading:
    command = [*_DAYBOOK, "-w", str(folder), "build", "--period", periods, "--full", "--quiet"]

    def run() -> None:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    begin, before = time.perf_counter(), os.times()
    run()
    wall, after = time.perf_counter() - begin, os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return Reading(wall, used)


def shown_paths(folder: Path) -> list[str]:
    runs = daybook.Workspace(folder).runs(limit=10).runs
    pages = ["/close", "/runs", f"/close?period={PERIODS}", "/definitions", "/api/v1/status", "/api/v1/runs"]
    for run in runs:
        pages += [f"/runs/{run.id}", f"/api/v1/runs/{run.id}"]
        outputs = daybook.Workspace(folder).outputs(run.id)
        pages += [f"/runs/{run.id}/outputs/{output.operation_seq}" for output in outputs if output.format == "delta"]
    return pages


@dataclass
class Measured:
    """What the rounds gave; `server` is the processor time of the server per page, `share` per second of the build."""

    alone: list[Reading] = field(default_factory=list)
    watched: list[Reading] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    server: list[float] = field(default_factory=list)
    share: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def ratios(self) -> list[float]:
        return [each.wall / other.wall for each, other in zip(self.watched, self.alone, strict=True)]


def measure_rounds(folder: Path, arguments: argparse.Namespace) -> Measured:
    found = Measured()
    with served(folder) as (address, server):
        paths = shown_paths(folder)
        for path in paths:
            urllib.request.urlopen(f"{address}{path}", timeout=60).close()

        def build_watched() -> None:
            before = _processor(server)
            with Readers(address, paths, arguments.readers, arguments.pause) as readers:
                found.watched.append(build(folder, arguments.periods))
            used = _processor(server) - before
            found.server.append(used / max(len(readers.seconds), 1))
            found.share.append(used / found.watched[-1].wall)
            found.seconds += readers.seconds
            found.problems += readers.problems

        def build_alone() -> None:
            found.alone.append(build(folder, arguments.periods))

        for number in range(arguments.rounds):
            both = (build_alone, build_watched) if number % 2 == 0 else (build_watched, build_alone)
            for each in both:
                each()
    return found


def _processor(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def main() -> int:
    """0 when no page failed and the build is not slower than the aim."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--readers", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--periods", default=PERIODS, help="What is built.")
    parser.add_argument("--pause", type=float, default=3.0, help="Seconds for which somebody reads a page.")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "books"
        command = [*_DAYBOOK, "demo", str(folder), "--period", "2026-01"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        build(folder, arguments.periods)
        found = measure_rounds(folder, arguments)
    ratio, ordered = median(found.ratios), sorted(found.seconds)
    late = ordered[int(len(ordered) * 0.95)] if ordered else 0.0
    print(f"{arguments.readers} readers, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"build of {arguments.periods} alone: {_spread([each.wall for each in found.alone])} s", end="")
    print(f", processor {_spread([each.processor for each in found.alone])} s")
    print(f"with readers: {_spread([each.wall for each in found.watched])} s", end="")
    print(f", processor {_spread([each.processor for each in found.watched])} s")
    print(f"ratio of each pair: {_spread(found.ratios, digits=2)}, aim {AIM}")
    print(f"{len(ordered):,} pages, median {median(ordered or [0]):.3f} s, 95 % within {late:.3f} s")
    print(f"processor time of the server per page: {_spread([1000 * each for each in found.server])} ms")
    print(f"share of one processor that the server takes: {_spread(found.share, digits=2)}")
    print(f"errors: {len(found.problems)}")
    for problem in itertools.islice(found.problems, 5):
        print(f"  {problem}")
    record("build, fifty readers at the page", [each.wall for each in found.watched])
    return 0 if ratio <= AIM and not found.problems else 1


def _spread(values: list[float], digits: int = 1) -> str:
    low, middle, high = min(values), median(values), max(values)
    return f"{middle:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


if __name__ == "__main__":
    sys.exit(main())
