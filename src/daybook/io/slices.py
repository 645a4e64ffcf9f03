"""Whose a slice is, as the data itself says: every commit leaves who made it beside what it wrote.

A store knows only its own runs, and only by the spelling of a location. What lies with the table is the same for every
workspace that writes to it, under whatever name.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from daybook.io.target import SliceOwner, Target

# What a commit that removed a slice is marked by, where commits keep their mode.
DROP_MODE = "drop"


@dataclass(frozen=True, slots=True)
class WrittenSlice:
    """A slice and the run that wrote it last; without `owner` it belongs to all who append to it."""

    period: str
    run_id: str
    owner: SliceOwner | None
    # Of a slice with an owner, as its last commit counted them.
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class SliceCommit:
    """One commit as the data keeps it; `mode` is empty where it was not kept."""

    run_id: str
    mode: str
    period: str | None
    owner: SliceOwner
    rows: int | None = None


def slices_after(commits: Iterable[SliceCommit]) -> dict[str, WrittenSlice]:
    """The slices that commits, oldest first, left behind."""
    slices: dict[str, WrittenSlice] = {}
    for commit in commits:
        if commit.mode in ("replace", "error"):
            slices.clear()
        if commit.period is None:
            continue
        if commit.mode == DROP_MODE:
            slices.pop(commit.period, None)
            continue
        known = slices.get(commit.period)
        is_appended = commit.mode == "append" or (commit.mode == "" and known is not None)
        if not is_appended:
            slices[commit.period] = WrittenSlice(commit.period, commit.run_id, commit.owner, commit.rows)
        else:
            # Whoever owns a slice may append to it; a slice that begins with an append has no owner.
            owner = known.owner if known is not None and known.owner and commit.mode == "append" else None
            rows = (known.rows or 0) + (commit.rows or 0) if known is not None and owner is not None else None
            slices[commit.period] = WrittenSlice(commit.period, commit.run_id, owner, rows)
    return slices


def affected_slices(slices: Mapping[str, WrittenSlice], target: Target) -> tuple[WrittenSlice, ...]:
    """Those that an output writes to, or throws away because it replaces the table."""
    match target.mode:
        case "replace":
            return tuple(slices.values())
        case "replace_period" | "append":
            found = slices.get(target.run_period) if target.run_period is not None else None
            return (found,) if found is not None else ()
        case "error":
            return ()
