"""Certificates that tests sign themselves, for periods that nothing computed."""

import datetime
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from securesystemslib.signer import SSlibKey

from daybook.model.types import INTEGER, STRING, ColumnType
from daybook.proof.certificate import (
    CertificateLink,
    CloseStatement,
    SealedOutput,
    SealedPeriod,
    SealedRun,
    SealedWorkspace,
    Subject,
    statement_payload,
)
from daybook.proof.envelope import read_envelope, sign
from daybook.proof.row_digest import digest_rows
from daybook.proof.verification import Trust

COLUMNS: dict[str, ColumnType] = {"account": STRING, "amount": INTEGER}
ROWS: list[tuple[Any, ...]] = [(str(number), number) for number in range(40)]
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER_KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))


def public(key: Ed25519PrivateKey) -> SSlibKey:
    return SSlibKey.from_crypto(key.public_key())


TRUST = Trust(keys={"controlling": public(KEY)})


def month(number: int) -> SealedPeriod:
    start = datetime.date(2026, number, 1)
    end = datetime.date(2026, number + 1, 1) - datetime.timedelta(days=1)
    return SealedPeriod("gregorian", "month", f"2026-{number:02}", start, end)


def statement(number: int = 1, **changes: Any) -> tuple[tuple[Subject, ...], CloseStatement]:
    """A close of a month with two outputs of one run."""
    period = month(number).identifier
    subjects = tuple(
        Subject(f"p@{period}:lake.{name}", digest_rows(COLUMNS, rows))
        for name, rows in (("all", ROWS), ("few", ROWS[:3]))
    )
    run = SealedRun(
        project="p",
        period=period,
        run=f"run-{number}",
        completed_at=None,
        snapshot={},
        pins={},
        operations=(),
        checks=(),
        outputs=tuple(
            SealedOutput(subject.name, seq, subject.rows.rows)
            for seq, subject in enumerate(subjects)
            if subject.rows is not None
        ),
    )
    close = CloseStatement(
        workspace=SealedWorkspace("w-1", "acme-close"),
        period=month(number),
        sealed_at=datetime.datetime(2026, number + 1, 3, 8, tzinfo=datetime.UTC),
        sealed_by="anna",
        runs=(run,),
        not_covered=(),
        accepted_stale=(),
        versions={},
        previous=None,
        previous_reason=None if number > 1 else "2025-12 was not sealed",
    )
    return subjects, replace(close, **changes)


def envelope(number: int = 1, *, key: Ed25519PrivateKey = KEY, **changes: Any) -> dict[str, Any]:
    return sign(statement_payload(*statement(number, **changes)), key)


def link(document: dict[str, Any], number: int) -> CertificateLink:
    return CertificateLink(month(number).identifier, read_envelope(document, Path("x")).digest)


def written(folder: Path, name: str, document: Any) -> Path:
    path = folder / name
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path
