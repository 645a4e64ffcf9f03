"""Rows that repeat a natural key.

A natural key identifies a row within its period and slice, and in a bitemporal table from a day on. Deleted rows and
rows without a whole key, such as totals, are not counted.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from daybook.errors import DaybookError, Notice, notice
from daybook.expression import quote_identifier
from daybook.model.dataset import Dataset
from daybook.model.types import RUN_PERIOD_COLUMN

if TYPE_CHECKING:
    # Rows are landed without Spark, too.
    from pyspark.sql import DataFrame


_MAX_SHOWN_VALUE = 60


@dataclass(frozen=True, slots=True)
class RepeatedKeys:
    """How many rows repeat the natural key of another row, and one such key as text."""

    rows: int
    sample: str


def is_asked_for(dataset: Dataset) -> bool:
    """Whether repeated keys must be counted by an additional aggregate."""
    return bool(dataset.natural_key_columns) and dataset.on_duplicate_key in ("error", "warn")


def key_columns(dataset: Dataset, carried: Collection[str]) -> list[str]:
    """What no two live rows may share; none without a natural key."""
    if not dataset.natural_key_columns:
        return []
    within = ["_period", RUN_PERIOD_COLUMN]
    if dataset.main_table.temporal_mode == "bitemporal":
        within.append("_valid_from")
    return [*dataset.natural_key_columns, *(name for name in within if name in carried)]


def find_repeated(table: pa.Table, dataset: Dataset) -> RepeatedKeys | None:
    """Those of rows held in memory."""
    key = key_columns(dataset, table.column_names)
    if not key:
        return None
    is_counted = reduce(pc.and_, (pc.is_valid(table.column(name)) for name in dataset.natural_key_columns))
    if "_deleted" in table.column_names:
        is_counted = pc.and_(is_counted, pc.invert(pc.fill_null(table.column("_deleted"), False)))
    groups = table.select(key).filter(is_counted).group_by(key).aggregate([([], "count_all")])
    repeated = groups.filter(pc.greater(groups.column("count_all"), 1))
    if not repeated.num_rows:
        return None
    first = repeated.sort_by([(name, "ascending") for name in key]).slice(0, 1).select(key).to_pylist()[0]
    return RepeatedKeys(pc.sum(repeated.column("count_all")).as_py() - repeated.num_rows, _in_words(first))


def find_repeated_by_spark(
    df: "DataFrame", dataset: Dataset, carried: Collection[str], periods: tuple[str, ...] = ()
) -> RepeatedKeys | None:
    """Those of a frame, by one aggregate over the rows of the periods."""
    from pyspark.sql import functions as F

    key = key_columns(dataset, carried)
    if not key:
        return None
    columns = [F.col(quote_identifier(name)) for name in key]
    conditions = [F.col(quote_identifier(name)).isNotNull() for name in dataset.natural_key_columns]
    if "_deleted" in carried:
        conditions.append(~F.coalesce(F.col("_deleted"), F.lit(False)))
    by_period = RUN_PERIOD_COLUMN if RUN_PERIOD_COLUMN in carried else "_period"
    if periods and dataset.main_table.temporal_mode == "period" and by_period in carried:
        conditions.append(F.col(by_period).isin(*periods))
    groups = df.where(reduce(and_, conditions)).groupBy(*columns).agg(F.count(F.lit(1)).alias("__count"))
    repeated = groups.where(F.col("__count") > 1).agg(
        F.sum(F.col("__count") - 1).alias("rows"), F.min(F.struct(*columns)).alias("sample")
    )
    row = repeated.collect()[0]
    return RepeatedKeys(row["rows"], _in_words(row["sample"].asDict())) if row["rows"] else None


def report_repeated(dataset: Dataset, repeated: RepeatedKeys | None, location: str) -> tuple[Notice, ...]:
    """What the dataset wants to be done about them: an error, a notice, or nothing."""
    if repeated is None or dataset.on_duplicate_key == "allow":
        return ()
    if dataset.on_duplicate_key == "error":
        raise DaybookError("IO_039", location=location, rows=repeated.rows, key=repeated.sample)
    return (notice("IO_039", location=location, rows=repeated.rows, key=repeated.sample),)


def _in_words(key: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {_shortened(str(value))}" for name, value in key.items() if value is not None)


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN_VALUE else f"{text[: _MAX_SHOWN_VALUE - 3]}..."
