"""Rows that an operation is about to add."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class NewRows:
    """`rows` makes what the operation computes, `columns` are those of the working dataset in order, as SQL over it."""

    rows: Callable[[], DataFrame]
    columns: Mapping[str, str]
