"""A real standalone Spark cluster on loopback, from the installed PySpark: one master and its workers.

`python -m benchmarks.cluster` prints the master's address and runs until it is interrupted.
`python -m benchmarks.cluster -- COMMAND …` runs a command with the address in DAYBOOK_TEST_MASTER, then stops.
"""

import argparse
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from daybook.engine.java.launch import JavaRuntime, find_java, launcher_variables, module_flags, spark_home, spark_jars

MASTER_VARIABLE = "DAYBOOK_TEST_MASTER"
HOST = "127.0.0.1"
_START_SECONDS = 300
_EXECUTOR = "CoarseGrainedExecutorBackend"

# Spark's daemons do not watch their parent: this shell ends Java as soon as the pipe on its standard input breaks.
_LEASH = 'exec 3<&0; "$@" & java=$!; { cat <&3 >/dev/null; kill -9 $java; } 2>/dev/null & wait $java'


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running cluster; `folder` holds the daemons' logs and the executors' work."""

    master: str
    folder: Path
    daemons: tuple[subprocess.Popen[bytes], ...]

    def executors(self) -> list[psutil.Process]:
        """The executors' Java processes, oldest first."""
        found = []
        for daemon in self.daemons:
            for process in psutil.Process(daemon.pid).children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    if any(_EXECUTOR in part for part in process.cmdline()):
                        found.append(process)
        return sorted(found, key=lambda process: process.create_time())

    def log_tail(self, lines: int = 20) -> str:
        tails = [path.read_text(errors="replace").splitlines()[-lines:] for path in self.folder.glob("*.log")]
        return "\n".join(line for tail in tails for line in tail)


@contextmanager
def running_cluster(*, workers: int = 2, cores: int = 1, memory_megabytes: int = 1024) -> Iterator[Cluster]:
    """A master and its workers, all registered; they end with the block, at the latest with this process."""
    folder = Path(tempfile.mkdtemp(prefix="daybook-cluster-"))
    java = find_java(os.environ)
    port, ui_port = _free_ports(2)
    master = f"spark://{HOST}:{port}"
    daemons: list[subprocess.Popen[bytes]] = []
    try:
        place = ["--host", HOST, "--port", str(port), "--webui-port", str(ui_port)]
        daemons.append(_daemon(java, folder, "master", "org.apache.spark.deploy.master.Master", place))
        _wait(Cluster(master, folder, tuple(daemons)), ui_port, workers=0)
        for number in range(workers):
            name = f"worker-{number + 1}"
            size = ["--cores", str(cores), "--memory", f"{memory_megabytes}m", "--webui-port", "0"]
            place = ["--host", HOST, "--work-dir", str(folder / name), *size, master]
            daemons.append(_daemon(java, folder, name, "org.apache.spark.deploy.worker.Worker", place))
        cluster = Cluster(master, folder, tuple(daemons))
        _wait(cluster, ui_port, workers=workers)
        yield cluster
    finally:
        for daemon in reversed(daemons):
            _end(daemon)
        shutil.rmtree(folder, ignore_errors=True)


def _daemon(
    java: JavaRuntime, folder: Path, name: str, main_class: str, arguments: Sequence[str]
) -> subprocess.Popen[bytes]:
    flags = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *module_flags(java)]
    class_path = os.pathsep.join(map(str, spark_jars(spark_home())))
    command = [str(java.executable), *flags, "-cp", class_path, main_class, *arguments]
    environment = {
        **os.environ,
        **launcher_variables(spark_home()),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_LOCAL_DIRS": str(folder / "scratch"),
        "JAVA_HOME": str(java.executable.parent.parent),
    }
    # The driver's own choice reaches executors with the application; what this shell has is not theirs.
    environment.pop("PYSPARK_PYTHON", None)
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            ["/bin/sh", "-c", _LEASH, "sh", *command],
            env=environment,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _wait(cluster: Cluster, ui_port: int, *, workers: int) -> None:
    """Until the master answers and so many workers are alive."""
    deadline = time.monotonic() + _START_SECONDS
    while _alive(ui_port) < workers:
        if any(daemon.poll() is not None for daemon in cluster.daemons) or time.monotonic() > deadline:
            raise RuntimeError(f"the cluster did not start:\n{cluster.log_tail()}")
        time.sleep(0.2)


def _alive(ui_port: int) -> int:
    """How many workers are alive; -1 while the master does not answer."""
    try:
        with urllib.request.urlopen(f"http://{HOST}:{ui_port}/json/", timeout=5) as answer:
            state: dict[str, Any] = json.load(answer)
    except (OSError, ValueError):
        return -1
    return sum(worker["state"] == "ALIVE" for worker in state["workers"])


def _end(daemon: subprocess.Popen[bytes]) -> None:
    """The daemon and what it started; an executor that is cut off from its worker would end by itself, but later."""
    with contextlib.suppress(psutil.NoSuchProcess):
        family = [*psutil.Process(daemon.pid).children(recursive=True), psutil.Process(daemon.pid)]
        for process in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
    with contextlib.suppress(OSError):
        assert daemon.stdin is not None
        daemon.stdin.close()
    daemon.wait()


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((HOST, 0))
        return [each.getsockname()[1] for each in sockets]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cores", type=int, default=1, help="of each worker")
    parser.add_argument("--memory", type=int, default=1024, help="of each worker, in megabytes")
    parser.add_argument("command", nargs="*", help="run this, then stop")
    chosen = parser.parse_args(arguments)
    with running_cluster(workers=chosen.workers, cores=chosen.cores, memory_megabytes=chosen.memory) as cluster:
        print(cluster.master, flush=True)
        if chosen.command:
            environment = {**os.environ, MASTER_VARIABLE: cluster.master}
            return subprocess.run(chosen.command, env=environment, check=False).returncode
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                time.sleep(3600)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
