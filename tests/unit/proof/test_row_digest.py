"""Known answers are taken with hashlib from the rules alone; nothing here is computed by what is tested but results."""

import datetime
import hashlib
import json
import random
import struct
from decimal import Decimal
from typing import Any

import pytest

from daybook.model.types import BOOLEAN, DATE, FLOAT, INTEGER, STRING, TIMESTAMP, ColumnType, DecimalType
from daybook.proof.row_digest import RowHashes, digest_rows
from daybook.proof.row_encoding import hash_of_texts, levels_for, row_hasher, value_as_text

SHA = hashlib.sha256
EMPTY_BUCKET = SHA(b"\x01").digest()


def cell(tag: str, content: bytes) -> bytes:
    return tag.encode() + struct.pack(">Q", len(content)) + content


def expected_digest(row_contents: list[bytes], columns: str, levels: int) -> str:
    """The rules of `daybookRows1`, for lists that fit in memory: every bucket, every node, the root."""
    hashes = sorted(SHA(b"\x00" + content).hexdigest() for content in row_contents)
    nodes = []
    for number in range(16**levels):
        prefix = format(number, f"0{levels}x")
        members = b"".join(bytes.fromhex(text) for text in hashes if text.startswith(prefix))
        nodes.append(SHA(b"\x01" + members).digest())
    while len(nodes) > 1:
        nodes = [SHA(b"\x02" + b"".join(nodes[at : at + 16])).digest() for at in range(0, len(nodes), 16)]
    annotations = f'{{"columns":{columns},"n":{levels},"rows":{len(row_contents)}}}'
    return SHA(b"\x03" + nodes[0] + annotations.encode()).hexdigest()


def test_no_rows_have_the_digest_of_sixteen_empty_buckets() -> None:
    root = SHA(b"\x02" + EMPTY_BUCKET * 16).digest()
    written = SHA(b"\x03" + root + b'{"columns":[["account","string"]],"n":1,"rows":0}').hexdigest()
    assert digest_rows({"account": STRING}, []).digest == written


def test_one_row_lies_in_the_bucket_of_its_first_digit() -> None:
    content = b"S\x00\x00\x00\x00\x00\x00\x00\x044711" + b"D\x00\x00\x00\x00\x00\x00\x00\x05-1.50"
    row_hash = SHA(b"\x00" + content).digest()
    buckets = [EMPTY_BUCKET] * 16
    buckets[row_hash[0] >> 4] = SHA(b"\x01" + row_hash).digest()
    root = SHA(b"\x02" + b"".join(buckets)).digest()
    columns = b'{"columns":[["account","string"],["amount","decimal(18,2)"]],"n":1,"rows":1}'
    digest = digest_rows({"account": STRING, "amount": DecimalType(18, 2)}, [("4711", Decimal("-1.50"))])
    assert digest.digest == SHA(b"\x03" + root + columns).hexdigest()
    assert digest.annotations() == json.loads(columns)


