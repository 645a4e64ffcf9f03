import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from daybook.errors import DaybookError
from daybook.proof.certificate import Certificate, read_certificate
from daybook.proof.row_proof import find_row, proof_json
from daybook.proof.verification import verify_files
from tests.certificates import COLUMNS, ROWS, TRUST, envelope, written

OUTPUT = "p@2026-01:lake.all"


def certificate(document: dict[str, Any]) -> Certificate:
    return read_certificate(document, Path("x"))


def proof(account: str = "17") -> dict[str, Any]:
    document = envelope()
    subject = certificate(document).subject(OUTPUT)
    row, path = find_row(COLUMNS, ROWS, lambda row: bool(row[0] == account), subject)
    return proof_json(document, OUTPUT, row, path)


def test_a_row_is_proven_to_be_inside(tmp_path: Path) -> None:
    document = proof()
    assert document["row"] == ["17", "17"]
    (verification,) = verify_files([written(tmp_path, "p.json", document)], TRUST)
    assert verification.is_valid
    assert [subject.name for subject in verification.subjects] == [OUTPUT]
    assert verification.proof is not None


def _change_amount(document: dict[str, Any]) -> None:
    document["row"][1] = "18"


def _empty_instead_of_null(document: dict[str, Any]) -> None:
    document["row"][0] = None


def _no_number(document: dict[str, Any]) -> None:
    document["row"][1] = "017"


def _row_of_another_bucket(document: dict[str, Any]) -> None:
    document["row"] = proof("3")["row"]


def _bucket_without_others(document: dict[str, Any]) -> None:
    document["bucket"] = document["bucket"][:1]


def _bucket_with_one_more(document: dict[str, Any]) -> None:
    document["bucket"].append("f" * 64)


def _bucket_out_of_order(document: dict[str, Any]) -> None:
    document["bucket"] = [*document["bucket"], *document["bucket"]][::-1]


def _swapped_children(document: dict[str, Any]) -> None:
    document["nodes"][0] = document["nodes"][0][::-1]


def _another_output(document: dict[str, Any]) -> None:
    document["subject"] = "p@2026-01:lake.few"


@pytest.mark.parametrize(
    "change",
    [
        _change_amount,
        _empty_instead_of_null,
        _no_number,
        _row_of_another_bucket,
        _bucket_without_others,
        _bucket_with_one_more,
        _bucket_out_of_order,
        _swapped_children,
        _another_output,
    ],
)
def test_a_proof_that_was_changed_proves_nothing(tmp_path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    document = json.loads(json.dumps(proof()))
    change(document)
    (verification,) = verify_files([written(tmp_path, "p.json", document)], TRUST)
    assert verification.signer == "controlling"
    assert not verification.is_valid


@pytest.mark.parametrize(
    "change",
    [
        {"row": ["17"]},
        {"row": ["17", 17]},
        {"nodes": []},
        {"nodes": [["00"] * 16]},
        {"nodes": [["0" * 64] * 15]},
        {"bucket": ["zz"]},
        {"bucket": [7]},
        {"bucket": ["0" * 64] * ((1 << 20) + 1)},
        {"subject": "p@2026-01:lake.none"},
        {"certificate": {}},
    ],
    ids=lambda change: str(change)[:40],
)
def test_a_malformed_proof_has_a_code(tmp_path: Path, change: dict[str, Any]) -> None:
    path = written(tmp_path, "p.json", proof() | change)
    with pytest.raises(DaybookError) as raised:
        verify_files([path], TRUST)
    assert raised.value.code == "PROOF_001"


@pytest.mark.parametrize("is_wanted", [lambda row: False, lambda row: row[1] > 30], ids=["none", "several"])
def test_a_proof_is_about_one_row(is_wanted: Callable[[Any], bool]) -> None:
    with pytest.raises(DaybookError) as raised:
        find_row(COLUMNS, ROWS, is_wanted, certificate(envelope()).subject(OUTPUT))
    assert raised.value.code == "PROOF_012"


def test_rows_that_were_not_sealed_give_no_proof() -> None:
    subject = certificate(envelope()).subject(OUTPUT)
    with pytest.raises(DaybookError) as raised:
        find_row(COLUMNS, [*ROWS, ("40", 40)], lambda row: bool(row[0] == "17"), subject)
    assert raised.value.code == "PROOF_013"


def test_a_row_that_is_there_twice_is_proven_once() -> None:
    from daybook.proof.certificate import Subject
    from daybook.proof.row_digest import digest_rows

    rows = [*ROWS, ROWS[17]]
    row, path = find_row(COLUMNS, rows, lambda row: bool(row[0] == "17"), Subject("twice", digest_rows(COLUMNS, rows)))
    assert row == ("17", "17")
    assert len(path.bucket) - len(set(path.bucket)) == 1
