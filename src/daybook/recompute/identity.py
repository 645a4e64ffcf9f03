"""Ids of rows by the published rule (docs/concepts/identity.md): a UUID of version 7 that hashes what a row is."""

import datetime
import hashlib
import re
import struct
from collections.abc import Iterable, Sequence
from decimal import Decimal

from daybook.model.types import Value
from daybook.recompute.functions import value_as_text

# What a carried `_row_id` looks like; upper case is accepted as RFC 9562 asks.
ROW_ID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-7[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}")

_VARIANT_DIGITS = str.maketrans("0123456789abcdef", "89ab89ab89ab89ab")
_EPOCH = datetime.date(1970, 1, 1)
_EPOCH_MOMENT = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)


class RowIds:
    """The ids of one kind of rows; `scope` are texts that all of them share."""

    def __init__(self, period_start: datetime.date, kind: str, scope: Sequence[str]) -> None:
        self._time = _time_part(period_start)
        self._head = "".join(f"{len(text.encode())}:{text}" for text in (kind, *scope))

    def of(self, parts: Iterable[Value]) -> str:
        """The id of the row that these values distinguish from the others."""
        text = self._head + "".join(map(_prefixed, parts))
        digest = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
        variant = digest[3].translate(_VARIANT_DIGITS)
        return f"{self._time}{digest[:3]}-{variant}{digest[4:7]}-{digest[7:19]}"


def _time_part(start: datetime.date) -> str:
    """48 bits of milliseconds since 1970, and the version."""
    milliseconds = max(0, (start - _EPOCH).days * 86_400_000) & 0xFFFF_FFFF_FFFF
    digits = f"{milliseconds:012x}"
    return f"{digits[:8]}-{digits[8:]}-7"


def _prefixed(value: Value) -> str:
    """Length before text, so that no two lists of values read the same; NULL is a tag that no length looks like."""
    if value is None:
        return "-"
    text = value if isinstance(value, str) else value_as_text(value)
    return f"{len(text.encode())}:{text}"


def content_place(values: Iterable[Value]) -> str:
    """The place of a row that was landed: a hash of its natural key, or of all of its columns, in order of names."""
    text = "".join(_prefixed(_content_text(value)) for value in values)
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def _content_text(value: Value) -> Value:
    match value:
        case float():
            return str(_hash_of_double(value))
        case datetime.datetime():
            return str((value - _EPOCH_MOMENT) // _MICROSECOND)
        case datetime.date():
            return str((value - _EPOCH).days)
        case Decimal() | int() | str() | None:
            return value


_MASK = 0xFFFF_FFFF_FFFF_FFFF
_PRIME_1, _PRIME_2, _PRIME_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_PRIME_4, _PRIME_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_SEED = 42


def _hash_of_double(value: float) -> int:
    """XXH64 of the eight bytes of a double, with seed 42, as a signed number; -0.0 counts as 0.0."""
    bits = struct.unpack("<Q", struct.pack("<d", value if value else 0.0))[0]
    if value != value:
        bits = 0x7FF8000000000000
    hashed = (_SEED + _PRIME_5 + 8) & _MASK
    hashed ^= (_rotated(bits * _PRIME_2 & _MASK, 31) * _PRIME_1) & _MASK
    hashed = (_rotated(hashed, 27) * _PRIME_1 + _PRIME_4) & _MASK
    hashed = ((hashed ^ hashed >> 33) * _PRIME_2) & _MASK
    hashed = ((hashed ^ hashed >> 29) * _PRIME_3) & _MASK
    hashed ^= hashed >> 32
    return hashed - (1 << 64) if hashed >> 63 else hashed


def _rotated(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (64 - bits))) & _MASK
