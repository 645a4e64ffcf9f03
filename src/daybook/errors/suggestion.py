"""The name that was probably meant."""

import difflib
from collections.abc import Iterable


def closest_match(name: str, candidates: Iterable[str], *, similarity: float = 0.6) -> str | None:
    """The candidate most similar to a mistyped name, whatever their case; of equally similar ones the first in order.

    `similarity` is the share of letters in common, in the same order, that names need at least.
    """
    matcher = difflib.SequenceMatcher(b=name.casefold(), autojunk=False)

    def shared(candidate: str) -> float:
        matcher.set_seq1(candidate.casefold())
        return matcher.ratio()

    best = max(sorted(set(candidates)), key=shared, default=None)
    return best if best is not None and shared(best) >= similarity else None


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """A hint, or the list of candidates when it is short and nothing is close."""
    known = sorted(candidates)
    if found := closest_match(name, known):
        return f"did you mean {found}?"
    return f"known: {', '.join(known)}" if 0 < len(known) <= 12 else None
