"""The certificate of a closed period: an in-toto Statement about outputs, with the digests of their rows."""

import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

from pydantic import AwareDatetime, BeforeValidator, FailFast, Field, TypeAdapter, ValidationError

from daybook.model.definition import TableVersion
from daybook.model.types import parse_type
from daybook.proof.envelope import SignedPayload, malformed, parse_json, read_envelope
from daybook.proof.row_encoding import DIGEST_NAME, MOST_LEVELS, DigestedColumn, RowsDigest, levels_for

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:daybook:close:v1"
# The digest of the bytes of an output that is one file.
FILE_DIGEST = "sha256"

Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Item = TypeVar("Item")
# One error is enough: of millions of wrong items each takes a thousand bytes.
Items: TypeAlias = Annotated[tuple[Item, ...], FailFast()]
_MOST_KEYS = 10_000


def _with_few_keys(value: Any) -> Any:
    """For objects pydantic knows no first error, and checks how many keys they have after their values."""
    if isinstance(value, dict) and len(value) > _MOST_KEYS:
        raise ValueError(f"it has more than {_MOST_KEYS:,} keys")
    return value


Named: TypeAlias = Annotated[Mapping[str, Item], BeforeValidator(_with_few_keys)]


@dataclass(frozen=True, slots=True)
class Subject:
    """One output: `rows` is the digest of its rows, `file` that of its bytes where it is one file."""

    name: str
    rows: RowsDigest | None = None
    file: str | None = None

    @property
    def digest(self) -> str:
        """The digest of the rows where it was taken, else that of the file, with its name."""
        return f"{DIGEST_NAME}:{self.rows.digest}" if self.rows is not None else f"{FILE_DIGEST}:{self.file}"


@dataclass(frozen=True, slots=True)
class SealedOutput:
    """An output of a run: which subject it is, and what the run committed."""

    subject: str
    operation_seq: int
    rows: int
    table_version: TableVersion | None = None


@dataclass(frozen=True, slots=True)
class SealedCheck:
    """A check that held for all rows it picked."""

    operation_id: str
    name: str
    condition: str
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class SealedRun:
    """A completed run: its whole snapshot, the data it read by load, and what each operation did."""

    project: str
    period: str
    run: str
    completed_at: AwareDatetime | None
    snapshot: Mapping[str, Any]
    pins: Named[Items[Mapping[str, Any]]]
    operations: Items[Mapping[str, Any]]
    checks: Items[SealedCheck]
    outputs: Items[SealedOutput]
    # Of runs that follow measures or compare deliveries with their control totals.
    totals: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class AcceptedStale:
    """A node that was sealed although it is out of date: why it is, and the reason given for accepting it."""

    node: str
    reasons: Items[str]
    reason: str


@dataclass(frozen=True, slots=True)
class SealedWorkspace:
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class SealedPeriod:
    calendar: str
    level: str
    identifier: str
    start: datetime.date
    end: datetime.date


