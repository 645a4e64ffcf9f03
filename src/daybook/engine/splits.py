"""Pieces of the input that keep all threads busy to the end."""

import contextlib
import re
from collections.abc import Iterator, Sequence
from math import ceil

from pyspark.sql import SparkSession

from daybook.engine.machine import usable_cores
from daybook.engine.session_conf import local_threads
from daybook.engine.settings import set_meanwhile, setting

_LARGEST = "spark.sql.files.maxPartitionBytes"
_OPENING = "spark.sql.files.openCostInBytes"
_SIZE = re.compile(r"(\d+)\s*([kmgtp]?)b?", re.IGNORECASE)


@contextlib.contextmanager
def even_splits(spark: SparkSession, sizes: Sequence[int]) -> Iterator[None]:
    """While files of these sizes are read by local threads, each thread gets as many pieces as the others.

    Spark fills pieces up to a limit, and what is left over makes one that keeps a single thread busy. On a cluster
    nobody knows how many threads there will be.
    """
    threads = local_threads(setting(spark, "spark.master") or "", usable_cores())
    before, opening = setting(spark, _LARGEST), setting(spark, _OPENING)
    if not sizes or threads is None or before is None or opening is None:
        yield
        return
    total = sum(sizes) + len(sizes) * in_bytes(opening)
    with set_meanwhile(spark, {_LARGEST: f"{even_piece(total, threads, in_bytes(before))}b"}):
        yield


def even_piece(total: int, threads: int, largest: int) -> int:
    """The size of a piece, at most `largest`, such that their number is a multiple of the threads."""
    rounds = ceil(total / (threads * largest))
    return largest if rounds <= 1 else ceil(total / (threads * rounds))


def in_bytes(text: str) -> int:
    """A size as Spark writes it: `134217728b`, `128m`, `128MB`."""
    given = _SIZE.fullmatch(text.strip())
    if given is None:
        raise ValueError(f"not a size: {text}")
    return int(given[1]) << 10 * " kmgtp".index(given[2].lower() or " ")
