"""What one format's reader makes of its locations."""

from dataclasses import dataclass

from pyspark.sql import DataFrame

from daybook.errors import Notice
from daybook.io.pins import Pin


@dataclass(frozen=True, slots=True)
class ReadPart:
    df: DataFrame
    carried: frozenset[str]
    pins: tuple[Pin, ...]
    notices: tuple[Notice, ...] = ()
    # Of the files that Spark is going to read, as far as they are known.
    sizes: tuple[int, ...] = ()