@dataclass(frozen=True, slots=True)
class CertificateLink:
    """Another certificate, by the SHA-256 of its payload."""

    period: str
    payload: Sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseStatement:
    """The predicate: the period, its runs, and the certificates before it.

    `previous` is the certificate of the period before, None for `previous_reason`; `replaces` is the certificate of
    the same period before it was reopened.
    """

    workspace: SealedWorkspace
    period: SealedPeriod
    sealed_at: AwareDatetime
    sealed_by: str
    runs: Items[SealedRun]
    not_covered: Items[str]
    accepted_stale: Items[AcceptedStale]
    versions: Named[str]
    previous: CertificateLink | None
    previous_reason: str | None = None
    replaces: CertificateLink | None = None
    # The head of the log, and who approved the seal.
    log_head: Sha256 | None = None
    approvals: Items[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Certificate:
    """The content of a certificate file; `signed` has its signatures, which are verified elsewhere."""

    signed: SignedPayload
    subjects: tuple[Subject, ...]
    close: CloseStatement

    @property
    def digest(self) -> str:
        return self.signed.digest

    @property
    def period(self) -> str:
        return self.close.period.identifier

    def subject(self, name: str) -> Subject:
        return next(subject for subject in self.subjects if subject.name == name)


@cache
def _predicate() -> TypeAdapter[CloseStatement]:
    return TypeAdapter(CloseStatement)


def statement_payload(subjects: tuple[Subject, ...], close: CloseStatement) -> bytes:
    """The same bytes for the same statement."""
    statement = {
        "_type": STATEMENT_TYPE,
        "subject": [_subject_json(subject) for subject in subjects],
        "predicateType": PREDICATE_TYPE,
        "predicate": _predicate().dump_python(close, mode="json"),
    }
    return json.dumps(statement, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def _subject_json(subject: Subject) -> dict[str, Any]:
    digest = {} if subject.rows is None else {DIGEST_NAME: subject.rows.digest}
    if subject.file is not None:
        digest[FILE_DIGEST] = subject.file
    annotations = {} if subject.rows is None else {"annotations": subject.rows.annotations()}
    return {"name": subject.name, "digest": digest, **annotations}


def read_certificate(document: Any, path: Path) -> Certificate:
    """Raises PROOF_001 for a document that is not a certificate of a close; verifies no signature."""
    signed = read_envelope(document, path)
    match parse_json(signed.payload, path):
        case {"_type": statement_type, "predicateType": kind, "subject": list(subjects), "predicate": dict(predicate)}:
            pass
        case _:
            raise malformed(path, "its payload is no in-toto statement")
    if statement_type != STATEMENT_TYPE or kind != PREDICATE_TYPE:
        raise malformed(path, "its statement is not about a close")
    try:
        close = _predicate().validate_python(predicate)
    except ValidationError as failure:
        first = failure.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])[:200]
        raise malformed(path, f"predicate.{place}: {first['msg']}") from None
    return Certificate(signed, _distinct(tuple(_read_subject(item, path) for item in subjects), path), close)


def _distinct(subjects: tuple[Subject, ...], path: Path) -> tuple[Subject, ...]:
    if len({subject.name for subject in subjects}) != len(subjects):
        raise malformed(path, "two subjects have one name")
    return subjects


def _read_subject(value: Any, path: Path) -> Subject:
    match value:
        case {"name": str(name), "digest": dict(digests)}:
            pass
        case _:
            raise malformed(path, "a subject has no name or no digest")
    rows, file = digests.get(DIGEST_NAME), digests.get(FILE_DIGEST)
    if not any((rows, file)) or not all(_is_sha256(digest) for digest in (rows, file) if digest is not None):
        raise malformed(path, f"subject {name[:100]} has no digest of rows or of a file")
    if rows is None:
        return Subject(name, file=file)
    columns, levels, count = read_annotations(value.get("annotations"), path)
    return Subject(name, RowsDigest(columns, levels, count, rows), file)


def _is_sha256(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 64 and not set(value) - set("0123456789abcdef")


def read_annotations(value: Any, path: Path) -> tuple[tuple[DigestedColumn, ...], int, int]:
    """Columns, levels and rows; PROOF_001 unless a tree of that many rows has that many levels."""
    match value:
        case {"columns": list(columns), "n": int(levels), "rows": int(rows)} if bool not in (type(levels), type(rows)):
            pass
        case _:
            raise malformed(path, "the annotations of a subject are not columns, n and rows")
    if not 1 <= levels <= MOST_LEVELS or rows < 0 or levels != levels_for(rows):
        raise malformed(path, f"{rows} rows do not fall into 16^{levels} buckets")
    return tuple(_read_column(column, path) for column in columns), levels, rows


def _read_column(value: Any, path: Path) -> DigestedColumn:
    match value:
        case [str(name), str(type_)]:
            try:
                # The digest covers the name as UTF-8, which half of a surrogate pair has not.
                name.encode()
                # The digest covers the text of the type, so only its canonical spelling is accepted.
                if str(parse_type(type_)) == type_:
                    return DigestedColumn(name, type_)
            except ValueError:
                pass
        case _:
            pass
    raise malformed(path, "a column is not a name and a type")
