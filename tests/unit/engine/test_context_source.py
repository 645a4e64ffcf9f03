"""How large a piece of the input is."""

import pytest

from daybook.engine.context import even_split_bytes, parse_size


@pytest.mark.parametrize(
    ("total", "threads", "largest", "expected"),
    [
        # What fits into one piece per thread is left to Spark, which divides it by the threads.
        (100, 2, 50, 50),
        (99, 2, 50, 50),
        (0, 2, 50, 50),
        # Three pieces of 50 and one of 18 become four of 42.
        (168, 2, 50, 42),
        (101, 2, 50, 26),
        (1_000, 8, 50, 42),
    ],
)
def test_every_thread_gets_as_many_pieces_as_the_others(total: int, threads: int, largest: int, expected: int) -> None:
    assert even_split_bytes(total, threads, largest) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("134217728b", 1 << 27), ("128m", 1 << 27), ("128MB", 1 << 27), ("2g", 1 << 31), ("7", 7)]
)
def test_sizes_as_spark_writes_them(text: str, expected: int) -> None:
    assert parse_size(text) == expected
