"""Runs scenarios with the real plan over the rows of a scenario, on Spark or on the second engine."""

import contextlib
import datetime
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from daybook.definitions.value import Definitions
from daybook.errors import DaybookError, DaybookErrors, flatten, raise_all
from daybook.errors.codes import raised_codes
from daybook.expression import Constants
from daybook.model.calendar import Period
from daybook.model.dataset import Dataset, PathLocation, TableLocation
from daybook.model.definition import DatasetVersion, DeclaredVersion, Definition
from daybook.model.operation import OutputArguments, OutputOperation, TableDestination
from daybook.model.parameter import parameter_values
from daybook.model.project import Project, target_name
from daybook.model.source_map import SourceMap
from daybook.plan.plan_project import plan_project
from daybook.plan.steps import LoadStep, OutputStep, Plan
from daybook.resolve.calendars.calendar import PeriodCalendar
from daybook.resolve.calendars.periods import calendar_for, period_of
from daybook.resolve.location import NO_PERIODS
from daybook.resolve.resolution import view_window
from daybook.runs.second_engine import ReadWindow
from daybook.scenarios.engines import (
    BothEngines,
    EngineDisagreement,
    EngineName,
    QuickScenarios,
    ScenarioEngine,
    ScenarioSource,
    ScenarioTask,
    SparkScenarios,
)
from daybook.scenarios.load_scenario import load_scenario
from daybook.scenarios.row_matching import ExpectationDifference, compare_rows
from daybook.scenarios.scenario import (
    GivenDataset,
    Scenario,
    Workspaces,
    carried_columns,
    destination_name,
    expected_outputs,
    given_rows,
    operation_names,
    scenario_definitions,
    unknown_name_errors,
    written_rows,
)

if TYPE_CHECKING:
    # Scenarios of the second engine need no Spark.
    from pyspark.sql import SparkSession

    from daybook.runs.environment import SessionProvider


class QuickSession:
    """A session beside that of a provider, made once; `begin` lets it start while other things are prepared."""

    def __init__(self, provider: "SessionProvider") -> None:
        self._provider = provider
        self._lock = threading.Lock()
        self._session: SparkSession | None = None

    def begin(self) -> None:
        threading.Thread(target=self._start, name="daybook-quick-session", daemon=True).start()

    def _start(self) -> None:
        # The next call raises the error again.
        with contextlib.suppress(Exception):
            self()

    def __call__(self) -> "SparkSession":
        from daybook.engine.java.session import separate_session
        from daybook.engine.java.session_conf import QUICK_CONF

        with self._lock:
            if self._session is None:
                session = separate_session(self._provider())
                for key, value in QUICK_CONF.items():
                    # A server may refuse a setting.
                    with contextlib.suppress(Exception):
                        session.conf.set(key, value)
                self._session = session
            return self._session


OutputRow = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CountDifference:
    """How many rows an operation was expected to concern, and how many it did."""

    operation: str
    expected: int
    actual: int


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """`error` is what stopped the scenario although nothing, or something else, was expected to.

    An error that is no DaybookError is a bug of Daybook; the other scenarios still run.
    """

    file: Path
    name: str
    duration: float
    differences: tuple[ExpectationDifference, ...] = ()
    count_differences: tuple[CountDifference, ...] = ()
    error: Exception | None = None
    expected_error: str | None = None
    # The rows of every output, by operation id and by table or path; for writing expectations.
    actual: Mapping[str, tuple[OutputRow, ...]] | None = None
    # How many rows operations concerned, where counts are expected.
    counts: Mapping[str, int] | None = None
    # Where the second engine, asked as well, computed something else than Spark.
    disagreements: tuple[EngineDisagreement, ...] = ()

    @property
    def is_passed(self) -> bool:
        is_same = not self.differences and not self.count_differences and not self.disagreements
        return is_same and self.error is None and self.expected_error is None


