"""The Python interface: every use case as a method of an opened workspace."""

import datetime
import functools
import inspect
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from daybook.errors import Code, DaybookError, Notice
from daybook.model.definition import DEFINITION_KINDS, DefinitionKind
from daybook.model.loading import LoadedWorkspace
from daybook.model.project import Project
from daybook.model.types import value_text
from daybook.workspace.open_workspace import open_workspace, system_error
from daybook.workspace.spark_session import ProgramSession

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from daybook.compare.result import BridgeResult, DiffResult
    from daybook.graph.build import BuildPlan, BuildResult
    from daybook.model.types import Value
    from daybook.runs.attempt.start import RunRequest
    from daybook.runs.explain.levels import NumberExplanation, OperationExplanation
    from daybook.runs.maintenance import CollectedGarbage
    from daybook.runs.recovery import Recovery
    from daybook.runs.replay import ReplayResult
    from daybook.runs.result import OutputResult, RunResult
    from daybook.runs.slices import SliceDrop, SliceEntry
    from daybook.scenarios.new_scenario import NewScenario
    from daybook.store.apply import Activation, ApplyPlan
    from daybook.store.records import Action
    from daybook.workspace.close import CloseGraphResult, CloseStatus
    from daybook.workspace.definitions import CompiledProject, ValidationResult
    from daybook.workspace.execution import DryRun, ScenarioReport
    from daybook.workspace.history import (
        CancelResult,
        DefinitionDetails,
        DefinitionSummary,
        PeriodChange,
        PeriodListing,
        RunDetails,
        RunListing,
        VersionDifference,
    )
    from daybook.workspace.lifecycle import Deactivation
    from daybook.workspace.lineage import LineageResult
    from daybook.workspace.maintenance import Examination, StoreRestoration
    from daybook.workspace.numbers import CsvDownload, NumbersPage, NumbersRequest
    from daybook.workspace.reference import CheckedExpression, FunctionEntry
    from daybook.workspace.report import WrittenReport

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_Follow = Callable[[int | None, Sequence[str]], "NumberExplanation"]
_Check = tuple[Callable[[Any], bool], str]
Condition = tuple[str, str] | tuple[str, str, Any]

_RANGE_SEPARATOR = ".."
_MOST_ROWS = 10_000


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_date(value: Any) -> bool:
    return isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)


def _is_condition(value: Any) -> bool:
    """A column, a comparison, and a value unless the comparison needs none."""
    is_pair = isinstance(value, list | tuple) and len(value) in (2, 3) and all(map(_is_text, value[:2]))
    return is_pair and all(map(_is_key, value[2:]))


def _is_key(value: Any) -> bool:
    return value is None or isinstance(value, str | numbers.Number | datetime.date)


_TEXT: _Check = (_is_text, "a text")
_FLAG: _Check = (lambda value: isinstance(value, bool), "True or False")
_PATH: _Check = (lambda value: isinstance(value, str | Path), "a path")
_POSITIVE: _Check = (lambda value: _is_whole(value) and value >= 1, "a whole number from 1")

_COLUMNS: _Check = (lambda value: isinstance(value, list | tuple) and all(map(_is_text, value)), "a list of columns")

