"""Running scenarios: the real plan and the real engine over the rows a scenario gives."""

import datetime
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from daybook.engine.pipeline import Pipeline
from daybook.engine.source import ORDINAL_COLUMN, ORIGIN_COLUMN, SourceFrame
from daybook.errors import DaybookError, DaybookErrors, flatten, raise_all
from daybook.errors.suggestion import did_you_mean
from daybook.expression import Constants
from daybook.io.bindings import PHYSICAL_TIME_COLUMNS, carried_types, validity_types
from daybook.io.column_types import arrow_type
from daybook.io.landing.area import LandingArea
from daybook.io.read_source import read_source
from daybook.io.repeated_keys import find_repeated, report_repeated
from daybook.io.text_values import BadValueError, parse_texts
from daybook.model.calendar import Calendar, Period
from daybook.model.dataset import Dataset, TemporalMode
from daybook.model.definition import CatalogKind, DatasetCatalog, DatasetVersion, DeclaredVersion, Definition
from daybook.model.loading import find_workspace
from daybook.model.loading.workspace import read_workspace
from daybook.model.parameter import parameter_values
from daybook.model.types import STRING, ColumnType, value_text
from daybook.plan.plan_project import plan_project
from daybook.plan.steps import LoadStep, OutputStep
from daybook.resolve.calendars.calendar import PeriodCalendar
from daybook.resolve.calendars.periods import calendar_for, period_of
from daybook.resolve.locations.location import NO_PERIODS, Resolution, inline_location
from daybook.resolve.resolution import view_window
from daybook.scenarios.comparison import OutputDifference, compare_rows
from daybook.scenarios.scenario import (
    GivenDataset,
    Scenario,
    destination_name,
    expected_outputs,
    load_scenario,
    unknown_output_errors,
)

_TIME_COLUMNS: Mapping[TemporalMode | None, frozenset[str]] = {
    "period": frozenset({"_period"}),
    "bitemporal": frozenset(PHYSICAL_TIME_COLUMNS),
    "snapshot": frozenset(),
    None: frozenset(),
}


def given_frame(spark: SparkSession, given: GivenDataset, dataset: Dataset) -> SourceFrame:
    """The rows of a dataset; a column a row leaves out is NULL."""
    declared = {column.name: column.type for column in dataset.main_table.columns}
    is_bitemporal = dataset.main_table.temporal_mode == "bitemporal"
    rows = [_with_validity(row, declared) if is_bitemporal else row for row in given.rows]
    # Without rows nobody says that there is a column of time, and no row is of another time.
    named = {name for row in rows for name in row} if rows else _TIME_COLUMNS[dataset.main_table.temporal_mode]
    types = {**carried_types(), **validity_types(dataset.main_table)}
    carried = {name: type_ for name, type_ in types.items() if name in named}
    if unknown := sorted(named - declared.keys() - carried.keys()):
        hint = did_you_mean(unknown[0], tuple(declared))
        problem = f"{dataset.id} has no column {unknown[0]}"
        raise DaybookError("MODEL_070", span=given.source.span("rows"), problem=problem, hint=hint)
    types = {**declared, **carried}
    columns = [_arrow_column(given, rows, name, type_) for name, type_ in types.items()]
    places = pa.array(["rows"] * len(rows), pa.string())
    ordinals = pa.array(range(len(rows)), pa.int64())
    table = pa.Table.from_arrays([*columns, places, ordinals], names=[*types, ORIGIN_COLUMN, ORDINAL_COLUMN])
    report_repeated(dataset, find_repeated(table, dataset), dataset.id)
    return SourceFrame(spark.createDataFrame(table), frozenset(carried))


def _with_validity(row: Mapping[str, Any], declared: Collection[str]) -> dict[str, Any]:
    """A row's validity under its system names too; the physical names stay where they are declared."""
    times = {name: row[physical] for name, physical in PHYSICAL_TIME_COLUMNS.items() if physical in row}
    kept = {
        name: value for name, value in row.items() if name in declared or name not in PHYSICAL_TIME_COLUMNS.values()
    }
    return {**times, **kept}


