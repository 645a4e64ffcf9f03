"""The program in the documentation verifies certificates with hashlib and cryptography alone."""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from daybook.model.types import BOOLEAN, FLOAT, INTEGER, STRING, ColumnType, DecimalType
from daybook.proof.certificate import Subject, statement_payload
from daybook.proof.envelope import public_pem, sign
from daybook.proof.row_digest import digest_rows
from tests.certificates import KEY, OTHER_KEY, statement, written

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "certificates.md"
(PROGRAM,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
OUTPUT = "p@2026-01:lake.all"


def verify(folder: Path, document: dict[str, Any], rows: Sequence[Sequence[Any]], key: Any = KEY) -> "tuple[int, str]":
    (folder / "key.pub").write_bytes(public_pem(key.public_key()))
    certificate = written(folder, "c.json", document)
    lines = written(folder, "rows.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    command = [sys.executable, "-c", PROGRAM, str(certificate), str(folder / "key.pub"), OUTPUT, str(lines)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout + done.stderr


def certificate(columns: dict[str, ColumnType], rows: Sequence[Sequence[Any]]) -> dict[str, Any]:
    _, close = statement()
    return sign(statement_payload((Subject(OUTPUT, digest_rows(columns, rows)),), close), KEY)


def test_the_program_uses_nothing_else() -> None:
    imported = re.findall(r"^(?:import|from) ([\w., ]+)", PROGRAM, re.MULTILINE)
    assert imported == [
        "base64, hashlib, json, struct, sys",
        "collections import defaultdict",
        "cryptography.hazmat.primitives.serialization import load_pem_public_key",
    ]


def test_the_program_agrees_on_every_type(tmp_path: Path) -> None:
    from decimal import Decimal

    columns: dict[str, ColumnType] = {
        "ä": STRING, "i": INTEGER, "d": DecimalType(18, 2), "f": FLOAT, "b": BOOLEAN,
    }  # fmt: skip
    rows = [("x", 1, Decimal("1.50"), -0.0, True), (None, None, None, None, None), ("", -7, Decimal(0), 0.1, False)]
    texts = [("x", "1", "1.50", "-0.0", "true"), (None,) * 5, ("", "-7", "0.00", "0.1", "false")]
    assert verify(tmp_path, certificate(columns, rows), texts) == (0, "signature and rows hold\n")


@pytest.mark.parametrize("count", [40, 5000])
def test_the_program_sees_other_rows_and_other_keys(tmp_path: Path, count: int) -> None:
    columns: dict[str, ColumnType] = {"account": STRING, "amount": INTEGER}
    rows = [(str(number), number) for number in range(count)]
    texts = [(account, str(amount)) for account, amount in rows]
    document = certificate(columns, rows)
    assert verify(tmp_path, document, texts)[0] == 0
    for others in (texts[1:], [*texts, texts[0]], [*texts[1:], ("0", "1")], [*texts[1:], (None, "0")]):
        code, said = verify(tmp_path, document, others)
        assert code == 1
        assert "not those that were sealed" in said
    code, said = verify(tmp_path, document, texts, OTHER_KEY)
    assert code == 1
    assert "InvalidSignature" in said
