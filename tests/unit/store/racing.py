"""What processes do that race for the store, each with its own connection and identity."""

from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from daybook.errors import DaybookError
from daybook.runs.lifecycle.apply import apply
from daybook.store import open_store
from daybook.store.process import current_process
from daybook.store.store import MetadataStore
from tests.unit.store.samples import dataset_text, definitions


def start_runs(store: MetadataStore, name: str, rounds: int, connection: "Connection[Any, Any]") -> list[str]:
    """In each round everybody wants the same project and period; the answer is `won` or a code."""
    results = []
    process = current_process()
    for number in range(rounds):
        connection.recv()
        results.append(_start(store, f"{name}-{number}", f"round-{number}", process))
        connection.send("done")
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


def apply_versions(store: MetadataStore, name: str, rounds: int, connection: "Connection[Any, Any]") -> list[str]:
    """Everybody keeps changing the same dataset."""
    for number in range(rounds):
        text = dataset_text({"amount": "float", f"column_{name}_{number}": "string"})
        apply(store, definitions(text), workspace="w", now=datetime.now(UTC))
    return ["applied"] * rounds


def hammer(store: MetadataStore, name: str, rounds: int, connection: "Connection[Any, Any]") -> list[str]:
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


def log_acts(store: MetadataStore, name: str, rounds: int, connection: "Connection[Any, Any]") -> list[str]:
    """Everybody writes lines of the log."""
    for number in range(rounds):
        with store.write() as transaction:
            transaction.log.append("lock", f"{name}-{number}")
    return ["logged"] * rounds


WORK = {"start_runs": start_runs, "apply_versions": apply_versions, "hammer": hammer, "log_acts": log_acts}


def race(url: str, root: Path, work: str, name: str, rounds: int, connection: "Connection[Any, Any]") -> None:
    with open_store(url, root=root) as store:
        connection.send("ready")
        connection.recv()
        results = WORK[work](store, name, rounds, connection)
    connection.send(results)
    # The runs of a process that is gone may be taken over: all stay until the last has answered.
    connection.recv()
