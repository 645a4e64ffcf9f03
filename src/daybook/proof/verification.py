"""Verifies certificates and proofs: signature, content, chain, and on request the data.

Nothing that an untrusted file names is read: data is compared only where a trusted key signed the certificate.
"""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from daybook.model.json_fields import Hidden, named
from daybook.proof.certificate import Certificate, SealedOutput, SealedRun, Subject, read_certificate
from daybook.proof.envelope import find_signer, read_document
from daybook.proof.row_proof import RowProof, is_proof, proof_problem, read_proof
from daybook.proof.sealed_data import (
    DataFinding,
    DataFolder,
    DataState,
    compare_computation,
    compare_data,
    restore_sealed_run,
)
from daybook.proof.timestamp import timestamp_problem, timestamp_time

if TYPE_CHECKING:
    from cryptography.x509 import Certificate as Authority
    from securesystemslib.signer import SSlibKey

    from daybook.runs.attempt.prepare import PreparedRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """The trusted keys and authorities, and the expected period and workspace."""

    keys: "Mapping[str, SSlibKey]"
    authorities: "tuple[Authority, ...]" = ()
    period: str | None = None
    workspace: str | None = None


@dataclass(frozen=True, slots=True)
class DataQuestion:
    """Which comparisons with the data to make, and where the data is."""

    folder: DataFolder
    is_stored: bool
    is_recomputed: bool


@dataclass(frozen=True, slots=True)
class VerifiedSubject:
    """An output with its sealed digest, whether the stored rows have it, and whether rows computed again have it."""

    name: str
    digest: str
    data: DataState
    recomputed: DataState


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """The result for one file; `signer` is the name of the trusted key that signed."""

    is_valid: Annotated[bool, named("valid")]
    signer: str | None
    workspace: str
    period: str
    replaced_by: str | None
    subjects: tuple[VerifiedSubject, ...]
    problems: tuple[str, ...]
    file: Hidden[Path]
    certificate: Hidden[Certificate]
    proof: Hidden[RowProof | None] = None
    stamped_at: Hidden[datetime.datetime | None] = None


@dataclass(frozen=True, slots=True)
class _ReadFile:
    path: Path
    certificate: Certificate
    proof: RowProof | None
    signer: str | None


def verify_files(paths: Sequence[Path], trust: Trust, question: DataQuestion | None = None) -> tuple[Verification, ...]:
    """Verifies each file, and all certificates together as a chain; PROOF_001 for a file that is neither."""
    files = [_read(path, trust) for path in paths]
    trusted = {file.certificate.digest: file.certificate for file in files if file.signer is not None}
    return tuple(_verify(file, trust, tuple(trusted.values()), question) for file in files)


def _read(path: Path, trust: Trust) -> _ReadFile:
    document = read_document(path)
    proof = read_proof(document, path) if is_proof(document) else None
    certificate = proof.certificate if proof is not None else read_certificate(document, path)
    return _ReadFile(path, certificate, proof, find_signer(certificate.signed, trust.keys))


def _verify(
    file: _ReadFile, trust: Trust, certificates: tuple[Certificate, ...], question: DataQuestion | None
) -> Verification:
    certificate, proof = file.certificate, file.proof
    content_problems = tuple(_content_problems(certificate))
    problems = [*_trust_problems(file, trust), *content_problems, *_timestamp_problems(certificate, trust)]
    if file.signer is not None:
        problems += _chain_problems(certificate, certificates)
    if proof is not None and (problem := proof_problem(proof)) is not None:
        problems.append(f"{proof.subject}: {problem}")
    stored: Mapping[str, DataFinding] = {}
    computed: Mapping[str, DataFinding] = {}
    names = {proof.subject} if proof is not None else {subject.name for subject in certificate.subjects}
    if question is not None and file.signer is not None and not content_problems:
        stored, computed = _data_findings(certificate, question, names)
        problems += [f"{name}: {finding.problem}" for name, finding in stored.items() if finding.problem]
        problems += [f"{name}, recomputed: {finding.problem}" for name, finding in computed.items() if finding.problem]
    data, recomputed = _without_finding(question)
    timestamp = certificate.signed.timestamp
    return Verification(
        is_valid=not problems,
        signer=file.signer,
        workspace=certificate.close.workspace.id,
        period=certificate.period,
        replaced_by=_replacement(certificate, certificates),
        subjects=tuple(
            VerifiedSubject(
                subject.name,
                subject.digest,
                stored[subject.name].state if subject.name in stored else data,
                computed[subject.name].state if subject.name in computed else recomputed,
            )
            for subject in certificate.subjects
            if subject.name in names
        ),
        problems=tuple(problems),
        file=file.path,
        certificate=certificate,
        proof=proof,
        stamped_at=timestamp_time(timestamp) if timestamp is not None else None,
    )


def _without_finding(question: DataQuestion | None) -> tuple[DataState, DataState]:
    """What is said of data that was not looked at; what was asked for in vain is missing."""
    if question is None:
        return "not asked", "not asked"
    return (
        "missing" if question.is_stored else "not asked",
        "missing" if question.is_recomputed else "not asked",
    )


def _trust_problems(file: _ReadFile, trust: Trust) -> Iterator[str]:
    close = file.certificate.close
    if not trust.keys:
        yield "no key is trusted: name one with --key, or a workspace that has signers with --workspace"
    elif file.signer is None:
        yield f"none of the trusted keys signed it: {', '.join(trust.keys)}"
    if trust.period is not None and close.period.identifier != trust.period:
        yield f"it is about {close.period.identifier}, not {trust.period}"
    if trust.workspace is not None and close.workspace.name != trust.workspace:
        yield f"it is of the workspace {close.workspace.name}, not {trust.workspace}"