# What each parameter of the methods takes; the same name means the same everywhere.
ARGUMENT_CHECKS: Mapping[str, _Check] = {
    "path": _PATH,
    "folder": _PATH,
    "spark": (lambda value: hasattr(value, "newSession"), "a Spark session"),
    "project": _TEXT,
    "project_id": _TEXT,
    "period": _TEXT,
    "periods": _TEXT,
    "run_id": _TEXT,
    "run": _TEXT,
    "against": _TEXT,
    "identifier": _TEXT,
    "expression": _TEXT,
    "columns": _TEXT,
    "written": (lambda value: all(map(_is_text, value)), "names of columns"),
    "downstream": _TEXT,
    "parameter_types": _TEXT,
    "names": (
        lambda value: isinstance(value, Mapping) and all(map(_is_text, (*value, *value.values()))),
        "expressions by name",
    ),
    "code": _TEXT,
    "reason": _TEXT,
    "workspace": _TEXT,
    "table": _TEXT,
    "destination": _TEXT,
    "kind": (lambda value: value in DEFINITION_KINDS, f"one of {', '.join(DEFINITION_KINDS)}"),
    "operation": (lambda value: _is_text(value) or _is_whole(value), "the id or the seq of an operation"),
    "keys": (lambda value: all(map(_is_key, value.values())), "columns with texts, numbers, dates or None"),
    "parameters": (
        lambda value: isinstance(value, Mapping) and all(map(_is_text, value)),
        "values by the names of parameters",
    ),
    "as_of": (lambda value: _is_text(value) or _is_date(value), "a date, or its text such as 2026-01-15"),
    "group_by": _COLUMNS,
    "key": _COLUMNS,
    "by": _COLUMNS,
    "order": (lambda value: isinstance(value, list | tuple) and all(map(_is_text, value)), "a list of causes"),
    "measure": _TEXT,
    "a": _TEXT,
    "b": _TEXT,
    "output": _TEXT,
    "rows": (lambda value: _is_whole(value) and value >= 0, "the seq of an operation, or 0"),
    "tolerance": (
        lambda value: isinstance(value, str | int | float | Decimal) and not isinstance(value, bool),
        "a number from 0",
    ),
    "sort": _COLUMNS,
    "measures": _COLUMNS,
    "where": (
        lambda value: isinstance(value, list | tuple) and all(map(_is_condition, value)),
        'a list of comparisons such as ("amount", ">=", 100)',
    ),
    "offset": (lambda value: _is_whole(value) and value >= 0, "a whole number from 0"),
    "projects": (lambda value: all(map(_is_text, value)), "ids of projects"),
    "jobs": _POSITIVE,
    "paths": (lambda value: all(isinstance(each, str | Path) for each in value), "paths"),
    "limit": (lambda value: _is_whole(value) and 1 <= value <= _MOST_ROWS, f"a whole number from 1 to {_MOST_ROWS}"),
    "version": _POSITIVE,
    "version_a": _POSITIVE,
    "version_b": _POSITIVE,
    "dataset_version": _POSITIVE,
    "year": (lambda value: _is_whole(value) and 1 <= value <= 9999, "a year"),
    "status": _TEXT,
    "after": _TEXT,
    "calendar": _TEXT,
    "level": _TEXT,
    "keyword": _TEXT,
    "name": _TEXT,
    **dict.fromkeys(
        (
            "draft",
            "allow_empty",
            "require_fresh",
            "sandbox_inputs",
            "prune",
            "keep_rows",
            "fix",
            "with_spark",
            "dry_run",
            "only",
            "full",
            "keep_going",
            "ask",
            "totals",
            "to_start",
            "differences",
        ),
        _FLAG,
    ),
}


