"""Fifty readers of the page at once while a build runs: no error, and the build at most 1.1 times as slow.

Builds with and without readers take turns. A reader opens a page, reads it for a while and opens the next; pages are
those of the close, its runs and their numbers, and answers of the API.

python -m benchmarks.page_readers [--readers 50] [--rounds 3] [--pause 3]
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
from pathlib import Path
from statistics import median

import daybook

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
def served(folder: Path) -> Iterator[str]:
    """The page of a workspace in a process of its own."""
    command = [*_DAYBOOK, "-w", str(folder), "serve", "--open", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip().rstrip("/")
        _wait_for(f"{address}/health")
        yield address
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


def build(folder: Path, periods: str) -> float:
    begin = time.perf_counter()
    command = [*_DAYBOOK, "-w", str(folder), "build", "--period", periods, "--full", "--quiet"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begin


def shown_paths(folder: Path) -> list[str]:
    runs = daybook.Workspace(folder).runs(limit=10).runs
    pages = ["/close", "/runs", f"/close?period={PERIODS}", "/definitions", "/api/v1/status", "/api/v1/runs"]
    for run in runs:
        pages += [f"/runs/{run.id}", f"/api/v1/runs/{run.id}"]
        outputs = daybook.Workspace(folder).outputs(run.id)
        pages += [f"/runs/{run.id}/outputs/{output.operation_seq}" for output in outputs if output.format == "delta"]
    return pages


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--readers", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--periods", default=PERIODS, help="What is built.")
    parser.add_argument("--pause", type=float, default=3.0, help="Seconds for which somebody reads a page.")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "books"
        command = [*_DAYBOOK, "demo", str(folder), "--period", "2026-01"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        build(folder, arguments.periods)
        alone: list[float] = []
        watched: list[float] = []
        problems: list[str] = []
        seconds: list[float] = []
        with served(folder) as address:
            paths = shown_paths(folder)
            for path in paths:
                urllib.request.urlopen(f"{address}{path}", timeout=60).close()
            for _ in range(arguments.rounds):
                alone.append(build(folder, arguments.periods))
                with Readers(address, paths, arguments.readers, arguments.pause) as readers:
                    watched.append(build(folder, arguments.periods))
                problems += readers.problems
                seconds += readers.seconds
        ratio = median(each / other for each, other in zip(watched, alone, strict=True))
        ordered = sorted(seconds)
        late = ordered[int(len(ordered) * 0.95)] if ordered else 0.0
        print(f"{arguments.readers} readers, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
        print(f"build of {arguments.periods} alone: {', '.join(f'{each:.1f}' for each in alone)} s")
        print(f"with readers:  {', '.join(f'{each:.1f}' for each in watched)} s; ratio {ratio:.2f}, aim {AIM}")
        print(f"{len(seconds):,} pages, median {median(ordered or [0]):.3f} s, 95 % within {late:.3f} s")
        print(f"errors: {len(problems)}")
        for problem in itertools.islice(problems, 5):
            print(f"  {problem}")


if __name__ == "__main__":
    main()