def run_scenario_files(
    session: "SessionProvider | None", files: list[Path], *, threads: int, engine: EngineName = "spark"
) -> Iterator[ScenarioResult]:
    """The results in the order of the files, several scenarios at once in one session.

    While Spark starts, all of them are loaded and planned; those that are wrong already need no Spark. The quick
    engine needs no session.
    """
    if session is None or engine == "quick":
        yield from _run_quick(files)
        return
    quick = QuickSession(session)
    quick.begin()
    workspaces = Workspaces()
    begun = [_begin_scenario(file, workspaces) for file in files]
    from daybook.engine.jobs import wait_for

    pool = ThreadPoolExecutor(threads)
    try:
        finished = [pool.submit(_finish_scenario, scenario, quick, engine) for scenario in begun]
        yield from map(wait_for, finished)
    finally:
        # After Ctrl-C no further scenario begins.
        pool.shutdown(cancel_futures=True)


def _run_quick(files: Sequence[Path]) -> Iterator[ScenarioResult]:
    workspaces, engine = Workspaces(), QuickScenarios()
    for file in files:
        begun = _begin_scenario(file, workspaces)
        yield begun if isinstance(begun, ScenarioResult) else begun.finish(engine)


def _finish_scenario(
    begun: "ScenarioResult | _ScenarioRun", session: "SessionProvider", engine: EngineName
) -> ScenarioResult:
    if isinstance(begun, ScenarioResult):
        return begun
    spark = SparkScenarios(session)
    if engine != "both":
        return begun.finish(spark)
    both = BothEngines(spark)
    return replace(begun.finish(both), disagreements=tuple(both.disagreements))


def run_scenario_file(
    spark: "SparkSession", file: Path, workspaces: Workspaces | None = None, *, engine: EngineName = "spark"
) -> ScenarioResult:
    begun = _begin_scenario(file, workspaces or Workspaces())
    return _finish_scenario(begun, lambda: spark, engine)


def _begin_scenario(file: Path, workspaces: Workspaces) -> "ScenarioResult | _ScenarioRun":
    """The scenario with its first run planned, or its result where that was all."""
    began = time.monotonic()
    try:
        scenario = load_scenario(file, workspaces)
    except Exception as error:
        return ScenarioResult(file, file.stem, time.monotonic() - began, error=error)
    run = _ScenarioRun(scenario)
    try:
        run.plan_first()
    except Exception as error:
        return run.failed(error, time.monotonic() - began)
    run.seconds = time.monotonic() - began
    return run