def _arrow_column(given: GivenDataset, rows: list[dict[str, Any]], name: str, type_: ColumnType) -> pa.Array:
    texts = pa.array([None if row.get(name) is None else value_text(row[name]) for row in rows], pa.string())
    try:
        values = parse_texts(texts, type_)
    except BadValueError as bad:
        problem = f"{bad.value!r} is no {type_} for {name}"
        raise DaybookError("MODEL_070", span=given.source.span("rows", bad.index, name), problem=problem) from None
    return values if type_ == STRING else values.cast(arrow_type(type_))


class ScenarioCatalog(DatasetCatalog):
    """A scenario's datasets, and the calendars of the workspace it lies in; where data lies does not matter."""

    def __init__(self, versions: Iterable[DeclaredVersion], file: Path) -> None:
        self._versions = {(each.dataset.id, each.version): each for each in versions}
        self._file = file

    @cached_property
    def _calendars(self) -> Mapping[str, Definition[Calendar]]:
        """Read when they are asked for: few projects have a calendar of their own."""
        try:
            root = find_workspace(self._file)
        except DaybookError:
            return {}
        workspace, _ = read_workspace(root)
        return workspace.definitions["calendar"]

    def declared(self, dataset_id: str, version: int | None = None) -> DeclaredVersion | None:
        latest = max(self.dataset_versions(dataset_id), default=0)
        return self._versions.get((dataset_id, version or latest))

    def dataset_versions(self, dataset_id: str) -> tuple[int, ...]:
        return tuple(sorted(version for known, version in self._versions if known == dataset_id))

    def calendar(self, calendar_id: str) -> Calendar | None:
        found = self._calendars.get(calendar_id)
        return found.model if found is not None else None

    def ids(self, kind: CatalogKind) -> tuple[str, ...]:
        match kind:
            case "dataset":
                return tuple(sorted({dataset_id for dataset_id, _ in self._versions}))
            case "calendar":
                return tuple(self._calendars)
            case _:
                return ()


OutputRow = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """`error` is what stopped the scenario although nothing, or something else, was expected to.

    One that is no DaybookError is our own mistake; it must not keep the other scenarios from being run.
    """

    file: Path
    name: str
    duration: float
    differences: tuple[OutputDifference, ...] = ()
    error: Exception | None = None
    expected_error: str | None = None
    # The rows of every output, by operation id and by table or path; for writing expectations.
    actual: Mapping[str, tuple[OutputRow, ...]] | None = None

    @property
    def is_passed(self) -> bool:
        return not self.differences and self.error is None and self.expected_error is None


def run_scenario_files(spark: SparkSession, files: list[Path], *, threads: int) -> Iterator[ScenarioResult]:
    """The results in the order of the files, several scenarios at once in one session."""
    pool = ThreadPoolExecutor(threads)
    try:
        yield from pool.map(lambda file: run_scenario_file(spark, file), files)
    finally:
        # After Ctrl-C those that have not begun never do.
        pool.shutdown(cancel_futures=True)


def run_scenario_file(spark: SparkSession, file: Path) -> ScenarioResult:
    began = time.monotonic()
    try:
        scenario = load_scenario(file)
    except Exception as error:
        return ScenarioResult(file, file.stem, time.monotonic() - began, error=error)
    return run_scenario(spark, scenario, began)


def run_scenario(spark: SparkSession, scenario: Scenario, began: float) -> ScenarioResult:
    expected = scenario.frame.expect.error
    try:
        actual = _compute_outputs(spark, scenario)
        differences = tuple(_compare_outputs(scenario, actual)) if expected is None else ()
    except Exception as error:
        is_expected = isinstance(error, DaybookError) and expected in _error_codes(error)
        took = time.monotonic() - began
        return ScenarioResult(scenario.file, scenario.name, took, error=None if is_expected else error)
    took = time.monotonic() - began
    return ScenarioResult(scenario.file, scenario.name, took, differences, expected_error=expected, actual=actual)