def _content_problems(certificate: Certificate) -> Iterator[str]:
    """Subjects and outputs must correspond one to one."""
    outputs = [output for run in certificate.close.runs for output in run.outputs]
    subjects = {subject.name: subject for subject in certificate.subjects}
    if sorted(output.subject for output in outputs) != sorted(subjects):
        yield "its subjects are not the outputs of its runs"
        return
    for output in outputs:
        rows = subjects[output.subject].rows
        if rows is not None and rows.rows != output.rows:
            yield f"{output.subject}: the digest is of {rows.rows:,} rows, the run wrote {output.rows:,}"


def _timestamp_problems(certificate: Certificate, trust: Trust) -> Iterator[str]:
    signed = certificate.signed
    if not trust.authorities:
        return
    if signed.timestamp is None:
        yield "it has no time stamp"
    elif (problem := timestamp_problem(signed.timestamp, signed.first_signature, trust.authorities)) is not None:
        yield f"its time stamp does not count: {problem}"


def _chain_problems(certificate: Certificate, certificates: Sequence[Certificate]) -> Iterator[str]:
    """Certificates verified together must form a chain without gaps, with one certificate for each period."""
    close = certificate.close
    others = [other for other in certificates if other.digest != certificate.digest]
    other_workspaces = {other.close.workspace.id for other in others} - {close.workspace.id}
    if other_workspaces:
        yield f"it is of the workspace {close.workspace.id}, others are of {', '.join(sorted(other_workspaces))}"
    level = [other for other in others if _is_of_chain(other, certificate)]
    for other in level:
        if other.period == certificate.period and not _is_replaced(certificate, other, certificates):
            yield f"there are two certificates of {certificate.period}, and none replaces the other"
    earlier = [other for other in level if other.close.period.end < close.period.start]
    if close.previous is None:
        day = datetime.timedelta(days=1)
        if any(
            close.period.start - item.close.period.end == day and item.close.sealed_at < close.sealed_at
            for item in earlier
        ):
            yield "it names no certificate before it, though one was sealed"
    elif (before := _followed(certificate, earlier)) is None:
        if earlier:
            yield f"the chain is broken: the certificate of {close.previous.period} that it follows is not there"
    elif before.period != close.previous.period:
        yield f"it names the certificate of {before.period} as that of {close.previous.period}"


def _is_of_chain(one: Certificate, other: Certificate) -> bool:
    first, second = one.close, other.close
    return (
        first.workspace.id == second.workspace.id
        and (first.period.calendar, first.period.level) == (second.period.calendar, second.period.level)
    )  # fmt: skip


def _followed(certificate: Certificate, earlier: Sequence[Certificate]) -> Certificate | None:
    """The certificate that this one follows, or one that has replaced it."""
    previous = certificate.close.previous
    payload = previous.payload if previous is not None else None
    for other in earlier:
        replaced = other.close.replaces
        if other.digest == payload or (replaced is not None and replaced.payload == payload):
            return other
    return None


def _replaces(later: Certificate, earlier: Certificate) -> bool:
    link = later.close.replaces
    return link is not None and link.payload == earlier.digest and later.period == earlier.period


def _is_replaced(one: Certificate, other: Certificate, certificates: Sequence[Certificate]) -> bool:
    """Whether one of two certificates of a period has replaced the other, at once or one after the other."""
    for first, last in ((one, other), (other, one)):
        step: Certificate | None = first
        # Ends: a certificate can name only earlier ones, since it contains their digests.
        while step is not None and step.digest != last.digest:
            step = next((item for item in certificates if _replaces(item, step)), None)
        if step is not None:
            return True
    return False


def _replacement(certificate: Certificate, certificates: Sequence[Certificate]) -> str | None:
    return next((other.digest for other in certificates if _replaces(other, certificate)), None)


def _data_findings(
    certificate: Certificate, question: DataQuestion, names: set[str]
) -> tuple[dict[str, DataFinding], dict[str, DataFinding]]:
    from daybook.errors import DaybookError

    stored: dict[str, DataFinding] = {}
    recomputed: dict[str, DataFinding] = {}
    subjects = {subject.name: subject for subject in certificate.subjects}
    for run in certificate.close.runs:
        outputs = [output for output in run.outputs if output.subject in names]
        if not outputs:
            continue
        try:
            prepared = restore_sealed_run(run, question.folder)
        except DaybookError as error:
            unreadable = DataFinding("missing", str(error).splitlines()[0])
            restored: dict[str, DataFinding] = {output.subject: unreadable for output in outputs}
            stored |= restored if question.is_stored else {}
            recomputed |= restored if question.is_recomputed else {}
            continue
        if question.is_stored:
            stored |= _stored_findings(prepared, outputs, subjects)
        if question.is_recomputed:
            recomputed |= _recomputed_findings(run, prepared, question.folder, subjects, names)
    return stored, recomputed


def _stored_findings(
    prepared: "PreparedRun", outputs: Sequence[SealedOutput], subjects: Mapping[str, Subject]
) -> dict[str, DataFinding]:
    return {
        output.subject: compare_data(prepared.output(output.operation_seq), output, subjects[output.subject])
        for output in outputs
    }


def _recomputed_findings(
    run: SealedRun, prepared: "PreparedRun", folder: DataFolder, subjects: Mapping[str, Subject], names: set[str]
) -> dict[str, DataFinding]:
    findings = compare_computation(run, prepared, folder, subjects)
    return {name: finding for name, finding in findings.items() if name in names}
