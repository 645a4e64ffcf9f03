"""What came of a run."""

import datetime
from dataclasses import dataclass

from daybook.errors import Notice
from daybook.store.records import OperationResult, RunStatus


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
    delta_version: int | None = None
    is_repeat: bool = False


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
    operations: tuple[OperationResult, ...]
    outputs: tuple[OutputResult, ...]
    notices: tuple[Notice, ...]
    duration_ms: int