def _compute_outputs(spark: SparkSession, scenario: Scenario) -> dict[str, tuple[OutputRow, ...]]:
    """What every output would write; the same destination again replaces what it had."""
    if scenario.project is None:
        raise DaybookErrors(scenario.findings)
    definition = scenario.project
    catalog = ScenarioCatalog((given.version for given in scenario.datasets), scenario.file)
    calendar = calendar_for(definition.model.calendar_id, catalog)
    period = period_of(scenario.frame.period, calendar)
    midnight = datetime.datetime.combine(period.start_date, datetime.time(), datetime.UTC)
    raise_all(unknown_output_errors(scenario, definition.model))
    values = parameter_values(definition.id, definition.model.parameters, scenario.frame.parameters)
    constants = Constants(midnight, period, values)
    plan = plan_project(definition.model, definition.source, catalog, constants, with_locations=False)
    with tempfile.TemporaryDirectory(prefix="daybook-scenario-") as scratch:
        frames = {
            load.key: _view_frame(_load_frame(spark, scenario, load, scratch), load, period, calendar)
            for load in plan.loads
        }
        pipeline = Pipeline(spark, plan, frames, staging=f"{scratch}/staging", as_of=scenario.frame.as_of)
        with pipeline:
            try:
                return _collected(pipeline)
            except Exception as failure:
                raise pipeline.failure(failure) from failure


def _collected(pipeline: Pipeline) -> dict[str, tuple[OutputRow, ...]]:
    found: dict[int, tuple[OutputRow, ...]] = {}
    steps: dict[int, OutputStep] = {}
    for group in pipeline.groups():
        for output in group.outputs:
            # Arrow's timestamps are UTC; those of collect() are the machine's local time.
            found[output.step.seq] = tuple(output.df.toArrow().to_pylist())
            steps[output.step.seq] = output.step
        group.verify()
    by_id = {steps[seq].operation_id: found[seq] for seq in sorted(found)}
    return {**by_id, **{destination_name(steps[seq].arguments): found[seq] for seq in sorted(found)}}


def _load_frame(spark: SparkSession, scenario: Scenario, load: LoadStep, scratch: str) -> SourceFrame:
    viewed = load.version.viewed
    given = _given_dataset(scenario, viewed)
    if given.file is None:
        return given_frame(spark, given, viewed.dataset)
    location = inline_location(str(given.file.resolve()), None, {}, scenario.file.parent)
    resolution = Resolution((location,), (scenario.frame.period,))
    return read_source(spark, resolution, viewed, LandingArea(f"{scratch}/landing", "scenario")).frame


def _view_frame(frame: SourceFrame, load: LoadStep, period: Period, calendar: PeriodCalendar) -> SourceFrame:
    """The rows of the periods that a view looks at; a scenario has all of them, with or without rows."""
    view = load.version.view
    if view is None:
        return frame
    periods, as_of = view_window(load.version, period, calendar)
    row_period = period.identifier if view.of.period == "run" else None
    return replace(frame, periods=periods or NO_PERIODS, as_of=as_of, row_period=row_period)


def _given_dataset(scenario: Scenario, version: DatasetVersion) -> GivenDataset:
    wanted = (version.dataset.id, version.version)
    return next(each for each in scenario.datasets if (each.version.dataset.id, each.version.version) == wanted)


def _compare_outputs(scenario: Scenario, actual: Mapping[str, tuple[OutputRow, ...]]) -> Iterator[OutputDifference]:
    expect = scenario.frame.expect
    for output, rows in expected_outputs(scenario).items():
        found = compare_rows(output, rows, actual.get(output, ()), expect)
        if found is not None:
            yield found


def _error_codes(error: DaybookError) -> set[str]:
    codes: set[str] = set()
    for single in flatten(error):
        codes.add(single.code)
        for cause in single.causes:
            codes |= _error_codes(cause)
    return codes
