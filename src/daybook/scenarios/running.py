"""Running scenarios: the real plan and the real engine over the rows a scenario gives."""

import datetime
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from daybook.engine.pipeline import Pipeline
from daybook.engine.source import SourceFrame
from daybook.errors import DaybookError, DaybookErrors, flatten, raise_all
from daybook.expression import Constants
from daybook.io.landing.area import LandingArea
from daybook.io.reading import read
from daybook.plan.planning import plan_project
from daybook.plan.steps import LoadStep, OutputStep
from daybook.resolve.known_calendars import calendar_for
from daybook.resolve.location import Resolution
from daybook.resolve.periods import period_of
from daybook.resolve.places import inline_location
from daybook.scenarios.catalog import ScenarioCatalog
from daybook.scenarios.comparing import Difference, compare
from daybook.scenarios.given_rows import given_frame
from daybook.scenarios.loading import load_scenario
from daybook.scenarios.output_names import expected_outputs, place_of, unknown_outputs
from daybook.scenarios.scenario import GivenDataset, Scenario

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """`error` is what stopped the scenario although nothing, or something else, was expected to.

    One that is no DaybookError is our own mistake; it must not keep the other scenarios from being run.
    """

    file: Path
    name: str
    duration: float
    differences: tuple[Difference, ...] = ()
    error: Exception | None = None
    expected_error: str | None = None
    # The rows of every output, by operation id and by table or path; for writing expectations.
    actual: Mapping[str, tuple[Row, ...]] | None = None

    @property
    def is_passed(self) -> bool:
        return not self.differences and self.error is None and self.expected_error is None


def run_files(spark: SparkSession, files: list[Path], *, threads: int) -> Iterator[ScenarioResult]:
    """The results in the order of the files, several scenarios at once in one session."""
    pool = ThreadPoolExecutor(threads)
    try:
        yield from pool.map(lambda file: run_file(spark, file), files)
    finally:
        # After Ctrl-C those that have not begun never do.
        pool.shutdown(cancel_futures=True)


def run_file(spark: SparkSession, file: Path) -> ScenarioResult:
    began = time.monotonic()
    try:
        scenario = load_scenario(file)
    except Exception as error:
        return ScenarioResult(file, file.stem, time.monotonic() - began, error=error)
    return run_scenario(spark, scenario, began)


def run_scenario(spark: SparkSession, scenario: Scenario, began: float) -> ScenarioResult:
    expected = scenario.frame.expect.error
    try:
        actual = _outputs(spark, scenario)
        differences = tuple(_differences(scenario, actual)) if expected is None else ()
    except Exception as error:
        is_expected = isinstance(error, DaybookError) and expected in _codes(error)
        took = time.monotonic() - began
        return ScenarioResult(scenario.file, scenario.name, took, error=None if is_expected else error)
    took = time.monotonic() - began
    return ScenarioResult(scenario.file, scenario.name, took, differences, expected_error=expected, actual=actual)


def _outputs(spark: SparkSession, scenario: Scenario) -> dict[str, tuple[Row, ...]]:
    """What every output would write; the same destination again replaces what it had."""
    if scenario.project is None:
        raise DaybookErrors(scenario.findings)
    definition = scenario.project
    catalog = ScenarioCatalog((given.version for given in scenario.datasets), scenario.file)
    period = period_of(scenario.frame.period, calendar_for(definition.model.calendar_id, catalog))
    midnight = datetime.datetime.combine(period.start_date, datetime.time(), datetime.UTC)
    raise_all(unknown_outputs(scenario, definition.model))
    plan = plan_project(definition.model, definition.source, catalog, Constants(midnight, period), with_places=False)
    with tempfile.TemporaryDirectory(prefix="daybook-scenario-") as scratch:
        frames = {load.key: _frame(spark, scenario, load, scratch) for load in plan.loads}
        pipeline = Pipeline(spark, plan, frames, staging=f"{scratch}/staging", as_of=scenario.frame.as_of)
        with pipeline:
            try:
                return _collected(pipeline)
            except Exception as failure:
                raise pipeline.failure(failure) from failure


def _collected(pipeline: Pipeline) -> dict[str, tuple[Row, ...]]:
    found: dict[int, tuple[Row, ...]] = {}
    steps: dict[int, OutputStep] = {}
    for group in pipeline.groups():
        for output in group.outputs:
            # Arrow's timestamps are UTC; those of collect() are the machine's local time.
            found[output.step.seq] = tuple(output.df.toArrow().to_pylist())
            steps[output.step.seq] = output.step
        group.verify()
    by_id = {steps[seq].operation_id: found[seq] for seq in sorted(found)}
    return {**by_id, **{place_of(steps[seq].arguments): found[seq] for seq in sorted(found)}}


def _frame(spark: SparkSession, scenario: Scenario, load: LoadStep, scratch: str) -> SourceFrame:
    given = _given(scenario, load)
    if given.file is None:
        return given_frame(spark, given)
    location = inline_location(str(given.file.resolve()), None, {}, scenario.file.parent)
    resolution = Resolution((location,), (scenario.frame.period,))
    return read(spark, resolution, load.version, LandingArea(f"{scratch}/landing", "scenario")).frame


def _given(scenario: Scenario, load: LoadStep) -> GivenDataset:
    wanted = (load.dataset_id, load.version.version)
    return next(each for each in scenario.datasets if (each.version.dataset.id, each.version.version) == wanted)


def _differences(scenario: Scenario, actual: Mapping[str, tuple[Row, ...]]) -> Iterator[Difference]:
    expect = scenario.frame.expect
    for output, rows in expected_outputs(scenario).items():
        found = compare(output, rows, actual.get(output, ()), expect)
        if found is not None:
            yield found


def _codes(error: DaybookError) -> set[str]:
    codes: set[str] = set()
    for single in flatten(error):
        codes.add(single.code)
        for cause in single.causes:
            codes |= _codes(cause)
    return codes
