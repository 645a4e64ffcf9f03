"""Delta statistics of a data file from its Parquet footer, where they are cheap and certain."""

import datetime
import json
from collections.abc import Sequence
from typing import Any

import pyarrow.parquet as pq

from daybook.io.writing import OutputColumn
from daybook.model.types import DateType, IntegerType, StringType

# Longer texts help nobody to skip files.
_MAX_TEXT = 64


def statistics(metadata: pq.FileMetaData, columns: Sequence[OutputColumn]) -> str:
    """Row count, null counts, and bounds of integers, dates and short texts, as the log holds them."""
    positions = {metadata.schema.column(index).path: index for index in range(metadata.num_columns)}
    nulls: dict[str, int] = {}
    low: dict[str, Any] = {}
    high: dict[str, Any] = {}
    groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
    for column in columns:
        index = positions.get(column.name)
        parts = [] if index is None else [group.column(index).statistics for group in groups]
        if not parts or any(part is None or not part.has_null_count for part in parts):
            continue
        nulls[column.name] = sum(part.null_count for part in parts)
        bounded = [part for part in parts if part.has_min_max]
        if isinstance(column.type, IntegerType | DateType | StringType) and bounded and _covers(parts):
            least, most = min(part.min for part in bounded), max(part.max for part in bounded)
            if _is_short(least) and _is_short(most):
                low[column.name], high[column.name] = _plain(least), _plain(most)
    content = {"numRecords": metadata.num_rows, "minValues": low, "maxValues": high, "nullCount": nulls}
    return json.dumps(content, ensure_ascii=False)


def _covers(parts: Sequence[Any]) -> bool:
    """Bounds are those of the file only when every part with values has them."""
    return all(part.has_min_max or part.num_values == 0 for part in parts)


def _is_short(value: object) -> bool:
    return not isinstance(value, str) or len(value) <= _MAX_TEXT


def _plain(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime.date) else value
