"""Seals a period: computes the digests of its outputs, and signs them with the runs, pins and checks behind them."""

import base64
import json
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from pydantic import TypeAdapter

from daybook.errors import DaybookError
from daybook.graph.close import NodeStatus
from daybook.graph.nodes import Node
from daybook.io.format import VersionHolder
from daybook.io.registry import format_named
from daybook.io.writer import Commit
from daybook.model.definition import TableVersion
from daybook.model.operation import CheckOperation
from daybook.proof.certificate import (
    CertificateLink,
    CloseStatement,
    SealedCheck,
    SealedOutput,
    SealedPeriod,
    SealedRun,
    SealedWorkspace,
    Subject,
    statement_payload,
)
from daybook.proof.envelope import (
    MOST_BYTES,
    MOST_VALUES,
    count_values,
    envelope_text,
    key_id,
    read_envelope,
    sign,
)
from daybook.proof.row_encoding import RowsDigest
from daybook.proof.sealable_period import SealablePeriod, SealRequest
from daybook.proof.sealed_data import shortened
from daybook.proof.spark_digest import DigestedFrame, digest_frames
from daybook.proof.stored_slice import digest_file, gives_rows_back, stored_columns
from daybook.proof.timestamp import request_timestamp
from daybook.runs.approvals.requests import approvals_of
from daybook.runs.attempt.prepare import PreparedRun, restore_run
from daybook.runs.attempt.recorder import LOAD_SEQ, holding_store
from daybook.runs.environment import RunEnvironment
from daybook.runs.outputs import PlannedOutput
from daybook.runs.slices import read_written_rows
from daybook.runs.snapshot import snapshot_from_json
from daybook.runs.totals import RunTotals, recorded_totals
from daybook.store.records import OperationResult, OutputCommit, RunRecord, Seal
from daybook.store.store import Transaction


@dataclass(frozen=True, slots=True)
class _NodeRecord:
    """The stored records of the run of a node."""

    node: Node
    record: RunRecord
    snapshot_text: str
    prepared: PreparedRun
    commits: tuple[OutputCommit, ...]
    operations: tuple[OperationResult, ...]
    totals: RunTotals | None


@dataclass(frozen=True, slots=True)
class _OutputToSeal:
    node: Node
    prepared: PreparedRun
    planned: PlannedOutput
    commit: OutputCommit
    name: str

    @property
    def version(self) -> TableVersion | None:
        """What the run committed; a slice that several append to is sealed as it is now."""
        return None if self.planned.target.mode == "append" else self.commit.table_version


@dataclass(frozen=True, slots=True)
class SignedCertificate:
    """A signed certificate that is not stored yet."""

    text: str
    close: CloseStatement
    subjects: tuple[Subject, ...]
    payload: str
    key_id: str
    outputs: tuple[_OutputToSeal, ...] = field(repr=False)


def sign_period(
    environment: RunEnvironment,
    sealable: SealablePeriod,
    request: SealRequest,
    key: Ed25519PrivateKey,
    *,
    user: str,
    workspace: str,
) -> SignedCertificate:
    """Read every output of the period, and sign the certificate."""
    with environment.store.read() as transaction:
        records = [_read_node(transaction, status, environment) for status in sealable.nodes]
        workspace_id = transaction.identity.ids().own
        links = _Links.read(transaction, sealable)
        log_head = transaction.log.head().digest
        approvals = approvals_of(transaction, sealable.period, "lock", "reopen", "seal")
    outputs = tuple(_outputs_of(records))
    subjects, spark_version = _take_digests(environment, outputs)
    by_node: dict[Node, list[SealedOutput]] = {}
    for output, subject in zip(outputs, subjects, strict=True):
        rows = subject.rows.rows if subject.rows is not None else output.commit.rows or 0
        sealed = SealedOutput(subject.name, output.commit.operation_seq, rows, output.version)
        by_node.setdefault(output.node, []).append(sealed)
    period = sealable.period
    close = CloseStatement(
        workspace=SealedWorkspace(workspace_id, workspace),
        period=SealedPeriod(period.calendar_id, period.level, period.identifier, period.start_date, period.end_date),
        sealed_at=environment.clock(),
        sealed_by=user,
        runs=tuple(_sealed_run(record, by_node.get(record.node, []), environment.root) for record in records),
        not_covered=sealable.not_covered,
        accepted_stale=sealable.accepted_stale,
        versions={"daybook": environment.version, "python": platform.python_version(), "spark": spark_version},
        previous=links.previous,
        previous_reason=links.previous_reason,
        replaces=links.replaces,
        log_head=log_head,
        approvals=approvals,
    )
    payload = statement_payload(subjects, close)
    envelope = sign(payload, key)
    signed = read_envelope(envelope, Path(period.identifier))
    if request.timestamp is not None:
        answer = request_timestamp(request.timestamp, signed.first_signature)
        envelope |= {"timestamp": _as_base64(answer)}
    text = envelope_text(envelope)
    if len(text) > MOST_BYTES:
        raise DaybookError("PROOF_014", period=period.identifier, size=len(text), unit="bytes", limit=MOST_BYTES)
    if (values := count_values(payload)) > MOST_VALUES:
        raise DaybookError("PROOF_014", period=period.identifier, size=values, unit="values", limit=MOST_VALUES)
    return SignedCertificate(text, close, subjects, signed.digest, key_id(key.public_key()), outputs)


