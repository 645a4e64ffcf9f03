"""What was probably meant."""

import difflib
from collections.abc import Iterable


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that differs least from a mistyped name, if one is close."""
    by_folded = {candidate.casefold(): candidate for candidate in candidates}
    found = difflib.get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.6)
    return by_folded[found[0]] if found else None


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """A hint, or the list of candidates when it is short and nothing is close."""
    known = sorted(candidates)
    if found := nearest(name, known):
        return f"did you mean {found}?"
    return f"known: {', '.join(known)}" if 0 < len(known) <= 12 else None
