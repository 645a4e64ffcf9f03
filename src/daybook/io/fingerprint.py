"""An order-independent hash of what is written.

Every row is hashed over all its columns, each with its position so that NULL leaves a mark, floats rounded to 12
significant digits; the halves of the hashes are summed, so neither the order of rows nor their partitioning matters
and equal rows count. Files and databases may have been replaced by the time of a replay, so theirs is taken in the
pass that writes. Files of a Delta version stay until they are vacuumed, so theirs is taken from them when it is asked
for: in the pass it would cost a third of the write.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from daybook.expression import quote_identifier
from daybook.io.target import OutputColumn
from daybook.model.types import FloatType

_LOW_HALF = 0xFFFFFFFF
_DIGITS = 12
# Takes the smallest numbers to where powers of ten have all their digits.
_TINY_EXPONENT_SHIFT = 200
ROWS = "rows"
_LOW_SUM = "low"
_HIGH_SUM = "high"


def fingerprint_aggregates(columns: Sequence[OutputColumn]) -> list[Column]:
    """The aggregates to observe; `fingerprint_of` makes the text of their values."""
    hashed = F.xxhash64(
        *(part for index, column in enumerate(columns) for part in (F.lit(index), *_hash_inputs(column)))
    )
    return [
        F.count(F.lit(1)).alias(ROWS),
        F.sum(hashed.bitwiseAND(F.lit(_LOW_HALF))).alias(_LOW_SUM),
        F.sum(F.shiftrightunsigned(hashed, 32)).alias(_HIGH_SUM),
    ]


def _hash_inputs(column: OutputColumn) -> list[Column]:
    value = F.col(quote_identifier(column.name))
    if not isinstance(column.type, FloatType):
        return [value]
    # NaN, infinities and zero have no magnitude and stand for themselves.
    is_plain = (value != 0) & ~F.isnan(value) & (F.abs(value) != F.lit(float("inf")))
    magnitude = F.when(is_plain, F.floor(F.log10(F.abs(value))))
    # Of the smallest numbers of all the power of ten would be zero.
    is_tiny = magnitude < -300
    lifted = F.when(is_tiny, value * F.lit(10.0**_TINY_EXPONENT_SHIFT)).otherwise(value)
    power = F.when(is_tiny, magnitude + _TINY_EXPONENT_SHIFT).otherwise(magnitude)
    digits = F.round(lifted / F.pow(F.lit(10.0), power) * F.lit(10.0 ** (_DIGITS - 1)))
    # What is rounded up to the next power of ten is written as that.
    is_carried = F.abs(digits) >= 10.0**_DIGITS
    digits = F.when(is_carried, digits / 10).otherwise(digits)
    magnitude = F.when(is_carried, magnitude + 1).otherwise(magnitude)
    return [F.when(is_plain, digits).otherwise(value + F.lit(0.0)), magnitude]


def format_fingerprint(columns: Sequence[OutputColumn], observed: Mapping[str, Any]) -> str:
    sums = [observed.get(_LOW_SUM) or 0, observed.get(_HIGH_SUM) or 0]
    content = [[[column.name, str(column.type)] for column in columns], observed[ROWS], sums]
    return hashlib.blake2b(json.dumps(content).encode(), digest_size=16).hexdigest()


class FingerprintObserver:
    """Observes a frame while it is written."""

    def __init__(self, columns: Sequence[OutputColumn]) -> None:
        self._columns = tuple(columns)
        self._observation = Observation()

    def on(self, df: DataFrame) -> DataFrame:
        first, *rest = fingerprint_aggregates(self._columns)
        return df.observe(self._observation, first, *rest)

    @property
    def rows(self) -> int:
        return int(self._observation.get[ROWS])

    @property
    def fingerprint(self) -> str:
        return format_fingerprint(self._columns, self._observation.get)


def fingerprint(df: DataFrame, columns: Sequence[OutputColumn]) -> str:
    """The fingerprint of a frame by a job of its own, for comparing what is stored."""
    row = df.agg(*fingerprint_aggregates(columns)).collect()[0]
    return format_fingerprint(columns, row.asDict())