def _as_base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


@dataclass(frozen=True, slots=True)
class _Links:
    """The certificates before this one."""

    previous: CertificateLink | None
    previous_reason: str | None
    replaces: CertificateLink | None

    @classmethod
    def read(cls, transaction: Transaction, sealable: SealablePeriod) -> "_Links":
        same = transaction.seals.of(sealable.period)
        before = transaction.seals.of(sealable.before) if sealable.before is not None else ()
        reason = None
        if sealable.before is None:
            reason = "no period comes before it"
        elif not before:
            reason = f"{sealable.before.identifier} was not sealed"
        return cls(_link(before), reason, _link(same))


def _link(seals: Sequence[Seal]) -> CertificateLink | None:
    return CertificateLink(seals[-1].identifier, seals[-1].payload) if seals else None


def _read_node(transaction: Transaction, status: NodeStatus, environment: RunEnvironment) -> _NodeRecord:
    run_id = str(status.run)
    text = transaction.runs.snapshot(run_id)
    return _NodeRecord(
        status.node,
        transaction.runs.get(run_id),
        text,
        restore_run(snapshot_from_json(text), environment.root, environment.storage),
        tuple(transaction.outcomes.commits(run_id)),
        tuple(transaction.outcomes.operations(run_id)),
        recorded_totals(transaction, run_id),
    )


def _outputs_of(records: Iterable[_NodeRecord]) -> Iterator[_OutputToSeal]:
    names: set[str] = set()
    for record in records:
        for commit in record.commits:
            planned = record.prepared.output(commit.operation_seq)
            name = f"{record.node.name}:{planned.label}"
            if name in names:
                name = f"{name}#{commit.operation_seq}"
            names.add(name)
            yield _OutputToSeal(record.node, record.prepared, planned, commit, name)


def _take_digests(environment: RunEnvironment, outputs: Sequence[_OutputToSeal]) -> tuple[tuple[Subject, ...], str]:
    """The subjects of all outputs, and the version of the Spark that read them."""
    files = {output.name: digest_file(output.planned.target) for output in outputs}
    with_rows = [output for output in outputs if files[output.name] is None or gives_rows_back(output.planned.target)]
    digests: dict[str, RowsDigest] = {}
    spark_version = ""
    if with_rows:
        spark = environment.session()
        spark_version = spark.version
        frames = []
        for output in with_rows:
            df = read_written_rows(environment, spark, output.prepared, output.commit.operation_seq, output.version)
            frames.append(
                DigestedFrame(output.planned.named(df), stored_columns(output.planned), output.commit.rows or 0)
            )
        digests = {output.name: digest for output, digest in zip(with_rows, digest_frames(frames), strict=True)}
    for output in with_rows:
        rows, written = digests[output.name].rows, output.commit.rows
        if output.planned.target.mode != "append" and written is not None and rows != written:
            raise DaybookError("PROOF_008", output=output.name, found=rows, written=written)
    return tuple(Subject(item.name, digests.get(item.name), files[item.name]) for item in outputs), spark_version


