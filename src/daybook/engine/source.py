"""The source data that the engine reads, and how Spark divides files into partitions."""

import contextlib
import datetime
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from pyspark.sql import DataFrame, SparkSession

from daybook.engine.java.session_conf import read_setting, temporary_settings, threads_of_session

_PATTERN_CHARACTERS = re.compile(r"([\\{}\[\]*?])")


def literal_path_pattern(path: str) -> str:
    """The pattern that only this path matches: Spark's readers take paths for patterns, its writers do not."""
    return _PATTERN_CHARACTERS.sub(r"\\\1", path)


ORIGIN_COLUMN = "__place"
ORDINAL_COLUMN = "__ordinal"
# Where a row stands in the file it was read from, for sources that know it.
POSITION_COLUMN = "__position"


@dataclass(frozen=True)
class SourceFrame:
    """Declared columns in their types, `carried` system columns as stored, and the identity `__place`, `__ordinal`."""

    df: DataFrame
    carried: frozenset[str]
    # The period identifiers the time filter accepts; none given, the run's own.
    periods: tuple[str, ...] = ()
    # Whether one task reads all of it in no time, so that grouping needs no shuffle.
    is_small: bool = False
    # Whether a carried row id can stand twice in one slice: more than one commit or location filled it.
    may_repeat_ids: bool = False
    # The day at which bitemporal rows must be valid; none given, the run's own.
    as_of: datetime.date | None = None
    # The period that all rows get, instead of the one they carry.
    row_period: str | None = None
    # Whether the rows carry their position in a file, as `__position`.
    has_positions: bool = False


_MAX_SPLIT_KEY = "spark.sql.files.maxPartitionBytes"
_OPEN_COST_KEY = "spark.sql.files.openCostInBytes"
_SIZE = re.compile(r"(\d+)\s*([kmgtp]?)b?", re.IGNORECASE)


@contextlib.contextmanager
def even_splits(spark: SparkSession, sizes: Sequence[int]) -> Iterator[None]:
    """While files of these sizes are read by local threads, each thread gets as many pieces as the others.

    Spark fills pieces up to a limit, and what is left over makes one that keeps a single thread busy. On a cluster
    nobody knows how many threads there will be.
    """
    threads = threads_of_session(spark)
    before, opening = read_setting(spark, _MAX_SPLIT_KEY), read_setting(spark, _OPEN_COST_KEY)
    if not sizes or threads is None or before is None or opening is None:
        yield
        return
    total = sum(sizes) + len(sizes) * parse_size(opening)
    with temporary_settings(spark, {_MAX_SPLIT_KEY: f"{even_split_bytes(total, threads, parse_size(before))}b"}):
        yield


def even_split_bytes(total: int, threads: int, largest: int) -> int:
    """The size of a piece, at most `largest`, such that their number is a multiple of the threads."""
    rounds = ceil(total / (threads * largest))
    return largest if rounds <= 1 else ceil(total / (threads * rounds))


def parse_size(text: str) -> int:
    """A size as Spark writes it: `134217728b`, `128m`, `128MB`."""
    given = _SIZE.fullmatch(text.strip())
    if given is None:
        raise ValueError(f"not a size: {text}")
    return int(given[1]) << 10 * " kmgtp".index(given[2].lower() or " ")
