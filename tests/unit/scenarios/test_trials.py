"""Leaving out rows of a new scenario: few of many are left, after a bounded number of runs."""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from daybook.plan.steps import LoadStep
from daybook.runs.run_listener import RunListener
from daybook.scenarios.real_rows import DatasetRows, Row
from daybook.scenarios.run_scenarios import ScenarioResult
from daybook.scenarios.time_limit import TimeLimit
from daybook.scenarios.trials import MOST_TRIES, Trials


class CountedTrials(Trials):
    """Runs that reach what `reach` says of the numbers of their rows."""

    def __init__(self, reach: Callable[[set[int]], set[str]]) -> None:
        self._reach = reach
        self._listener = RunListener()
        self.limit = TimeLimit(1.0, clock=lambda: 0.0)
        self.is_reduced = True
        self.tries = 0

    def run(self, given: Sequence[DatasetRows]) -> ScenarioResult:
        self.tries += 1
        reached = self._reach({row["n"] for each in given for row in each.rows})
        return ScenarioResult(Path("s.yaml"), "s", 0.0, counts=dict.fromkeys(reached, 1), actual={})


def rows(role: str, *numbers: int) -> DatasetRows:
    found: list[Row] = [{"n": number} for number in numbers]
    return DatasetRows(cast(LoadStep, SimpleNamespace(role=role)), tuple(found))


def left(given: Sequence[DatasetRows]) -> list[list[int]]:
    return [[row["n"] for row in each.rows] for each in given]


def test_the_rows_that_operations_need_are_left_of_a_thousand() -> None:
    needed = {"void": 17, "late": 640, "large": 641}
    trials = CountedTrials(lambda found: {name for name, number in needed.items() if number in found})
    reduced, _ = trials.reduce([rows("input", *range(1000))])
    assert left(reduced) == [[17, 640, 641]]
    assert trials.tries <= MOST_TRIES + 1


def test_a_single_row_that_nobody_needs_is_left_out() -> None:
    reduced, _ = CountedTrials(lambda found: set()).reduce([rows("input", 1), rows("join", 2)])
    assert left(reduced) == [[], []]


def test_joined_rows_that_change_nothing_are_left_out_after_the_others() -> None:
    trials = CountedTrials(lambda found: {"convert"} if {3, 12} <= found else set())
    reduced, _ = trials.reduce([rows("join", *range(10, 18)), rows("input", *range(8))])
    assert left(reduced) == [[12], [3]]


@pytest.mark.parametrize("size", [40, 500, 3000])
def test_where_all_rows_are_needed_the_tries_end(size: int) -> None:
    def reach(found: set[int]) -> set[str]:
        return {"check"} if len(found) == size else set()

    trials = CountedTrials(reach)
    reduced, _ = trials.reduce([rows("input", *range(size))])
    assert [len(each.rows) for each in reduced] == [size]
    assert trials.tries <= MOST_TRIES + 1


def test_tries_are_left_for_joined_rows_where_the_others_need_many() -> None:
    trials = CountedTrials(lambda found: {"check"} if {*range(300), 555} <= found else set())
    reduced, _ = trials.reduce([rows("input", *range(300)), rows("join", *range(500, 600))])
    assert [len(each.rows) for each in reduced] == [300, 1]
    assert trials.tries <= MOST_TRIES + 1


def test_rows_keep_their_order() -> None:
    trials = CountedTrials(lambda found: {str(number) for number in (9, 2, 5) if number in found})
    given: list[Any] = [rows("input", 9, 1, 2, 7, 5)]
    assert left(trials.reduce(given)[0]) == [[9, 2, 5]]


def test_when_the_time_is_over_the_rows_that_are_left_stay() -> None:
    now = 0.0

    def reach(numbers: set[int]) -> set[str]:
        nonlocal now
        now += 1.0
        return {"first"} if 3 in numbers else set()

    trials = CountedTrials(reach)
    trials.limit = TimeLimit(3.0, clock=lambda: now)
    reduced, _ = trials.reduce([rows("input", *range(8))])
    # All rows, then without the first half, which has the row that is needed, then without the other.
    assert left(reduced) == [[0, 1, 2, 3]]
    assert not trials.is_reduced
