"""Limits of values that databases hold and Daybook does not."""

import datetime

import pyarrow as pa
import pyarrow.compute as pc

from daybook.io.text_values import BadValue
from daybook.model.types import ColumnType, DateType, TimestampType


def refuse_unknown_dates(column: pa.Array, type_: ColumnType) -> None:
    """Dates outside the years 1 to 9999, infinity among them."""
    if not isinstance(type_, DateType | TimestampType):
        return
    whole = column.cast(pa.int32()).cast(pa.int64()) if isinstance(type_, DateType) else column.cast(pa.int64())
    scale = 1 if isinstance(type_, DateType) else 86_400_000_000
    epoch = datetime.date(1970, 1, 1).toordinal()
    low = (1 - epoch) * scale
    high = (datetime.date(9999, 12, 31).toordinal() - epoch + 1) * scale
    outside = pc.fill_null(pc.or_(pc.less(whole, low), pc.greater_equal(whole, high)), False)
    if (index := pc.index(outside, True).as_py()) >= 0:
        raise BadValue(index, f"a date beyond the years 1 to 9999 ({whole[index].as_py()})")
