"""The records of the store as frozen data."""

import datetime
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import computed_field

from daybook.model.calendar import PeriodStatus
from daybook.model.definition import DefinitionKind, RegisteredDataPin, TableVersion
from daybook.model.json_fields import Hidden
from daybook.store.process import ProcessIdentity

ProjectStatus = Literal["draft", "active", "inactive", "conflict"]
RunStatus = Literal["queued", "running", "completed", "failed", "cancelled"]
FinalStatus = Literal["completed", "failed", "cancelled"]
# Reading the input is recorded like an operation, before all others.
RecordedType = Literal["load", "update", "aggregate", "append", "delete", "check", "output"]


def milliseconds(duration: datetime.timedelta) -> int:
    return round(duration / datetime.timedelta(milliseconds=1))


@dataclass(frozen=True, slots=True)
class Lease:
    """The lease of a run; a holder whose token is lower than that of the run has lost it."""

    run_id: str
    project_id: str
    period: str
    token: int
    expires_at: datetime.datetime


@dataclass(frozen=True, slots=True)
class Heartbeat:
    lease: Lease
    is_cancel_requested: bool


@dataclass(frozen=True, slots=True)
class RunRecord:
    """`started_at` is when the last attempt began, `error` the JSON object the run ended with."""

    id: str
    project_id: str
    project_version: int
    calendar_id: str
    period: str
    as_of: datetime.date | None
    status: RunStatus
    is_draft: bool
    is_sandboxed: bool
    user: str | None
    created_at: datetime.datetime
    started_at: datetime.datetime | None
    finished_at: datetime.datetime | None
    attempt: int
    last_completed_operation: int | None
    error: Mapping[str, Any] | None
    cancel_requested_at: datetime.datetime | None
    token: int
    lease_expires_at: datetime.datetime | None
    process: ProcessIdentity

    @property
    def is_active(self) -> bool:
        return self.status in ("queued", "running")

    @computed_field  # type: ignore[prop-decorator]
    @property
    def duration_ms(self) -> int | None:
        return None if self.duration is None else milliseconds(self.duration)

    @property
    def duration(self) -> datetime.timedelta | None:
        """How long the user waited for the last attempt, Spark's start included."""
        began = self.created_at if self.attempt == 1 else self.started_at
        if self.finished_at is None or began is None:
            return None
        # The clock may have been set back meanwhile.
        return max(self.finished_at - began, datetime.timedelta(0))


@dataclass(frozen=True, slots=True)
class OperationResult:
    """Counts of one operation of a run; None where an operation has no such count."""

    seq: int
    operation_id: str
    type: RecordedType
    rows_picked: int | None = None
    rows_added: int | None = None
    rows_deleted: int | None = None
    rows_written: int | None = None
    duration_ms: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OutputCommit:
    """One output made visible; recorded once per run and operation."""

    operation_seq: int
    operation_id: str
    destination: str
    mode: str
    table_version: TableVersion | None = None
    rows: int | None = None
    fingerprint: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    # Set by the store.
    committed_at: datetime.datetime | None = None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def delta_version(self) -> int | None:
        """The number of the table's version, in formats that number theirs."""
        return self.table_version.number if self.table_version else None

    @property
    def table(self) -> "SliceTable":
        """What was written to, as slices are kept by; commits of earlier versions know the label alone."""
        identity = str(self.details.get("identity", self.destination))
        prefix = "sqlite:" if identity.startswith("sqlite:") else ""
        path = identity.removeprefix(prefix)
        return SliceTable(prefix + os.path.realpath(path) if path.startswith("/") else identity, self.destination)


# Appends share a slice: it has no owner, so no run may replace it.
SHARED_PROJECT = "*"


@dataclass(frozen=True, slots=True)
class Slice:
    """What one operation of one project wrote into a destination, the identity of a table, for one period."""

    destination: str
    period: str
    project_id: str
    operation_id: str
    run_id: str
    rows: int | None = None
    # Set by the store.
    written_at: datetime.datetime | None = None


@dataclass(frozen=True, slots=True)
class DroppedSlice:
    """A slice that a user dropped, with the run that had written it and the number of its rows."""

    destination: str
    period: str
    project_id: str
    run_id: str
    rows: int | None
    dropped_at: datetime.datetime
    dropped_by: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class SliceTable:
    """A table that collects slices: `identity` is one text for every spelling of its location.

    `label` is the location as it is written; stores of earlier versions know the table by it.
    """

    identity: str
    label: str

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.identity, self.label)))


