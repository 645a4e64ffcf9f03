"""The digest of rows on Spark: SQL functions alone, one job for all outputs.

Hashes are hex text, whose order is that of their bytes. Spark has no function for the bytes of a double; they are
taken from its hexadecimal text, which `format_string('%a')` writes exactly.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, assert_never

from daybook.expression import quote_identifier
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
)
from daybook.proof.row_digest import hash_of_bucket
from daybook.proof.row_encoding import (
    BUCKET,
    CHILDREN,
    NODE,
    NULL_CELL,
    ROW,
    RowsDigest,
    digest_of_root,
    digested_columns,
    levels_for,
    tag_of,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_HASH, _ROWS, _PREFIX, _OUTPUT = "hash", "rows", "prefix", "output"
_EMPTY_BUCKET = hash_of_bucket(()).hex()
# Spark analyzes a plan of many outputs slowly, so that many are digested in one job.
_TOGETHER = 16


@dataclass(frozen=True, slots=True)
class DigestedFrame:
    """Rows with the types of their columns; `expected_rows` is how many there should be, which decides the buckets."""

    df: "DataFrame"
    columns: Mapping[str, ColumnType]
    expected_rows: int


def digest_frames(frames: Sequence[DigestedFrame]) -> tuple[RowsDigest, ...]:
    """The digests of several outputs, a few of them in one job.

    A frame with other rows than expected is digested once more, since the number of buckets follows from them.
    """
    digests: list[RowsDigest] = []
    for start in range(0, len(frames), _TOGETHER):
        digests += _digest_together(frames[start : start + _TOGETHER])
    return tuple(digests)


def _digest_together(frames: Sequence[DigestedFrame]) -> list[RowsDigest]:
    from pyspark.sql import functions as F

    roots = [
        _root(frame, levels_for(frame.expected_rows)).select(F.lit(number).alias(_OUTPUT), _HASH, _ROWS)
        for number, frame in enumerate(frames)
    ]
    row_by_output = {row[_OUTPUT]: row for row in reduce(lambda left, right: left.unionAll(right), roots).collect()}
    digests = []
    for number, frame in enumerate(frames):
        rows = int(row_by_output[number][_ROWS])
        levels = levels_for(rows)
        if levels != levels_for(frame.expected_rows):
            (digest,) = _digest_together([DigestedFrame(frame.df, frame.columns, rows)])
        else:
            columns = digested_columns(frame.columns)
            root = bytes.fromhex(row_by_output[number][_HASH])
            digest = RowsDigest(columns, levels, rows, digest_of_root(root, columns, levels, rows))
        digests.append(digest)
    return digests


def _root(frame: DigestedFrame, levels: int) -> "DataFrame":
    """One row: the root of the tree, and how many rows there are."""
    from pyspark.sql import functions as F

    row_hash = F.sha2(F.concat(_bytes(ROW), *(_cell(name, type_) for name, type_ in frame.columns.items())), 256)
    hashes = frame.df.select(row_hash.alias(_HASH))
    nodes = hashes.groupBy(F.substring(_HASH, 1, levels).alias(_PREFIX)).agg(
        _hash_of(BUCKET, F.array_join(F.sort_array(F.collect_list(_HASH)), "")).alias(_HASH),
        F.count(F.lit(1)).alias(_ROWS),
    )
    empty = _EMPTY_BUCKET
    for level in range(levels - 1, -1, -1):
        nodes = _parents(nodes, level, empty)
        empty = _empty_node(empty)
    return nodes


def _parents(nodes: "DataFrame", level: int, empty: str) -> "DataFrame":
    """The nodes one level up; a child without rows has no row here, and the hash of an empty node."""
    from pyspark.sql import functions as F

    digit = F.substring(_PREFIX, level + 1, 1)
    children = (
        F.coalesce(F.max(F.when(digit == format(number, "x"), F.col(_HASH))), F.lit(empty))
        for number in range(CHILDREN)
    )
    parent = F.substring(_PREFIX, 1, level).alias(_PREFIX)
    # An aggregate without groups has a row also for an empty input, so the root always exists.
    grouped = nodes.groupBy(parent) if level else nodes
    return grouped.agg(
        _hash_of(NODE, F.concat(*children)).alias(_HASH), F.coalesce(F.sum(_ROWS), F.lit(0)).alias(_ROWS)
    )


def _empty_node(child: str) -> str:
    from daybook.proof.row_digest import hash_of_node

    return hash_of_node([bytes.fromhex(child)] * CHILDREN).hex()


def _hash_of(kind: bytes, hexadecimal: "Column") -> "Column":
    from pyspark.sql import functions as F

    return F.sha2(F.concat(_bytes(kind), F.unhex(hexadecimal)), 256)


def _bytes(value: bytes) -> "Column":
    from pyspark.sql import functions as F

    return F.expr(f"X'{value.hex()}'")


def _cell(name: str, type_: ColumnType) -> "Column":
    from pyspark.sql import functions as F

    column = F.col(quote_identifier(name))
    return F.coalesce(F.concat(_bytes(tag_of(type_)), _framed(column, type_)), _bytes(NULL_CELL))


def _framed(column: "Column", type_: ColumnType) -> "Column":
    """Length and bytes of a value; NULL for NULL."""
    from pyspark.sql import functions as F

    match type_:
        case StringType() | IntegerType() | BooleanType() | DateType() | DecimalType():
            # Sessions of Daybook are ANSI ones, in which a decimal is written without an exponent.
            return _with_length(column.cast("string"))
        case TimestampType():
            return _with_length(F.date_format(column, "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'"))
        case FloatType():
            return F.concat(_bytes((8).to_bytes(8, "big")), F.unhex(_double_digits(column)))
        case NullType():
            raise ValueError("no column has the type of NULL")
        case _:
            assert_never(type_)


def _with_length(text: "Column") -> "Column":
    from pyspark.sql import functions as F

    content = F.encode(text, "UTF-8")
    return F.concat(F.unhex(F.lpad(F.hex(F.octet_length(content).cast("bigint")), 16, "0")), content)


def _double_digits(column: "Column") -> "Column":
    """The bits of a double as 16 hex digits."""
    from pyspark.sql import functions as F

    sign = F.when(column < 0, 2048).otherwise(0)
    # As the element of an array the text is computed once; it is the expensive part.
    texts = F.array(F.format_string("%a", F.abs(column)))
    return (
        F.when(column.isNull(), None)
        .when(F.isnan(column), "7ff8000000000000")
        .when(column == float("inf"), "7ff0000000000000")
        .when(column == float("-inf"), "fff0000000000000")
        .when(column == 0, "0" * 16)
        .otherwise(F.element_at(F.transform(texts, lambda text: _digits_of_text(text, sign)), 1))
    )


def _digits_of_text(text: "Column", sign: "Column") -> "Column":
    """`0x1.8p1` as the bits of 3.0: sign and exponent in three digits, the fraction in thirteen."""
    from pyspark.sql import functions as F

    fraction = F.rpad(F.substring_index(F.substring_index(text, "p", 1), ".", -1), 13, "0")
    # Subnormal numbers begin with 0 and have the exponent of the smallest normal one, which is written as zero.
    is_normal = F.startswith(text, F.lit("0x1"))
    exponent = F.when(is_normal, F.substring_index(text, "p", -1).try_cast("int") + 1023).otherwise(0)
    return F.concat(F.lpad(F.hex((exponent + sign).cast("bigint")), 3, "0"), fraction)
