"""`daybook run` on 10,000 rows from a standing start, against a bare PySpark script doing less.

The script reads the same CSV file with a schema, counts it and writes it as Parquet. Both start a new Java process
each round, in turn; the aim is a ratio of at most 0.45 once the class-data archive exists. The same run on a Spark
Connect server that is up already is to take less than 3 s.

Run it as `python -m benchmarks.cold_start [ROUNDS]`.
"""

import contextlib
import csv
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import record
from daybook.engine.java.build_archive import build_archive
from daybook.engine.java.launch import archive_path, find_java, spark_home

ROWS = 10_000
AIM = 0.45
CONNECT_AIM = 3.0
_START_SECONDS = 120
# A server that is up has worked before; only its clients start anew.
_WARMING = 3

_WORKSPACE = "name: cold-start\n"
_REMOTE = "name: cold-start\nengine: {{remote: 'sc://127.0.0.1:{port}'}}\n"
_DEFINITIONS = """\
dataset:
  id: orders
  name: Orders
  main_table:
    name: orders
    columns:
      - {name: order_id, type: string, nullable: false}
      - {name: customer, type: string}
      - {name: amount, type: "decimal(18,2)"}
      - {name: status, type: string}
    location: {path: orders.csv, format: csv}
---
project:
  id: discount
  name: Discount
  input: {dataset_id: orders}
  operations:
    - type: update
      selector: 'orders.status = "active"'
      arguments: {assignments: [{column: amount, expression: "amount * 0.9"}]}
    - type: output
      arguments: {destination: {location: {path: discounted, format: parquet}}}
"""
_SCRIPT = """\
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[*]").getOrCreate()
schema = "order_id string, customer string, amount decimal(18,2), status string"
orders = spark.read.option("header", True).schema(schema).csv("orders.csv")
print(orders.count())
orders.write.mode("overwrite").parquet("copied")
spark.stop()
"""


def main(rounds: int = 5) -> int:
    """0 when the aims are reached."""
    _make_archive()
    port = _free_port()
    with tempfile.TemporaryDirectory(prefix="daybook-bench-") as folder, _connect_server(port):
        local, remote = Path(folder, "local"), Path(folder, "remote")
        write_inputs(local, _WORKSPACE)
        write_inputs(remote, _REMOTE.format(port=port))
        daybook = [sys.executable, "-m", "daybook"]
        for root in (local, remote):
            for preparation in (["apply"], ["activate", "discount"]):
                run_command([*daybook, *preparation], root)
        run = [*daybook, "run", "discount", "--period", "2026-01"]
        commands = {
            "daybook run": (run, local),
            "bare script": ([sys.executable, "bare.py"], local),
            "by Connect": (run, remote),
        }
        for _ in range(_WARMING):
            run_command(*commands["by Connect"])
        seconds: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(rounds):
            for name, (command, root) in commands.items():
                seconds[name].append(run_command(command, root))
    for name, times in seconds.items():
        middle, best, worst = statistics.median(times), min(times), max(times)
        record(f"10,000 rows: {name}", times)
        print(f"{name:<12} median {middle:6.2f} s   best {best:6.2f} s   worst {worst:6.2f} s")
    ours, theirs, connected = (statistics.median(times) for times in seconds.values())
    ratio = ours / theirs
    print(f"ratio        {ratio:.2f}, {'within' if ratio <= AIM else 'OVER'} the aim of {AIM}")
    print(
        f"by Connect   {connected:.2f} s, {'within' if connected <= CONNECT_AIM else 'OVER'} the aim of {CONNECT_AIM} s"
    )
    return 0 if ratio <= AIM and connected <= CONNECT_AIM else 1


@contextlib.contextmanager
def _connect_server(port: int) -> Iterator[None]:
    """A server as an administrator starts it, with PySpark's own launcher."""
    command = [
        *(str(spark_home() / "bin" / "spark-submit"), "--master", "local[2]"),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
        *("--conf", f"spark.connect.grpc.binding.port={port}", "--conf", "spark.ui.enabled=false", "spark-internal"),
    ]
    environment = {**os.environ, "JAVA_HOME": str(find_java(os.environ).executable.parent.parent)}
    server = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(_START_SECONDS):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(1)
        else:
            raise SystemExit("the Connect server did not start")
        yield
    finally:
        server.terminate()
        server.wait()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _make_archive() -> None:
    java = find_java(os.environ)
    archive = archive_path(java, spark_home(), os.environ)
    if archive is not None and not archive.exists():
        began = time.perf_counter()
        if build_archive(archive, java):
            size = archive.stat().st_size / 1e6
            print(f"class-data archive made in {time.perf_counter() - began:.0f} s, {size:.0f} MB")


def write_inputs(root: Path, workspace: str, output_format: str = "parquet") -> None:
    root.mkdir()
    (root / "daybook.yaml").write_text(workspace)
    (root / "definitions.yaml").write_text(_DEFINITIONS.replace("format: parquet", f"format: {output_format}"))
    (root / "bare.py").write_text(_SCRIPT)
    with (root / "orders.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["order_id", "customer", "amount", "status"])
        for number in range(ROWS):
            amount = f"{number * 7 % 1000}.{number % 100:02d}"
            rows.writerow([f"O-{number}", f"C-{number % 97}", amount, "active" if number % 3 else "closed"])


def run_command(command: list[str], folder: Path, *, is_cold: bool = True) -> float:
    """Seconds of wall time; a cold command imports everything itself, also where a warm engine is up."""
    environment = {**os.environ, "DAYBOOK_COMMAND_SERVER": "off" if is_cold else ""}
    began = time.perf_counter()
    outcome = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - began
    if outcome.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{outcome.stdout}\n{outcome.stderr}")
    return seconds


if __name__ == "__main__":
    sys.exit(main(*(int(argument) for argument in sys.argv[1:2])))
