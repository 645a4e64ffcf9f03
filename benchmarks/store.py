"""How fast a large store answers: 10,000 datasets and 100,000 runs, `show` and the run list in under 100 ms.

Run it as `python -m benchmarks.store [DATASETS RUNS]`; it measures SQLite and, where the test server is installed,
PostgreSQL.
"""

import datetime
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from sqlalchemy import insert

from daybook.definitions.loading import load_text
from daybook.model.dataset import Dataset
from daybook.model.serialization import decode_definition, encode_definition
from daybook.store import open_store
from daybook.store.database.runs import format_page_mark
from daybook.store.database.tables import DEFINITION, DEFINITION_VERSION, RUN, RUN_SNAPSHOT
from daybook.store.records import RunFilter
from daybook.store.store import MetadataStore
from tests.postgres import running_server

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
LIMIT_MS = 100
REPEATS = 20
BATCH = 5_000
PROJECTS = 500


def main(datasets: int = 10_000, runs: int = 100_000) -> int:
    """0 when every answer stays below the limit."""
    slow = 0
    for name, store in _stores():
        with store:
            began = time.perf_counter()
            _fill(store, datasets, runs)
            print(f"{name}: {datasets} datasets and {runs} runs, filled in {time.perf_counter() - began:.0f} s")
            for what, milliseconds, worst in _measured(store, datasets, runs):
                # The worst of a few tells more about what else the machine does.
                mark = "" if milliseconds < LIMIT_MS else "  OVER THE LIMIT"
                slow += milliseconds >= LIMIT_MS
                print(f"  {what:<44} median {milliseconds:7.2f} ms   worst {worst:7.2f} ms{mark}")
    return 1 if slow else 0


def _stores() -> Iterator[tuple[str, MetadataStore]]:
    with tempfile.TemporaryDirectory(prefix="daybook-bench-") as folder:
        yield "SQLite", open_store("sqlite:///store.db", root=Path(folder))
    with running_server() as server:
        yield "PostgreSQL", open_store(server.create_database(), root=Path(), migrate=True)


def _fill(store: MetadataStore, datasets: int, runs: int) -> None:
    """Straight into the tables: what is measured is reading."""
    content = encode_definition("dataset", _dataset())
    for begin in range(0, datasets, BATCH):
        ids = [f"dataset-{number}" for number in range(begin, min(begin + BATCH, datasets))]
        heads = [
            {
                "kind": "dataset",
                "id": item,
                "name": item,
                "body": content.body,
                "text_digest": content.text_digest,
                "structure_digest": content.structure_digest,
                "latest_version": 3,
                "status": "active",
                "workspace": "bench",
                "is_default": False,
                "updated_at": NOW,
            }
            for item in ids
        ]
        versions = [
            {
                "kind": "dataset",
                "id": item,
                "version": version,
                "body": content.body,
                "structure_digest": content.structure_digest,
                "created_at": NOW,
            }
            for item in ids
            for version in (1, 2, 3)
        ]
        with store.write() as transaction:
            transaction._connection.execute(insert(DEFINITION), heads)
            transaction._connection.execute(insert(DEFINITION_VERSION), versions)
    snapshot = '{"project": "' + "x" * 4_000 + '"}'
    for begin in range(0, runs, BATCH):
        numbers = range(begin, min(begin + BATCH, runs))
        with store.write() as transaction:
            transaction._connection.execute(insert(RUN), [_run(number) for number in numbers])
            transaction._connection.execute(
                insert(RUN_SNAPSHOT), [{"run_id": f"run-{number}", "body": snapshot} for number in numbers]
            )


def _run(number: int) -> dict[str, object]:
    created = NOW + datetime.timedelta(seconds=number)
    return {
        "id": f"run-{number}",
        "project_id": f"project-{number % PROJECTS}",
        "project_version": 1,
        "calendar_id": "gregorian",
        "period": f"2026-{number // PROJECTS % 12 + 1:02}",
        "status": "failed" if number % 50 == 0 else "completed",
        "is_draft": False,
        "is_sandboxed": False,
        "created_at": created,
        "finished_at": created,
        "attempt": 1,
        "token": number,
        "host_name": "bench",
        "host_id": "bench",
        "pid": 1,
        "process_started": "1",
    }


def _dataset() -> Dataset:
    columns = "".join(f"      - {{name: column_{number}, type: string}}\n" for number in range(30))
    (definition,) = load_text(f"dataset:\n  id: sample\n  main_table:\n    name: t\n    columns:\n{columns}", None)
    model: Dataset = definition.model
    return model


def _measured(store: MetadataStore, datasets: int, runs: int) -> Iterator[tuple[str, float, float]]:
    middle = f"dataset-{datasets // 2}"

    def show_dataset() -> object:
        with store.read() as transaction:
            return decode_definition("dataset", transaction.definitions.get("dataset", middle).body)

    def show_old_version() -> object:
        with store.read() as transaction:
            return decode_definition("dataset", transaction.definitions.get("dataset", middle, 1).body)

    def show_run() -> object:
        with store.read() as transaction:
            run_id = f"run-{runs // 2}"
            transaction.runs.snapshot(run_id)
            transaction.outcomes.operations(run_id)
            return transaction.runs.get(run_id)

    def listing(wanted: RunFilter | None = None, after: str | None = None) -> Callable[[], object]:
        def read() -> object:
            with store.read() as transaction:
                return transaction.runs.page(wanted, limit=50, after=after)

        return read

    with store.read() as transaction:
        far = format_page_mark(transaction.runs.get(f"run-{runs // 2}"))

    for what, question in (
        ("show dataset", show_dataset),
        ("show dataset --version 1", show_old_version),
        ("show run", show_run),
        ("runs", listing()),
        ("runs, a page in the middle", listing(after=far)),
        ("runs of a project", listing(RunFilter(project_id="project-7"))),
        ("runs of a project and period", listing(RunFilter(project_id="project-7", period="2026-03"))),
        ("runs of a period", listing(RunFilter(period="2026-03"))),
        ("failed runs", listing(RunFilter(status="failed"))),
        ("queued runs, of which there are none", listing(RunFilter(status="queued"))),
        ("runs of a period that has none", listing(RunFilter(period="1999-01"))),
    ):
        times = []
        for _ in range(REPEATS):
            began = time.perf_counter()
            question()
            times.append((time.perf_counter() - began) * 1000)
        yield what, statistics.median(times), max(times)


if __name__ == "__main__":
    sys.exit(main(*(int(argument) for argument in sys.argv[1:])))