@dataclass(frozen=True, slots=True)
class _Found:
    """The rows of outputs by their names, and how many rows operations concerned by theirs, of all runs together."""

    rows: dict[str, tuple[OutputRow, ...]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def add_rows(self, names: Iterable[str], rows: tuple[OutputRow, ...]) -> None:
        for name in names:
            self.rows[name] = (*self.rows.get(name, ()), *rows)

    def add_count(self, names: Iterable[str], count: int) -> None:
        for name in names:
            self.counts[name] = self.counts.get(name, 0) + count


class _ScenarioRun:
    """The projects of a scenario run for its periods, in order; later ones read what earlier ones wrote."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._plans: dict[tuple[str, str], Plan] = {}
        # What outputs wrote, by what the place is called and by period.
        self._written: dict[str, dict[str, pa.Table]] = {}
        self._registered: dict[str, str] = {}
        self._found = _Found()
        # How long it has taken so far.
        self.seconds = 0.0

    @cached_property
    def _definitions(self) -> Definitions:
        """The workspace is read only where the scenario needs it: few do."""
        scenario = self._scenario
        needs_workspace = scenario.has_workspace_projects or any(
            project.model.calendar_id is not None for project in scenario.projects
        )
        return scenario_definitions(
            (entry.version for entry in scenario.datasets),
            scenario.workspace if needs_workspace else None,
            references=(entry.version.dataset.id for entry in scenario.datasets if entry.is_reference),
            projects=scenario.projects,
            has_workspace_projects=scenario.has_workspace_projects,
        )

    def plan_first(self) -> None:
        """Raises what is wrong with the scenario's projects, as far as that shows before rows do."""
        scenario = self._scenario
        if not scenario.projects:
            raise DaybookErrors(scenario.findings)
        raise_all(unknown_name_errors(scenario))
        for definition in scenario.projects:
            self._plan(definition, scenario.frame.run_periods[0])

    def finish(self, engine: ScenarioEngine) -> ScenarioResult:
        """Run everything and compare."""
        began = time.monotonic()
        scenario = self._scenario
        expected = scenario.frame.expect.error
        try:
            for identifier in scenario.frame.run_periods:
                for definition in scenario.projects:
                    self._run(engine, self._plan(definition, identifier))
            collected = self._found
            differences = tuple(_compare_outputs(scenario, collected.rows)) if expected is None else ()
            counts = tuple(_compare_counts(scenario, collected.counts)) if expected is None else ()
        except Exception as error:
            return self.failed(error, self.seconds + time.monotonic() - began)
        took = self.seconds + time.monotonic() - began
        return ScenarioResult(
            scenario.file,
            scenario.name,
            took,
            differences,
            counts,
            expected_error=expected,
            actual=collected.rows,
            counts=collected.counts,
        )

    def failed(self, error: Exception, seconds: float) -> ScenarioResult:
        """What an error means: it may be what is expected."""
        scenario = self._scenario
        expected = raised_codes(scenario.frame.expect.error or "")
        is_expected = isinstance(error, DaybookError) and not _error_codes(error).isdisjoint(expected)
        return ScenarioResult(scenario.file, scenario.name, seconds, error=None if is_expected else error)

    def _plan(self, definition: Definition[Project], identifier: str) -> Plan:
        project = definition.model
        key = (project.id, identifier)
        if key not in self._plans:
            calendar = calendar_for(project.calendar_id, self._definitions)
            period = period_of(identifier, calendar)
            midnight = datetime.datetime.combine(period.start_date, datetime.time(), datetime.UTC)
            parameters = self._scenario.frame.parameters
            if len(self._scenario.projects) > 1:
                parameters = {name: value for name, value in parameters.items() if name in project.parameters}
            constants = Constants(midnight, period, parameter_values(project.id, project.parameters, parameters))
            self._plans[key] = plan_project(
                project, definition.source, self._definitions, constants, with_locations=False
            )
        return self._plans[key]

    def _run(self, engine: ScenarioEngine, plan: Plan) -> None:
        """What every output would write; the same destination again replaces what it had in the same run."""
        constants = plan.constants
        if constants is None or constants.period is None:
            raise AssertionError("a scenario is planned for a period")
        period, frame = constants.period, self._scenario.frame
        calendar = calendar_for(plan.project.calendar_id, self._definitions)
        sources = {load.key: self._source(load, period, calendar) for load in plan.loads}
        computed = engine.run(ScenarioTask(plan, sources, frame.as_of, frame.expect.counts is not None))
        tables, counts = computed.tables, computed.counts
        last_by_place = {destination_name(plan_step.arguments): plan_step.seq for plan_step in plan.outputs}
        for step in plan.outputs:
            table = tables[step.seq]
            is_last = last_by_place[destination_name(step.arguments)] == step.seq
            self._keep_output(plan.project, step, table, period, is_last=is_last)
        for operation in plan.project.operations:
            if operation.seq in counts:
                self._found.add_count(operation_names(plan.project, operation), counts[operation.seq])

    def _keep_output(
        self, project: Project, step: OutputStep, table: pa.Table, period: Period, *, is_last: bool
    ) -> None:
        rows: list[dict[str, Any]] = table.to_pylist()
        if len(self._scenario.frame.run_periods) > 1:
            # A row belongs to the period it carries, else to that of its slice.
            rows = [{**row, "_period": row.get("_period") or period.identifier} for row in rows]
        names = [step.operation_id, *((destination_name(step.arguments),) if is_last else ())]
        self._found.add_rows(dict.fromkeys((*names, *(f"{project.id}.{name}" for name in names))), tuple(rows))
        if not self._scenario.has_workspace_projects:
            return
        place = target_name(step.arguments.destination)
        slices = self._written.setdefault(place, {})
        if step.arguments.mode == "append" and period.identifier in slices:
            table = pa.concat_tables([slices[period.identifier], table], promote_options="default")
        elif not _collects_periods(step.arguments):
            slices.clear()
        slices[period.identifier] = table
        if (name := step.arguments.registered_id) is not None:
            self._registered[name] = place

    def _source(self, load: LoadStep, period: Period, calendar: PeriodCalendar) -> ScenarioSource:
        """What a load reads, by the rules of its dataset and its view."""
        viewed = load.version.viewed
        entry = self._given(viewed)
        window = _window(load, period, calendar)
        slices = self._written.get(self._registered.get(viewed.dataset.id) or _place_of(viewed.dataset) or "")
        if entry is not None and entry.file is not None:
            return ScenarioSource(load, window, file=entry.file, version=viewed, folder=self._scenario.file.parent)
        rows = given_rows(entry, viewed.dataset, self._period_of_rows) if entry is not None else None
        if slices:
            rows = written_rows(slices, viewed.dataset, rows)
        elif rows is None:
            rows = self._missing_rows(load, viewed.dataset)
        return ScenarioSource(load, window, rows, carried_columns(rows, viewed.dataset))

    def _missing_rows(self, load: LoadStep, dataset: Dataset) -> pa.Table:
        """No rows, where a view may find none; an error where they were forgotten."""
        view = load.version.view
        if view is not None and view.of.missing == "empty":
            nothing = GivenDataset(DeclaredVersion(dataset, 1), (), None, SourceMap.empty())
            return given_rows(nothing, dataset)
        hint = f"add `- dataset: {{id: {dataset.id}}}` with rows, or with `rows: []`"
        problem = f"{dataset.id} is read, and the scenario has no rows for it"
        if self._is_written(dataset):
            problem = f"{dataset.id} is read before the scenario writes it"
        raise DaybookError("MODEL_070", span=self._scenario.source.span("datasets"), problem=problem, hint=hint)

    def _is_written(self, dataset: Dataset) -> bool:
        """Whether a project of the scenario writes it, later on."""
        operations = [operation for definition in self._scenario.projects for operation in definition.model.operations]
        outputs = [operation.arguments for operation in operations if isinstance(operation, OutputOperation)]
        place = _place_of(dataset)
        return any(
            dataset.id == operation.registered_id or place == target_name(operation.destination)
            for operation in outputs
        )

    @property
    def _period_of_rows(self) -> str | None:
        """The period of rows that say none, where there is only one."""
        periods = self._scenario.frame.run_periods
        return periods[0] if len(periods) == 1 else None

    def _given(self, version: DatasetVersion) -> GivenDataset | None:
        def is_wanted(entry: GivenDataset) -> bool:
            is_version = entry.is_reference or entry.version.version == version.version
            return entry.version.dataset.id == version.dataset.id and is_version

        return next((entry for entry in self._scenario.datasets if is_wanted(entry)), None)


def _collects_periods(arguments: OutputArguments) -> bool:
    """Whether the rows of a period are kept beside those of other periods."""
    is_table = isinstance(arguments.destination, TableDestination)
    has_own_place = "{{" in target_name(arguments.destination)
    return has_own_place or (is_table and arguments.mode != "replace")


def _place_of(dataset: Dataset) -> str | None:
    """What the location of a dataset is called where an output writes to it."""
    match dataset.main_table.location:
        case TableLocation(datasource_id=datasource_id, table=table):
            return f"{datasource_id}.{table}"
        case PathLocation(path=path):
            return path
        case _:
            return None


def _window(load: LoadStep, period: Period, calendar: PeriodCalendar) -> ReadWindow:
    """The periods that are looked at and the day of the dataset's rule; a scenario has all periods, if without rows."""
    view = load.version.view
    periods, as_of = view_window(load.version, period, calendar)
    row_period = period.identifier if view is not None and view.of.period == "run" else None
    return ReadWindow(periods or NO_PERIODS, as_of, row_period)


def _compare_counts(scenario: Scenario, actual: Mapping[str, int]) -> Iterator[CountDifference]:
    for name, expected in (scenario.frame.expect.counts or {}).items():
        if actual.get(name, 0) != expected:
            yield CountDifference(name, expected, actual.get(name, 0))


def _compare_outputs(
    scenario: Scenario, actual: Mapping[str, tuple[OutputRow, ...]]
) -> Iterator[ExpectationDifference]:
    expect = scenario.frame.expect
    for output, rows in expected_outputs(scenario).items():
        difference = compare_rows(output, rows, actual.get(output, ()), expect)
        if difference is not None:
            yield difference


def _error_codes(error: DaybookError) -> set[str]:
    codes: set[str] = set()
    for single in flatten(error):
        codes.add(single.code)
        for cause in single.causes:
            codes |= _error_codes(cause)
    return codes
