"""What reading gives the engine."""

from dataclasses import dataclass

from pyspark.sql import DataFrame

PLACE = "__place"
ORDINAL = "__ordinal"


@dataclass(frozen=True)
class SourceFrame:
    """Declared columns in their types, `carried` system columns as stored, and the identity `__place`, `__ordinal`."""

    df: DataFrame
    carried: frozenset[str]
    # The period identifiers the time filter accepts; none given, the run's own.
    periods: tuple[str, ...] = ()
    # Whether one task reads all of it in no time, so that grouping needs no shuffle.
    is_small: bool = False
