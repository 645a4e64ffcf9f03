"""Rows that an operation is about to add."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class NewRows:
    """`rows` makes what the operation computes, `columns` are those of the working dataset in order, as SQL over it.

    `metrics` is what to count of `rows`, by name and SQL; only those where `is_new` holds are added. `checked` makes
    the rows they come from, with the texts of failed checks.
    """

    rows: Callable[[], DataFrame]
    columns: Mapping[str, str]
    metrics: Mapping[str, str]
    checked: Callable[[], DataFrame]
    is_new: str | None = None
