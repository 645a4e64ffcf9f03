"""The close on S3, a SeaweedFS server on this machine: Daybook with Delta and with Iceberg, and PySpark by hand.

Daybook on the local disk is beside them. Iceberg tables are those of the server's REST catalog.

python -m benchmarks.lake [--lines 5] [--rounds 5]
"""

import argparse
import itertools
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from pyspark.sql import SparkSession

from benchmarks.close import by_hand
from benchmarks.close.by_hand import Address
from benchmarks.close.data import make_ledger
from benchmarks.close.workspace import write_workspace
from benchmarks.figures import record
from benchmarks.meter import measure
from daybook.definitions.loading import load_workspace
from daybook.engine.java.session import start_session, stop_session
from daybook.model.settings import EngineSettings
from daybook.runs.attempt.run_request import RunRequest
from daybook.runs.environment import open_run_environment
from daybook.workspace.lifecycle import apply_changes
from daybook.workspace.open_workspace import open_workspace
from tests.object_proxy import running_proxy
from tests.object_store import KEY, KEY_VARIABLE, Bucket, hadoop_jars, running_object_store, server_program
from tests.workspaces import dump, run_files

HAND_AIM = 1.1
DELTA, ICEBERG, BY_HAND = "Delta on S3", "Iceberg on S3", "by hand on S3"


def upload(folder: Path, bucket: Bucket) -> None:
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        bucket.put(f"{folder.name}/{file.relative_to(folder).as_posix()}", file.read_bytes())


_DELTA_LAKE = "type: delta, options: {path: out}"


def workspace_on(
    bucket: Bucket, folder: Path, ledger: Path, name: str, lake: Mapping[str, Any], *others: Bucket
) -> Path:
    """The workspace of the close whose ledger, tables and state are in a bucket."""
    root = write_workspace(folder, ledger)
    body = (root / "close.yaml").read_text().replace(str(ledger), f"{bucket.uri}/{ledger.name}")
    if _DELTA_LAKE not in body:
        raise ValueError("the workspace of the close writes elsewhere")
    (root / "close.yaml").write_text(body.replace(_DELTA_LAKE, json.dumps(dict(lake))[1:-1]))
    storage = {reached.uri: reached.settings for reached in (bucket, *others)}
    settings = {"state": f"{bucket.uri}/state-{name}", "storage": storage}
    with (root / "daybook.yaml").open("a") as stream:
        stream.write(dump(settings))
    return root


def close(spark: SparkSession, root: Path) -> None:
    workspace = load_workspace(root)
    with open_run_environment(workspace, lambda: spark) as around:
        run_files(workspace, around, RunRequest("close", "2026"))


def settings_of(bucket: Bucket, memory: str) -> EngineSettings:
    """Both programs have the same session; by hand the key is in its settings."""
    id_, _, secret = KEY.partition(":")
    access = {
        "endpoint": bucket.endpoint,
        "endpoint.region": "us-east-1",
        "path.style.access": "true",
        "connection.ssl.enabled": "false",
        "access.key": id_,
        "secret.key": secret,
    }
    conf = {f"spark.hadoop.fs.s3a.{name}": value for name, value in access.items()}
    return EngineSettings(conf={**conf, "spark.jars": ",".join(hadoop_jars()), "spark.driver.memory": memory})


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=float, default=5.0, help="millions of journal lines")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory", default="4g", help="Spark's driver memory")
    options = parser.parse_args(arguments)
    if server_program() is None or not hadoop_jars():
        print("SeaweedFS or Hadoop's S3 client is not here: tools/jars hadoop-aws")
        return 0
    os.environ[KEY_VARIABLE] = KEY
    with (
        running_object_store() as store,
        running_proxy(store.endpoint) as proxy,
        tempfile.TemporaryDirectory(prefix="daybook-lake-") as scratch,
    ):
        bucket, tables, folder = store.new_bucket(), store.new_table_bucket(), Path(scratch)
        ledger = folder / "ledger"
        make_ledger(ledger, round(options.lines * 1_000_000))
        upload(ledger, bucket)
        numbers = itertools.count(1)
        spark = start_session(settings_of(bucket, options.memory), app_name="lake", workload="long")

        def in_delta(name: str, reached: Bucket = bucket) -> Callable[[], None]:
            lake = {"type": "delta", "options": {"path": f"{bucket.uri}/{name}"}}
            root = workspace_on(reached, folder / name, ledger, name, lake)
            apply_changes(open_workspace(root))
            return lambda: close(spark, root)

        def in_iceberg(name: str, reached: Bucket = bucket) -> Callable[[], None]:
            lake = store.iceberg_source(tables, f"{bucket.uri}/{name}", f"close_{next(numbers)}")
            root = workspace_on(reached, folder / name, ledger, name, lake, tables.through(reached.endpoint))
            apply_changes(open_workspace(root))
            return lambda: close(spark, root)

        def on_disk(name: str) -> Callable[[], None]:
            root = write_workspace(folder / name, ledger)
            apply_changes(open_workspace(root))
            return lambda: close(spark, root)

        def hand(name: str) -> Callable[[], None]:
            place = Address(f"s3a://{bucket.name}")
            return lambda: by_hand.close(spark, place / ledger.name, place / name)

        contenders = {DELTA: in_delta, BY_HAND: hand, ICEBERG: in_iceberg, "Delta on disk": on_disk}
        times: dict[str, list[float]] = {name: [] for name in contenders}
        for round_ in range(-1, options.rounds):
            for name, prepared in contenders.items():
                reading = measure(prepared(f"{name.replace(' ', '-')}-{round_}"), store.process.pid)
                if round_ >= 0:
                    times[name].append(reading.wall)
        requests = {}
        for name, contender in ((DELTA, in_delta), (ICEBERG, in_iceberg)):
            proxy.requests.clear()
            contender(f"counted-{name.split()[0].lower()}", bucket.through(proxy.endpoint))()
            requests[name] = len(proxy.requests)
        stop_session(spark)
    for name, taken in times.items():
        record(f"lake, {name}", taken)
        print(f"{name:15} {median(taken):8.2f} s")
    ratios = {
        name: median(own / other for own, other in zip(times[name], times[BY_HAND], strict=True)) for name in requests
    }
    for name, ratio in ratios.items():
        print(f"{name} takes {ratio:.2f} of by hand, aim {HAND_AIM}; one close sends {requests[name]} requests to S3")
    return int(max(ratios.values()) > HAND_AIM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
