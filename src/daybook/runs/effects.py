"""What each operation of a run did, as a number of rows and a word, for whoever shows a run."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import assert_never

from daybook.store.records import OperationResult


@dataclass(frozen=True, slots=True)
class Effect:
    """What one operation did: how many rows it found alive, how many it touched, and the word for that."""

    seq: int
    name: str
    rows_in: int | None
    rows: int | None
    did: str
    duration_ms: int | None


def effects(operations: Iterable[OperationResult], names: Mapping[int, str]) -> Iterator[Effect]:
    """One per operation; the live rows each found follow from what those before it added and deleted."""
    live: int | None = None
    for operation in sorted(operations, key=lambda operation: operation.seq):
        rows, did = _deed(operation)
        if operation.type == "load":
            live = rows
            yield Effect(operation.seq, "Read the input", None, rows, did, None)
            continue
        name = names.get(operation.seq, operation.operation_id)
        yield Effect(operation.seq, name, live, rows, did, operation.duration_ms)
        if live is not None:
            live += (operation.rows_added or 0) - (operation.rows_deleted or 0)


def _deed(operation: OperationResult) -> tuple[int | None, str]:
    match operation.type:
        case "load":
            return operation.rows_added, "read"
        case "update":
            return operation.rows_picked, "changed"
        case "aggregate" | "append":
            return operation.rows_added, "added"
        case "delete":
            return operation.rows_deleted, "deleted"
        case "check":
            return operation.rows_picked, "checked"
        case "output":
            return operation.rows_written, "written"
        case _:
            assert_never(operation.type)