@dataclass(frozen=True, slots=True)
class StatusChange:
    """A period was closed, locked or reopened."""

    status: PeriodStatus
    changed_at: datetime.datetime
    changed_by: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Seal:
    """The certificate of a period, known by the SHA-256 of its payload; `certificate` is the text of the file."""

    payload: str
    calendar_id: str
    identifier: str
    level: str
    start_date: datetime.date
    end_date: datetime.date
    sealed_at: datetime.datetime
    sealed_by: str
    key_id: str
    certificate: str
    runs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Action:
    """An action of a user on the page: `name` is the action, `subject` its object."""

    done_at: datetime.datetime
    done_by: str
    name: str
    subject: str
    details: Mapping[str, Any] = field(default_factory=dict)


ActName = Literal[
    "begin",
    "apply",
    "activate",
    "deactivate",
    "run",
    "commit",
    "retry",
    "close",
    "lock",
    "reopen",
    "drop",
    "take-over",
    "gc",
    "restore",
    "people",
    "policy",
    "request",
    "approve",
    "reject",
    "withdraw",
    "seal",
]
# The proof of identity of a person: a personal token, or an account of the operating system.
Proof = Literal["token", "account"]


@dataclass(frozen=True, slots=True)
class Credential:
    """What the user of a store can prove their identity with.

    `login` is the id of a token that was checked when the user logged in on the page, `account` that of this process.
    """

    user: str
    token: str | None = field(default=None, repr=False)
    login: str | None = None
    account: int | None = None


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts on the store; without a `proof` the name is only a claim."""

    name: str
    proof: Proof | None = None


@dataclass(frozen=True, slots=True)
class Person:
    """A person who proves their identity by a personal token or an account, until `removed_at`."""

    name: str
    roles: tuple[str, ...]
    account: int | None
    token_id: Hidden[str | None]
    added_at: datetime.datetime
    token_at: datetime.datetime | None
    removed_at: Hidden[datetime.datetime | None] = None


@dataclass(frozen=True, slots=True)
class AdoptedPolicy:
    """A policy that is or was in force; `body` is canonical JSON."""

    number: int
    body: str
    digest: str
    adopted_at: datetime.datetime
    adopted_by: str


RequestStatus = Literal["open", "released", "done", "rejected", "withdrawn", "void"]
RequestedAct = Literal[
    "activate", "deactivate", "apply", "take-over", "lock", "reopen", "drop", "seal", "people", "policy"
]


@dataclass(frozen=True, slots=True)
class Request:
    """An act that needs approval: `payload` is what is to be done, `changes` what that changes, as it was shown."""

    number: int
    act: RequestedAct
    subject: str
    digest: str
    payload: Mapping[str, Any]
    changes: Sequence[Mapping[str, str]]
    reason: str | None
    requested_by: str
    requested_at: datetime.datetime
    status: RequestStatus = "open"
    ended_at: datetime.datetime | None = None
    ended_by: str | None = None
    ended_reason: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person decided about a request."""

    number: Hidden[int]
    person: str
    verdict: Literal["approve", "reject"]
    decided_at: datetime.datetime
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class LogLine:
    """An act as the log has it; `refused` is the code of the refusal, `digest` the SHA-256 of the line."""

    number: int
    at: datetime.datetime
    by: str
    proof: Proof | None
    act: ActName
    subject: str
    details: Mapping[str, Any]
    refused: str | None
    digest: str


@dataclass(frozen=True, slots=True)
class LogHead:
    """The last line of the log; whoever keeps its digest can tell later whether lines were cut off."""

    number: int
    digest: str


@dataclass(frozen=True, slots=True)
class LogProblem:
    """Where the log was changed, and how that shows."""

    number: int
    problem: str


@dataclass(frozen=True, slots=True)
class RunFilter:
    project_id: str | None = None
    period: str | None = None
    status: RunStatus | None = None


@dataclass(frozen=True, slots=True)
class RunPage:
    """Newest first; `next_page` continues after the last run, None at the end."""

    runs: tuple[RunRecord, ...]
    next_page: str | None


@dataclass(frozen=True, slots=True)
class StoredDefinition:
    """One version of a definition; `body` is canonical JSON."""

    kind: DefinitionKind
    id: str
    version: int
    body: str
    name: str
    status: str
    created_at: datetime.datetime
    is_latest: bool
    workspace: str | None


@dataclass(frozen=True, slots=True)
class VersionEntry:
    """One version in the history of a definition; the rest is known of datasets whose data a run registered."""

    version: int
    created_at: datetime.datetime
    project_id: str | None = None
    run_id: str | None = None
    period: str | None = None
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class ProjectState:
    project_id: Hidden[str]
    status: Hidden[ProjectStatus]
    latest_version: Hidden[int]
    active_version: int | None
    conflict: Mapping[str, Any] | None
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Registration:
    """Which output of which run registers a dataset."""

    project_id: str
    run_id: str
    operation_seq: int
    pin: RegisteredDataPin | None = None