def _sealed_run(record: _NodeRecord, outputs: Sequence[SealedOutput], root: Path) -> SealedRun:
    loads = [operation for operation in record.operations if operation.seq == LOAD_SEQ]
    pins: Mapping[str, Any] = loads[0].details["pins"] if loads else {}
    picked = {operation.seq: operation.rows_picked for operation in record.operations}
    return SealedRun(
        project=record.node.project,
        period=record.node.period.identifier,
        run=record.record.id,
        completed_at=record.record.finished_at,
        snapshot=shortened(record.snapshot_text, root),
        pins={key: tuple(values) for key, values in shortened(_as_json(pins), root).items()},
        operations=tuple(_operation_facts(operation) for operation in record.operations),
        checks=tuple(
            SealedCheck(operation.id, operation.name or operation.id, operation.arguments.condition, picked.get(seq))
            for operation in record.prepared.snapshot.project.operations
            if isinstance(operation, CheckOperation) and (seq := operation.seq) is not None
        ),
        outputs=tuple(outputs),
        totals=None if record.totals is None else shortened(_totals_text(record.totals), root),
    )


def _totals_text(totals: RunTotals) -> str:
    return _totals_adapter().dump_json(totals, by_alias=True).decode()


@cache
def _totals_adapter() -> TypeAdapter[RunTotals]:
    return TypeAdapter(RunTotals)


def _as_json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)


def _operation_facts(operation: OperationResult) -> dict[str, Any]:
    """The row counts of an operation, without its duration."""
    return {
        "seq": operation.seq,
        "operation_id": operation.operation_id,
        "type": operation.type,
        "rows_picked": operation.rows_picked,
        "rows_added": operation.rows_added,
        "rows_deleted": operation.rows_deleted,
        "rows_written": operation.rows_written,
    }


def record_seal(transaction: Transaction, sealable: SealablePeriod, certificate: SignedCertificate) -> Seal:
    """Store a certificate; PROOF_015 where the period has changed since its outputs were read."""
    period, close = sealable.period, certificate.close
    if _Links.read(transaction, sealable) != _Links(close.previous, close.previous_reason, close.replaces):
        raise DaybookError("PROOF_015", period=period.identifier, reason="another certificate was made")
    if transaction.periods.status(period).status != "locked":
        raise DaybookError("PROOF_015", period=period.identifier, reason="it is not locked any more")
    for node, run_id in sealable.runs.items():
        if transaction.runs.id_of(node) != run_id:
            raise DaybookError("PROOF_015", period=period.identifier, reason=f"{node} has run again")
    seal = Seal(
        payload=certificate.payload,
        calendar_id=period.calendar_id,
        identifier=period.identifier,
        level=period.level,
        start_date=period.start_date,
        end_date=period.end_date,
        sealed_at=close.sealed_at,
        sealed_by=close.sealed_by,
        key_id=certificate.key_id,
        certificate=certificate.text,
        runs=tuple(sorted(set(sealable.runs.values()))),
    )
    transaction.seals.record(seal)
    details = {
        "calendar": period.calendar_id,
        "key": seal.key_id,
        "payload": seal.payload,
        "replaces": None if close.replaces is None else close.replaces.payload,
        "stale": [{"node": item.node, "reason": item.reason} for item in close.accepted_stale],
    }
    transaction.log.append("seal", period.identifier, details)
    return seal


def keep_sealed_rows(certificate: SignedCertificate) -> None:
    """Copies of what no version holds, made before the seal counts."""
    for output in certificate.outputs:
        target, version = output.planned.target, output.commit.table_version
        format_named(target.format).keep_committed(target, Commit(output.commit.rows or 0, version))


def hold_sealed_versions(environment: RunEnvironment, certificate: SignedCertificate) -> None:
    """Mark the sealed versions at their tables, so that programs that vacuum these keep them.

    `daybook gc` reads them from the store.
    """
    store = holding_store(environment.store)
    for output in certificate.outputs:
        version = output.commit.table_version
        if version is None:
            continue
        target = output.planned.target
        format_ = format_named(target.format)
        holder = VersionHolder(store, f"sealed-{target.run_id}", target.operation_seq)
        # A table that cannot be reached is not vacuumed.
        with suppress(OSError, DaybookError, *format_.storage_errors):
            location = replace(target.location, version=version)
            format_.hold_version(location, version, holder, environment.root, environment.storage)
