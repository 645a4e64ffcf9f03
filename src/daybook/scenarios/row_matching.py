"""Compares expected rows with actual rows."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from daybook.scenarios.scenario import Expectation, Rows

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RowMismatch:
    """An expected row that no actual row is; `nearest` is the one taken for it, `columns` where they differ."""

    expected: Row
    nearest: Row | None
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExpectationDifference:
    """How one output differs from what was expected; no row is both some row's nearest and unexpected."""

    output: str
    missing: tuple[RowMismatch, ...]
    unexpected: tuple[Row, ...]
    is_only_order: bool = False


def compare_rows(output: str, expected: Rows, actual: Sequence[Row], how: Expectation) -> ExpectationDifference | None:
    """None when the rows are as expected; only the columns an expected row names are compared."""
    if how.order:
        return _compare_in_order(output, expected, actual, how)
    matched = _match_rows(expected, actual, how)
    missing = [row for index, row in enumerate(expected) if index not in matched]
    taken = set(matched.values())
    free = [row for index, row in enumerate(actual) if index not in taken]
    paired = _pair_nearest(missing, free, how)
    mismatches = tuple(
        RowMismatch(row, free[paired[index]], _differing_columns(row, free[paired[index]], how))
        if index in paired
        else RowMismatch(row, None, tuple(row))
        for index, row in enumerate(missing)
    )
    near = set(paired.values())
    rest = tuple(row for index, row in enumerate(free) if index not in near)
    unexpected = () if how.match == "subset" else rest
    return ExpectationDifference(output, mismatches, unexpected) if mismatches or unexpected else None


def _compare_in_order(
    output: str, expected: Rows, actual: Sequence[Row], how: Expectation
) -> ExpectationDifference | None:
    pairs = list(zip(expected, actual, strict=False))
    wrong = [
        RowMismatch(row, actual_row, _differing_columns(row, actual_row, how))
        for row, actual_row in pairs
        if _differing_columns(row, actual_row, how)
    ]
    missing = (*wrong, *(RowMismatch(row, None, tuple(row)) for row in expected[len(actual) :]))
    unexpected = tuple(actual[len(expected) :]) if how.match == "exact" else ()
    if not missing and not unexpected:
        return None
    unordered = how.model_copy(update={"order": False})
    return ExpectationDifference(
        output, missing, unexpected, is_only_order=compare_rows(output, expected, actual, unordered) is None
    )


def _match_rows(expected: Rows, actual: Sequence[Row], how: Expectation) -> dict[int, int]:
    """Each expected row with an actual row of its own, as many as possible (augmenting paths)."""
    fits = [
        [j for j, actual_row in enumerate(actual) if not _differing_columns(row, actual_row, how)] for row in expected
    ]
    owner: dict[int, int] = {}

    def assign(row: int, seen: set[int]) -> bool:
        for candidate in fits[row]:
            if candidate not in seen:
                seen.add(candidate)
                if candidate not in owner or assign(owner[candidate], seen):
                    owner[candidate] = row
                    return True
        return False

    for row in range(len(expected)):
        assign(row, set())
    return {row: position for position, row in owner.items()}


def _pair_nearest(missing: Sequence[Row], free: Sequence[Row], how: Expectation) -> dict[int, int]:
    """Each missing row with an actual row of its own, those most alike first."""
    apart = {
        (i, j): len(_differing_columns(row, actual_row, how))
        for i, row in enumerate(missing)
        for j, actual_row in enumerate(free)
    }
    paired: dict[int, int] = {}
    taken: set[int] = set()
    for i, j in sorted(apart, key=lambda pair: apart[pair]):
        if i not in paired and j not in taken:
            paired[i] = j
            taken.add(j)
    return paired


def _differing_columns(expected: Row, actual: Row, how: Expectation) -> tuple[str, ...]:
    return tuple(
        name for name, value in expected.items() if name not in actual or not _is_equal(value, actual[name], how)
    )


def _is_equal(expected: Any, actual: Any, how: Expectation) -> bool:
    if expected is None or actual is None:
        return expected is None and actual is None
    match actual:
        case bool():
            return expected is actual
        case int() | Decimal() | float():
            return _is_number(expected) and abs(Decimal(str(expected)) - Decimal(str(actual))) <= how.tolerance
        case datetime.datetime():
            return _parse_timestamp(expected) == actual.replace(tzinfo=actual.tzinfo or datetime.UTC)
        case datetime.date():
            return str(expected) == actual.isoformat()
        case _:
            return str(expected) == actual if not isinstance(expected, bool) else False


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _parse_timestamp(value: Any) -> datetime.datetime | None:
    try:
        moment = datetime.datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return moment.replace(tzinfo=moment.tzinfo or datetime.UTC)
