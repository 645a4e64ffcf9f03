"""Processes that race for the store; run as a program, so that each has its own connection and identity."""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from daybook.errors import DaybookError
from daybook.store import open_store
from daybook.store.apply import apply
from daybook.store.process import current_process
from daybook.store.store import MetadataStore
from tests.unit.store.samples import dataset_text, definitions


def tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def start_runs(store: MetadataStore, name: str, rounds: int) -> list[str]:
    """In each round everybody wants the same project and period; the answer is `won` or a code."""
    results = []
    process = current_process()
    for number in range(rounds):
        sys.stdin.readline()
        results.append(_start(store, f"{name}-{number}", f"round-{number}", process))
        tell("done")
    return results


def _start(store: MetadataStore, run_id: str, period: str, process: object) -> str:
    try:
        with store.write() as transaction:
            run = (run_id, "close", 1, period, "{}")
            transaction.runs.start(*run, process=process, now=datetime.now(UTC))  # type: ignore[arg-type]
    except DaybookError as error:
        return error.code
    except Exception as error:
        return repr(error)
    return "won"


def apply_versions(store: MetadataStore, name: str, rounds: int) -> list[str]:
    """Everybody keeps changing the same dataset."""
    for number in range(rounds):
        text = dataset_text({"amount": "float", f"column_{name}_{number}": "string"})
        apply(store, definitions(text), workspace="w", now=datetime.now(UTC))
    return ["applied"] * rounds


def hammer(store: MetadataStore, name: str, rounds: int) -> list[str]:
    """Writes and reads without a pause, each process on periods of its own."""
    process = current_process()
    for number in range(rounds):
        with store.write() as transaction:
            run = (f"{name}-{number}", "close", 1, f"{name}-{number}", "{}")
            lease = transaction.runs.start(*run, process=process, now=datetime.now(UTC))
        with store.write() as transaction:
            transaction.runs.heartbeat(lease, now=datetime.now(UTC))
            transaction.runs.finish(lease, "completed", now=datetime.now(UTC))
        with store.read() as transaction:
            transaction.runs.page(limit=5)
    return ["hammered"] * rounds


WORK = {"start_runs": start_runs, "apply_versions": apply_versions, "hammer": hammer}


def main(url: str, root: str, work: str, name: str, rounds: str) -> None:
    with open_store(url, root=Path(root)) as store:
        tell("ready")
        sys.stdin.readline()
        results = WORK[work](store, name, int(rounds))
    tell(json.dumps(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
