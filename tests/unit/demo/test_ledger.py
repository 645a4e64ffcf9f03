"""Draws are those of splitmix64, so they are the same everywhere."""

import numpy as np

from daybook.demo.ledger import RandomStream

# The first numbers of splitmix64 from the seed 1234567, as its published implementations print them.
PUBLISHED = (
    6457827717110365317,
    3203168211198807973,
    9817491932198370423,
    4593380528125082431,
    16408922859458223821,
)


def test_draws_are_splitmix64() -> None:
    assert RandomStream(1234567).draw(5).tolist() == [number >> 1 for number in PUBLISHED]


def test_streams_differ_by_key() -> None:
    chances = RandomStream(7)
    assert chances.of(1).draw(3).tolist() == chances.of(1).draw(3).tolist()
    assert chances.of(1).draw(3).tolist() != chances.of(2).draw(3).tolist()
    assert chances.of(1).of(2).draw(3).tolist() != chances.of(2).of(1).draw(3).tolist()


def test_weights_say_how_often() -> None:
    counts = np.bincount(RandomStream(3).weighted((6, 0, 3, 1), 20_000), minlength=4)
    assert counts[1] == 0
    assert [round(count / 2_000) for count in counts] == [6, 0, 3, 1]


def test_bounds_are_included() -> None:
    lowest, highest = np.full(1_000, 5), np.full(1_000, 7)
    assert set(RandomStream(1).within(lowest, highest).tolist()) == {5, 6, 7}
