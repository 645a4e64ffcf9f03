"""Numbers that look random and are the same on every machine: a hash of who asks, in whole 64-bit arithmetic."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]
_Words: TypeAlias = NDArray[np.uint64]

_STEP = 0x9E3779B97F4A7C15
_WORD = (1 << 64) - 1
# Non-negative numbers that fit int64.
_SHIFT = np.uint64(1)


@dataclass(frozen=True, slots=True)
class Chances:
    """A stream of draws; `of` gives an independent one for whatever the key stands for."""

    seed: int

    def of(self, key: int) -> "Chances":
        return Chances((self.seed * 31 + key + 1) * _STEP & _WORD)

    def draw(self, count: int) -> Integers:
        """`count` whole numbers from 0 to 2**63 - 1."""
        counters = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(_STEP) + np.uint64(self.seed)
        return (_mixed(counters) >> _SHIFT).astype(np.int64)

    def below(self, limit: int, count: int) -> Integers:
        return self.draw(count) % limit

    def within(self, lowest: Integers, highest: Integers) -> Integers:
        """One number per pair of bounds, both included."""
        return lowest + self.draw(len(lowest)) % (highest - lowest + 1)

    def one_in(self, odds: int, count: int) -> NDArray[np.bool_]:
        return np.equal(self.below(odds, count), 0)

    def weighted(self, weights: Sequence[int], count: int) -> Integers:
        """Positions in the list of weights, each as often as its weight says."""
        ends = np.cumsum(np.array(weights, dtype=np.int64))
        return np.searchsorted(ends, self.below(int(ends[-1]), count), side="right").astype(np.int64)

    def number(self, limit: int) -> int:
        return int(self.below(limit, 1)[0])


def _mixed(words: _Words) -> _Words:
    """The finishing steps of splitmix64; multiplication wraps by design."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
