"""The result of a run, and the events of its progress."""

import datetime
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Literal, assert_never

from pydantic import computed_field

from daybook.errors import DaybookError
from daybook.model.definition import TableVersion
from daybook.model.json_fields import Hidden, Notices, OneError, named
from daybook.store.records import FinalStatus, OperationResult, RunStatus


@dataclass(frozen=True, slots=True)
class OutputResult:
    """One output: what was written where; `dataset_id` is what it was registered as."""

    operation_seq: int
    operation_id: str
    name: str
    destination: str
    place: str
    format: str
    rows_written: int
    columns_written: tuple[str, ...]
    write_duration_ms: int
    dataset_id: str | None = None
    dataset_version: int | None = None
    table_version: TableVersion | None = None
    is_repeat: bool = False

    @computed_field  # type: ignore[prop-decorator]
    @property
    def delta_version(self) -> int | None:
        """The number of the version that the output made, in formats that number theirs."""
        return self.table_version.number if self.table_version else None


@dataclass(frozen=True, slots=True)
class SliceRead:
    """A period that a draft in the sandbox read, where from, and the run that wrote it."""

    dataset_id: str
    period: str
    origin: Literal["sandbox", "live"]
    run_id: str


@dataclass(frozen=True, slots=True)
class NamedOperation(OperationResult):
    """What one operation of a run did, under its name in the project."""

    name: str = ""


def name_operations(operations: Iterable[OperationResult], names: Mapping[int, str]) -> tuple[NamedOperation, ...]:
    """Reading the input has no name of its own."""
    return tuple(
        NamedOperation(
            **{result_field.name: getattr(operation, result_field.name) for result_field in fields(OperationResult)},
            name=names.get(operation.seq, operation.type),
        )
        for operation in operations
    )


@dataclass(frozen=True, slots=True)
class RunResult:
    """A finished run with what each operation did."""

    run_id: str
    project_id: str
    project_version: int
    period: str
    as_of: datetime.date
    status: RunStatus
    is_draft: bool
    sandbox: str | None
    # The value of every parameter of the project, as text.
    parameters: Mapping[str, str]
    duration_ms: int
    operations: tuple[NamedOperation, ...]
    outputs: tuple[OutputResult, ...]
    notices: Notices
    # How many warnings about the project its operations accept.
    accepted: int = 0
    # Of drafts in the sandbox.
    slices: Hidden[tuple[SliceRead, ...]] = ()
    # The day of each dataset that was read as of another day than the run.
    own_as_of: Hidden[Mapping[str, datetime.date]] = field(default_factory=dict)

    @property
    def names(self) -> Mapping[int, str]:
        """The operations' names by seq."""
        return {operation.seq: operation.name for operation in self.operations if operation.type != "load"}


@dataclass(frozen=True, slots=True)
class RunFailure:
    """A run that did not complete: why, and what it had committed by then."""

    run_id: str
    status: FinalStatus
    error: Annotated[OneError, named("errors")]
    outputs: tuple[OutputResult, ...]


class RunFailedError(Exception):
    """A run that began and did not complete; `error` says why, `outputs` what had been committed by then."""

    def __init__(
        self, run_id: str, status: FinalStatus, error: DaybookError, outputs: tuple[OutputResult, ...]
    ) -> None:
        super().__init__(str(error))
        self.run_id = run_id
        self.status = status
        self.error = error
        self.outputs = outputs

    @property
    def result(self) -> RunFailure:
        return RunFailure(self.run_id, self.status, self.error, self.outputs)

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows instead of a traceback."""
        return [*self.error._render_traceback_(), f"run {self.run_id} {self.status}"]


def as_of_text(as_of: datetime.date, own_as_of: Mapping[str, datetime.date]) -> str:
    """The day of a run, and those of the datasets that have their own."""
    own = ", ".join(f"{dataset_id} as of {day}" for dataset_id, day in own_as_of.items())
    return f"{as_of} ({own})" if own else str(as_of)


# The detail of an output's record that says it wrote deleted rows, too.
INCLUDES_DELETED = "include_deleted"


@dataclass(frozen=True, slots=True)
class OperationSummary:
    """What one operation did: how many rows it found, how many it changed, and the word for that."""

    seq: int
    name: str
    rows_in: int | None
    rows: int | None
    did: str
    duration_ms: int | None


def summarize_operations(operations: Iterable[OperationResult], names: Mapping[int, str]) -> Iterator[OperationSummary]:
    """One per operation; the rows each found follow from what those before it added and deleted."""
    live: int | None = None
    deleted = 0
    for operation in sorted(operations, key=lambda operation: operation.seq):
        rows, did = _rows_and_verb(operation)
        if operation.type == "load":
            live = rows
            yield OperationSummary(operation.seq, "Read the input", None, rows, did, None)
            continue
        name = names.get(operation.seq, operation.operation_id)
        rows_before = live if live is None or not operation.details.get(INCLUDES_DELETED) else live + deleted
        yield OperationSummary(operation.seq, name, rows_before, rows, did, operation.duration_ms)
        deleted += operation.rows_deleted or 0
        if live is not None:
            live += (operation.rows_added or 0) - (operation.rows_deleted or 0)


def _rows_and_verb(operation: OperationResult) -> tuple[int | None, str]:
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
