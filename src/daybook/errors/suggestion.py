"""The name that was probably meant."""

from collections.abc import Iterable

# Of longer names no more letters may differ than of these.
_LONGEST = 30


def closest_match(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate with the fewest edits from a mistyped name, in any case; at most a third of the letters may differ.

    Of equally close ones it is the first in order.
    """
    best: tuple[int, str] | None = None
    for candidate in sorted(set(candidates)):
        allowed = max(1, min(max(len(name), len(candidate)), _LONGEST) // 3)
        if abs(len(candidate) - len(name)) <= allowed:
            edits = _edit_distance(name.casefold(), candidate.casefold())
            if edits <= allowed and (best is None or edits < best[0]):
                best = (edits, candidate)
    return best[1] if best else None


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """A hint, or the list of candidates when it is short and nothing is close."""
    known = sorted(candidates)
    if found := closest_match(name, known):
        return f"did you mean {found}?"
    return f"known: {', '.join(known)}" if 0 < len(known) <= 12 else None


def _edit_distance(left: str, right: str) -> int:
    """Insertions, deletions, substitutions and swaps of neighbours that turn one text into the other."""
    before: list[int] = []
    previous = list(range(len(right) + 1))
    for row, letter in enumerate(left, start=1):
        current = [row]
        for column, other in enumerate(right, start=1):
            cost = min(previous[column] + 1, current[-1] + 1, previous[column - 1] + (letter != other))
            if row > 1 and column > 1 and letter == right[column - 2] and left[row - 2] == other:
                cost = min(cost, before[column - 2] + 1)
            current.append(cost)
        before, previous = previous, current
    return previous[-1]
