"""What came of a run."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass

from daybook.errors import DaybookError, Notice
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
    delta_version: int | None = None
    is_repeat: bool = False


@dataclass(frozen=True, slots=True)
class RunResult:
    """A finished run with what each operation did; `names` are the operations' names by seq."""

    run_id: str
    project_id: str
    project_version: int
    period: str
    as_of: datetime.date
    status: RunStatus
    is_draft: bool
    sandbox: str | None
    operations: tuple[OperationResult, ...]
    names: Mapping[int, str]
    outputs: tuple[OutputResult, ...]
    notices: tuple[Notice, ...]
    duration_ms: int


@dataclass(frozen=True, slots=True)
class Recorded:
    """An output that is written down, and what its registration had to say."""

    output: OutputResult
    notices: tuple[Notice, ...]


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

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows instead of a traceback."""
        return [*self.error._render_traceback_(), f"run {self.run_id} {self.status}"]
