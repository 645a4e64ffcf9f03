"""The name that was probably meant."""

from collections.abc import Iterable


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate with the fewest edits from a mistyped name; at most a third of its letters may differ."""
    folded = name.casefold()
    allowed = max(1, min(len(name), 30) // 3)
    best: tuple[int, str] | None = None
    for candidate in sorted(set(candidates)):
        if abs(len(candidate) - len(name)) > allowed:
            continue
        edits = distance(folded, candidate.casefold())
        if edits <= allowed and (best is None or edits < best[0]):
            best = (edits, candidate)
    return best[1] if best else None


def distance(left: str, right: str) -> int:
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