def _coded(method: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Refuse wrong arguments, and what the system refuses, by an error with a code."""
    signature = inspect.signature(method)

    @functools.wraps(method)
    def checked(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            if name == "self" or (value is None and signature.parameters[name].default is None):
                continue
            is_right, expected = ARGUMENT_CHECKS[name]
            if not is_right(value):
                raise DaybookError("RUN_031", argument=name, expected=expected, value=repr(value))
        try:
            return method(*args, **kwargs)
        except OSError as failure:
            if (refused := system_error(failure)) is None:
                raise
            raise refused from failure

    return checked


class Explanation:
    """The rows that one operation picked, and the summary rows it made of them; a notebook shows them as tables."""

    def __init__(self, result: "OperationExplanation", follow: "_Follow | None" = None) -> None:
        self.result = result
        self._follow = follow

    def follow(self, depth: int | None = None, *, columns: Sequence[str] = ()) -> "NumberExplanation":
        """The rows behind these rows, and theirs, through all runs they went through, down to lines of sources.

        `depth` is the number of levels, this one included; `columns` are shown on every level that has them.
        """
        if self._follow is None:
            raise ValueError("an explanation that a workspace gave can be followed")
        return self._follow(depth, columns)

    @property
    def rows(self) -> tuple[Mapping[str, Any], ...]:
        """The first rows that it picked, by column."""
        return self.result.rows.rows

    @property
    def count(self) -> int:
        """How many rows it picked."""
        return self.result.rows.count

    @property
    def summary_rows(self) -> tuple[Mapping[str, Any], ...]:
        """The first rows that it made of groups; none where it groups nothing."""
        return self.result.summary_rows.rows if self.result.summary_rows else ()

    def __repr__(self) -> str:
        found = self.result
        return f"<Explanation of operation {found.seq} ({found.name}) of run {found.run_id}: {self.count:,} rows>"

    def _repr_html_(self) -> str:
        from daybook.workspace.report_page import explanation_html

        return explanation_html(self.result)


class Diff:
    """What two runs wrote, compared; `changes` are the largest, also as a DataFrame."""

    def __init__(self, workspace: "Workspace", result: "DiffResult") -> None:
        self._workspace = workspace
        self.result = result

    @property
    def changes(self) -> "DataFrame":
        """One row for each change that is shown: its key, and every column before and after."""
        from daybook.io.column_types import arrow_frame
        from daybook.workspace.numbers import changes_table

        return arrow_frame(self._workspace.spark, changes_table(self.result))

    @property
    def totals(self) -> Mapping[str, Any]:
        """The difference of every numeric column."""
        return {total.column: total.difference for total in self.result.totals}

    def to_dict(self) -> dict[str, Any]:
        """The same as `daybook diff --json`."""
        from daybook.workspace.json.close import diff_as_json

        return diff_as_json(self.result)

    def __repr__(self) -> str:
        rows = self.result.rows
        counts = f"{rows.added:,} added, {rows.removed:,} removed, {rows.changed:,} changed, {rows.same:,} the same"
        return f"<Diff of run {self.result.b.run_id} against {self.result.a.run_id}: {counts}>"


class Bridge:
    """Why a total moved; causes and groups also as DataFrames."""

    def __init__(self, workspace: "Workspace", result: "BridgeResult") -> None:
        self._workspace = workspace
        self.result = result

    @property
    def shares(self) -> Mapping[str, Any]:
        """The share of every cause, by `KIND:NAME`."""
        return {" + ".join(member.text for member in cause.members): cause.share for cause in self.result.causes}

    @property
    def causes(self) -> "DataFrame":
        """One row for each cause."""
        from daybook.io.column_types import arrow_frame
        from daybook.workspace.numbers import causes_table

        return arrow_frame(self._workspace.spark, causes_table(self.result))

    @property
    def groups(self) -> "DataFrame":
        """One row for each group and cause."""
        from daybook.io.column_types import arrow_frame
        from daybook.workspace.numbers import groups_table

        return arrow_frame(self._workspace.spark, groups_table(self.result))

    def to_dict(self) -> dict[str, Any]:
        """The same as `daybook bridge --json`."""
        from daybook.workspace.json.close import bridge_as_json

        return bridge_as_json(self.result)

    def __repr__(self) -> str:
        found = self.result
        return f"<Bridge of {found.measure} from {found.before} to {found.after}: {len(found.causes)} causes>"

    def _repr_html_(self) -> str:
        from daybook.workspace.numbers import draw_bridge

        return draw_bridge(self.result)


class Workspace:
    """A folder with a `daybook.yaml`, this one or the nearest above it, opened for a program or a notebook.

    Definitions are read when a method needs them, as the files are then. Without `spark` a session is started when
    something needs one, and stopped by `close`; a session that is passed in is never stopped.
    """

    @_coded
    def __init__(self, path: str | Path = ".", *, spark: "SparkSession | None" = None) -> None:
        opened = open_workspace(Path(path))
        self._session = ProgramSession(opened.settings.engine, spark)
        self._opened = replace(opened, session=self._session)

    @property
    def root(self) -> Path:
        return self._opened.root

    @property
    def definitions(self) -> LoadedWorkspace:
        """Everything that is defined here; all errors of the files are raised together."""
        return self._opened.load_definitions()

    @property
    def projects(self) -> tuple[str, ...]:
        """The ids of the projects that are defined here."""
        return tuple(self.definitions.definitions["project"])

    @_coded
    def project(self, project_id: str) -> Project:
        """A project as it is written."""
        from daybook.store.references import find_project

        return find_project(self.definitions, project_id).model

    def validate(self) -> tuple[DaybookError, ...]:
        """Everything that is wrong with the definitions and with what projects compute."""
        return self.check().errors

    @_coded
    def check(self, path: str | Path | None = None) -> "ValidationResult":
        """Errors and warnings of the whole workspace, or of the files below a path."""
        from daybook.workspace.definitions import validate_definitions

        return validate_definitions(None if path is None else Path(path), workspace=self.root)

    @_coded
    def compile(
        self, project: str, *, period: str | None = None, parameters: "Mapping[str, Value] | None" = None
    ) -> "CompiledProject":
        """The checked steps of a project with their Spark SQL; without a period for the current month."""
        from daybook.workspace.definitions import compile_project

        return compile_project(self._opened, project, period=period, parameters=parameters)

    @_coded
    def plan(self, *, prune: bool = False) -> "ApplyPlan":
        """What `apply` would change and break."""
        from daybook.workspace.lifecycle import plan_changes

        return plan_changes(self._opened, prune=prune)

    @_coded
    def apply(self, *, prune: bool = False) -> "ApplyPlan":
        """Store the definitions, all or none; `prune` disables what the files no longer define."""
        from daybook.workspace.lifecycle import apply_changes

        return apply_changes(self._opened, prune=prune)

    @_coded
    def activate(self, project: str, *, dataset_version: int | None = None) -> "Activation":
        """Check a project and make it the version that runs."""
        from daybook.workspace.lifecycle import activate_project

        return activate_project(self._opened, project, dataset_version=dataset_version)

    @_coded
    def activate_all(self, *projects: str) -> "tuple[Activation, ...]":
        """Check projects together, against what they will register, and make them what runs; without names, all."""
        from daybook.workspace.lifecycle import activate_projects

        return activate_projects(self._opened, projects)

    @_coded
    def deactivate(self, project: str) -> "Deactivation":
        """Keep a project from running until it is activated again."""
        from daybook.workspace.lifecycle import deactivate_project

        return deactivate_project(self._opened, project)

    @_coded
    def run(
        self,
        project: str,
        period: str,
        *,
        as_of: str | datetime.date | None = None,
        draft: bool = False,
        allow_empty: bool = False,
        parameters: "Mapping[str, Value] | None" = None,
        require_fresh: bool = False,
        sandbox_inputs: bool = True,
    ) -> "Run":
        """Run a project, by its id or file, for one period; `parameters` are values by name.

        `require_fresh` refuses to read what is out of date; without `sandbox_inputs` a draft reads live data only.

        Raises DaybookError when it may not run, RunFailedError when it does not complete.
        """
        if _RANGE_SEPARATOR in period:
            raise DaybookError("RUN_021", period=period)
        (done,) = self.run_range(
            project,
            period,
            as_of=as_of,
            draft=draft,
            allow_empty=allow_empty,
            parameters=parameters,
            require_fresh=require_fresh,
            sandbox_inputs=sandbox_inputs,
        )
        return done

    @_coded
    def run_range(
        self,
        project: str,
        periods: str,
        *,
        as_of: str | datetime.date | None = None,
        draft: bool = False,
        allow_empty: bool = False,
        parameters: "Mapping[str, Value] | None" = None,
        require_fresh: bool = False,
        sandbox_inputs: bool = True,
    ) -> "tuple[Run, ...]":
        """Run a project for the periods of a range such as `2026-01..2026-12`, one after the other.

        The first failure ends the range and is raised; what ran before it stays.
        """
        from daybook.workspace.execution import run_project

        request = replace(
            _run_request(project, periods, as_of, draft, allow_empty, parameters),
            requires_fresh=require_fresh,
            reads_sandbox=sandbox_inputs,
        )
        result = run_project(self._opened, request)
        if result.failure is not None:
            raise result.failure
        return tuple(Run(self, completed) for completed in result.completed)

    @_coded
    def dry_run(
        self,
        project: str,
        periods: str,
        *,
        as_of: str | datetime.date | None = None,
        draft: bool = False,
        allow_empty: bool = False,
        parameters: "Mapping[str, Value] | None" = None,
    ) -> "tuple[DryRun, ...]":
        """What a run would read and write, one result per period; nothing is written, and Spark is not started."""
        from daybook.workspace.execution import dry_run_project

        return dry_run_project(self._opened, _run_request(project, periods, as_of, draft, allow_empty, parameters))

    @_coded
    def graph(self, *, period: str | None = None) -> "CloseGraphResult":
        """Which projects read what others write; with a period, which projects and periods."""
        from daybook.workspace.close import close_graph

        return close_graph(self._opened, period=period)

    @_coded
    def lineage(
        self, project: str | None = None, *written: str, downstream: str | None = None, to_start: bool = False
    ) -> "LineageResult":
        """Which input columns every written column comes from, and how; without a project, for all of them.

        `written` are columns to look at. `downstream`, as `dataset.column`, gives the columns that come from that one.
        `to_start` goes through other projects down to data that nothing computes.
        """
        from daybook.workspace.lineage import trace_columns

        return trace_columns(self._opened, project, written, downstream=downstream, to_start=to_start)

    @_coded
    def status(self, *, period: str | None = None, ask: bool = False) -> "CloseStatus":
        """Which numbers are up to date, and why others are not; without a period, of all that have been run."""
        from daybook.workspace.close import close_status

        return close_status(self._opened, period=period, ask=ask)

    @_coded
    def build(
        self,
        *projects: str,
        period: str,
        only: bool = False,
        full: bool = False,
        keep_going: bool = False,
        jobs: int = 2,
        allow_empty: bool = False,
        draft: bool = False,
        parameters: "Mapping[str, Value] | None" = None,
    ) -> "BuildResult":
        """Bring projects, by default all active ones, and everything they need up to date for a period or a span.

        `parameters` are values by project and name: `{"close.threshold": 250}`.
        """
        from daybook.graph.build import BuildRequest
        from daybook.model.parameter import by_project
        from daybook.workspace.close import build_close

        given = by_project(parameters or {})
        request = BuildRequest(period, projects, only, full, keep_going, jobs, allow_empty, draft, given)
        return build_close(self._opened, request)

    @_coded
    def plan_build(
        self,
        *projects: str,
        period: str,
        only: bool = False,
        full: bool = False,
        parameters: "Mapping[str, Value] | None" = None,
    ) -> "BuildPlan":
        """What `build` would run, and why."""
        from daybook.graph.build import BuildRequest
        from daybook.model.parameter import by_project
        from daybook.workspace.close import plan_close_build

        request = BuildRequest(period, projects, only, full, parameters=by_project(parameters or {}))
        return plan_close_build(self._opened, request)

    @_coded
    def retry(self, run_id: str) -> "Run":
        """Continue a failed or cancelled run from its snapshot; what it committed is not written again."""
        from daybook.workspace.execution import retry_run

        return Run(self, retry_run(self._opened, run_id))

    @_coded
    def replay(self, run_id: str, *, keep_rows: bool = False) -> "ReplayResult":
        """Compute a run, by its id or as PROJECT@PERIOD, again from its snapshot and compare it with what it wrote."""
        from daybook.workspace.execution import replay_run

        return replay_run(self._opened, run_id, keep_rows=keep_rows)

    @_coded
    def explain(self, run_id: str, operation: str | int, /, *, limit: int = 20, **keys: "Value") -> Explanation:
        """The rows that an operation of a run picked, by its id or seq, as they were when it came to them.

        The run is its id, or PROJECT@PERIOD for the last completed one.

        `keys` are columns and the values that rows must have there, None for NULL. An operation that groups takes the
        columns it groups by, and its summary rows are computed again, too. `Explanation.follow` goes on to the rows
        behind the rows, in whichever run they were made.
        """
        from daybook.workspace.execution import explain_number, explain_operation

        texts = {column: None if value is None else value_text(value) for column, value in keys.items()}

        def follow(depth: int | None, columns: Sequence[str]) -> "NumberExplanation":
            return explain_number(
                self._opened, run_id, str(operation), texts, limit=limit, depth=depth, columns=columns
            )

        return Explanation(explain_operation(self._opened, run_id, str(operation), texts, limit=limit), follow)

    @_coded
    def diff(
        self,
        a: str,
        b: str,
        output: str | None = None,
        *,
        rows: int | None = None,
        key: Sequence[str] | None = None,
        tolerance: "str | int | float | Decimal | None" = None,
        limit: int = 10,
    ) -> Diff:
        """Compare what two runs wrote; a run is its id, or PROJECT@PERIOD for the last completed one.

        `rows` is the seq of the operation that made the rows, 0 for loaded rows. `key` are the columns rows are matched
        by. Numbers that differ by `tolerance` at most are the same. `limit` is the most changes to show.
        """
        from daybook.compare.diff import DiffRequest
        from daybook.workspace.numbers import diff_runs, parse_tolerance

        request = DiffRequest(a, b, output, rows, tuple(key or ()), parse_tolerance(tolerance), limit)
        return Diff(self, diff_runs(self._opened, request))

    @_coded
    def bridge(
        self,
        a: str,
        b: str,
        *,
        measure: str,
        output: str | None = None,
        rows: int | None = None,
        by: Sequence[str] | None = None,
        order: Sequence[str] | None = None,
    ) -> Bridge:
        """Say why the total of a column moved from one run of a project to another, cause by cause.

        `by` are columns to divide the total by; `order` says what is replaced first: kinds, or causes as KIND:NAME.
        """
        from daybook.compare.bridge import BridgeRequest
        from daybook.workspace.numbers import bridge_runs

        request = BridgeRequest(a, b, measure, output, rows, tuple(by or ()), tuple(order or ()))
        return Bridge(self, bridge_runs(self._opened, request))

    @_coded
    def runs(
        self,
        *,
        project: str | None = None,
        period: str | None = None,
        status: str | None = None,
        limit: int = 20,
        after: str | None = None,
    ) -> "RunListing":
        """Runs, newest first; `after` continues a list after a run's id or after its `next_page`."""
        from daybook.workspace.history import list_runs

        return list_runs(self._opened, project=project, period=period, status=status, limit=limit, after=after)

    @_coded
    def show_run(self, run_id: str) -> "RunDetails":
        """Everything that is known of a run, by its id or as PROJECT@PERIOD."""
        from daybook.workspace.history import show_run

        return show_run(self._opened, run_id)

    @_coded
    def outputs(self, run_id: str) -> "tuple[OutputResult, ...]":
        """What a run has committed, in the order of its operations."""
        from daybook.workspace.numbers import list_outputs

        return list_outputs(self._opened, run_id)

    @_coded
    def numbers(
        self,
        run_id: str,
        output: str | None = None,
        *,
        where: "Sequence[Condition]" = (),
        sort: "Sequence[str]" = (),
        offset: int = 0,
        limit: int = 50,
        totals: bool = True,
    ) -> "NumbersPage":
        """One page of the rows an output of a run wrote, without Spark; by default of its last output.

        `where` are comparisons such as `("amount", ">=", 100)` or `("region", "is_null")`, all of which must hold;
        `sort` are columns, with a minus in front for descending.
        """
        from daybook.workspace.numbers import read_numbers

        request = _numbers_request(run_id, output, where, sort)
        request = replace(request, offset=offset, limit=limit, has_totals=totals)
        return read_numbers(self._opened, request)

    @_coded
    def numbers_csv(
        self,
        run_id: str,
        output: str | None = None,
        *,
        where: "Sequence[Condition]" = (),
        sort: "Sequence[str]" = (),
    ) -> "CsvDownload":
        """All rows of an output as CSV in pieces, without Spark; `where` and `sort` as in `numbers`."""
        from daybook.workspace.numbers import stream_csv

        return stream_csv(self._opened, _numbers_request(run_id, output, where, sort))

    @_coded
    def report(
        self,
        run: str,
        path: str | Path,
        *,
        against: str | None = None,
        differences: bool = True,
        measures: Sequence[str] = (),
        limit: int = 200,
    ) -> "WrittenReport":
        """Write a run, by its id or as PROJECT@PERIOD, as one HTML file that needs no network and no script.

        It shows the differences to the run before, or to `against`, for which Spark is needed, and why the totals of
        `measures` moved. `limit` is how many rows of each output are shown. Only an earlier report is replaced.
        """
        from daybook.workspace.report import ReportRequest, write_report

        return write_report(self._opened, ReportRequest(run, against, differences, limit, tuple(measures)), Path(path))

    @_coded
    def show(self, kind: DefinitionKind, identifier: str, *, version: int | None = None) -> "DefinitionDetails":
        """A definition as the store has it, by default its latest version."""
        from daybook.workspace.history import show_definition

        return show_definition(self._opened, kind, identifier, version)

    @_coded
    def stored_definitions(self) -> "tuple[DefinitionSummary, ...]":
        """Every definition of the store with its latest version and its status."""
        from daybook.workspace.history import list_definitions

        return list_definitions(self._opened)

    @_coded
    def compare_versions(
        self, kind: DefinitionKind, identifier: str, version_a: int, version_b: int
    ) -> "VersionDifference":
        """What differs between two versions of a definition, line by line."""
        from daybook.workspace.history import compare_versions

        return compare_versions(self._opened, kind, identifier, version_a, version_b)

    @_coded
    def actions(self, *, limit: int = 20) -> "tuple[Action, ...]":
        """What was done on the page of `daybook serve`, newest first."""
        from daybook.workspace.history import list_actions

        return list_actions(self._opened, limit=limit)

    @_coded
    def cancel(self, run_id: str) -> "CancelResult":
        """Ask a run to stop."""
        from daybook.workspace.history import cancel_run

        return cancel_run(self._opened, run_id)

    @_coded
    def periods(
        self, *, year: int | None = None, level: str | None = None, calendar: str | None = None
    ) -> "tuple[PeriodListing, ...]":
        """The periods of a year with their status; without a level all but single days."""
        from daybook.workspace.history import list_periods

        return list_periods(self._opened, calendar=calendar, year=year, level=level)

    @_coded
    def show_period(self, period: str, *, calendar: str | None = None) -> "PeriodListing":
        """A period with its status and every change of it."""
        from daybook.workspace.history import show_period

        return show_period(self._opened, period, calendar=calendar)

    @_coded
    def close_period(self, period: str, *, reason: str | None = None, calendar: str | None = None) -> "PeriodChange":
        """Close a period: runs on it and inside it warn."""
        from daybook.workspace.history import close_period

        return close_period(self._opened, period, reason=reason, calendar=calendar)

    @_coded
    def lock_period(self, period: str, *, reason: str | None = None, calendar: str | None = None) -> "PeriodChange":
        """Lock a period: runs on it and inside it are refused."""
        from daybook.workspace.history import lock_period

        return lock_period(self._opened, period, reason=reason, calendar=calendar)

    @_coded
    def reopen_period(self, period: str, *, reason: str, calendar: str | None = None) -> "PeriodChange":
        """Open a closed or locked period again; the reason is recorded permanently."""
        from daybook.workspace.history import reopen_period

        return reopen_period(self._opened, period, reason=reason, calendar=calendar)

    @_coded
    def slices(self, table: str | None = None) -> "tuple[SliceEntry, ...]":
        """What runs wrote into tables that collect periods, by table and period."""
        from daybook.workspace.maintenance import list_slices

        return list_slices(self._opened, table)

    @_coded
    def drop_slice(self, table: str, period: str, *, reason: str) -> "SliceDrop":
        """Remove the slice of a period from a table; the reason is recorded permanently."""
        from daybook.workspace.maintenance import drop_slice

        return drop_slice(self._opened, table, period, reason=reason)

    @_coded
    def take_over_slices(self, workspace: str, *, reason: str) -> "Recovery":
        """Make what another workspace wrote into tables of the projects this one's; recorded permanently."""
        from daybook.workspace.maintenance import take_over_slices

        return take_over_slices(self._opened, workspace, reason=reason)

    @_coded
    def test(self, *paths: str | Path, keyword: str | None = None) -> "ScenarioReport":
        """Run the scenarios of files and folders, by default of `tests/scenarios`."""
        from daybook.workspace.execution import run_scenarios, select_scenarios

        files = select_scenarios([Path(path) for path in paths], self.root, keyword=keyword)
        return run_scenarios(files, self._opened.session)

    @_coded
    def new_scenario(self, project: str, *, run_id: str | None = None, path: str | Path | None = None) -> "NewScenario":
        """Write a scenario from a few rows that a run of a project read, by default its last completed one."""
        from daybook.workspace.execution import new_scenario

        return new_scenario(self._opened, project, run_id=run_id, file=None if path is None else Path(path))

    @_coded
    def doctor(self, *, fix: bool = False, with_spark: bool = True) -> "Examination":
        """Check everything that a run needs; `fix` removes what killed runs left behind."""
        from daybook.workspace.maintenance import examine

        return examine(self._opened, fix=fix, session=self._opened.session if with_spark else None)

    @_coded
    def restore_store(self) -> "StoreRestoration":
        """Put the newest backup in the place of a damaged store, and find again what was committed since."""
        from daybook.workspace.maintenance import restore_store

        return restore_store(self._opened)

    @_coded
    def gc(self, *, dry_run: bool = False) -> "CollectedGarbage":
        """Remove what the retention of daybook.yaml no longer keeps."""
        from daybook.workspace.maintenance import apply_retention

        return apply_retention(self._opened, dry_run=dry_run)

    @staticmethod
    @_coded
    def functions(name: str | None = None) -> "tuple[FunctionEntry, ...]":
        """The functions of the expression language, or the one with this name."""
        from daybook.workspace.reference import list_functions

        return list_functions(name)

    @staticmethod
    @_coded
    def parse(
        expression: str,
        *,
        columns: str = "",
        group_by: Sequence[str] | None = None,
        names: Mapping[str, str] | None = None,
        parameter_types: str = "",
    ) -> "CheckedExpression":
        """The type and the Spark SQL of an expression over columns such as `amount decimal, status string`.

        `names` are named expressions; `parameter_types` is written as the columns are.
        """
        from daybook.workspace.reference import check_expression

        return check_expression(expression, columns=columns, group_by=group_by, names=names, parameters=parameter_types)

    @staticmethod
    @_coded
    def explain_code(code: str) -> Code:
        """What an error code means and what to do about it."""
        from daybook.workspace.reference import explain_code

        return explain_code(code)

    @staticmethod
    @_coded
    def write_schemas(folder: str | Path) -> tuple[Path, ...]:
        """Write JSON Schemas of all definition files into a folder."""
        from daybook.workspace.definitions import write_schemas

        return write_schemas(Path(folder))

    @property
    def spark(self) -> "SparkSession":
        """The session that runs use."""
        return self._session()

    def close(self) -> None:
        """Stop the session if it was started here."""
        self._session.close()

    def __enter__(self) -> "Workspace":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _run_request(
    project: str,
    period: str,
    as_of: str | datetime.date | None,
    draft: bool,
    allow_empty: bool,
    parameters: "Mapping[str, Value] | None",
) -> "RunRequest":
    from daybook.runs.attempt.start import RunRequest
    from daybook.workspace.execution import parse_as_of

    return RunRequest(project, period, parse_as_of(as_of), draft, allow_empty, parameters=parameters or {})


def _numbers_request(
    run_id: str, output: str | None, where: "Sequence[Condition]", sort: Sequence[str]
) -> "NumbersRequest":
    from daybook.io.stored_rows import RowCondition, RowOrder
    from daybook.workspace.numbers import NumbersRequest

    conditions = tuple(RowCondition(*each) for each in where)
    order = tuple(RowOrder(name.removeprefix("-"), name.startswith("-")) for name in sort)
    return NumbersRequest(run_id, output, conditions, order)


class Run:
    """A completed run; a notebook shows it as a page."""

    def __init__(self, workspace: Workspace, result: "RunResult") -> None:
        self._workspace = workspace
        self.result = result

    @property
    def id(self) -> str:
        return self.result.run_id

    @property
    def outputs(self) -> "tuple[OutputResult, ...]":
        return self.result.outputs

    @property
    def notices(self) -> tuple[Notice, ...]:
        return self.result.notices

    @_coded
    def output(self, destination: str | None = None) -> "DataFrame":
        """The rows an output of this run wrote, by its destination as the project has it, its operation's id or name,
        or the dataset it was registered as; the last one by default.
        """
        from daybook.runs.slices import read_output

        with self._workspace._opened.open_run_environment() as environment:
            return read_output(environment, self.result, destination)

    def explain(self, operation: str | int, /, *, limit: int = 20, **keys: "Value") -> Explanation:
        """The rows that an operation of this run picked, as `Workspace.explain` gives them."""
        return self._workspace.explain(self.id, operation, limit=limit, **keys)

    def to_dict(self) -> dict[str, Any]:
        from dataclasses import asdict

        data = asdict(self.result)
        for output, fields in zip(self.result.outputs, data["outputs"], strict=True):
            fields["delta_version"] = output.delta_version
        return data

    def __repr__(self) -> str:
        outputs = ", ".join(f"{output.destination} {output.rows_written:,} rows" for output in self.outputs)
        return f"<Run {self.id} of {self.result.project_id} for {self.result.period}: {outputs}>"

    def _repr_html_(self) -> str:
        from daybook.workspace.report_page import run_html

        return run_html(self.result)
