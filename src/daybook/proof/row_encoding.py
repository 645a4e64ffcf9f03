"""Rows as bytes, by the rules of `daybookRows1`; `docs/reference/certificates.md` has them for other programs.

A cell is `N` for NULL, else a tag, the length of its bytes as 8 bytes and the bytes. A row is its cells, in the order
of the columns.
"""

import datetime
import hashlib
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, assert_never

import rfc8785

from daybook.model.types import (
    BooleanType,
    ColumnType,
    DateType,
    DecimalType,
    FloatType,
    IntegerType,
    NullType,
    StringType,
    TimestampType,
    parse_type,
)

DIGEST_NAME = "daybookRows1"
NULL_CELL = b"N"
# The first byte of what is hashed, so that a hash of one kind is never one of another.
ROW, BUCKET, NODE, ROOT = b"\x00", b"\x01", b"\x02", b"\x03"
CHILDREN = 16
BUCKET_ROWS = 256
# An untrusted file may claim any number of levels; 16^12 buckets are more than any table has.
MOST_LEVELS = 12

_LENGTH = struct.Struct(">Q")
_DOUBLE = struct.Struct(">d")
_NAN = bytes.fromhex("7ff8000000000000")

CellBytes = Callable[[Any], bytes]


@dataclass(frozen=True, slots=True)
class DigestedColumn:
    """A column by its name and type as text, as the annotations of a digest list it."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class RowsDigest:
    """The digest of an output's rows, and what is needed to compute it again; `levels` is `n` in the annotations."""

    columns: tuple[DigestedColumn, ...]
    levels: int
    rows: int
    digest: str

    def annotations(self) -> dict[str, Any]:
        return annotations(self.columns, self.levels, self.rows)


def annotations(columns: Sequence[DigestedColumn], levels: int, rows: int) -> dict[str, Any]:
    return {"columns": [[column.name, column.type] for column in columns], "n": levels, "rows": rows}


def digest_of_root(root: bytes, columns: Sequence[DigestedColumn], levels: int, rows: int) -> str:
    return hashlib.sha256(ROOT + root + rfc8785.dumps(annotations(columns, levels, rows))).hexdigest()


def levels_for(rows: int) -> int:
    """The smallest number of hex digits, at least one, whose buckets have 256 rows or fewer on average."""
    levels = 1
    while BUCKET_ROWS * CHILDREN**levels < rows:
        levels += 1
    return levels


def tag_of(type_: ColumnType) -> bytes:
    match type_:
        case StringType():
            return b"S"
        case IntegerType():
            return b"I"
        case DecimalType():
            return b"D"
        case FloatType():
            return b"F"
        case BooleanType():
            return b"B"
        case DateType():
            return b"T"
        case TimestampType():
            return b"Z"
        case NullType():
            raise ValueError("no column has the type of NULL")
        case _:
            assert_never(type_)


def framed(tag: bytes, content: bytes) -> bytes:
    return tag + _LENGTH.pack(len(content)) + content


def content_of(type_: ColumnType) -> CellBytes:
    """The bytes of a value that is not NULL, without tag and length."""
    match type_:
        case StringType():
            return str.encode
        case IntegerType():
            return lambda value: b"%d" % value
        case DecimalType(scale=scale):
            return lambda value: decimal_text(value, scale).encode()
        case FloatType():
            return _double_bytes
        case BooleanType():
            return lambda value: b"true" if value else b"false"
        case DateType():
            return lambda value: bytes(value.isoformat(), "ascii")
        case TimestampType():
            return lambda value: _timestamp_text(value).encode()
        case NullType():
            raise ValueError("no column has the type of NULL")
        case _:
            assert_never(type_)


def decimal_text(value: Decimal, scale: int) -> str:
    """Plain text at a scale; zero has no sign."""
    return f"{abs(value) if value.is_zero() else value:.{scale}f}"


def _double_bytes(value: float) -> bytes:
    # Adding zero turns negative zero into zero.
    return _NAN if math.isnan(value) else _DOUBLE.pack(value + 0.0)


def _timestamp_text(value: datetime.datetime) -> str:
    utc = value if value.tzinfo is None else value.astimezone(datetime.UTC).replace(tzinfo=None)
    return f"{utc.isoformat(timespec='microseconds')}Z"


def cell_of(type_: ColumnType) -> CellBytes:
    """The cell of a value, NULL included."""
    tag, content = tag_of(type_), content_of(type_)

    def cell(value: Any) -> bytes:
        return NULL_CELL if value is None else framed(tag, content(value))

    return cell


def row_hasher(columns: Sequence[ColumnType]) -> Callable[[Sequence[Any]], bytes]:
    """The hash of a row of values."""
    cells = [cell_of(type_) for type_ in columns]

    def hashed(row: Sequence[Any]) -> bytes:
        content = b"".join([cell(value) for cell, value in zip(cells, row, strict=True)])
        return hashlib.sha256(ROW + content).digest()

    return hashed


def digested_columns(columns: Mapping[str, ColumnType]) -> tuple[DigestedColumn, ...]:
    return tuple(DigestedColumn(name, str(type_)) for name, type_ in columns.items())


def value_as_text(value: Any, type_: ColumnType) -> str | None:
    """The bytes of a value as text, as a proof shows them: those of a float in hex digits."""
    if value is None:
        return None
    content = content_of(type_)(value)
    return content.hex() if isinstance(type_, FloatType) else content.decode()


def hash_of_texts(columns: Sequence[DigestedColumn], texts: Sequence[str | None]) -> bytes:
    """The hash of a row whose values are texts, as a proof shows them; ValueError for what is no row."""
    row = bytearray(ROW)
    for column, text in zip(columns, texts, strict=True):
        type_ = parse_type(column.type)
        if text is None:
            row += NULL_CELL
        else:
            row += framed(tag_of(type_), bytes.fromhex(text) if isinstance(type_, FloatType) else text.encode())
    return hashlib.sha256(row).digest()
