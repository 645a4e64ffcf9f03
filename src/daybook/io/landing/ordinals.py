"""The identity of landed rows: a hash of content or natural key, and an occurrence number among equals."""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, assert_never

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from daybook.engine.source import ORDINAL, PLACE
from daybook.expression import quote_identifier
from daybook.io.tables import Binding
from daybook.model.types import (
    BooleanType,
    DateType,
    DecimalType,
    FloatType,
    IntegerType,
    NullType,
    StringType,
    TimestampType,
)


def identity_columns(columns: Sequence[Binding], natural_key: Sequence[str]) -> tuple[Binding, ...]:
    """What makes a row itself: its natural key and period, or all it has; by name, so that order does not matter."""
    key = {*natural_key, "_period", "_run_period"} if natural_key else None
    return tuple(sorted((c for c in columns if key is None or c.name in key), key=lambda column: column.name))


def place_of(columns: Sequence[Binding]) -> Column:
    """Length-prefixed text of every column, NULL tagged, hashed."""
    return F.md5(F.concat(*(_tagged(column) for column in columns)).cast("binary"))


def _tagged(column: Binding) -> Column:
    text = _text(column)
    return F.coalesce(F.concat(F.octet_length(text).cast("string"), F.lit(":"), text), F.lit("-"))


def _text(column: Binding) -> Column:
    value = F.col(quote_identifier(column.name))
    match column.type:
        case StringType():
            return value
        case IntegerType() | DecimalType() | BooleanType():
            return value.cast("string")
        case FloatType():
            # The text of a double differs between Java versions; its hash is taken from its bits.
            return F.when(value.isNotNull(), F.xxhash64(value).cast("string"))
        case DateType():
            return F.unix_date(value).cast("string")
        case TimestampType():
            return F.unix_micros(value).cast("string")
        case NullType():
            raise TypeError("no column has the type null")
        case _:
            assert_never(column.type)


def ordinals(table: pa.Table, identity: Sequence[Binding], everything: Sequence[Binding]) -> list[int] | None:
    """Occurrence numbers of rows held in memory; None when no two rows are equal."""
    names = [column.name for column in identity]
    groups = table.group_by(names, use_threads=False).aggregate([([], "count_all")])
    if groups.num_rows == table.num_rows:
        return None
    by_identity: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    keys = [table.column(name).to_pylist() for name in names]
    for index, key in enumerate(zip(*keys, strict=True)):
        by_identity[tuple(map(_comparable, key))].append(index)
    numbers = [0] * table.num_rows
    order = sorted(column.name for column in everything)
    for rows in by_identity.values():
        if len(rows) > 1:
            content = {index: [_comparable(table.column(name)[index].as_py()) for name in order] for index in rows}
            for number, index in enumerate(sorted(rows, key=content.__getitem__)):
                numbers[index] = number
    return numbers


def _comparable(value: Any) -> tuple[Any, ...]:
    """NULL first, NaN last, as Spark orders."""
    if value is None:
        return (0,)
    if isinstance(value, float) and math.isnan(value):
        return (2,)
    return (1, value)


def with_ordinals(df: DataFrame, identity: Sequence[Binding], everything: Sequence[Binding]) -> DataFrame:
    """The same numbers by Spark, for what does not fit into memory."""
    order = [F.col(quote_identifier(name)).asc_nulls_first() for name in sorted(c.name for c in everything)]
    window = Window.partitionBy(PLACE).orderBy(*order)
    return df.withColumn(PLACE, place_of(identity)).withColumn(ORDINAL, F.row_number().over(window).cast("bigint") - 1)


def is_unique(df: DataFrame, identity: Sequence[Binding], rows: int) -> bool:
    return df.select(place_of(identity).alias(PLACE)).distinct().count() == rows
