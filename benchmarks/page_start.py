"""`daybook serve` from a standing start until a page is served, without Spark; the aim is a second.

The first page of somebody with a token is the login. With `--open` it is the close, which needs the store, the graph
and all that they import; it is measured, too, on a workspace that has not run yet.

Run it as `python -m benchmarks.page_start [ROUNDS]`.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import psutil

from benchmarks.figures import record
from benchmarks.meter import Reading

AIM = 1.0
PAGES = {"the login": "/login", "the close": "/close"}
_SECONDS = 60


def serve_once(folder: Path, path: str) -> tuple[float, Reading]:
    """Seconds until the address is printed, and wall and processor time until the page is there."""
    command = [sys.executable, "-m", "daybook", "-w", str(folder), "serve", "--open", "--port", "0", "--quiet"]
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip().rstrip("/")
        is_open = time.perf_counter() - begin
        with urllib.request.urlopen(f"{address}{path}", timeout=_SECONDS) as answer:
            answer.read()
        times = psutil.Process(process.pid).cpu_times()
        return is_open, Reading(time.perf_counter() - begin, times.user + times.system)
    finally:
        process.terminate()
        process.communicate(timeout=_SECONDS)


def main(rounds: int = 5) -> int:
    """0 when the login is there within the aim."""
    with tempfile.TemporaryDirectory(prefix="daybook-bench-") as place:
        folder = Path(place) / "books"
        subprocess.run([sys.executable, "-m", "daybook", "init", str(folder)], check=True, capture_output=True)
        # Byte code is compiled by whoever comes first.
        serve_once(folder, "/close")
        found: dict[str, list[tuple[float, Reading]]] = {name: [] for name in PAGES}
        for _ in range(rounds):
            for name, path in PAGES.items():
                found[name].append(serve_once(folder, path))
    print(f"{rounds} rounds, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    for name, readings in found.items():
        walls = [reading.wall for _, reading in readings]
        opened = statistics.median(is_open for is_open, _ in readings)
        used = statistics.median(reading.processor for _, reading in readings)
        print(f"until {name} is served: median {statistics.median(walls):.2f} s", end="")
        print(f" ({min(walls):.2f} to {max(walls):.2f}), processor {used:.2f} s; address open after {opened:.2f} s")
        record(f"serve until {name}", walls)
    return 0 if statistics.median(reading.wall for _, reading in found["the login"]) <= AIM else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
