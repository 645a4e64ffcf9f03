"""An order-independent hash of what is written, taken in the pass that writes it.

Every row is hashed with two seeds over all its columns, NULL tagged and floats rounded to 12 significant digits;
the halves of the hashes are summed, so neither the order of rows nor their partitioning matters and equal rows count.
It is taken while writing, because by the time of a replay the written data may have been replaced.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as sf

from daybook.io.writing import OutputColumn
from daybook.model.types import FloatType

_LOW_HALF = 0xFFFFFFFF
_SEEDS = (1, 2)
_DIGITS = 12
ROWS = "rows"


def fingerprint_aggregates(columns: Sequence[OutputColumn]) -> list[Column]:
    """The aggregates to observe; `fingerprint_of` makes the text of their values."""
    values = [part for column in columns for part in _hashed(column)]
    aggregates = [sf.count(sf.lit(1)).alias(ROWS)]
    for seed in _SEEDS:
        hashed = sf.xxhash64(sf.lit(seed), *values)
        aggregates.append(sf.sum(hashed.bitwiseAND(sf.lit(_LOW_HALF))).alias(f"low{seed}"))
        aggregates.append(sf.sum(sf.shiftrightunsigned(hashed, 32)).alias(f"high{seed}"))
    return aggregates


def _hashed(column: OutputColumn) -> list[Column]:
    value = sf.col("`" + column.name.replace("`", "``") + "`")
    if not isinstance(column.type, FloatType):
        return [value, value.isNull()]
    # NaN, infinities and zero have no magnitude and stand for themselves.
    is_plain = (value != 0) & ~sf.isnan(value) & (sf.abs(value) != sf.lit(float("inf")))
    magnitude = sf.when(is_plain, sf.floor(sf.log10(sf.abs(value))))
    digits = sf.round(value / sf.pow(sf.lit(10.0), magnitude) * sf.lit(10.0 ** (_DIGITS - 1)))
    return [sf.when(is_plain, digits).otherwise(value + sf.lit(0.0)), magnitude, value.isNull()]


def fingerprint_of(columns: Sequence[OutputColumn], observed: Mapping[str, Any]) -> str:
    sums = [observed.get(f"{half}{seed}") or 0 for seed in _SEEDS for half in ("low", "high")]
    content = [[[column.name, str(column.type)] for column in columns], observed[ROWS], sums]
    return hashlib.blake2b(json.dumps(content).encode(), digest_size=16).hexdigest()


class Watch:
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
        return fingerprint_of(self._columns, self._observation.get)


def fingerprint(df: DataFrame, columns: Sequence[OutputColumn]) -> str:
    """The fingerprint of a frame by a job of its own, for comparing what is stored."""
    row = df.agg(*fingerprint_aggregates(columns)).collect()[0]
    return fingerprint_of(columns, row.asDict())
