"""SIGKILL at named points and at random moments of a commit, then a retry: exactly once for every format."""

import random
import signal
import time

import pytest
from pyspark.sql import SparkSession

from daybook.io.registry import writer_for
from daybook.io.target import Target
from daybook.io.writer import StagedOutput
from daybook.model.operation import OutputMode
from tests.faults.formats.checks import COLUMNS, PERIOD, found, rows, sweep
from tests.faults.formats.commit_child import commit
from tests.forked import forked
from tests.spark.io.cases import CASES, Case, Place, parameters, write

# The commit of a JDBC target needs the JVM, so its process cannot be a small one.
KILLABLE = tuple(case for case in CASES if case.format != "jdbc")


@pytest.fixture(params=parameters(KILLABLE, repeated=("xlsx-file",)))
def case(request: pytest.FixtureRequest) -> Case:
    chosen: Case = request.param
    return chosen


@pytest.fixture(params=["replace", pytest.param("append", marks=pytest.mark.slow)])
def mode(request: pytest.FixtureRequest, case: Case) -> OutputMode:
    if case.is_one_file and request.param == "append":
        pytest.skip("one file is only replaced")
    chosen: OutputMode = "replace_period" if request.param == "replace" and not case.is_one_file else request.param
    return chosen


def commit_and_die(staged: StagedOutput, target: Target, point: str, delay: float = 0.0) -> None:
    child = forked(commit, staged, target, point)
    assert child.answer() == "ready"
    if point == "random":
        child.tell("go")
        time.sleep(delay)
        child.process.kill()
    assert child.wait() in (0, -signal.SIGKILL)


def expected(mode: OutputMode, is_new: bool) -> dict[str, int]:
    if mode == "append":
        return {"old": 90, "new": 90} if is_new else {"old": 90}
    return {"new": 90} if is_new else {"old": 90}


def start(spark: SparkSession, place: Place, mode: OutputMode) -> tuple[StagedOutput, Target]:
    period = None if mode == "replace" else PERIOD
    write(rows(spark, "old"), place.target(COLUMNS, mode="replace_period" if period else "replace", run_period=period))
    target = place.target(COLUMNS, mode=mode, run_period=period)
    return writer_for(target.format).stage(rows(spark, "new"), target), target


def retry(spark: SparkSession, place: Place, target: Target, mode: OutputMode) -> None:
    """What a retried run does: look, and write again only if nothing was committed."""
    writer = writer_for(target.format)
    was_committed = writer.committed(target) is not None
    assert found(spark, target) == expected(mode, was_committed)
    writer.discard(target)
    writer.check(target)
    commit = writer.commit(writer.stage(rows(spark, "new"), target), target)
    assert (commit.rows, commit.is_repeat) == (90, was_committed)
    assert found(spark, target) == expected(mode, True)
    writer.discard(target)
    assert sweep(place, target) == 0
    assert found(spark, target) == expected(mode, True)


@pytest.mark.parametrize("point", ["fence", "after"])
def test_named_points(spark: SparkSession, place: Place, mode: OutputMode, point: str) -> None:
    staged, target = start(spark, place, mode)
    commit_and_die(staged, target, point)
    assert (writer_for(target.format).committed(target) is not None) == (point == "after")
    retry(spark, place, target, mode)


@pytest.mark.slow
def test_random_moments(spark: SparkSession, place: Place, mode: OutputMode, is_long: bool) -> None:
    chance = random.Random(7)
    for _ in range(40 if is_long else 2):
        staged, target = start(spark, place, mode)
        commit_and_die(staged, target, "random", chance.uniform(0.0, 0.08))
        retry(spark, place, target, mode)


@pytest.mark.parametrize("case", parameters(KILLABLE, repeated=("xlsx-file", "parquet-folder", "sqlite")))
def test_litter_of_a_dead_run_is_found_and_removed(spark: SparkSession, place: Place, mode: OutputMode) -> None:
    _, target = start(spark, place, mode)
    assert sweep(place, target, live=(target.run_id,)) == 0
    assert sweep(place, target) >= 1
    assert found(spark, target) == expected(mode, False)
