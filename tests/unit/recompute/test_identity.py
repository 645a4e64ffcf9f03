"""Ids by the published rule, against values of the standards they are made of."""

import datetime
import hashlib
from decimal import Decimal

import pytest

from daybook.model.types import Value
from daybook.recompute.identity import ROW_ID, RowIds, _hash_of_double, content_place

START = datetime.date(2026, 1, 1)


def test_an_id_is_the_digest_of_the_length_prefixed_parts() -> None:
    digest = hashlib.md5(b"6:loaded6:orders6:part-01:7", usedforsecurity=False).hexdigest()
    row_id = RowIds(START, "loaded", ("orders",)).of(("part-0", 7))
    # 2026-01-01T00:00:00Z is 1767225600000 milliseconds, 019b76daa800 in hexadecimal.
    assert row_id.startswith(f"019b76da-a800-7{digest[:3]}-")
    assert row_id.endswith(f"{digest[4:7]}-{digest[7:19]}")
    assert ROW_ID.fullmatch(row_id)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        ("ä", "2:ä"),
        (True, "4:true"),
        (12, "2:12"),
        (Decimal("1.50"), "4:1.50"),
        (2.5, "3:2.5"),
        (datetime.date(2026, 1, 31), "10:2026-01-31"),
        (datetime.datetime(2026, 1, 31, 1, 2, 3, 400000, tzinfo=datetime.UTC), "21:2026-01-31 01:02:03.4"),
    ],
)
def test_the_text_of_every_type(value: Value, text: str) -> None:
    digest = hashlib.md5(f"7:summary{text}".encode(), usedforsecurity=False).hexdigest()
    assert RowIds(START, "summary", ()).of((value,)).endswith(digest[7:19])


def test_the_place_of_a_landed_row_is_the_digest_of_its_content() -> None:
    moment = datetime.datetime(1970, 1, 2, tzinfo=datetime.UTC)
    place = content_place(("A", None, Decimal("1.00"), datetime.date(1970, 1, 31), moment))
    assert place == hashlib.md5(b"1:A-4:1.002:3011:86400000000", usedforsecurity=False).hexdigest()


def test_doubles_are_hashed_as_xxh64_of_their_bytes() -> None:
    """Of eight zero bytes with seed 42, as Spark's XXHASH64(0D) gives it."""
    assert _hash_of_double(0.0) == _hash_of_double(-0.0) == -5252525462095825812