CELLS: list[tuple[ColumnType, Any, bytes]] = [
    (STRING, None, b"N"),
    (STRING, "", cell("S", b"")),
    (STRING, "Zürich €", cell("S", "Zürich €".encode())),
    (INTEGER, 0, cell("I", b"0")),
    (INTEGER, -(2**63), cell("I", b"-9223372036854775808")),
    (DecimalType(18, 2), Decimal("0.1"), cell("D", b"0.10")),
    (DecimalType(18, 2), Decimal("-0.00"), cell("D", b"0.00")),
    (DecimalType(38, 10), Decimal("1E-10"), cell("D", b"0.0000000001")),
    (DecimalType(38, 0), Decimal("9" * 38), cell("D", b"9" * 38)),
    (FLOAT, 1.5, cell("F", bytes.fromhex("3ff8000000000000"))),
    (FLOAT, -0.0, cell("F", bytes(8))),
    (FLOAT, float("nan"), cell("F", bytes.fromhex("7ff8000000000000"))),
    (FLOAT, float("-inf"), cell("F", bytes.fromhex("fff0000000000000"))),
    (FLOAT, 5e-324, cell("F", bytes.fromhex("0000000000000001"))),
    (BOOLEAN, True, cell("B", b"true")),
    (BOOLEAN, False, cell("B", b"false")),
    (DATE, datetime.date(1, 2, 3), cell("T", b"0001-02-03")),
    (
        TIMESTAMP,
        datetime.datetime(2026, 1, 31, 23, 59, 59, 7, tzinfo=datetime.UTC),
        cell("Z", b"2026-01-31T23:59:59.000007Z"),
    ),
    (
        TIMESTAMP,
        datetime.datetime(2026, 1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
        cell("Z", b"2025-12-31T23:00:00.000000Z"),
    ),
]


@pytest.mark.parametrize(("type_", "value", "content"), CELLS, ids=lambda value: str(value)[:24])
def test_a_value_of_every_type_has_its_bytes(type_: ColumnType, value: Any, content: bytes) -> None:
    assert row_hasher([type_])([value]) == SHA(b"\x00" + content).digest()


@pytest.mark.parametrize(("type_", "value", "content"), CELLS, ids=lambda value: str(value)[:24])
def test_a_row_of_texts_has_the_hash_of_its_values(type_: ColumnType, value: Any, content: bytes) -> None:
    from daybook.proof.row_encoding import DigestedColumn

    text = value_as_text(value, type_)
    assert hash_of_texts([DigestedColumn("x", str(type_))], [text]) == SHA(b"\x00" + content).digest()


def test_buckets_follow_from_the_number_of_rows() -> None:
    assert [levels_for(rows) for rows in (0, 1, 4096, 4097, 65536, 65537, 1_048_576, 1_048_577)] == [
        1, 1, 1, 2, 2, 3, 3, 4,
    ]  # fmt: skip


@pytest.mark.parametrize(("rows", "levels"), [(1, 1), (300, 1), (4097, 2)])
def test_any_number_of_rows_has_the_digest_of_the_rules(rows: int, levels: int) -> None:
    values = [(number % 700, f"text {number % 700}") for number in range(rows)]
    contents = [cell("I", str(number).encode()) + cell("S", text.encode()) for number, text in values]
    expected = expected_digest(contents, '[["k","integer"],["v","string"]]', levels)
    columns: dict[str, ColumnType] = {"k": INTEGER, "v": STRING}
    assert digest_rows(columns, values).digest == expected
    random.Random(7).shuffle(values)
    assert digest_rows(columns, values).digest == expected


def test_hashes_beyond_the_limit_of_memory_give_the_same_tree() -> None:
    hashes = [SHA(str(number % 5000).encode()).digest() for number in range(6000)]
    with RowHashes() as held, RowHashes(held_bytes=10_000) as spilled:
        for row_hash in hashes:
            held.add(row_hash)
            spilled.add(row_hash)
        assert list(spilled.in_order()) == sorted(hashes) == list(held.in_order())
        assert spilled.tree() == held.tree()


def test_a_path_leads_from_the_bucket_of_a_row_to_the_root() -> None:
    hashes = [SHA(str(number).encode()).digest() for number in range(5000)]
    with RowHashes() as row_hashes:
        for row_hash in hashes:
            row_hashes.add(row_hash)
        tree = row_hashes.tree(path_to=hashes[17])
    assert tree.path is not None
    prefix = hashes[17].hex()[:2]
    assert list(tree.path.bucket) == sorted(row_hash for row_hash in hashes if row_hash.hex()[:2] == prefix)
    node = SHA(b"\x01" + b"".join(tree.path.bucket)).digest()
    for digit, children in zip(reversed(prefix), tree.path.nodes, strict=True):
        assert children[int(digit, 16)] == node
        node = SHA(b"\x02" + b"".join(children)).digest()
    assert node == tree.root


def test_a_bucket_of_which_nothing_is_there_is_an_empty_one() -> None:
    with RowHashes() as row_hashes:
        tree = row_hashes.tree(path_to=bytes(32))
    assert tree.path is not None
    assert tree.path.bucket == ()
