"""Keys, sealed periods, verification of certificates, and proofs of single rows."""

import datetime
import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from daybook.definitions.loading.loaded_workspace import WorkspaceLocation
from daybook.errors import DaybookError
from daybook.errors.error import did_you_mean
from daybook.model.json_fields import Hidden, UnlessNone
from daybook.resolve.project_files import CheckedFiles
from daybook.store.records import Seal
from daybook.store.store import Transaction
from daybook.workspace.open_workspace import OpenedWorkspace
from daybook.workspace.periods import find_period

if TYPE_CHECKING:
    from daybook.proof.certificate import Certificate
    from daybook.proof.verification import Verification

_KEY_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class NewKey:
    """The files of a new key, and the id by which signatures name it."""

    private_key: Path
    public_key: Path
    key_id: str


def make_key(name: str, folder: Path) -> NewKey:
    """A new Ed25519 key: NAME.key, readable by its owner only, and NAME.pub for those who verify."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    from daybook.proof.envelope import key_id, public_pem
    from daybook.proof.new_file import check_new

    if not _KEY_NAME.fullmatch(name):
        raise DaybookError("PROOF_016", name=name)
    key = Ed25519PrivateKey.generate()
    private, public = folder / f"{name}.key", folder / f"{name}.pub"
    for path in (private, public):
        check_new(path)
    contents = (
        (private, 0o600, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())),
        (public, 0o644, public_pem(key.public_key())),
    )
    for path, mode, content in contents:
        try:
            number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        except FileExistsError:
            raise DaybookError("PROOF_003", file=str(path)) from None
        with os.fdopen(number, "wb") as stream:
            stream.write(content)
    return NewKey(private, public, key_id(key.public_key()))


@dataclass(frozen=True, slots=True)
class SealedSubject:
    """An output as a certificate names it; `rows` is None where only the bytes of its file were sealed."""

    name: str
    digest: str
    rows: int | None


@dataclass(frozen=True, slots=True)
class StaleNode:
    """A node that was sealed though it is out of date."""

    node: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodSeal:
    """A certificate: who sealed what with which key, and which certificates it follows and replaces.

    Certificates are named by the SHA-256 of their payload, `digest`. `file` is where the certificate was written now.
    """

    period: str
    calendar: str
    digest: str
    key_id: str
    sealed_at: datetime.datetime
    sealed_by: str
    subjects: tuple[SealedSubject, ...]
    not_covered: tuple[str, ...]
    accepted_stale: tuple[StaleNode, ...]
    follows: str | None
    replaces: str | None
    replaced_by: str | None = None
    file: UnlessNone[str | None] = None
    text: Hidden[str]

    @property
    def is_current(self) -> bool:
        return self.replaced_by is None


def seal_period(
    workspace: OpenedWorkspace,
    period: str,
    *,
    key: str,
    out: str | Path,
    accept_stale: Sequence[str] = (),
    reason: str | None = None,
    timestamp: str | None = None,
) -> PeriodSeal:
    """Sign the outputs of a locked period and what they were computed from, and write that as a certificate.

    `key` is `file://PATH` or `env://NAME`. `accept_stale` are locked nodes that are sealed though they are out of
    date, for a `reason`; `timestamp` is the address of a time stamping authority. Where the policy needs approval, a
    request is made instead; its requester seals once it is released.
    """
    from daybook.proof.envelope import read_private_key
    from daybook.proof.new_file import check_new, write_new
    from daybook.proof.seal import hold_sealed_versions, keep_sealed_rows, record_seal, sign_period
    from daybook.proof.sealable_period import SealRequest, find_sealable
    from daybook.runs.approvals.acts import Act, period_act
    from daybook.runs.approvals.requests import released_act

    request = SealRequest(period=period, accept_stale=tuple(accept_stale), reason=reason, timestamp=timestamp)
    private_key = read_private_key(key, workspace.root)
    file = Path(out)
    check_new(file)
    files = CheckedFiles(workspace.read_definitions())
    with workspace.open_run_environment() as environment:
        store = environment.store
        with store.logged_refusal("seal", period):
            sealable = find_sealable(environment, files, request)
        accepted = sorted(item.node for item in sealable.accepted_stale)

        def act(transaction: Transaction) -> Act:
            details = {"accept_stale": accepted}
            return period_act(transaction, "seal", sealable.period, reason=reason, details=details)

        with released_act(store, "seal", act, reason=reason) as mark_done:
            name, user = workspace.settings.name, store.user()
            certificate = sign_period(environment, sealable, request, private_key, user=user, workspace=name)
            keep_sealed_rows(certificate)
            try:
                with store.write() as transaction:
                    seal = record_seal(transaction, sealable, certificate)
                    mark_done(transaction)
                    write_new(file, certificate.text)
            except BaseException:
                _remove_own(file, certificate.text)
                raise
        hold_sealed_versions(environment, certificate)
    return replace(_show(seal, ()), file=str(file))


def _remove_own(file: Path, text: str) -> None:
    """A certificate that the store does not have must not be handed out."""
    with suppress(OSError):
        if file.read_text(encoding="utf-8") == text:
            file.unlink()


def list_seals(
    workspace: OpenedWorkspace, *, period: str | None = None, calendar: str | None = None, run: str | None = None
) -> tuple[PeriodSeal, ...]:
    """The certificates of a period, of a run, or all of them; the current one of a period comes last."""
    with workspace.open_store_or_empty() as store, store.read() as transaction:
        all_seals = transaction.seals.all()
        if run is not None:
            seals = transaction.seals.of_run(transaction.runs.id_of(run))
        elif period is not None:
            seals = transaction.seals.of(find_period(transaction, workspace, period, calendar))
        else:
            seals = all_seals
    return tuple(_show(seal, [other for other in all_seals if _is_same_period(seal, other)]) for seal in seals)


def _is_same_period(seal: Seal, other: Seal) -> bool:
    return (seal.calendar_id, seal.identifier) == (other.calendar_id, other.identifier)


def certificate_text(workspace: OpenedWorkspace, digest: str) -> str:
    """The file of a certificate, as it was written."""
    with workspace.open_store_or_empty() as store, store.read() as transaction:
        seal = next((seal for seal in transaction.seals.all() if seal.payload == digest), None)
    if seal is None:
        raise DaybookError("PROOF_017", digest=digest)
    return seal.certificate


def _show(seal: Seal, all_seals: Sequence[Seal]) -> PeriodSeal:
    certificate = _stored_certificate(seal)
    close = certificate.close
    later = (
        other.payload
        for other in all_seals
        if (link := _stored_certificate(other).close.replaces) is not None and link.payload == seal.payload
    )
    return PeriodSeal(
        period=seal.identifier,
        calendar=seal.calendar_id,
        digest=seal.payload,
        key_id=seal.key_id,
        sealed_at=seal.sealed_at,
        sealed_by=seal.sealed_by,
        subjects=tuple(
            SealedSubject(subject.name, subject.digest, None if subject.rows is None else subject.rows.rows)
            for subject in certificate.subjects
        ),
        not_covered=close.not_covered,
        accepted_stale=tuple(StaleNode(item.node, item.reason) for item in close.accepted_stale),
        follows=None if close.previous is None else close.previous.payload,
        replaces=None if close.replaces is None else close.replaces.payload,
        replaced_by=next(later, None),
        text=seal.certificate,
    )


@lru_cache(maxsize=64)
def _stored_certificate(seal: Seal) -> "Certificate":
    from daybook.proof.certificate import read_certificate

    return read_certificate(json.loads(seal.certificate), Path(seal.identifier))


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyRequest:
    """Files to verify, and which checks to make.

    The public `key` is trusted, else the signers of the named workspace. `authorities` is a file with the
    certificates of time stamping authorities.
    """

    files: tuple[Path, ...]
    key: Path | None = None
    period: str | None = None
    data: bool = False
    recompute: bool = False
    authorities: Path | None = None


def verify_certificates(
    request: VerifyRequest, *, named: WorkspaceLocation | None = None, around: WorkspaceLocation | None = None
) -> "tuple[Verification, ...]":
    """Verify certificates and proofs, those of several periods also as a chain; needs no store and no Spark.

    `named` is a workspace that is trusted to say who may sign; data is looked for there, else in the one `around`.
    """
    from daybook.proof.envelope import trusted_keys
    from daybook.proof.sealed_data import DataFolder
    from daybook.proof.timestamp import read_authorities
    from daybook.proof.verification import DataQuestion, Trust, verify_files

    if request.key is not None:
        signers = {request.key.stem: request.key}
    else:
        signers = {} if named is None else {name: named.root / path for name, path in named.settings.signers.items()}
    trust = Trust(
        keys=trusted_keys(signers.items()),
        authorities=() if request.authorities is None else read_authorities(request.authorities),
        period=request.period,
        workspace=None if named is None else named.settings.name,
    )
    folder = named or around
    question = None
    if folder is not None and (request.data or request.recompute):
        question = DataQuestion(DataFolder.of(folder), request.data, request.recompute)
    return verify_files(request.files, trust, question)


@dataclass(frozen=True, slots=True)
class WrittenProof:
    """A proof that a row is inside of a sealed output; it shows the hashes of `other_rows` rows beside it."""

    file: str
    output: str
    row: Mapping[str, str | None]
    other_rows: int


def prove_row(
    workspace: OpenedWorkspace,
    certificate: str | Path,
    output: str,
    keys: Mapping[str, str | None],
    *,
    out: str | Path,
) -> WrittenProof:
    """Prove that the one row with these values is among the rows that were sealed, and write the proof."""
    from daybook.proof.certificate import read_certificate
    from daybook.proof.envelope import envelope_text, read_document
    from daybook.proof.new_file import check_new, write_new
    from daybook.proof.row_proof import find_row, proof_json
    from daybook.proof.sealed_data import DataFolder, restore_sealed_run
    from daybook.proof.stored_slice import sealed_version, stored_columns, stored_slice
    from daybook.runs.recomputation import has_text

    path, file = Path(certificate), Path(out)
    check_new(file)
    document = read_document(path)
    sealed = read_certificate(document, path)
    subjects = [subject for subject in sealed.subjects if subject.rows is not None]
    matching = [subject for subject in subjects if output in (subject.name, subject.name.partition(":")[2])]
    if len(matching) != 1:
        names = [subject.name for subject in subjects]
        raise DaybookError("PROOF_011", output=output, hint=did_you_mean(output, names) or f"one of {', '.join(names)}")
    (subject,) = matching
    run, sealed_output = next(
        (run, item) for run in sealed.close.runs for item in run.outputs if item.subject == subject.name
    )
    planned = restore_sealed_run(run, DataFolder.of(workspace)).output(sealed_output.operation_seq)
    columns = stored_columns(planned)
    for name in keys:
        if name not in columns:
            raise DaybookError("RUN_080", output=subject.name, column=name, hint=did_you_mean(name, columns))
    positions = {list(columns).index(name): text for name, text in keys.items()}
    with stored_slice(planned, sealed_version(planned.target, sealed_output.table_version)) as rows:
        row, row_path = find_row(
            columns, rows, lambda row: all(has_text(row[place], text) for place, text in positions.items()), subject
        )
    write_new(file, envelope_text(proof_json(document, subject.name, row, row_path)))
    return WrittenProof(str(file), subject.name, dict(zip(columns, row, strict=True)), len(row_path.bucket) - 1)
